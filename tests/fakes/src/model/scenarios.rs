//! One table of what a model may do, for either wire: whatever reads a reply is to hear the
//! same on both.
//!
//! ```
//! use fakes::model::{Wire, scenarios};
//!
//! for wire in [Wire::Anthropic, Wire::OpenAi] {
//!     for scenario in scenarios::on(wire) {
//!         // play `scenario.reply`, read it, compare with `scenario.heard`
//!     }
//! }
//! ```

use serde_json::json;

use super::captured::Wire;
use super::reply::{Break, Point, Quirk, Reply, Stop};

/// A reply, and what is to be heard of it when it is streamed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// A name for messages of a test.
    pub name: &'static str,
    /// What the model does.
    pub reply: Reply,
    /// What it says by that.
    pub heard: Heard,
    /// The wire that it cannot be played on, and why.
    pub skip: Option<(Wire, &'static str)>,
}

/// What a reply says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It came to its end.
    Completion(Said),
    /// An error with this status, before any event.
    Refused(u16),
    /// An error event of this type.
    ErrorEvent(String),
    /// It ended, by a broken connection or as if whole, before it was over.
    CutOff,
    /// It ended with neither content nor stop reason.
    Nothing,
}

/// A completion, in neither wire's form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Thoughts that are shown.
    pub thinking: String,
    /// Text.
    pub text: String,
    /// Calls: name and raw arguments.
    pub calls: Vec<(String, String)>,
    /// Why it stopped.
    pub stop: Stop,
}

/// The scenarios that can be played on a wire.
pub fn on(wire: Wire) -> impl Iterator<Item = Scenario> {
    all()
        .into_iter()
        .filter(move |scenario| !matches!(scenario.skip, Some((own, _)) if own == wire))
}

/// All scenarios.
pub fn all() -> Vec<Scenario> {
    [completions(), calls(), quirks(), faults()].concat()
}

const TEXT: &str = "High water at six, 潮汐 🌊 again at noon.";
const ONLY_OPENAI: &str = "Anthropic's form has nothing of the kind";

impl Scenario {
    fn new(name: &'static str, reply: Reply, heard: Heard) -> Self {
        Self { name, reply, heard, skip: None }
    }

    fn says(name: &'static str, reply: Reply, said: Said) -> Self {
        Self::new(name, reply, Heard::Completion(said))
    }

    fn not_on(mut self, wire: Wire, why: &'static str) -> Self {
        self.skip = Some((wire, why));
        self
    }
}

fn text() -> Said {
    Said { text: TEXT.to_owned(), ..Said::default() }
}

fn two_calls() -> (Reply, Said) {
    let arguments = [json!({"query": "high water tomorrow"}), json!({"query": "低潮"})];
    let [first, second] = &arguments;
    let reply = Reply::call("recall", first.clone()).and_call("look_up", second.clone());
    let calls =
        vec![("recall".to_owned(), first.to_string()), ("look_up".to_owned(), second.to_string())];
    (reply, Said { calls, ..Said::default() })
}

fn completions() -> Vec<Scenario> {
    let thinking = "First the table.".to_owned();
    vec![
        Scenario::says("text", Reply::text(TEXT), text()),
        Scenario::says("text in one event", Reply::text(TEXT).in_pieces_of(usize::MAX), text()),
        Scenario::says("text letter by letter", Reply::text(TEXT).in_pieces_of(1), text()),
        Scenario::says(
            "thinking before text",
            Reply::thinking(&*thinking).and_text(TEXT),
            Said { thinking, ..text() },
        ),
        Scenario::says(
            "thinking that is not shown",
            Reply::redacted("c2VhbGVk").and_text(TEXT),
            text(),
        )
        .not_on(Wire::OpenAi, "OpenAI's form has no redacted thinking"),
        Scenario::says(
            "text cut by the output cap",
            Reply::text(TEXT).with_stop(Stop::Length),
            Said { stop: Stop::Length, ..text() },
        ),
        Scenario::says("a refusal", Reply::refusal(TEXT), Said { stop: Stop::Refusal, ..text() }),
        Scenario::says(
            "a stop reason of the server's own",
            Reply::text(TEXT).with_stop(Stop::Word("model_context_window_exceeded".to_owned())),
            Said { stop: Stop::Word("model_context_window_exceeded".to_owned()), ..text() },
        ),
        Scenario::says("nothing, and a stop reason", Reply::empty(Stop::Fitting), Said::default()),
        Scenario::new("nothing at all", Reply::empty(Stop::Missing), Heard::Nothing),
    ]
}

fn calls() -> Vec<Scenario> {
    let cut = r#"{"query": "high wa"#;
    let cut_call = |stop: Stop| {
        let calls = vec![("recall".to_owned(), cut.to_owned())];
        let reply = Reply::empty(Stop::Fitting).and_raw_call("recall", cut);
        (reply.with_stop(stop.clone()), Said { calls, stop, ..Said::default() })
    };
    let (by_length, length) = cut_call(Stop::Length);
    let (as_if_whole, fitting) = cut_call(Stop::Fitting);
    let (two, both) = two_calls();
    let (bare, none) = (
        Reply::empty(Stop::Fitting).and_raw_call("recall", ""),
        Said { calls: vec![("recall".to_owned(), String::new())], ..Said::default() },
    );
    vec![
        Scenario::says("two calls", two.clone(), both.clone()),
        Scenario::says(
            "text and two calls",
            two.and_text(TEXT),
            Said { text: TEXT.to_owned(), ..both },
        ),
        Scenario::says("a call without arguments", bare, none),
        Scenario::says("arguments cut by the output cap", by_length, length),
        Scenario::says("arguments cut without a word of it", as_if_whole, fitting),
    ]
}

fn quirks() -> Vec<Scenario> {
    let (two, both) = two_calls();
    let (one, single) = (
        Reply::call("recall", json!({"query": "tide"})),
        Said {
            calls: vec![("recall".to_owned(), json!({"query": "tide"}).to_string())],
            ..Said::default()
        },
    );
    let with = |name, quirk| Scenario::says(name, two.clone().with(quirk), both.clone());
    let only = |scenario: Scenario| scenario.not_on(Wire::Anthropic, ONLY_OPENAI);
    let thought = Reply::thinking("First the table.").and_text(TEXT);
    let thinking = "First the table.".to_owned();
    vec![
        with("a gap between indices", Quirk::IndexGap),
        with("calls that come in turn", Quirk::Interleaved),
        with("comments between events", Quirk::KeepAlives),
        with("lines that end with CR LF", Quirk::Crlf),
        with("a usage in each event", Quirk::RunningUsage),
        with("ids that are empty", Quirk::EmptyIds),
        only(with("names that are repeated", Quirk::RepeatedNames)),
        only(with("calls that come whole", Quirk::WholeCalls)),
        only(with("an empty finish_reason until the end", Quirk::EmptyFinish)),
        only(Scenario::says("a call without an index", one.with(Quirk::NoIndex), single)),
        only(Scenario::says(
            "thinking by another name",
            thought.with(Quirk::ReasoningField),
            Said { thinking, ..text() },
        )),
        Scenario::says("no last event", Reply::text(TEXT).without_end(), text()),
    ]
}

fn faults() -> Vec<Scenario> {
    let (two, _) = two_calls();
    let error = |kind: &str| Break::Error(kind.to_owned(), "Overloaded".to_owned());
    let event = "overloaded_error";
    vec![
        Scenario::new("429", Reply::failure(429, "rate_limit_error", "Slow"), Heard::Refused(429)),
        Scenario::new("500", Reply::failure(500, "api_error", "Broken"), Heard::Refused(500)),
        Scenario::new("502 as a page", Reply::html(502, "<html>502</html>"), Heard::Refused(502)),
        Scenario::new("503", Reply::failure(503, "api_error", "Later"), Heard::Refused(503)),
        Scenario::new("529", Reply::overloaded(529), Heard::Refused(529)),
        Scenario::new(
            "an error after text",
            Reply::text(TEXT).broken(Point::Text, error(event)),
            Heard::ErrorEvent(event.to_owned()),
        ),
        Scenario::new(
            "an error within arguments",
            two.clone().broken(Point::Arguments, error(event)),
            Heard::ErrorEvent(event.to_owned()),
        ),
        Scenario::new(
            "a reset inside a character",
            Reply::text(TEXT).broken(Point::Text, Break::ResetInCharacter),
            Heard::CutOff,
        ),
        Scenario::new(
            "a reset before any event",
            Reply::text(TEXT).broken(Point::Body, Break::Reset),
            Heard::CutOff,
        ),
        Scenario::new(
            "an end within arguments, as if whole",
            two.broken(Point::Arguments, Break::Close),
            Heard::CutOff,
        ),
        Scenario::new("a page under 200", Reply::html(200, "<html>Sign in</html>"), Heard::Nothing),
    ]
}
