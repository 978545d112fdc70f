//! What is known of each request, and what of it is written to a file.

use fakes::model::{Bodies, Gate, Lineage, ModelServer, Point, Reply, When, Wire};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::talk::{DEADLINE, Talk, WIRES};

fn lineages(model: &ModelServer) -> Vec<Lineage> {
    model.requests().iter().map(|request| request.lineage).collect()
}

#[tokio::test]
async fn a_conversation_keeps_its_beginning_and_its_retries_are_counted_apart() {
    for wire in WIRES {
        let model = ModelServer::start().await;
        model.demand_prefix();
        let call = || Reply::call("recall", json!({}));
        model.script([Reply::overloaded(529), call(), call(), Reply::text("done")]);
        let mut talk = Talk::new(&model, wire, "So?");
        assert_eq!(talk.ask().await.0, 529);
        for _ in 0..2 {
            talk.turn().await;
            talk.results("a result");
        }
        talk.turn().await;
        let expected = [Lineage::First, Lineage::Repeated, Lineage::Extended, Lineage::Extended];
        assert_eq!(lineages(&model), expected);
        let retries: Vec<usize> = model.requests().iter().map(|request| request.retry).collect();
        assert_eq!(retries, [0, 1, 0, 0]);
        let requests = model.requests();
        assert!(requests[2].extends(&requests[0]) && !requests[0].extends(&requests[2]));
        model.finish().unwrap();
    }
}

#[tokio::test]
async fn a_broken_beginning_is_told_and_fails_only_where_it_is_demanded() {
    for wire in WIRES {
        let model = ModelServer::start().await;
        model.on((When::any(), Reply::call("recall", json!({}))));
        let mut talk = Talk::new(&model, wire, "So?");
        talk.turn().await;
        talk.results("a result");
        talk.turn().await;
        talk.results("a result");
        let broken = usize::from(wire == Wire::OpenAi) + 2;
        let said = talk.messages()[broken].to_string().replace("a result", "another result");
        talk.messages()[broken] = serde_json::from_str(&said).unwrap();
        talk.ask().await;
        let last = model.requests().pop().unwrap();
        assert_eq!(
            (last.lineage, last.prefix_broken()),
            (Lineage::Broken { at: broken }, Some(broken))
        );
        model.finish().unwrap();
        model.demand_prefix();
        let said = talk.messages()[broken].to_string().replace("another", "yet another");
        talk.messages()[broken] = serde_json::from_str(&said).unwrap();
        talk.say("And now?"); // longer, so that nothing looks folded
        talk.ask().await;
        let complaint = model.finish().unwrap_err();
        assert!(
            complaint.starts_with(&format!("request 4: prefix: message {broken} ")),
            "{complaint}"
        );
    }
}

/// LOOP-13, BIND-05: what a cache gives depends on what is sent.
#[tokio::test]
async fn cache_reads_are_what_two_requests_share() {
    let model = ModelServer::start().await;
    model.on((When::any(), Reply::call("recall", json!({}))));
    let mark = json!({"type": "ephemeral"});
    let mut talk = Talk::new(&model, Wire::Anthropic, "So?");
    talk.body["system"][0]["cache_control"] = mark.clone();
    let mut read = Vec::new();
    for _ in 0..4 {
        let mut sent = talk.clone();
        let last = sent.messages().last_mut().unwrap();
        let blocks = last["content"].as_array_mut().unwrap();
        blocks.last_mut().unwrap()["cache_control"] = mark.clone();
        let (_, answer) = sent.ask().await;
        let usage = &answer["usage"];
        let count = |key: &str| usage[key].as_u64().unwrap();
        read.push((count("cache_read_input_tokens"), count("cache_creation_input_tokens")));
        let content = answer["content"].clone();
        talk.messages().push(json!({"role": "assistant", "content": content}));
        talk.results(&"a long result ".repeat(20));
    }
    for pair in read.windows(2) {
        let [(before, written), (after, _)] = pair else { panic!("a window of two") };
        assert_eq!(*after, before + written, "each reads what the one before read and wrote");
    }
    assert_eq!(read[0].0, 0);
    assert_eq!(model.requests()[3].cache_marks(), (1, 1));
}

#[tokio::test]
async fn a_line_is_written_when_its_reply_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("captured.jsonl");
    let model = ModelServer::start().await;
    model.capture_to(&file, Bodies::First);
    let gate = Gate::new();
    let held = Reply::text("slow").held(Point::Body, &gate);
    model.script([held, Reply::text("quick"), Reply::text("quick")]);
    let slow = Talk::new(&model, Wire::OpenAi, "slow");
    let quick = Talk::new(&model, Wire::OpenAi, "quick");
    let both = async {
        tokio::time::timeout(DEADLINE, gate.reached()).await.unwrap();
        quick.ask().await;
        quick.ask().await;
        gate.open();
    };
    tokio::join!(slow.ask(), both);
    model.finish().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = lines.iter().map(|line| line["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 3, 1], "in the order in which they ended");
    let bodies: Vec<bool> = lines.iter().map(|line| line.get("body").is_some()).collect();
    assert_eq!(bodies, [true, false, true], "one of each conversation");
    for line in &lines {
        let time = |key: &str| line[key].as_u64().unwrap();
        assert!(time("at") > 1_700_000_000_000_000 && time("ended") >= time("at"), "{line}");
        assert!(time("bytes") > 100, "{line}");
    }
    assert_eq!((&lines[1]["lineage"], &lines[1]["retry"]), (&json!("repeated"), &json!(1)));
}

#[tokio::test]
async fn a_client_that_goes_away_is_no_complaint_and_its_reply_has_no_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("captured.jsonl");
    let model = ModelServer::start().await;
    model.capture_to(&file, Bodies::All);
    let gate = Gate::new();
    model
        .script([Reply::text("a long answer, of which nobody waits for the end")
            .held(Point::Text, &gate)]);
    let mut talk = Talk::new(&model, Wire::OpenAi, "So?");
    talk.body["stream"] = json!(true);
    let response = talk.send().await;
    tokio::time::timeout(DEADLINE, gate.reached()).await.unwrap();
    drop(response);
    tokio::time::timeout(DEADLINE, model.stop()).await.unwrap();
    model.finish().unwrap();
    assert_eq!(model.requests()[0].ended(), None);
    let text = std::fs::read_to_string(&file).unwrap();
    let line: Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!((&line["ended"], &line["number"]), (&Value::Null, &json!(1)));
}

#[tokio::test]
async fn requests_checked_at_the_end_are_answered_and_complained_of() {
    let model = ModelServer::start().await;
    model.check_at_the_end();
    model.keep_nothing();
    model.on((When::any(), Reply::text("answered")));
    let mut talk = Talk::new(&model, Wire::OpenAi, "So?");
    talk.body["max_turns"] = json!(3);
    assert_eq!(talk.ask().await.0, 200);
    let complaint = model.finish().unwrap_err();
    assert_eq!(complaint, "request 1: legal: the body has an unknown field max_turns");
    assert_eq!(model.requests().len(), 0);
}
