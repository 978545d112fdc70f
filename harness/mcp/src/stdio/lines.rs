//! A child's output with a bound on its lines. Without it a message that is too long
//! would be passed over, and the call it answers would wait until its limit.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::said::Said;

/// Longest line, a little below the bound that rmcp passes lines over at.
const LIMIT: usize = 16 * 1024 * 1024 - 64 * 1024;

/// The reader, which fails at a line beyond the limit.
pub(crate) struct Lines<R> {
    inner: R,
    line: usize,
    said: Arc<Said>,
}

impl<R> Lines<R> {
    pub(super) fn new(inner: R, said: Arc<Said>) -> Self {
        Self { inner, line: 0, said }
    }

    fn count(&mut self, read: &[u8]) -> io::Result<()> {
        let first = read.iter().position(|byte| *byte == b'\n').unwrap_or(read.len());
        if self.line + first > LIMIT {
            let words = format!("it sent a message of more than {LIMIT} bytes");
            self.said.fault(words.clone());
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        self.line = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => read.len() - last - 1,
            None => self.line + read.len(),
        };
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let counted = self.count(&buffer.filled()[before..]);
        if counted.is_err() {
            // Who reads an error reads nothing with it.
            buffer.set_filled(before);
        }
        Poll::Ready(counted)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(bytes: Vec<u8>) -> io::Result<usize> {
        let mut whole = Vec::new();
        Lines::new(bytes.as_slice(), Arc::default()).read_to_end(&mut whole).await
    }

    #[tokio::test]
    async fn many_lines_pass_and_one_beyond_the_limit_does_not() {
        let mut many = vec![b'x'; LIMIT];
        many.push(b'\n');
        many.extend(vec![b'y'; LIMIT]);
        assert_eq!(read(many.clone()).await.unwrap(), 2 * LIMIT + 1);
        many.push(b'y');
        let error = read(many).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
