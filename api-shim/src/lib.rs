//! Translates: REST to resource writes, status reads and rows. Cedar decides every
//! request, and the agent's own roles after it.

pub mod agents;
pub mod app;
pub mod authz;
pub mod bell;
pub mod cluster;
pub mod config;
mod connect;
mod extract;
pub mod identity;
mod listen;
pub mod metrics;
mod middleware;
mod models;
pub mod problem;
mod reported;
mod request_id;
mod routes;
pub mod serve;
mod store_error;
mod sweep;
pub mod telemetry;

pub use app::{App, AppState, Clock, openapi, router};
pub use config::Config;
pub use connect::Connection;
pub use serve::{StartError, assemble, kube_client, run};
