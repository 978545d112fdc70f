//! The pod's token, read within a time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io, thread};

use async_trait::async_trait;
use foundry_client::{TokenError, TokenSource};
use secrecy::SecretString;
use tokio::sync::{Mutex, oneshot};
use tokio::time::timeout;

/// How long a read may take. It is a small file, in memory as a rule.
const WITHIN: Duration = Duration::from_secs(5);
/// The thread only reads a small file.
const STACK: usize = 64 * 1024;

type Token = Result<SecretString, TokenError>;

/// A token in a file that somebody else renews, read again on each use, by a file system
/// that may be dead: a call then fails and says so, where it would wait for ever.
///
/// A read has a thread of its own: name look-ups that hang must not pass for a file that
/// does. However many calls come, one read is out at a time.
pub struct MountedToken {
    path: PathBuf,
    read: Arc<dyn Fn(&Path) -> Token + Send + Sync>,
    within: Duration,
    /// The read that is out, and that whoever comes next goes on waiting for.
    out: Mutex<Option<oneshot::Receiver<Token>>>,
}

impl fmt::Debug for MountedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MountedToken").field("path", &self.path).finish_non_exhaustive()
    }
}

impl MountedToken {
    /// Reads from `path` on each use.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), read: Arc::new(read), within: WITHIN, out: Mutex::default() }
    }

    async fn read(&self) -> Token {
        let mut out = self.out.lock().await;
        let reading = match &mut *out {
            Some(reading) => reading,
            None => out.insert(self.begin()?),
        };
        let came = reading.await;
        *out = None;
        came.unwrap_or_else(|_| Err(self.unreadable(io::Error::other("its reader broke off"))))
    }

    fn begin(&self) -> Result<oneshot::Receiver<Token>, TokenError> {
        let (tell, told) = oneshot::channel();
        let (path, read) = (self.path.clone(), self.read.clone());
        thread::Builder::new()
            .name("token".to_owned())
            .stack_size(STACK)
            // Where nobody waits any more, the token is let go.
            .spawn(move || drop(tell.send(read(&path))))
            .map_err(|error| self.unreadable(error))?;
        Ok(told)
    }

    fn unreadable(&self, source: io::Error) -> TokenError {
        TokenError::Unreadable { path: self.path.clone(), source }
    }
}

#[async_trait]
impl TokenSource for MountedToken {
    async fn token(&self) -> Token {
        timeout(self.within, self.read()).await.unwrap_or_else(|_| {
            let words = format!("not read within {} s", self.within.as_secs_f32());
            Err(self.unreadable(io::Error::new(io::ErrorKind::TimedOut, words)))
        })
    }
}

fn read(path: &Path) -> Token {
    let content = std::fs::read_to_string(path)
        .map_err(|source| TokenError::Unreadable { path: path.to_owned(), source })?;
    match content.trim() {
        "" => Err(TokenError::Empty { path: path.to_owned() }),
        token => Ok(SecretString::from(token)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex as Blocking, mpsc};

    use pretty_assertions::assert_eq;
    use secrecy::ExposeSecret;

    use super::*;

    /// A file that is read once the test lets it, and how often that was begun.
    fn held() -> (mpsc::Sender<&'static str>, Arc<AtomicUsize>, MountedToken) {
        let (lets, held) = mpsc::channel();
        let (begun, held) = (Arc::new(AtomicUsize::new(0)), Blocking::new(held));
        let counted = begun.clone();
        let read = move |_: &Path| {
            counted.fetch_add(1, Ordering::SeqCst);
            let token: &str = held.lock().unwrap().recv().unwrap_or_default();
            Ok(SecretString::from(token))
        };
        let token = MountedToken {
            read: Arc::new(read),
            within: Duration::from_millis(50),
            ..MountedToken::new(Path::new("/run/token"))
        };
        (lets, begun, token)
    }

    /// LOOP-24
    #[tokio::test]
    async fn a_read_that_never_ends_is_a_failure_that_names_the_file_and_no_heap_of_reads() {
        let (_never, begun, token) = held();
        for _ in 0..3 {
            let error = token.token().await.unwrap_err().to_string();
            assert_eq!(error, "failed to read token file /run/token: not read within 0.05 s");
        }
        assert_eq!(begun.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_read_that_took_too_long_serves_whoever_comes_next_and_then_the_file_is_read_anew() {
        let (lets, begun, token) = held();
        token.token().await.unwrap_err();
        for (number, expected) in ["late", "new"].into_iter().enumerate() {
            lets.send(expected).unwrap();
            assert_eq!(token.token().await.unwrap().expose_secret(), expected);
            assert_eq!(begun.load(Ordering::SeqCst), number + 1);
        }
    }

    #[tokio::test]
    async fn a_token_is_what_the_file_holds_now() {
        let path = std::env::temp_dir().join(format!("foundry-token-{}", std::process::id()));
        let token = MountedToken::new(&path);
        assert!(matches!(token.token().await, Err(TokenError::Unreadable { .. })));
        for (content, expected) in [("one\n", Some("one")), (" \n", None), ("two", Some("two"))] {
            std::fs::write(&path, content).unwrap();
            let read = token.token().await;
            assert_eq!(read.as_ref().ok().map(ExposeSecret::expose_secret), expected);
            assert_eq!(matches!(read, Err(TokenError::Empty { .. })), expected.is_none());
        }
        std::fs::remove_file(path).unwrap();
    }
}
