//! Routes: one folder a resource, one file a verb. A handler's first line authorizes;
//! only then is a body or a query read.

pub mod agents;
pub mod catalog;
pub mod coding_runs;
pub mod inbox;
pub mod logs;
pub mod memories;
pub mod plans;
pub mod questions;
pub mod queue_errors;
pub mod relay;
pub mod runs;
pub mod swarms;
pub mod system;

/// Rows given when a request names no limit.
const DEFAULT_LIMIT: u32 = 50;
/// Most objects of the cluster in one page.
const MAX_LIMIT: u32 = 200;

/// The page a query asks for.
#[derive(serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct Paging {
    /// Rows in the page; 50 by default, 200 at most.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl From<Paging> for foundry_store::PageRequest {
    fn from(paging: Paging) -> Self {
        Self { limit: paging.limit.unwrap_or(DEFAULT_LIMIT), cursor: paging.cursor }
    }
}
