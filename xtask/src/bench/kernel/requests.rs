//! What the scripted model wrote down of the requests it got.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// One request, with its times in microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// When its body had come.
    pub at: u64,
    /// When its reply had left.
    pub ended: u64,
    /// Bytes of its body.
    pub bytes: u64,
    /// Tools that it offers.
    pub tools: usize,
}

/// The requests of a capture, in order of arrival. An unlawful one is an error: it would
/// be measured for something else.
pub fn read(capture: &Path) -> Result<Vec<Request>> {
    let text = std::fs::read_to_string(capture)
        .with_context(|| format!("failed to read {}", capture.display()))?;
    text.lines().map(parse).collect()
}

fn parse(line: &str) -> Result<Request> {
    let record: Value = serde_json::from_str(line).context("failed to read a captured request")?;
    let violations = record["violations"].as_array().map_or(0, Vec::len);
    ensure!(violations == 0, "a request was unlawful: {}", record["violations"]);
    let number = |field: &str| {
        record[field].as_u64().with_context(|| format!("a captured request has no {field}"))
    };
    Ok(Request {
        at: number("at")?,
        ended: number("ended")?,
        bytes: number("bytes")?,
        tools: record["body"]["tools"].as_array().map_or(0, Vec::len),
    })
}

/// From the end of the reply to each of so many requests, after the first few, to the
/// arrival of the request after it, in ms.
pub fn gaps(requests: &[Request], skip: usize, count: usize) -> Vec<f64> {
    let pairs = requests.windows(2).skip(skip).take(count);
    pairs.map(|pair| ms(pair[0].ended, pair[1].at)).collect()
}

/// Time between two instants in microseconds, in ms.
#[expect(clippy::cast_precision_loss, reason = "minutes in microseconds fit a f64 exactly")]
pub fn ms(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_gap_lies_between_the_end_of_a_reply_and_the_next_request() {
        let request = |at, ended| Request { at, ended, bytes: 0, tools: 0 };
        let requests = [request(0, 1), request(10, 20), request(1_520, 1_600), request(4_600, 0)];
        assert_eq!(gaps(&requests, 1, 2), [1.5, 3.0]);
        assert_eq!(gaps(&requests, 1, 1), [1.5]);
    }

    #[test]
    fn a_captured_request_is_read_and_an_unlawful_one_is_an_error() {
        let line =
            r#"{"at": 5, "ended": 9, "bytes": 77, "violations": [], "body": {"tools": [1, 2]}}"#;
        assert_eq!(parse(line).unwrap(), Request { at: 5, ended: 9, bytes: 77, tools: 2 });
        let unlawful = line.replace("[]", r#"["no user message"]"#);
        assert!(parse(&unlawful).unwrap_err().to_string().contains("no user message"));
    }
}
