//! Free TCP ports on the loopback interface.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// A port that nobody listens on at this moment.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free loopback port")?;
    Ok(listener.local_addr().context("the free port has no number")?.port())
}

/// Whether this port could be bound right now.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
