//! What a provider's cache of prompts would hold, and what a request so costs.

use std::collections::HashSet;

use super::captured::{Captured, Wire};
use super::prompt::{Unit, mixed};
use super::reply::Usage;

/// How far before a mark Anthropic looks for what it knows.
const LOOKBACK: usize = 20;

/// The beginnings of prompts that are known, as chained fingerprints.
#[derive(Debug, Default)]
pub(super) struct Cache(HashSet<u64>);

/// A beginning of a prompt.
struct Beginning {
    chain: u64,
    bytes: usize,
    marked: bool,
}

impl Cache {
    /// The tokens of a request's input, without those of the output. Anthropic reads and
    /// writes what stands before a mark; OpenAI knows every beginning it has seen.
    pub fn input(&self, request: &Captured) -> Usage {
        let total = tokens(request.raw.len());
        let beginnings = beginnings(request);
        let known = |one: &Beginning| self.0.contains(&one.chain);
        let (read, written) = match request.wire {
            Wire::OpenAi => (beginnings.iter().rev().find(|one| known(one)), None),
            Wire::Anthropic => {
                let marks = beginnings.iter().enumerate().rev().filter(|(_, one)| one.marked);
                let found = marks.clone().find_map(|(mark, _)| {
                    let near = &beginnings[mark.saturating_sub(LOOKBACK - 1)..=mark];
                    near.iter().rev().find(|one| known(one))
                });
                (found, marks.map(|(_, one)| one).next())
            }
        };
        let upto = |one: Option<&Beginning>| {
            one.map_or(0, |one| one.bytes as u64 / 4).min(total.saturating_sub(1))
        };
        let cache_read = upto(read);
        let cache_write = upto(written).saturating_sub(cache_read);
        Usage { input: total - cache_read - cache_write, output: 0, cache_read, cache_write }
    }

    /// A request was answered: what it began with is known from now on.
    pub fn remember(&mut self, request: &Captured) {
        let kept = beginnings(request).into_iter().filter(|one| match request.wire {
            Wire::OpenAi => true,
            Wire::Anthropic => one.marked,
        });
        self.0.extend(kept.map(|one| one.chain));
    }
}

/// Every beginning of a request's prompt: tools, system, messages.
fn beginnings(request: &Captured) -> Vec<Beginning> {
    let prompt = &request.prompt;
    let own = u64::from(request.wire == Wire::Anthropic);
    let mut chain = super::prompt::fingerprint(own, &prompt.model);
    let mut bytes = 0;
    let units = prompt.head.iter().chain(prompt.units().map(|(_, unit)| unit));
    units
        .map(|Unit { print, bytes: more, marked, result_of: _ }| {
            chain = mixed(chain, *print);
            bytes += more;
            Beginning { chain, bytes, marked: *marked }
        })
        .collect()
}

/// About four bytes make a token.
pub(super) fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

#[cfg(test)]
mod tests;
