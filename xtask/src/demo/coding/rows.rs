//! The rows of `kubectl get codingruns --watch`, printed as they come.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use testenv::Process;

use super::super::kubectl::Kubectl;
use crate::printer::say;

/// A kubectl that watches, ended when it is dropped.
pub(super) struct Rows {
    _kubectl: Process,
    output: PathBuf,
    read: usize,
    last: String,
}

impl Rows {
    /// Starts to watch.
    pub fn watch(kubectl: &Kubectl, output: PathBuf) -> Result<Self> {
        let kubectl = kubectl.start(&["get", "codingruns", "--watch"], &output)?;
        Ok(Self { _kubectl: kubectl, output, read: 0, last: String::new() })
    }

    /// Prints the whole rows that have come since; one that differs from the one before
    /// in nothing but its age is left out.
    pub fn show_new(&mut self) -> Result<()> {
        let printed = fs::read_to_string(&self.output)
            .with_context(|| format!("failed to read {}", self.output.display()))?;
        let new = printed.get(self.read..).unwrap_or_default();
        let whole = new.rfind('\n').map_or(0, |end| end + 1);
        for row in new[..whole].lines() {
            let ageless = row.rsplit_once(' ').map_or(row, |(rest, _)| rest.trim_end());
            if ageless != self.last {
                say(row);
                ageless.clone_into(&mut self.last);
            }
        }
        self.read += whole;
        Ok(())
    }
}
