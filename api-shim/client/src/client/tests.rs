use async_trait::async_trait;
use jiff::Timestamp;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use uuid::Uuid;

use super::*;
use crate::TokenError;
use crate::wire::RunRecord;

struct Given;

#[async_trait]
impl TokenSource for Given {
    async fn token(&self) -> Result<SecretString, TokenError> {
        Ok("t".into())
    }
}

/// A volume that hangs.
struct Never;

#[async_trait]
impl TokenSource for Never {
    async fn token(&self) -> Result<SecretString, TokenError> {
        std::future::pending().await
    }
}

fn run() -> RunRecord {
    RunRecord {
        id: Uuid::nil(),
        wake_id: None,
        reason: "tick".to_owned(),
        started_at: Timestamp::UNIX_EPOCH,
        finished_at: Timestamp::UNIX_EPOCH,
        turns: 1,
        input_tokens: 1,
        output_tokens: 1,
        outcome: "end_turn".to_owned(),
    }
}

/// What comes of a call whose one request is answered with this status and a body that no
/// version of ours writes.
async fn answered<T>(status: &str, call: impl AsyncFnOnce(Client) -> T) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        while !read.windows(4).any(|end| end == b"\r\n\r\n") || !read.ends_with(b"}") {
            socket.read_buf(&mut read).await.unwrap();
        }
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n\
             {{\"new\":1}}"
        );
        socket.write_all(answer.as_bytes()).await.unwrap();
    };
    let client = Client::new(&url, Arc::new(Given)).unwrap();
    tokio::join!(call(client), answer).0
}

/// Sent again, it would be stored twice or told as lost.
#[tokio::test]
async fn what_was_stored_is_not_doubted_for_the_words_of_the_answer() {
    let record = async |client: Client| client.record_run("ann", &run()).await;
    let log = async |client: Client| client.post_logs("ann", Vec::new()).await;
    answered("200 OK", record).await.unwrap();
    answered("200 OK", log).await.unwrap();
    let refused = answered("503 Service Unavailable", log).await.unwrap_err();
    assert_eq!(refused.status(), Some(503));
}

#[tokio::test(start_paused = true)]
async fn a_token_that_never_comes_ends_the_call_in_the_time_of_a_call() {
    let client = Client::new("http://127.0.0.1:9", Arc::new(Never)).unwrap();
    let before = tokio::time::Instant::now();
    let error = client.record_run("ann", &run()).await.unwrap_err();
    assert!(error.to_string().contains("none came within 15s"), "{error}");
    assert_eq!(before.elapsed().as_secs(), READ_TIMEOUT.as_secs());
}
