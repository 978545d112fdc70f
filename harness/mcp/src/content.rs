//! A result as text for the model: text and structured content whole, anything else named.

use foundry_kernel::ToolError;
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents, ServerResult};
use serde_json::Value;

/// What the model reads when a tool returned nothing.
const NOTHING: &str = "(no output)";

/// A result of the usual form.
pub(crate) fn of_result(result: &CallToolResult) -> Result<String, ToolError> {
    let blocks = result.content.iter().map(block).collect();
    told(blocks, result.structured_content.as_ref(), result.is_error == Some(true))
}

/// A result with something in it that is not known here, or with nothing at all.
pub(crate) fn of_other(result: ServerResult) -> Result<String, ToolError> {
    let whole = match result {
        ServerResult::CustomResult(custom) => custom.0,
        ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
            return Ok(NOTHING.to_owned());
        }
        other => serde_json::to_value(other)
            .map_err(|error| ToolError::Failed(format!("the result cannot be read: {error}")))?,
    };
    let blocks: Option<Vec<String>> = whole
        .get("content")
        .and_then(Value::as_array)
        .map(|blocks| blocks.iter().map(unknown_block).collect());
    let is_error = whole.get("isError") == Some(&Value::Bool(true));
    match blocks {
        Some(blocks) => told(blocks, whole.get("structuredContent"), is_error),
        None => told(Vec::new(), Some(&whole), is_error),
    }
}

fn told(
    mut blocks: Vec<String>,
    structured: Option<&Value>,
    is_error: bool,
) -> Result<String, ToolError> {
    blocks.retain(|block| !block.is_empty());
    if let Some(value) = structured
        && !blocks.iter().any(|block| says(block, value))
    {
        blocks.push(value.to_string());
    }
    let text = if blocks.is_empty() { NOTHING.to_owned() } else { blocks.join("\n") };
    if is_error { Err(ToolError::Failed(text)) } else { Ok(text) }
}

/// Servers repeat structured content as text for clients that do not know it.
fn says(block: &str, value: &Value) -> bool {
    block.trim_start().starts_with(['{', '[', '"'])
        && serde_json::from_str::<Value>(block).is_ok_and(|said| said == *value)
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => media("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => media("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => resource(&embedded.resource),
        ContentBlock::ResourceLink(link) => resource_link(link),
        _ => "[content of an unknown type, not shown]".to_owned(),
    }
}

fn unknown_block(value: &Value) -> String {
    if let Ok(known) = serde_json::from_value::<ContentBlock>(value.clone()) {
        return block(&known);
    }
    let kind = value.get("type").and_then(Value::as_str).unwrap_or("unknown");
    format!("[content of type {kind:?}, not shown]")
}

fn media(what: &str, kind: &str, base64: &str) -> String {
    format!("[{what}, {kind}, about {} bytes, not shown]", base64.len() / 4 * 3)
}

fn resource(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            format!("[resource {uri}]\n{text}")
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => media(
            &format!("resource {uri}"),
            mime_type.as_deref().unwrap_or("of no stated type"),
            blob,
        ),
        _ => "[resource of an unknown form, not shown]".to_owned(),
    }
}

fn resource_link(link: &Resource) -> String {
    let kind = link.mime_type.as_deref().map(|kind| format!(", {kind}")).unwrap_or_default();
    let words = link.description.as_deref().map(|words| format!(": {words}")).unwrap_or_default();
    format!("[link to resource {} ({}{kind}){words}]", link.uri, link.name)
}

#[cfg(test)]
mod tests;
