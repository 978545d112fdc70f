#![cfg(test)]

#[path = "it/api_proxy.rs"]
mod api_proxy;
#[path = "it/control_plane.rs"]
mod control_plane;
#[path = "it/hosting.rs"]
mod hosting;
#[path = "it/postgres.rs"]
mod postgres;
#[path = "it/process.rs"]
mod process;
