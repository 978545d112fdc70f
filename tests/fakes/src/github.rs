//! GitHub's REST API as far as a client that opens pull requests needs it, over the bare
//! repositories of a folder.

mod pulls;
mod refusal;
mod routes;
mod server;

pub use pulls::{PullRequest, State};
pub use refusal::{Faults, Refusal};
pub use server::{GitHub, Options, Recorded};
