use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use foundry_kernel::{Execute, ToolError};
use serde_json::{Map, Value};

/// Begins an object that is marked.
const MARKED: &str = r#"{"unchanged":true,"#;
/// What the mark adds to an object.
pub(super) const MARK_BYTES: usize = MARKED.len() - 1;
/// Calls remembered of one tool; then it forgets them all.
const CALLS: usize = 128;

/// A read that says when the same call returned the same before (LOOP-09).
///
/// Lives as long as the process, so that it spans cycles: an agent that sees nothing
/// new need not think about it again.
pub(super) struct Unchanged {
    read: Arc<dyn Execute>,
    /// Digests of arguments and of what they returned last.
    returned: Mutex<BTreeMap<u64, u64>>,
}

impl Unchanged {
    /// Marks what `read` returns.
    pub(super) fn over(read: impl Execute + 'static) -> Arc<dyn Execute> {
        Arc::new(Self { read: Arc::new(read), returned: Mutex::default() })
    }

    /// Takes note of a result; whether it is the one of the last identical call.
    fn is_repeated(&self, call: u64, result: u64) -> bool {
        let mut returned = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
        if returned.len() >= CALLS && !returned.contains_key(&call) {
            returned.clear();
        }
        returned.insert(call, result) == Some(result)
    }
}

#[async_trait]
impl Execute for Unchanged {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let call = digest(&Value::Object(given.clone()).to_string());
        let result = self.read.execute(given).await?;
        if self.is_repeated(call, digest(&result)) { Ok(marked(&result)) } else { Ok(result) }
    }
}

/// Within the object, so that a JSON result stays one; its other fields keep their order.
fn marked(result: &str) -> String {
    match result.strip_prefix('{') {
        Some("}") => r#"{"unchanged":true}"#.to_owned(),
        Some(fields) => format!("{MARKED}{fields}"),
        None => format!("(unchanged) {result}"),
    }
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    /// LOOP-09
    #[rstest]
    #[case("{}", r#"{"unchanged":true}"#)]
    #[case(r#"{"b":1,"a":2}"#, r#"{"unchanged":true,"b":1,"a":2}"#)]
    #[case("two words", "(unchanged) two words")]
    fn a_mark_keeps_json_whole(#[case] result: &str, #[case] expected: &str) {
        assert_eq!(marked(result), expected);
    }

    /// LOOP-09
    #[test]
    fn what_is_remembered_of_calls_is_bounded() {
        struct Never;
        #[async_trait]
        impl Execute for Never {
            async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
                Err(ToolError::Failed("never called".to_owned()))
            }
        }
        let read = Unchanged { read: Arc::new(Never), returned: Mutex::default() };
        for call in 0..1_000 {
            assert!(!read.is_repeated(call, 7));
        }
        assert!(read.is_repeated(999, 7));
        assert!(!read.is_repeated(999, 8));
        assert!(read.returned.lock().unwrap().len() <= CALLS);
    }
}
