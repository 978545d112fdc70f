//! What goes wrong, and when.

use serde::{Deserialize, Serialize};

/// What the server does wrong. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// No key is let in.
    pub refuse_authentication: bool,
    /// Shows another host key than the one clients know.
    pub other_host_key: bool,
    /// The key may fetch and not push, as a deploy key.
    pub read_only: bool,
    /// Pushes that a hook refuses.
    pub refuse_pushes: Vec<RefusedPush>,
    /// Answers nothing, and keeps the connection.
    pub hang: Option<Hang>,
    /// Drops a connection after so many bytes to the client. The handshake has about
    /// four thousand; a pack has its own size.
    pub cut_after_sent: Option<u64>,
    /// Drops a connection after so many bytes from the client.
    pub cut_after_received: Option<u64>,
    /// All this holds for so many connections; absent: for all.
    pub connections: Option<usize>,
}

/// Pushes that are refused, in the way of a `pre-receive` hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedPush {
    /// To this repository, such as `acme/greeting`; absent: to any.
    #[serde(default)]
    pub repository: Option<String>,
    /// To this branch; absent: to any.
    #[serde(default)]
    pub branch: Option<String>,
    /// What the hook says.
    pub message: String,
}

/// Where the server falls silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hang {
    /// When a connection is made, before any word of SSH.
    Connection,
    /// When a command is asked for, after authentication.
    Command,
}

impl Faults {
    /// The refusals that concern this repository.
    pub(super) fn refusals(&self, repository: &str) -> impl Iterator<Item = &RefusedPush> {
        let repository = repository.to_owned();
        self.refuse_pushes
            .iter()
            .filter(move |push| push.repository.as_ref().is_none_or(|one| *one == repository))
    }
}
