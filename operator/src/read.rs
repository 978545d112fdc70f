//! Reads that no cache answers, each with a deadline.

use std::future::Future;
use std::time::Duration;

use crate::error::Error;

/// How long one read may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// Runs one read within the deadline and says what it was for when it fails.
pub async fn bounded<T>(
    kind: &'static str,
    name: &str,
    read: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(DEADLINE, read).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => {
            Err(Error::Read { kind, name: name.to_owned(), source: Box::new(source) })
        }
        Err(_) => Err(Error::Deadline {
            verb: "read",
            kind: kind.to_owned(),
            name: name.to_owned(),
            seconds: DEADLINE.as_secs(),
        }),
    }
}
