//! Servers that demand more than their wire's common form, and windows that are enforced.

use fakes::model::{ModelServer, Overflow, Reply, Strict, When, Window, Wire};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::talk::{Talk, WIRES};

#[tokio::test]
async fn a_field_that_a_server_refuses_is_refused_in_its_own_words() {
    let cases = [
        (
            "max_tokens",
            json!(5),
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        ),
        (
            "max_completion_tokens",
            json!(5),
            "Unrecognized request argument supplied: max_completion_tokens",
        ),
        (
            "temperature",
            json!(0.2),
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        ),
        (
            "reasoning_effort",
            json!("low"),
            "Unrecognized request argument supplied: reasoning_effort",
        ),
        (
            "stream_options",
            json!({"include_usage": true}),
            "Unrecognized request argument supplied: stream_options",
        ),
    ];
    for (field, value, words) in cases {
        let model = ModelServer::start().await;
        model.strict(Strict::default().refusing(field));
        model.script([Reply::text("without")]);
        let mut talk = Talk::new(&model, Wire::OpenAi, "So?");
        talk.body["stream"] = json!(true); // stream_options is lawful with it alone
        talk.body[field] = value;
        let (status, answer) = talk.ask().await;
        assert_eq!((status, Talk::words(&answer)), (400, words));
        talk.body.as_object_mut().unwrap().remove(field);
        assert_eq!(talk.send().await.status(), 200);
        // A refusal of this kind breaks no rule, and takes no step of a script.
        model.finish().unwrap();
    }
}

#[tokio::test]
async fn demands_hold_for_their_model_and_in_the_words_given() {
    let model = ModelServer::start().await;
    let own = Strict::default().refusing_in_words("temperature", "too warm");
    model.strict(own.for_model("cold"));
    model.on((When::any(), Reply::text("fine")));
    for wire in WIRES {
        let mut talk = Talk::new(&model, wire, "So?");
        talk.body["temperature"] = json!(1);
        assert_eq!(talk.ask().await.0, 200);
        talk.body["model"] = json!("cold");
        let (status, answer) = talk.ask().await;
        assert_eq!((status, Talk::words(&answer)), (400, "too warm"));
    }
}

/// KERN-40: off until a server demands it, and then byte for byte.
#[tokio::test]
async fn reasoning_is_demanded_back_as_it_was_said() {
    let model = ModelServer::start().await;
    model.strict(Strict::default().echoing_reasoning());
    let thought = Reply::thinking("First the table.").and_call("recall", json!({}));
    model.script([thought, Reply::text("at six")]);
    let mut talk = Talk::new(&model, Wire::OpenAi, "So?");
    talk.turn().await;
    talk.results("six");
    let called = talk.messages().len() - 2;
    let mut changed = talk.clone();
    changed.messages()[called]["reasoning_content"] = json!("First the table");
    let mut missing = talk.clone();
    missing.messages()[called].as_object_mut().unwrap().remove("reasoning_content");
    for refused in [changed, missing] {
        let (status, answer) = refused.ask().await;
        let words = "The `reasoning_content` in the thinking mode must be passed back to the API.";
        assert_eq!((status, Talk::words(&answer)), (400, words));
    }
    assert_eq!(talk.ask().await.0, 200);
    model.finish().unwrap();
}

#[tokio::test]
async fn a_prompt_above_the_window_is_refused_with_true_numbers() {
    for wire in WIRES {
        for wording in Overflow::ALL {
            let model = ModelServer::start().await;
            model.window(Window::new(300).says(wording));
            model.script([Reply::text("fits")]);
            let talk = Talk::new(&model, wire, &"long ".repeat(400));
            let (status, answer) = talk.ask().await;
            let expected = if wording == Overflow::TooLarge { 413 } else { 400 };
            assert_eq!(status, expected, "{wording:?}");
            let tokens = talk.body.to_string().len().div_ceil(4).to_string();
            let said = answer.to_string();
            let numbered = said.contains(&tokens) && said.contains("300");
            let unnumbered =
                [Overflow::TooLarge, Overflow::Window, Overflow::Groq, Overflow::Bedrock];
            assert_eq!(numbered, !unnumbered.contains(&wording), "{wording:?}: {said}");
            assert_eq!(Talk::new(&model, wire, "short").ask().await.0, 200);
            model.finish().unwrap();
        }
    }
}

/// A client that lowers its window to what is stated can go on with a shorter prompt.
#[tokio::test]
async fn an_overflow_of_a_script_states_a_window_just_below_the_request() {
    for (words, window) in [(4, 8192), (20_000, 0)] {
        let model = ModelServer::start().await;
        model.script([Reply::overflow(Overflow::Native)]);
        let talk = Talk::new(&model, Wire::Anthropic, &"long ".repeat(words));
        let (_, answer) = talk.ask().await;
        let tokens = talk.body.to_string().len().div_ceil(4);
        let (tokens, window) =
            if window > 0 { (9001, window) } else { (tokens, tokens - tokens / 16) };
        let expected = format!("prompt is too long: {tokens} tokens > {window} maximum");
        assert_eq!(Talk::words(&answer), expected);
    }
}

fn input_tokens(wire: Wire, answer: &Value) -> u64 {
    let usage = &answer["usage"];
    let count = match wire {
        Wire::Anthropic => &usage["input_tokens"],
        Wire::OpenAi => &usage["prompt_tokens"],
    };
    count.as_u64().unwrap()
}

#[tokio::test]
async fn a_window_may_cut_the_prompt_and_say_nothing() {
    for wire in WIRES {
        let model = ModelServer::start().await;
        model.window(Window::new(300).cuts_silently());
        model.on((When::any(), Reply::text("as ever")));
        let (status, answer) = Talk::new(&model, wire, &"long ".repeat(400)).ask().await;
        assert_eq!((status, input_tokens(wire, &answer)), (200, 300), "{answer}");
    }
}

#[tokio::test]
async fn a_window_may_leave_no_token_for_the_answer() {
    for wire in WIRES {
        let model = ModelServer::start().await;
        model.window(Window::new(300).empty_with_length());
        let (status, answer) = Talk::new(&model, wire, &"long ".repeat(400)).ask().await;
        let (empty, stop) = match wire {
            Wire::Anthropic => (answer["content"] == json!([]), &answer["stop_reason"]),
            Wire::OpenAi => {
                let choice = &answer["choices"][0];
                (choice["message"]["content"].is_null(), &choice["finish_reason"])
            }
        };
        let reason = if wire == Wire::Anthropic { "max_tokens" } else { "length" };
        assert_eq!((status, empty, stop), (200, true, &json!(reason)), "{answer}");
        model.finish().unwrap();
    }
}
