//! What this machine takes for the least that a turn needs: a word over loopback and
//! back, and a process.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};

use crate::bench::report::percentile;

/// Words sent and answered.
const ROUNDS: usize = 2000;
/// Bytes of a word.
const WORD: usize = 64;
/// Processes started.
const COMMANDS: usize = 50;

/// A word over loopback and back, p50, in ms.
pub fn pong() -> Result<f64> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("failed to listen on loopback")?;
    let address = listener.local_addr()?;
    std::thread::scope(|threads| {
        let answering = threads.spawn(move || answer(&listener));
        let asked = ask(address);
        match answering.join() {
            Ok(answered) => answered?,
            Err(_) => bail!("the other side of the ping-pong broke off"),
        }
        asked
    })
}

fn ask(address: SocketAddr) -> Result<f64> {
    let mut stream = TcpStream::connect(address).context("failed to connect over loopback")?;
    stream.set_nodelay(true)?;
    let mut word = [0; WORD];
    let mut took = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        stream.write_all(&word)?;
        stream.read_exact(&mut word)?;
        took.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(percentile(&mut took, 0.5))
}

fn answer(listener: &TcpListener) -> Result<()> {
    let (mut stream, _) = listener.accept().context("nobody connected over loopback")?;
    stream.set_nodelay(true)?;
    let mut word = [0; WORD];
    for _ in 0..ROUNDS {
        stream.read_exact(&mut word)?;
        stream.write_all(&word)?;
    }
    Ok(())
}

/// The command that prints this file, run by nothing but the standard library, p50, in ms.
pub fn bare_command(file: &Path) -> Result<f64> {
    let mut took = Vec::with_capacity(COMMANDS);
    for _ in 0..COMMANDS {
        let start = Instant::now();
        let output = Command::new("cat").arg(file).output().context("failed to run cat")?;
        took.push(start.elapsed().as_secs_f64() * 1e3);
        ensure!(output.status.success(), "cat {} failed", file.display());
    }
    Ok(percentile(&mut took, 0.5))
}
