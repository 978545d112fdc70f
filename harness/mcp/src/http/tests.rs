use pretty_assertions::assert_eq;
use rmcp::model::ErrorData;
use rmcp::transport::streamable_http_client::SseError;
use rstest::rstest;

use super::*;

fn error(id: Option<RequestId>, words: &str) -> StreamableHttpPostResponse {
    let data = ErrorData::invalid_request(words.to_owned(), None);
    StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(data, id), None)
}

fn id_of(response: StreamableHttpPostResponse) -> Option<RequestId> {
    match response {
        StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), _) => error.id,
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case("Bad Request: No valid session ID provided")]
#[case("Session not found")]
#[case("Bad Request: Server not initialized")]
#[case("Session has been terminated")]
fn an_answer_that_knows_no_session_is_a_dead_session(#[case] words: &str) {
    let fault = answered(error(None, words), RequestId::Number(7), true).unwrap_err();
    assert!(matches!(fault, HttpFault::SessionExpired), "{fault:?}");
}

#[test]
fn an_error_without_an_id_reaches_the_call_that_it_answers() {
    let response = answered(error(None, "Parse error"), RequestId::Number(7), true).unwrap();
    assert_eq!(id_of(response), Some(RequestId::Number(7)));
}

#[test]
fn a_tools_own_words_about_sessions_are_an_answer() {
    let own = Some(RequestId::Number(7));
    let response = answered(error(own.clone(), "session not found"), RequestId::Number(7), true);
    assert_eq!(id_of(response.unwrap()), own);
}

#[tokio::test]
async fn why_a_stream_broke_off_is_told_of_the_call_that_it_answered() {
    let (heard, asked) = (Heard::default(), RequestId::Number(7));
    let breaks = futures::stream::iter([Err(SseError::InvalidLine)]).boxed();
    let response = StreamableHttpPostResponse::Sse(breaks, None);
    let StreamableHttpPostResponse::Sse(mut watched, _) = heard.watching(response, asked.clone())
    else {
        panic!("no stream");
    };
    assert!(watched.next().await.unwrap().is_err());
    assert!(heard.take_trouble(&RequestId::Number(8)).is_none());
    assert_eq!(heard.take_trouble(&asked).unwrap().words, "invalid line");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_keeps_breaking_is_fetched_ever_slower_and_then_not_at_all() {
    let policy = Resuming::default();
    let waits: Vec<_> =
        (0..8).filter_map(|_| policy.retry(0)).map(|wait| wait.as_millis()).collect();
    assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    assert_eq!(policy.retry(RESUMES), None);
    tokio::time::advance(RESUME_FORGIVEN * 2).await;
    assert_eq!(policy.retry(0), Some(RESUME_FIRST));
}

#[tokio::test(start_paused = true)]
async fn a_turns_streams_are_fetched_at_once_and_a_flood_of_them_slowly() {
    let (client, began) = (client(), Instant::now());
    for _ in 0..FETCH_BURST {
        client.keep_apart().await;
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    for _ in 0..8 {
        client.keep_apart().await;
    }
    assert_eq!(began.elapsed(), FETCH_APART * 8);
}

fn client() -> Client {
    // Without TLS, which no test here speaks.
    let inner = reqwest::Client::builder().tls_certs_only(std::iter::empty()).build().unwrap();
    Client {
        inner,
        redactor: Redactor::default(),
        heard: Heard::default(),
        fetched: Arc::default(),
    }
}
