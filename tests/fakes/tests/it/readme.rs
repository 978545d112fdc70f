//! The README: every script in it runs.

use fakes::model::file::ScriptFile;
use fakes::model::{ModelServer, Wire};
use serde_json::json;

use super::talk::{Talk, WIRES};

const README: &str = include_str!("../../README.md");

fn scripts() -> Vec<&'static str> {
    let blocks = README.split("```yaml\n").skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Each script answers both wires, by its scripts first and then by its rules.
#[tokio::test]
async fn every_script_of_the_readme_runs() {
    assert!(scripts().len() >= 4);
    for script in scripts() {
        for wire in WIRES {
            let model = ModelServer::start().await;
            ScriptFile::parse(script)
                .unwrap_or_else(|error| panic!("{error:#} in\n{script}"))
                .play_on(&model);
            let mut talk = Talk::new(&model, wire, "How is the weather?");
            match wire {
                Wire::Anthropic => talk.body["system"] = json!("# Building"),
                Wire::OpenAi => talk.messages()[0]["content"] = json!("# Building"),
            }
            // Until nothing is left to be played, and once more for the rules.
            let mut left = true;
            for turn in 0.. {
                assert!(turn < 300, "never played to its end:\n{script}");
                let sent = talk.request().bearer_auth("sk-demo").header("x-flow-agent-id", "ann");
                sent.send().await.unwrap();
                if !left {
                    break;
                }
                left = model.finish().is_err_and(|told| told.contains("never played"));
            }
            let told = model.finish();
            let without_rules = script.lines().all(|line| !line.starts_with("rules:"));
            if without_rules {
                assert!(told.unwrap_err().contains("no script and no rule answers this"));
            } else {
                told.unwrap();
            }
        }
    }
}

/// Every field that a script may have is told of in the README.
#[test]
fn the_readme_tells_every_quirk_and_every_wording() {
    for quirk in [
        "index_gap",
        "interleaved",
        "keep_alives",
        "crlf",
        "running_usage",
        "empty_ids",
        "no_index",
        "repeated_names",
        "whole_calls",
        "reasoning_field",
        "empty_finish",
    ] {
        ScriptFile::parse(&format!("rules: [{{reply: {{text: a, quirks: [{quirk}]}}}}]")).unwrap();
        assert!(README.contains(&format!("`{quirk}`")), "{quirk}");
    }
    for overflow in fakes::model::Overflow::ALL {
        let word = serde_json::to_value(overflow).unwrap();
        let word = word.as_str().unwrap();
        ScriptFile::parse(&format!("rules: [{{reply: {{overflow: {word}}}}}]")).unwrap();
        assert!(README.contains(&format!("`{word}`")), "{word}");
    }
}
