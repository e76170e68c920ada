#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use futures_util::{FutureExt as _, future::join_all};

use super::*;

const WAIT: Duration = Duration::from_secs(1);

fn semaphore(total: usize, per_key: usize) -> FairSemaphore {
    FairSemaphore::new(Capacity { total, per_key, waiting: 1000, waiting_per_key: 100 })
}

fn now(semaphore: &FairSemaphore, key: &str, amount: usize) -> Grant {
    semaphore.acquire(key, amount, WAIT).now_or_never().expect("it waits").unwrap()
}

/// True if nothing is held and nobody waits, also in the bookkeeping.
fn is_unused(semaphore: &FairSemaphore) -> bool {
    let state = semaphore.0.lock();
    state.free == semaphore.0.capacity.total
        && state.waiting == 0
        && state.keys.is_empty()
        && state.turns.is_empty()
}

#[tokio::test(start_paused = true)]
async fn a_key_is_refused_after_its_wait_and_another_key_is_not() {
    let semaphore = semaphore(4, 2);
    let held = [now(&semaphore, "a", 1), now(&semaphore, "a", 1)];
    assert_eq!(semaphore.acquire("a", 1, WAIT).await.unwrap_err(), Refused::Busy);
    drop(now(&semaphore, "b", 2));
    drop(held);
    assert!(is_unused(&semaphore));
}

#[tokio::test(start_paused = true)]
async fn keys_that_wait_take_turns() {
    let semaphore = semaphore(1, 1);
    let held = now(&semaphore, "first", 1);
    let order = Mutex::new(Vec::new());
    let wait_as = async |key: &'static str| {
        let grant = semaphore.acquire(key, 1, WAIT).await.unwrap();
        order.lock().unwrap().push(key);
        drop(grant);
    };
    let mut waiting: Vec<_> =
        ["a", "a", "a", "b", "c"].into_iter().map(|key| Box::pin(wait_as(key))).collect();
    for future in &mut waiting {
        assert!(future.now_or_never().is_none());
    }
    drop(held);
    join_all(waiting).await;
    assert_eq!(*order.lock().unwrap(), ["a", "b", "c", "a", "a"]);
    assert!(is_unused(&semaphore));
}

#[tokio::test(start_paused = true)]
async fn a_large_amount_is_not_starved_by_small_ones() {
    let semaphore = semaphore(4, 4);
    let held = now(&semaphore, "small", 2);
    let mut large = Box::pin(semaphore.acquire("large", 4, WAIT));
    assert!((&mut large).now_or_never().is_none());
    let mut small = Box::pin(semaphore.acquire("small", 1, WAIT));
    assert!((&mut small).now_or_never().is_none(), "it is behind the large one");
    drop(held);
    let large = large.await.unwrap();
    assert!((&mut small).now_or_never().is_none());
    drop(large);
    drop(small.await.unwrap());
    assert!(is_unused(&semaphore));
}

#[tokio::test(start_paused = true)]
async fn a_key_at_its_bound_does_not_block_others() {
    let semaphore = semaphore(10, 1);
    let held = now(&semaphore, "a", 1);
    let mut waiting = Box::pin(semaphore.acquire("a", 1, WAIT));
    assert!((&mut waiting).now_or_never().is_none());
    let mut other = Box::pin(semaphore.acquire("b", 1, WAIT));
    drop((&mut other).now_or_never().expect("b waits for a").unwrap());
    drop(other);
    drop(held);
    drop(waiting.await.unwrap());
    assert!(is_unused(&semaphore));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_acquisition_gives_back_what_it_was_granted() {
    let semaphore = semaphore(1, 1);
    let held = now(&semaphore, "a", 1);
    let mut cancelled = Box::pin(semaphore.acquire("b", 1, WAIT));
    assert!((&mut cancelled).now_or_never().is_none());
    let mut next = Box::pin(semaphore.acquire("c", 1, WAIT));
    assert!((&mut next).now_or_never().is_none());
    // Granted, and not received yet.
    drop(held);
    drop(cancelled);
    drop((&mut next).now_or_never().expect("the grant is lost").unwrap());
    drop(next);

    let held = now(&semaphore, "a", 1);
    let mut cancelled = Box::pin(semaphore.acquire("a", 1, WAIT));
    assert!((&mut cancelled).now_or_never().is_none());
    drop(cancelled);
    drop(held);
    assert!(is_unused(&semaphore));
}

#[tokio::test(start_paused = true)]
async fn queues_are_bounded_for_a_key_and_in_all() {
    let capacity = Capacity { total: 1, per_key: 1, waiting: 3, waiting_per_key: 2 };
    let semaphore = FairSemaphore::new(capacity);
    let held = now(&semaphore, "a", 1);
    let mut waiting: Vec<_> = ["a", "a", "b"].map(|key| Box::pin(semaphore.acquire(key, 1, WAIT))).into();
    for future in &mut waiting {
        assert!(future.now_or_never().is_none());
    }
    for key in ["a", "c"] {
        assert_eq!(semaphore.acquire(key, 1, WAIT).await.unwrap_err(), Refused::QueueFull, "{key}");
    }
    drop((held, waiting));
    assert!(is_unused(&semaphore));
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_shrinks_makes_room() {
    let semaphore = semaphore(4, 4);
    let mut held = now(&semaphore, "a", 4);
    let mut waiting = Box::pin(semaphore.acquire("a", 3, WAIT));
    assert!((&mut waiting).now_or_never().is_none());
    held.shrink(2);
    assert!((&mut waiting).now_or_never().is_none());
    held.shrink(1);
    held.shrink(1);
    let granted = waiting.await.unwrap();
    assert_eq!((held.amount(), granted.amount()), (1, 3));
    drop((held, granted));
    assert!(is_unused(&semaphore));
}
