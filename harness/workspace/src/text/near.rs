//! What in a text comes near a piece that is not in it, so that the next try hits.

use std::collections::HashMap;

use crate::shown;

/// Bytes of text that are looked through.
const MOST_BYTES: usize = 4 << 20;
/// Characters of a line shown.
const WIDTH: usize = 200;

/// Where `old` almost is, and the first thing that differs; says so when nothing is near.
pub fn words(text: &[u8], old: &str) -> String {
    let nothing = "Nothing like it is in the file: read it again.".to_owned();
    let Some(text) = text.get(..MOST_BYTES.min(text.len())) else { return nothing };
    let text = String::from_utf8_lossy(text);
    let there: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = old.trim_matches('\n').lines().collect();
    nearest(&there, &wanted)
        .and_then(|start| difference(&there, &wanted, start))
        .or_else(|| alike(&there, old))
        .unwrap_or(nothing)
}

/// The line at which most lines of `wanted` would stand in their places, white space at
/// either end of them aside.
fn nearest(there: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in wanted.iter().enumerate() {
        if !line.trim().is_empty() {
            places.entry(line.trim()).or_default().push(at);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, line) in there.iter().enumerate() {
        for place in places.get(line.trim()).into_iter().flatten() {
            if let Some(start) = at.checked_sub(*place) {
                *votes.entry(start).or_default() += 1;
            }
        }
    }
    // Of equals the first.
    votes.into_iter().max_by_key(|(start, votes)| (*votes, usize::MAX - start)).map(|(at, _)| at)
}

fn difference(there: &[&str], wanted: &[&str], start: usize) -> Option<String> {
    let same = |(at, line): &(usize, &&str)| {
        there.get(start + at).is_some_and(|other| other.trim() == line.trim())
    };
    let agreeing = wanted.iter().enumerate().filter(same).count();
    let (at, line) =
        wanted.iter().enumerate().find(|(at, line)| there.get(start + at) != Some(*line))?;
    let place = start + at + 1;
    let Some(found) = there.get(start + at) else {
        return Some(format!(
            "The nearest place is line {}, but the file ends before line {place}.",
            start + 1
        ));
    };
    let how = if agreeing == wanted.len() {
        "the same but for white space".to_owned()
    } else {
        format!("{agreeing} of {} lines the same", wanted.len())
    };
    Some(format!(
        "The nearest place is line {}, {how}. Line {place} there is {:?}, and old_text has {:?}.",
        start + 1,
        shown::line(found, WIDTH),
        shown::line(line, WIDTH)
    ))
}

/// Lines that hold the longest word of `old`.
fn alike(there: &[&str], old: &str) -> Option<String> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let word = old
        .split(|character: char| !is_part(character))
        .filter(|word| word.len() >= 4)
        .max_by_key(|word| word.len())?;
    let lines: Vec<String> = there
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains(word))
        .take(3)
        .map(|(at, line)| format!("line {}: {:?}", at + 1, shown::line(line, WIDTH)))
        .collect();
    if lines.is_empty() {
        return None;
    }
    Some(format!("The word {word:?} is in {}.", lines.join("; ")))
}
