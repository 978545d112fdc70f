//! YAML, in the one way that fits Kubernetes.
//!
//! The YAML library writes an externally tagged enum as a tag (`!git`) where
//! Kubernetes has a key (`git:`), so everything passes through [`Value`].

use serde::Serialize;
use serde::de::{Deserialize as _, DeserializeOwned};
use serde_json::Value;

/// Why a text is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    /// Not YAML.
    #[error("failed to parse YAML")]
    Syntax(#[source] serde_yaml::Error),
    /// YAML of another type.
    #[error("failed to read the YAML's fields")]
    Fields(#[source] serde_json::Error),
    /// A value that YAML cannot hold.
    #[error("failed to write YAML")]
    Write(#[source] serde_yaml::Error),
    /// Several documents where one is wanted.
    #[error("failed to read one YAML document: the text holds {0}; split it")]
    Count(usize),
}

/// Reads one document.
///
/// # Errors
/// When the text is not YAML, holds none or several documents, or lacks the type's
/// fields.
pub fn from_yaml<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    let mut documents = documents(text)?;
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => serde_json::from_value(document).map_err(YamlError::Fields),
        (last, before) => Err(YamlError::Count(before + usize::from(last.is_some()))),
    }
}

/// Reads every document of a text; empty ones are left out.
///
/// # Errors
/// When the text is not YAML.
pub fn documents(text: &str) -> Result<Vec<Value>, YamlError> {
    serde_yaml::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).map_err(YamlError::Syntax))
        .filter(|document| !matches!(document, Ok(Value::Null)))
        .collect()
}

/// Writes one document, its keys sorted: whether JSON objects keep their order
/// depends on what other crates are built beside this one.
///
/// # Errors
/// When the value has a shape that JSON or YAML cannot hold.
pub fn to_yaml<T: Serialize>(value: &T) -> Result<String, YamlError> {
    let mut value = serde_json::to_value(value).map_err(YamlError::Fields)?;
    value.sort_all_objects();
    serde_yaml::to_string(&value).map_err(YamlError::Write)
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::{YamlError, documents, from_yaml, to_yaml};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Source {
        from: From,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum From {
        Git { remote: String },
    }

    #[test]
    fn an_enum_is_a_key_as_kubernetes_writes_it() {
        let source = Source { from: From::Git { remote: "git@git.example:app".to_owned() } };
        let text = to_yaml(&source).unwrap();
        assert_eq!(text, "from:\n  git:\n    remote: git@git.example:app\n");
        assert_eq!(from_yaml::<Source>(&text).unwrap(), source);
    }

    #[test]
    fn documents_are_read_one_by_one_and_empty_ones_left_out() {
        let documents = documents("# nothing\n---\na: 1\n---\n---\nb: 2\n").unwrap();
        assert_eq!(documents, [serde_json::json!({"a": 1}), serde_json::json!({"b": 2})]);
    }

    #[test]
    fn two_documents_are_not_one() {
        let error = from_yaml::<serde_json::Value>("a: 1\n---\nb: 2\n").unwrap_err();
        assert!(matches!(error, YamlError::Count(2)), "{error}");
        assert!(matches!(from_yaml::<serde_json::Value>("a: ["), Err(YamlError::Syntax(_))));
    }
}
