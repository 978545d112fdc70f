//! coding-v1 in a pod: settings, the desk over the API, reports, and the process's life.

mod desk;
mod granted;
mod life;
mod once;
mod report;
mod serve;
mod work;

pub mod corepack;
pub mod process;
pub mod settings;
pub mod tokens;
