#![cfg(test)]

#[path = "it/control_plane.rs"]
mod control_plane;
#[path = "it/hosting.rs"]
mod hosting;
#[path = "it/postgres.rs"]
mod postgres;
#[path = "it/process.rs"]
mod process;
