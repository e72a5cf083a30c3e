//! Several engines on one file at once.

use crate::support::Open;
use kernel::{Id, SystemClock};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use store::sqlite::Event;

#[test]
fn engines_that_mint_at_once_never_issue_a_number_twice_and_group_what_waits() {
    const ENGINES: usize = 4;
    const CALLERS: usize = 6;
    const MINTS: i64 = 40;
    let dir = tempfile::tempdir().unwrap();
    let engines: Vec<_> = (0..ENGINES).map(|_| Open::new(dir.path(), Arc::new(SystemClock))).collect();
    let issued = Mutex::new(BTreeSet::new());
    let total = AtomicI64::new(0);
    thread::scope(|scope| {
        for open in &engines {
            for _ in 0..CALLERS {
                scope.spawn(|| {
                    for n in 0..MINTS {
                        let mut body = json!({ "scope": "adr", "count": n % 3 + 1 });
                        if n % 2 == 0 {
                            body["request"] = Id::random().as_str().into();
                        }
                        let answer = open.get("mint", body.clone());
                        if n % 8 == 0 {
                            assert_eq!(open.get("mint", body), answer, "a repeat has the same answer");
                        }
                        let (first, last) =
                            (answer["first"].as_i64().unwrap(), answer["last"].as_i64().unwrap());
                        assert_eq!(last - first + 1, n % 3 + 1);
                        total.fetch_add(n % 3 + 1, Ordering::SeqCst);
                        let mut issued = issued.lock().unwrap();
                        for number in first..=last {
                            assert!(issued.insert(number), "{number} was issued twice");
                        }
                    }
                });
            }
        }
    });
    let (issued, total) = (issued.into_inner().unwrap(), total.into_inner());
    assert_eq!(issued, (1..=total).collect(), "no number was lost either");
    let commits: usize =
        engines.iter().map(|open| open.tape.take().iter().filter(|e| **e == Event::Commit).count()).sum();
    let calls = ENGINES * CALLERS * usize::try_from(MINTS).unwrap();
    assert!(commits < calls, "{commits} transactions for {calls} mints");
}

#[test]
fn engines_that_cycle_through_the_queue_never_give_two_turns() {
    let dir = tempfile::tempdir().unwrap();
    let engines: Vec<_> = (0..3).map(|_| Open::new(dir.path(), Arc::new(SystemClock))).collect();
    let (taken, latest) = (AtomicBool::new(false), AtomicI64::new(0));
    thread::scope(|scope| {
        for open in &engines {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..12 {
                        let (stay, mut view) = open.enter();
                        while view["turn"] != true {
                            view = open.get("queue/wait", stay.clone());
                        }
                        assert!(!taken.swap(true, Ordering::SeqCst), "two turns at once");
                        let turn = view["turnNo"].as_i64().unwrap();
                        assert!(latest.swap(turn, Ordering::SeqCst) < turn, "turn numbers grow");
                        thread::yield_now();
                        assert!(taken.swap(false, Ordering::SeqCst));
                        open.leave(&stay);
                    }
                });
            }
        }
    });
    assert_eq!(latest.into_inner(), 3 * 3 * 12);
}
