//! Faults that are switched while a stand-in runs: by a test, or by a file.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use serde::de::DeserializeOwned;

/// Faults of type `T`, and how often they were asked for since they were set.
#[derive(Debug)]
pub(crate) struct Switch<T> {
    file: Option<PathBuf>,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    faults: T,
    text: String,
}

impl<T: Clone + Default + DeserializeOwned> Switch<T> {
    /// Without a fault. With a file, its content holds, read anew each time: no file,
    /// or an empty one, means no faults.
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self { file, state: Mutex::new(State { faults: T::default(), text: String::new() }) }
    }

    /// Changes what holds from now on.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).faults)
    }

    /// Looks at the file, if there is one, then at what holds; `take` may count down.
    pub(crate) fn take<R>(&self, take: impl FnOnce(&mut T) -> R) -> anyhow::Result<R> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &self.file {
            let text = match std::fs::read_to_string(file) {
                Ok(text) => text,
                Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("failed to read {}", file.display()));
                }
            };
            if text != state.text {
                state.faults = if text.trim().is_empty() {
                    T::default()
                } else {
                    serde_json::from_str(&text)
                        .with_context(|| format!("{} holds no faults", file.display()))?
                };
                state.text = text;
            }
        }
        Ok(take(&mut state.faults))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_file_is_read_anew_and_what_was_counted_stays_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("faults.json");
        let switch: Switch<Vec<u32>> = Switch::new(Some(file.clone()));
        let pop = |switch: &Switch<Vec<u32>>| switch.take(Vec::pop).unwrap();
        assert_eq!(pop(&switch), None);
        std::fs::write(&file, "[1, 2]").unwrap();
        assert_eq!([pop(&switch), pop(&switch), pop(&switch)], [Some(2), Some(1), None]);
        std::fs::write(&file, "[3]").unwrap();
        assert_eq!(pop(&switch), Some(3));
        std::fs::write(&file, "").unwrap();
        assert_eq!(pop(&switch), None);
    }

    #[test]
    fn a_file_that_is_wrong_is_an_error_and_no_silence() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("faults.json");
        std::fs::write(&file, r#"{"refuse_authentification": true}"#).unwrap();
        let switch: Switch<crate::git::Faults> = Switch::new(Some(file));
        let error = format!("{:#}", switch.take(|_| ()).unwrap_err());
        assert!(error.contains("unknown field `refuse_authentification`"), "{error}");
    }
}
