use std::convert::Infallible;

use super::*;

const IDLE: Duration = Duration::from_secs(90);
const TOTAL: Duration = Duration::from_mins(10);

fn bounds() -> Bounds {
    Bounds { idle: IDLE, deadline: Instant::now() + TOTAL, total: TOTAL, bytes: 1000 }
}

/// A body that sends `piece` again and again, `pause` apart, and never ends.
fn endless(
    piece: &'static str,
    pause: Duration,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + Unpin {
    Box::pin(futures::stream::unfold((), move |()| async move {
        tokio::time::sleep(pause).await;
        Some((Ok(Bytes::from_static(piece.as_bytes())), ()))
    }))
}

/// KERN-14
#[tokio::test(start_paused = true)]
async fn a_stream_silent_for_ninety_seconds_is_cancelled() {
    let start = Instant::now();
    let body = endless("late", Duration::from_hours(1));
    let (received, fault) = collect(timed(body, bounds(), Head::default())).await;
    assert_eq!((received, fault), (Vec::new(), Some(Fault::Idle(IDLE))));
    assert_eq!(start.elapsed(), IDLE);
}

#[tokio::test(start_paused = true)]
async fn comments_keep_a_stream_alive_until_the_last_clock_ends_it() {
    let start = Instant::now();
    let body = endless(": alive\n", Duration::from_secs(61));
    let (received, fault) = collect(timed(body, bounds(), Head::default())).await;
    assert_eq!(fault, Some(Fault::Overdue(TOTAL)));
    assert_eq!(start.elapsed(), TOTAL);
    assert_eq!(received.len(), 9 * ": alive\n".len());
}

#[tokio::test(start_paused = true)]
async fn empty_chunks_are_no_sign_of_life() {
    let body = endless("", Duration::from_mins(1));
    let (_, fault) = collect(timed(body, bounds(), Head::default())).await;
    assert_eq!(fault, Some(Fault::Idle(IDLE)));
}

#[tokio::test(start_paused = true)]
async fn a_body_beyond_its_bound_ends_there() {
    let body = endless("0123456789", Duration::from_millis(1));
    let (received, fault) = collect(timed(body, bounds(), Head::default())).await;
    assert_eq!((received.len(), fault), (1000, Some(Fault::TooLarge(1000))));
}

#[tokio::test]
async fn what_fits_of_a_chunk_beyond_the_bound_is_kept() {
    let chunk = || Bytes::from("x".repeat(70_000));
    for chunks in [vec![chunk()], vec![Bytes::from("HTTP"), chunk()], vec![chunk(), chunk()]] {
        let body = futures::stream::iter(chunks.into_iter().map(Ok::<_, Infallible>));
        let (received, fault) = collect(timed(body, bounds(), Head::default())).await;
        assert_eq!((received.len(), fault), (1000, Some(Fault::TooLarge(1000))));
    }
}

#[tokio::test(start_paused = true)]
async fn clocks_beyond_counting_never_end_a_stream() {
    let idle = Duration::MAX;
    let deadline = later(Instant::now(), Duration::MAX);
    let bounds = Bounds { idle, deadline, total: Duration::MAX, bytes: 20 };
    let body = endless("0123456789", Duration::from_hours(24));
    let (received, fault) = collect(timed(body, bounds, Head::default())).await;
    assert_eq!((received.len(), fault), (20, Some(Fault::TooLarge(20))));
}

#[tokio::test]
async fn the_first_bytes_are_kept_to_quote() {
    let head = Head::default();
    let chunks = [Ok::<_, Infallible>(Bytes::from("<html>")), Ok(Bytes::from("Bad gateway"))];
    collect(timed(futures::stream::iter(chunks), bounds(), head.clone())).await;
    assert_eq!(head.quote(), "<html>Bad gateway");
}
