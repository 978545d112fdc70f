//! What a child said on its standard error, and how it ended: for the words of errors.

use std::collections::VecDeque;
use std::io;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::sync::CancellationToken;

/// Bytes kept of standard error, the newest.
const KEPT: usize = 8 * 1024;

/// Lines of it that an error quotes.
const QUOTED: usize = 5;

/// What is known of one child.
#[derive(Debug, Default)]
pub(super) struct Said {
    inner: Mutex<Inner>,
    ended: CancellationToken,
}

#[derive(Debug, Default)]
struct Inner {
    tail: VecDeque<u8>,
    /// Whether something came before it, of which it may begin in the middle.
    is_cut: bool,
    exit: Option<String>,
    fault: Option<String>,
}

impl Said {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads standard error to its end: a child whose pipe is full would hang.
    pub(super) async fn listen(&self, mut stderr: impl AsyncRead + Unpin) {
        let mut buffer = [0; 1024];
        loop {
            match stderr.read(&mut buffer).await {
                Ok(read) if read > 0 => self.keep(&buffer[..read]),
                Ok(_) | Err(_) => break,
            }
        }
        self.ended.cancel();
    }

    fn keep(&self, bytes: &[u8]) {
        let mut inner = self.inner();
        inner.tail.extend(bytes);
        let surplus = inner.tail.len().saturating_sub(KEPT);
        inner.is_cut |= surplus > 0;
        inner.tail.drain(..surplus);
    }

    pub(super) async fn heard_all(&self) {
        self.ended.cancelled().await;
    }

    pub(super) fn exit(&self, status: &io::Result<ExitStatus>) {
        let words = match status {
            Ok(status) => format!("it ended ({status})"),
            Err(error) => format!("it ended, how is not known: {error}"),
        };
        self.inner().exit = Some(words);
    }

    /// Notes why we closed the connection ourselves.
    pub(super) fn fault(&self, words: String) {
        self.inner().fault = Some(words);
    }

    /// All of it, shortly; none when nothing is known.
    pub(super) fn words(&self) -> Option<String> {
        let mut inner = self.inner();
        let text = String::from_utf8_lossy(inner.tail.make_contiguous()).into_owned();
        let text = if inner.is_cut { behind_cut(&text) } else { text.as_str() };
        let lines: Vec<&str> =
            text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let quoted = lines[lines.len().saturating_sub(QUOTED)..].join(" | ");
        let quoted = (!quoted.is_empty()).then(|| format!("it said: {quoted}"));
        let parts: Vec<String> =
            [inner.fault.clone(), inner.exit.clone(), quoted].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// What comes after the first line, or the first word where there is but one line: the
/// rest of a secret that was cut off is not known as one.
fn behind_cut(text: &str) -> &str {
    let (_, behind) = text.split_once(['\n', '\r']).unwrap_or_default();
    if !behind.trim().is_empty() {
        return behind;
    }
    text.split_once(char::is_whitespace).map_or("", |(_, behind)| behind)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test]
    async fn an_error_quotes_the_last_lines_and_keeps_no_more_than_its_bound() {
        let said = Said::default();
        let lines: Vec<String> = (0..5_000).map(|line| format!("line {line}")).collect();
        said.listen(lines.join("\n").as_bytes()).await;
        said.heard_all().await;
        assert!(said.inner().tail.len() <= KEPT);
        let words = said.words().unwrap();
        assert_eq!(words, "it said: line 4995 | line 4996 | line 4997 | line 4998 | line 4999");
    }

    #[tokio::test]
    async fn what_is_left_of_a_long_line_begins_with_a_whole_word() {
        let said = Said::default();
        let secret = "s".repeat(KEPT);
        said.listen(format!("token {secret} is refused").as_bytes()).await;
        assert_eq!(said.words().unwrap(), "it said: is refused");
        let said = Said::default();
        said.listen(format!("{secret}{secret}").as_bytes()).await;
        assert_eq!(said.words(), None);
    }

    #[test]
    fn a_child_that_said_nothing_has_no_words() {
        assert_eq!(Said::default().words(), None);
    }
}
