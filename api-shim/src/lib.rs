//! Translates: REST to resource writes, status reads and rows. Cedar decides every
//! request, and the agent's own roles after it.

pub mod agents;
pub mod app;
pub mod authz;
pub mod bell;
pub mod cluster;
pub mod coding_runs;
pub mod config;
mod connect;
pub mod documents;
mod extract;
pub mod identity;
pub mod intelligence;
mod listen;
pub mod metrics;
mod middleware;
mod models;
pub mod outbox;
pub mod problem;
mod reported;
mod request_id;
mod routes;
pub mod serve;
mod spawned;
mod store_error;
mod swarms;
mod sweep;
pub mod telemetry;
mod tool_servers;

pub use app::{App, AppState, Clock, openapi, router};
pub use config::Config;
pub use connect::Connection;
pub use serve::{StartError, assemble, kube_client, run};
