//! Free TCP ports on the loopback interface.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result, bail};

/// A port that nobody listens on at this moment.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free loopback port")?;
    Ok(listener.local_addr().context("the free port has no number")?.port())
}

/// A free port for something that will be started again and again. The system gives
/// ports of its own range to outgoing connections, and one of those could have it
/// when it is needed next; this one is from below that range.
pub(crate) fn lasting_port() -> Result<u16> {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    for _ in 0..100 {
        let mut bytes = [0_u8; 2];
        getrandom::fill(&mut bytes).context("the system gives no random bytes")?;
        let port = FIRST + u16::from_le_bytes(bytes) % COUNT;
        if is_free(port) {
            return Ok(port);
        }
    }
    bail!("no free port between {FIRST} and {}", FIRST + COUNT)
}

/// Whether this port could be bound right now.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
