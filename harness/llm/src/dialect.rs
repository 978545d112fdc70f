//! Where one server departs from its wire's common form, and how that is learned.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::wire::Provider;

/// Where one server departs from its wire's common form. What a 400 demands is learned
/// for that model, and its next request is written so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// Whether and how reasoning goes back in the OpenAI form (KERN-40).
    pub echo_reasoning: Echo,
    /// Name of the output cap in the OpenAI form.
    pub output_cap: OutputCap,
    /// `temperature`.
    pub temperature: Field,
    /// `reasoning_effort`.
    pub reasoning_effort: Field,
    /// `stream_options`, which asks for the tokens of a streamed reply.
    pub stream_options: Field,
    /// Calls whose signature is gone, in the OpenAI form.
    pub unsigned_calls: Unsigned,
}

/// Whether and how reasoning goes back in the OpenAI form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Echo {
    /// It is left out, until a server demands it (KERN-40).
    #[default]
    No,
    /// As `reasoning_content` (`DeepSeek`, Moonshot, Qwen).
    ReasoningContent,
    /// As `reasoning` (`OpenRouter`, Groq).
    Reasoning,
}

/// How calls go back whose signature is gone: another run or another model made them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unsigned {
    /// As they are.
    #[default]
    Bare,
    /// With the word that Gemini takes in a signature's place, once it demands one.
    Excused,
}

/// Name of the output cap in the OpenAI form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputCap {
    /// `max_completion_tokens`, which OpenAI's reasoning models insist on.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, which every compatible server knows; some pass over the newer name
    /// without a word, and then write without end.
    MaxTokens,
}

/// Whether a field is sent where a request asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field {
    /// It is.
    #[default]
    Sent,
    /// It is left out: this server refuses it.
    LeftOut,
}

impl Dialect {
    /// The form to begin with at a provider (KERN-03).
    pub fn of(provider: Provider) -> Self {
        let output_cap = match provider {
            Provider::Anthropic | Provider::OpenAi => OutputCap::MaxCompletionTokens,
            Provider::OpenAiCompatible => OutputCap::MaxTokens,
        };
        Self { output_cap, ..Self::default() }
    }

    fn meeting(self, demand: Demand) -> Self {
        match demand {
            Demand::Echo(echo_reasoning) => Self { echo_reasoning, ..self },
            Demand::OutputCap(output_cap) => Self { output_cap, ..self },
            Demand::NoTemperature => Self { temperature: Field::LeftOut, ..self },
            Demand::NoReasoningEffort => Self { reasoning_effort: Field::LeftOut, ..self },
            Demand::NoStreamOptions => Self { stream_options: Field::LeftOut, ..self },
            Demand::SignedCalls => Self { unsigned_calls: Unsigned::Excused, ..self },
        }
    }
}

/// What a server demanded of a request's form when it refused one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    Echo(Echo),
    OutputCap(OutputCap),
    NoTemperature,
    NoReasoningEffort,
    NoStreamOptions,
    SignedCalls,
}

/// Most models whose dialect is remembered. Nobody calls more; a caller who makes up
/// names learns nothing beyond.
const MAX_MODELS: usize = 256;

/// What was learned, by model. A demand is met once: a server that demands one thing and
/// then its contrary is not argued with.
#[derive(Debug, Default)]
pub(crate) struct Learned(Mutex<BTreeMap<String, Lesson>>);

#[derive(Debug)]
struct Lesson {
    dialect: Dialect,
    met: Vec<Demand>,
}

impl Learned {
    /// How this model's next request is to be written.
    pub(crate) fn dialect(&self, model: &str, first: Dialect) -> Dialect {
        let lessons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lessons.get(model).map_or(first, |lesson| lesson.dialect)
    }

    /// Learns from the refusal of a request that was sent in the dialect `sent`. Says
    /// whether the next one will be another.
    pub(crate) fn learn(&self, model: &str, sent: Dialect, demand: Demand) -> bool {
        let mut lessons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = lessons.len() < MAX_MODELS;
        let Some(lesson) = lessons.get_mut(model) else {
            let lesson = Lesson { dialect: sent.meeting(demand), met: vec![demand] };
            return room && lessons.insert(model.to_owned(), lesson).is_none();
        };
        let wanted = lesson.dialect.meeting(demand);
        if wanted == lesson.dialect {
            // Learned from another call while this one was under way.
            return sent.meeting(demand) != sent;
        }
        if lesson.met.contains(&demand) {
            return false;
        }
        lesson.met.push(demand);
        lesson.dialect = wanted;
        true
    }
}

#[cfg(test)]
mod tests;
