#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use http_body_util::BodyExt as _;

use super::*;
use crate::answer::MAX_PIECE_BYTES;

const MIB: usize = 1024 * 1024;

fn limits() -> Limits {
    Limits::new(options())
}

fn options() -> Options {
    Options {
        requests: Bound { total: 3, per_caller: 2 },
        long_requests: Bound { total: 3, per_caller: 2 },
        work: Bound { total: 2, per_caller: 1 },
        bodies: Bound { total: 4 * MIB, per_caller: 2 * MIB },
        bytes: Bound { total: 4 * MIB, per_caller: 2 * MIB },
        waiting: Bound { total: 8, per_caller: 4 },
        wait: Duration::from_secs(1),
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_at_its_bound_is_refused_and_another_is_admitted() {
    let limits = limits();
    for kind in [Kind::Short, Kind::Long] {
        let _held = [limits.admit("a", kind).await.unwrap(), limits.admit("a", kind).await.unwrap()];
        assert_eq!(limits.admit("a", kind).await.unwrap_err(), Refused::Busy, "{kind:?}");
        limits.admit("b", kind).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn bytes_of_one_caller_leave_room_for_others() {
    let limits = limits();
    let hog = limits.admit("hog", Kind::Short).await.unwrap();
    // More than its share: it gets the share.
    hog.reserve(100 * MIB).await.unwrap();
    let second = limits.admit("hog", Kind::Short).await.unwrap();
    assert_eq!(second.reserve(1).await.unwrap_err(), Refused::Busy);
    let other = limits.admit("other", Kind::Short).await.unwrap();
    other.reserve(2 * MIB).await.unwrap();
    drop(hog);
    second.reserve(1).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_large_answer_holds_its_bytes_until_it_is_sent() {
    let limits = limits();
    let permit = limits.admit("a", Kind::Short).await.unwrap();
    let content = vec![7; 2 * MIB - 1];
    let mut answer = permit.answer(Response::new(Body::from(content.clone()))).await.unwrap();
    assert_eq!(answer.body().size_hint().exact(), Some(content.len() as u64));
    let waiting = limits.admit("a", Kind::Short).await.unwrap();
    assert_eq!(waiting.reserve(MIB).await.unwrap_err(), Refused::Busy);
    let mut read = Vec::new();
    while let Some(frame) = answer.body_mut().frame().await {
        let data = frame.unwrap().into_data().unwrap();
        assert!(data.len() <= MAX_PIECE_BYTES);
        read.extend_from_slice(&data);
    }
    assert_eq!(read, content);
    drop(answer);
    waiting.reserve(MIB).now_or_never().expect("the bytes are still held").unwrap();
}

#[tokio::test(start_paused = true)]
async fn clients_in_the_process_have_no_limits() {
    let permit = Permit::unlimited();
    permit.reserve(usize::MAX).await.unwrap();
    permit.answer(Response::new(Body::from(vec![0; 4 * MIB]))).await.unwrap();
}

#[tokio::test]
async fn a_calculation_keeps_its_slot_when_its_client_leaves() {
    // Of the end of the calculation on its thread; nothing else waits for it.
    let limits = Limits::new(Options { wait: Duration::from_secs(30), ..options() });
    let is_taken = || limits.0.work.acquire("a", 1, Duration::ZERO).now_or_never().is_none();
    let permit = limits.admit("a", Kind::Short).await.unwrap();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let mut abandoned = Box::pin(permit.work(move || ended.recv().is_err()));
    assert!((&mut abandoned).now_or_never().is_none());
    drop(abandoned);
    assert!(is_taken());
    let other = limits.admit("b", Kind::Short).await.unwrap();
    assert_eq!(other.work(|| 7).await.unwrap(), 7);
    drop(end);
    permit.work(|| ()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_holds_no_more_than_its_size() {
    let limits = limits();
    let permit = limits.admit("a", Kind::Short).await.unwrap();
    permit.reserve(2 * MIB).await.unwrap();
    let size = 64 * 1024;
    let _unread = permit.answer(Response::new(Body::from(vec![0; size]))).await.unwrap();
    let second = limits.admit("a", Kind::Short).await.unwrap();
    second.reserve(2 * MIB - size).now_or_never().expect("the reservation is still held").unwrap();
    let third = limits.admit("b", Kind::Short).await.unwrap();
    third.reserve(2 * MIB).now_or_never().expect("the reservation is still held").unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_read_ends_and_frees_its_bytes() {
    let limits = limits();
    let permit = limits.admit("a", Kind::Short).await.unwrap();
    let mut unread = permit.answer(Response::new(Body::from(vec![0; 2 * MIB]))).await.unwrap();
    unread.body_mut().frame().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_mins(2)).await;
    let second = limits.admit("a", Kind::Short).await.unwrap();
    second.reserve(2 * MIB).now_or_never().expect("the bytes are still held").unwrap();
    let error = unread.body_mut().frame().await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the client did not read the answer in time");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_read_slowly_is_sent_and_one_that_is_read_by_the_byte_ends() {
    for (pause, is_sent) in [(Duration::from_millis(900), true), (Duration::from_secs(50), false)] {
        let permit = limits().admit("a", Kind::Short).await.unwrap();
        let answer = permit.answer(Response::new(Body::from(vec![0; MIB]))).await.unwrap();
        let mut body = answer.into_body();
        let mut sent = 0;
        while let Some(Ok(frame)) = body.frame().await {
            sent += frame.into_data().unwrap().len();
            tokio::time::sleep(pause).await;
        }
        assert_eq!(sent == MIB, is_sent, "{pause:?}: {sent} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_be_silent_and_its_client_may_pause() {
    let permit = limits().admit("a", Kind::Long).await.unwrap();
    let lines = futures_util::stream::iter(0..3).then(|_| async {
        tokio::time::sleep(Duration::from_hours(1)).await;
        Ok::<_, std::convert::Infallible>(Bytes::from_static(b"line\n"))
    });
    let mut answer = permit.answer(Response::new(Body::from_stream(lines))).await.unwrap();
    for _ in 0..3 {
        answer.body_mut().frame().await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_hours(1)).await;
    }
    assert!(answer.body_mut().frame().await.is_none());
}
