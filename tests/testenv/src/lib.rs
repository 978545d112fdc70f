//! What tests and the demo run on: a real Kubernetes control plane, a real
//! PostgreSQL, and processes that end when their owner ends.
//!
//! One control plane serves a whole run; a test takes a namespace of it. `cargo
//! xtask test` starts the shared one and names its folder in
//! `FOUNDRY_TEST_RUN_DIR`; without that variable a test process starts its own.

mod api_proxy;
mod apply;
mod audit;
mod binaries;
mod control_plane;
mod eventually;
mod executables;
mod fail;
mod install;
mod mcp_server;
mod namespace;
mod npm;
mod ports;
mod postgres;
mod process;
mod random;
mod real_model;
mod run_folder;
mod settings;
pub mod stack;
mod workspace;

pub use api_proxy::{ApiProxy, Call, Verdict};
pub use audit::{Audit, AuditReader, Request};
pub use binaries::{bin, folder as bin_folder};
pub use control_plane::{
    ControlPlane, Durability, Nodes, Outcome, control_plane, shared_control_plane_folder,
};
pub use eventually::{eventually, within};
pub use executables::{
    CONTROL_PLANE_TOOLS, Executables, FLUX_CONTROLLERS, FLUX_CRDS, Flux, GoModule, find_helm,
    find_kwok, find_scheduler, helm,
};
pub use install::wait_until_policies_act;
pub use mcp_server::server_everything;
pub use namespace::{TestNamespace, namespace};
pub use ports::free_port;
pub use postgres::{PostgresServer, postgres, shared_postgres_file};
pub use process::Process;
pub use real_model::{RealModel, real_model};
pub use run_folder::{RunFolder, scratch};
pub use settings::{cache_folder, given_bin_folder};
pub use workspace::root as workspace_root;

/// Installs the TLS provider every client of ours uses. Whoever comes second
/// finds it installed, which is what was wanted.
pub fn install_tls_provider() {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
}
