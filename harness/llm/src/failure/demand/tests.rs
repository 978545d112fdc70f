use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use super::*;

fn sent(dialect: Dialect) -> Form {
    let fields = Fields { temperature: true, reasoning_effort: true, stream_options: true };
    Form { wire: Wire::OpenAi, dialect, fields }
}

fn compatible() -> Form {
    sent(Dialect { output_cap: OutputCap::MaxTokens, ..Dialect::default() })
}

fn demanded(status: u16, words: &str, form: Form) -> Option<Demand> {
    demand(status, &json!({"error": {"message": words}}).to_string(), form)
}

/// KERN-40: wordings of `DeepSeek`, Moonshot, OpenAI, Azure, Groq and vLLM.
#[rstest]
#[case(
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    Demand::Echo(Echo::ReasoningContent)
)]
#[case(
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    Demand::Echo(Echo::ReasoningContent)
)]
#[case("Field 'reasoning' is required in assistant messages", Demand::Echo(Echo::Reasoning))]
#[case(
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    Demand::OutputCap(OutputCap::MaxCompletionTokens)
)]
#[case(
    "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    Demand::NoTemperature
)]
#[case("Unrecognized request argument supplied: reasoning_effort", Demand::NoReasoningEffort)]
#[case("`reasoning_effort` is not supported with this model", Demand::NoReasoningEffort)]
#[case(
    "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions.",
    Demand::NoReasoningEffort
)]
#[case("Unrecognized request argument supplied: stream_options", Demand::NoStreamOptions)]
#[case(
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.",
    Demand::SignedCalls
)]
#[case(
    "Unable to submit request because function call `recall` in the 3. content block is missing a `thought_signature`.",
    Demand::SignedCalls
)]
#[case(
    "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]",
    Demand::NoStreamOptions
)]
fn a_demand_is_known_by_its_wording(#[case] words: &str, #[case] expected: Demand) {
    assert_eq!(demanded(400, words, compatible()), Some(expected));
    assert_eq!(demanded(500, words, compatible()), None, "only a refusal of the form demands");
}

#[test]
fn a_validator_names_the_field_in_a_path() {
    let body = json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "max_completion_tokens"],
        "msg": "Extra inputs are not permitted", "input": 8192}]});
    let expected = Some(Demand::OutputCap(OutputCap::MaxTokens));
    assert_eq!(demand(422, &body.to_string(), sent(Dialect::default())), expected);
}

#[rstest]
#[case::a_value("max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens")]
#[case::another_field("Unsupported parameter: 'top_p' is not supported with this model.")]
#[case::part_of_a_name("Unsupported parameter: 'my_temperature_x' is not supported")]
#[case::an_overflow(
    "This model's maximum context length is 4096 tokens; max_tokens is not supported beyond it"
)]
#[case::no_refusal("temperature must be at most 2")]
#[case::reasoning_in_passing("a reason is required")]
fn words_that_only_sound_like_a_demand_are_none(#[case] words: &str) {
    assert_eq!(demanded(400, words, compatible()), None);
}

#[test]
fn only_what_was_sent_can_be_demanded_away() {
    let none = Form { fields: Fields::default(), ..compatible() };
    assert_eq!(demanded(400, "'temperature' is not supported", none), None);
    let newer = sent(Dialect::default());
    assert_eq!(demanded(400, "'max_tokens' is not supported", newer), None);
    let messages = Form { wire: Wire::Anthropic, ..compatible() };
    assert_eq!(demanded(400, "stream_options: Extra inputs are not permitted", messages), None);
    let words = "`temperature` is deprecated for this model.";
    assert_eq!(demanded(400, words, messages), Some(Demand::NoTemperature));
}

#[test]
fn a_server_that_wants_no_reasoning_back_gets_none() {
    let echoing = |echo_reasoning| sent(Dialect { echo_reasoning, ..Dialect::default() });
    let words = "'messages.2' : property 'reasoning_content' is unsupported";
    assert_eq!(demanded(400, words, echoing(Echo::ReasoningContent)), Some(Demand::Echo(Echo::No)));
    assert_eq!(demanded(400, words, echoing(Echo::No)), None);
    // It is sent already: the server wants something that we do not have.
    let words = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    assert_eq!(demanded(400, words, echoing(Echo::ReasoningContent)), None);
}
