//! The agent of docs/kernel.md, as small as can be.

use fakes::model::{ModelServer, Reply};
use pretty_assertions::assert_eq;
use serde_json::json;

/// KERN-02
#[tokio::test(flavor = "multi_thread")]
async fn the_documents_own_agent_calls_its_tool_and_answers() {
    let model = ModelServer::start().await;
    model.script([
        Reply::call("count_words", json!({"text": "so much depends upon"})),
        Reply::text("It has {{last_tool_result}}."),
    ]);
    let program = testenv::bin_folder().unwrap().join("examples/tiny");
    assert!(program.is_file(), "build it: cargo build --package foundry-kernel --example tiny");
    let output = tokio::process::Command::new(program)
        .args([&model.url(), "the-model", "How long is `so much depends upon`?"])
        .output()
        .await
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, "It has 4 words.\n");
    model.finish().unwrap();
}
