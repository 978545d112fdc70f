//! Reading what a command writes.

use std::io::{self, PipeReader};

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

use super::Exit;

/// As much as a pipe holds.
const CHUNK: usize = 64 * 1024;

/// What a call of ours got from a program.
#[derive(Debug)]
pub(crate) struct Captured {
    /// How it ended.
    pub(crate) exit: Exit,
    /// The beginning of stdout.
    pub(crate) stdout: Vec<u8>,
    /// Bytes that came on stdout.
    pub(crate) stdout_bytes: u64,
    /// The end of stderr.
    pub(crate) stderr: String,
}

/// Reads to the end, or until the pipe breaks.
pub(crate) async fn pump(mut pipe: Receiver, mut take: impl FnMut(&[u8])) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(length) = pipe.read(&mut chunk).await
        && length > 0
    {
        take(&chunk[..length]);
    }
}

pub(crate) fn receiver(pipe: PipeReader) -> io::Result<Receiver> {
    Receiver::from_owned_fd(pipe.into())
}
