//! What the operator wrote, from the API server's audit log.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use testenv::{AuditReader, Request};

/// How often the log is read on.
const READ: Duration = Duration::from_millis(250);

/// The writes that were carried out, read on as the log grows.
pub struct Ledger {
    reader: AuditReader,
    writes: Vec<Request>,
    last: Option<Instant>,
}

impl Ledger {
    /// Begins at the first line.
    pub fn new(reader: AuditReader) -> Self {
        Self { reader, writes: Vec::new(), last: None }
    }

    /// Reads on, and gives all writes of operators so far, their Lease apart.
    pub fn read(&mut self) -> Result<&[Request]> {
        let more = self.reader.more()?;
        let before = self.writes.len();
        self.writes.extend(more.into_iter().filter(is_by_operator));
        if self.writes.len() > before {
            self.last = Some(Instant::now());
        }
        Ok(&self.writes)
    }

    /// How many there are so far.
    pub fn count(&mut self) -> Result<usize> {
        Ok(self.read()?.len())
    }

    /// Waits until nothing has been written for so long; gives the instant of the last write.
    pub async fn quiet(&mut self, quiet: Duration, patience: Duration) -> Result<Instant> {
        let start = Instant::now();
        while start.elapsed() < patience {
            self.read()?;
            let last = self.last.unwrap_or(start);
            if last.max(start).elapsed() >= quiet {
                return Ok(last);
            }
            tokio::time::sleep(READ).await;
        }
        let tail: Vec<String> = self.writes.iter().rev().take(5).map(told).collect();
        bail!(
            "the operator still writes after {} s; its last writes, the newest first: {}",
            patience.as_secs(),
            tail.join("; ")
        )
    }
}

/// A write in a few words.
pub fn told(write: &Request) -> String {
    let Request { verb, manager, resource, namespace, name, .. } = write;
    format!("{verb} {resource} {namespace}/{name} as {}", manager.as_deref().unwrap_or("-"))
}

/// How many writes each field manager made of each kind.
pub fn by_manager(writes: &[Request]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for write in writes {
        let manager = write.manager.as_deref().unwrap_or("no manager");
        let row = format!("{manager} {} {}", write.verb, write.resource);
        *counts.entry(row).or_default() += 1;
    }
    counts
}

/// Whether an operator wrote this, and it was carried out; renewals of the Lease, which go
/// on for ever, are no work.
pub fn is_by_operator(request: &Request) -> bool {
    request.is_write()
        && request.user.ends_with(":foundry-operator")
        && request.resource != "leases"
        && (200..300).contains(&request.status)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A write of the operator at so many milliseconds of a fixed minute.
    pub fn write(resource: &str, namespace: &str, name: &str, at: i64) -> Request {
        let instant = k8s_openapi::jiff::Timestamp::from_millisecond(1_800_000_000_000 + at);
        let instant = instant.unwrap();
        Request {
            user: "system:serviceaccount:default:foundry-operator".to_owned(),
            verb: "patch".to_owned(),
            manager: Some("foundry-operator/status".to_owned()),
            group: String::new(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            status: 200,
            received: instant,
            answered: instant,
            dry_run: false,
        }
    }

    #[test]
    fn renewals_refusals_reads_and_what_others_write_do_not_count() {
        let mine = write("agents/status", "a", "x", 0);
        assert!(is_by_operator(&mine));
        for other in [
            Request { resource: "leases".to_owned(), ..mine.clone() },
            Request { status: 409, ..mine.clone() },
            Request { verb: "list".to_owned(), ..mine.clone() },
            Request { user: "ann".to_owned(), ..mine.clone() },
        ] {
            assert!(!is_by_operator(&other), "{other:?}");
        }
    }

    #[test]
    fn writes_are_counted_by_manager_verb_and_kind() {
        let bare = Request { manager: None, ..write("events", "a", "x", 0) };
        let writes =
            [write("agents/status", "a", "x", 0), write("agents/status", "a", "y", 1), bare];
        let counted: Vec<_> = by_manager(&writes).into_iter().collect();
        let rows =
            [("foundry-operator/status patch agents/status", 2), ("no manager patch events", 1)];
        assert_eq!(counted, rows.map(|(row, count)| (row.to_owned(), count)));
    }
}
