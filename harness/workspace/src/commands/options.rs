//! How arguments are read: options, their values, and the rest.

/// The options of one program, as far as they matter here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spec {
    /// Options that take the next word as their value, with their dashes.
    pub valued: &'static [&'static str],
    /// Single letters that take a value, as the rest of their word or the next one.
    pub letters: &'static str,
}

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    /// An option with its dashes; of several letters in one word, one at a time.
    Option {
        /// `--name` or `-x`.
        name: &'a str,
        /// Its value, if it has one.
        value: Option<&'a str>,
    },
    /// A letter of a word that holds several.
    Letter {
        /// The letter.
        letter: char,
        /// Its value, if it takes one.
        value: Option<&'a str>,
    },
    /// Anything else.
    Word(&'a str),
}

impl Argument<'_> {
    /// Whether it is this option: `--name`, or `-x` alone or among others.
    pub fn is(&self, wanted: &str) -> bool {
        match self {
            Argument::Option { name, .. } => *name == wanted,
            Argument::Letter { letter, .. } => {
                wanted.strip_prefix('-').is_some_and(|one| one.chars().eq([*letter]))
            }
            Argument::Word(_) => false,
        }
    }
}

/// What an argument list says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read<'a> {
    /// Everything before `--`, in order.
    pub before: Vec<Argument<'a>>,
    /// Everything after `--`.
    pub after: &'a [String],
}

impl<'a> Read<'a> {
    /// The words before `--` that are no options, in order.
    pub fn words(&self) -> Vec<&'a str> {
        let word = |argument: &Argument<'a>| match argument {
            Argument::Word(word) => Some(*word),
            Argument::Option { .. } | Argument::Letter { .. } => None,
        };
        self.before.iter().filter_map(word).collect()
    }

    /// The first of these options that is there.
    pub fn any<'w>(&self, wanted: &[&'w str]) -> Option<&'w str> {
        wanted.iter().copied().find(|one| self.before.iter().any(|argument| argument.is(one)))
    }
}

/// Reads arguments in the way of most programs: `--name=value`, `--name value`, `-x
/// value`, `-xvalue`, `-abc`, and words and options in any order.
pub fn read(arguments: &[String], spec: Spec) -> Read<'_> {
    let mut read = Read::default();
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if word == "--" {
            read.after = rest;
            break;
        }
        if word.starts_with("--") {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.as_str(), None),
            };
            let value = value.or_else(|| take(spec.valued.contains(&name), &mut rest));
            read.before.push(Argument::Option { name, value });
        } else if word.len() > 1 && word.starts_with('-') {
            letters(word, spec, &mut rest, &mut read.before);
        } else {
            read.before.push(Argument::Word(word));
        }
    }
    read
}

fn letters<'a>(word: &'a str, spec: Spec, rest: &mut &'a [String], into: &mut Vec<Argument<'a>>) {
    // A word that is known as a whole: -ws, -F.
    if spec.valued.contains(&word) {
        into.push(Argument::Option { name: word, value: take(true, rest) });
        return;
    }
    for (at, letter) in word.char_indices().skip(1) {
        if !spec.letters.contains(letter) {
            into.push(Argument::Letter { letter, value: None });
            continue;
        }
        let glued = word.get(at + letter.len_utf8()..).filter(|value| !value.is_empty());
        let value = glued.or_else(|| take(true, rest));
        into.push(Argument::Letter { letter, value });
        return;
    }
}

fn take<'a>(wanted: bool, rest: &mut &'a [String]) -> Option<&'a str> {
    if !wanted {
        return None;
    }
    let (value, after) = rest.split_first()?;
    *rest = after;
    Some(value)
}
