//! A CodingRun from `kubectl apply` to pull request, and its unhappy twins: on a real
//! control plane, with real git over SSH, and a model that plays a script.

#[path = "coding/approval.rs"]
mod approval;
#[path = "coding/checks.rs"]
mod checks;
#[path = "coding/go.rs"]
mod go;
#[path = "coding/good.rs"]
mod good;
#[path = "coding/hosts.rs"]
mod hosts;
#[path = "coding/models.rs"]
mod models;
#[path = "coding/notes.rs"]
pub mod notes;
#[path = "coding/play.rs"]
pub mod play;
#[path = "coding/processes.rs"]
mod processes;
#[path = "coding/published.rs"]
mod published;
#[path = "coding/restart.rs"]
mod restart;
#[path = "coding/run.rs"]
pub mod run;
#[path = "coding/scope.rs"]
mod scope;
#[path = "coding/secrets.rs"]
mod secrets;
#[path = "coding/spawned.rs"]
mod spawned;
#[path = "coding/standing.rs"]
mod standing;
#[path = "coding/world.rs"]
pub mod world;
