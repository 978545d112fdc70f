//! A planted key is looked for in everything that comes out.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fakes::model::{Break, ModelServer, Point, Raw, Reply};
use foundry_crds::model::Provider;
use foundry_relay::{Limits, Wire};
use pretty_assertions::assert_eq;
use tracing_subscriber::fmt::MakeWriter;

use crate::setup::{KEY, read, setup_with, streamed};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn shows(bytes: &[u8], what: &str) -> bool {
    bytes.windows(what.len()).any(|window| window == what.as_bytes())
}

/// A provider that says the key back, in words and in a header.
fn tattling() -> Raw {
    let body = format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}.\"}}}}");
    let mut raw = Raw::new(401, "application/json", body).in_chunks_of(5);
    raw.headers.push(("x-request-id".into(), format!("for-{KEY}")));
    raw
}

/// BIND-11
#[tokio::test]
async fn a_key_shows_in_no_response_log_line_error_or_record() {
    let logs = Captured::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(logs.clone())
        .finish();
    // For the whole process, so that no other thread's cached disinterest hides a line;
    // the other tests' lines, which concern the same key, are searched too.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let limits = Limits { headers: Duration::from_secs(5), idle: Duration::from_millis(300) };
    let setup = setup_with(limits).await;
    let model = ModelServer::start().await;
    setup.model("house", Provider::OpenAi, &model.url());
    setup.model("nobody", Provider::OpenAi, "http://127.0.0.1:9/v1");
    model.script([
        Reply::text("Fine."),
        Reply::raw(tattling()),
        Reply::text("Half.").broken(Point::Text, Break::Reset),
        Reply::text("Half.").broken(Point::Text, Break::Silence),
    ]);

    let mut out: Vec<u8> = Vec::new();
    let mut statuses = Vec::new();
    for (name, key) in [
        ("house", KEY.to_owned()),
        ("house", KEY.to_owned()),
        ("house", KEY.to_owned()),
        ("house", KEY.to_owned()),
        ("nobody", KEY.to_owned()),
        ("house", format!("{KEY}\n{KEY}")),
        ("unknown", KEY.to_owned()),
    ] {
        setup.key(&key);
        let answer = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, name)).await;
        out.extend(format!("{:?}", answer.headers()).bytes());
        let (status, body) = read(answer).await;
        statuses.push(status.as_u16());
        match body {
            Ok(bytes) => out.extend(bytes),
            Err(error) => out.extend(format!("{error} {error:?}").bytes()),
        }
    }
    assert_eq!(statuses, [200, 401, 200, 200, 502, 503, 404]);
    setup.relay.close().await;
    assert_eq!(setup.usage().await.len(), 3);
    assert!(shows(&out, &"*".repeat(KEY.len())), "the provider said it, and it was struck out");

    setup.store.close().await;
    for file in std::fs::read_dir(setup.folder.path()).unwrap() {
        out.extend(std::fs::read(file.unwrap().path()).unwrap());
    }
    let logs = logs.0.lock().unwrap().clone();
    assert!(shows(&logs, "model call metered") && shows(&logs, "model call refused"));
    assert!(model.requests().iter().all(|sent| sent.key() == Some(KEY)), "it was used");
    for part in [KEY, &KEY[..KEY.len() - 1], "0123456789-abc"] {
        assert!(!shows(&out, part), "{part} came out");
        assert!(!shows(&logs, part), "{part} was logged");
    }
}
