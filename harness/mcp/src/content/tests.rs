use pretty_assertions::assert_eq;
use rmcp::model::CustomResult;
use serde_json::json;

use super::*;

fn read(result: Value) -> Result<String, ToolError> {
    of_result(&serde_json::from_value(result).unwrap())
}

#[test]
fn text_is_whole_and_all_else_is_named() {
    let text = read(json!({"content": [
        {"type": "text", "text": "first"},
        {"type": "image", "mimeType": "image/png", "data": "AAAAAAAA"},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
        {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "file:///a.bin", "mimeType": "application/zip", "blob": "AAAA"}},
        {"type": "resource_link", "uri": "db://1", "name": "row", "mimeType": "application/json", "description": "one row"},
        {"type": "text", "text": "last"},
    ]}));
    assert_eq!(
        text.unwrap(),
        "first\n\
         [image, image/png, about 6 bytes, not shown]\n\
         [audio, audio/wav, about 3 bytes, not shown]\n\
         [resource file:///a.txt]\ninside\n\
         [resource file:///a.bin, application/zip, about 3 bytes, not shown]\n\
         [link to resource db://1 (row, application/json): one row]\n\
         last"
    );
}

#[test]
fn structured_content_is_said_once() {
    let both = json!({"content": [{"type": "text", "text": "{\"b\": 1, \"a\": [2]}"}],
                      "structuredContent": {"a": [2], "b": 1}});
    assert_eq!(read(both).unwrap(), "{\"b\": 1, \"a\": [2]}");
    let alone = json!({"content": [], "structuredContent": {"a": 1}});
    assert_eq!(read(alone).unwrap(), "{\"a\":1}");
    let beside =
        json!({"content": [{"type": "text", "text": "one found"}], "structuredContent": {"a": 1}});
    assert_eq!(read(beside).unwrap(), "one found\n{\"a\":1}");
}

#[test]
fn an_error_result_is_a_failure_with_its_words() {
    let failed = json!({"content": [{"type": "text", "text": "no such row"}], "isError": true});
    assert_eq!(read(failed), Err(ToolError::Failed("no such row".to_owned())));
}

#[test]
fn nothing_reads_as_nothing() {
    assert_eq!(read(json!({"content": []})).unwrap(), "(no output)");
    assert_eq!(of_other(ServerResult::empty(())).unwrap(), "(no output)");
}

#[test]
fn content_of_a_type_not_yet_known_is_named_and_the_rest_read() {
    let whole = json!({"content": [
        {"type": "hologram", "voxels": "…"},
        {"type": "text", "text": "and text"},
    ]});
    let text = of_other(ServerResult::CustomResult(CustomResult::new(whole)));
    assert_eq!(text.unwrap(), "[content of type \"hologram\", not shown]\nand text");
}
