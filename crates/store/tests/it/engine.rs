//! The engine's manners: grouping, parking, waking, bounded waits, and what happens to one caller when
//! another fails.

use crate::support::{ManualClock, Open, PATIENCE, and, code, json, occupied};
use kernel::{Clock, Id, Limits, SystemClock};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::sqlite::Event;
use store::{Calls, Model};

fn statements(events: &[Event]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|e| if let Event::Statement(sql) = e { Some(sql.as_str()) } else { None })
        .collect()
}

#[test]
fn a_mint_is_one_statement_that_reads_and_writes() {
    let dir = tempfile::tempdir().unwrap();
    let open = Open::new(dir.path(), ManualClock::new());
    open.get("mint", json!({ "scope": "adr" }));
    open.tape.take();
    assert_eq!(open.get("mint", json!({ "scope": "adr" }))["last"], 2);
    let events = open.tape.take();
    let touching: Vec<_> = statements(&events).into_iter().filter(|sql| sql.contains("lines")).collect();
    assert_eq!(touching.len(), 1, "{touching:?}");
    assert!(touching[0].starts_with("INSERT INTO lines") && touching[0].contains("RETURNING value"));
    assert_eq!(events.iter().filter(|e| **e == Event::Commit).count(), 1);
}

#[test]
fn mints_that_wait_together_are_one_transaction_and_one_statement_dealt_out_in_call_order() {
    let dir = tempfile::tempdir().unwrap();
    let open = Open::new(dir.path(), ManualClock::new());
    let occupied = occupied(&open.file);
    let answers: Vec<_> = (0..50)
        .map(|n| {
            open.send("mint", json!({ "scope": "adr", "count": n % 3 + 1, "request": Id::random().as_str() }))
        })
        .collect();
    occupied.execute_batch("COMMIT").unwrap();
    let mut last = 0;
    for (n, answer) in answers.iter().enumerate() {
        let answer = json(&answer.recv_timeout(PATIENCE).unwrap());
        assert_eq!(answer["first"], last + 1);
        last = answer["last"].as_i64().unwrap();
        assert_eq!(answer["count"], i64::try_from(n).unwrap() % 3 + 1);
    }
    let events = open.tape.take();
    assert_eq!(events.iter().filter(|e| **e == Event::Begin).count(), 1, "{events:?}");
    assert_eq!(statements(&events).iter().filter(|sql| sql.starts_with("INSERT INTO lines")).count(), 1);
}

#[test]
fn two_copies_of_one_request_have_one_effect_and_one_answer() {
    let dir = tempfile::tempdir().unwrap();
    let open = Open::new(dir.path(), ManualClock::new());
    let occupied = occupied(&open.file);
    let request = Id::random();
    let body = json!({ "scope": "adr", "request": request.as_str() });
    let other = open.send("mint", json!({ "scope": "adr" }));
    let copies: Vec<_> = (0..3).map(|_| open.send("mint", body.clone())).collect();
    let reused = open.send("mint", and(&body, json!({ "count": 2 })));
    occupied.execute_batch("COMMIT").unwrap();
    let answers: Vec<_> = copies.iter().map(|copy| copy.recv_timeout(PATIENCE).unwrap().unwrap()).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(code(&reused.recv_timeout(PATIENCE).unwrap()), "request_reused");
    other.recv_timeout(PATIENCE).unwrap().unwrap();
    assert_eq!(open.get("mint", json!({ "scope": "adr" }))["last"], 3);
}

#[test]
fn in_a_mixed_group_a_refused_floor_spoils_nobody_and_a_repeat_finds_the_same_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let open = Open::new(dir.path(), ManualClock::new());
    open.get("mint", json!({ "scope": "adr" }));
    let occupied = occupied(&open.file);
    let with =
        |body: serde_json::Value| and(&body, json!({ "scope": "adr", "request": Id::random().as_str() }));
    let bodies = [
        with(json!({ "count": 5 })),
        with(json!({ "floor": 100_000 })),
        with(json!({ "floor": 50, "count": 2 })),
        with(json!({ "count": 3 })),
    ];
    let answers = bodies.clone().map(|body| open.send("mint", body));
    let lift = open.send("project/lift", json!({ "lines": [{ "scope": "other", "value": 7 }] }));
    occupied.execute_batch("COMMIT").unwrap();
    let answers = answers.map(|answer| answer.recv_timeout(PATIENCE).unwrap());
    assert_eq!(json(&answers[0])["first"], 2);
    assert_eq!(code(&answers[1]), "floor_too_far");
    assert_eq!(json(&answers[2])["first"], 51);
    assert_eq!(json(&answers[3])["first"], 7);
    assert_eq!(json(&lift.recv_timeout(PATIENCE).unwrap())["lines"][0]["value"], 7);
    for (body, answer) in bodies.into_iter().zip(answers) {
        if answer.is_ok() {
            assert_eq!(open.ask("mint", body), answer);
        }
    }
}

#[test]
fn a_lift_and_mints_of_one_group_keep_the_order_of_the_calls() {
    let dir = tempfile::tempdir().unwrap();
    let open = Open::new(dir.path(), ManualClock::new());
    let occupied = occupied(&open.file);
    let lift = |value: i64| json!({ "lines": [{ "scope": "adr", "value": value }] });
    let calls = [
        ("mint", json!({ "scope": "adr" })),
        ("project/lift", lift(50)),
        ("mint", json!({ "scope": "adr" })),
        ("mint", json!({ "scope": "adr", "floor": 60 })),
        ("project/lift", lift(3)),
        ("mint", json!({ "scope": "adr" })),
    ];
    let answers = calls.map(|(name, body)| open.send(name, body));
    occupied.execute_batch("COMMIT").unwrap();
    let answers = answers.map(|answer| json(&answer.recv_timeout(PATIENCE).unwrap()));
    assert_eq!(answers[0]["last"], 1);
    assert_eq!(answers[1]["lines"][0]["value"], 50);
    assert_eq!(answers[2]["last"], 51);
    assert_eq!(answers[3]["last"], 61);
    assert_eq!(answers[4]["lines"][0]["value"], 61);
    assert_eq!(answers[5]["last"], 62);
}

#[test]
fn the_bounded_wait_ends_after_two_seconds_with_busy_and_nothing_changed() {
    let dir = tempfile::tempdir().unwrap();
    let open = Open::new(dir.path(), ManualClock::new());
    let occupied = occupied(&open.file);
    let began = Instant::now();
    let answer = open.ask("mint", json!({ "scope": "adr" }));
    assert_eq!(code(&answer), "busy");
    assert!((Duration::from_millis(1_900)..Duration::from_secs(10)).contains(&began.elapsed()));
    occupied.execute_batch("COMMIT").unwrap();
    assert_eq!(open.get("mint", json!({ "scope": "adr" }))["first"], 1);
}

#[test]
fn a_caller_that_panics_or_is_gone_touches_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let open = Open::new(dir.path(), ManualClock::new());
    let occupied = occupied(&open.file);
    open.desk
        .submit(open.call("mint", json!({ "scope": "adr" })), Box::new(|_| panic!("a caller's own defect")));
    drop(open.send("mint", json!({ "scope": "adr" })));
    let answer = open.send("mint", json!({ "scope": "adr" }));
    occupied.execute_batch("COMMIT").unwrap();
    assert_eq!(json(&answer.recv_timeout(PATIENCE).unwrap())["last"], 3);
}

#[test]
fn a_waiter_of_another_engine_is_told_when_the_holder_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let (a, b) = (Open::new(dir.path(), clock.clone()), Open::new(dir.path(), clock));
    let (holder, first) = a.enter();
    assert_eq!(first["turn"], true);
    let (waiter, second) = b.enter();
    assert_eq!(second["position"], 1);
    let mark = b.get("queue/list", json!({}))["mark"].clone();
    let turn = b.send("queue/wait", waiter);
    let list = a.send("queue/list", json!({ "after": mark, "timeoutMs": 50_000 }));
    b.await_parked(1);
    a.await_parked(1);
    a.leave(&holder);
    assert_eq!(json(&turn.recv_timeout(PATIENCE).unwrap())["turn"], true);
    assert_ne!(json(&list.recv_timeout(PATIENCE).unwrap())["mark"], mark);
}

#[test]
fn without_a_doorbell_the_waiter_is_told_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("state.bell")).unwrap();
    let clock = ManualClock::new();
    let (a, b) = (Open::new(dir.path(), clock.clone()), Open::new(dir.path(), clock));
    let (holder, _) = a.enter();
    let (waiter, _) = b.enter();
    let turn = b.send("queue/wait", waiter);
    b.await_parked(1);
    a.leave(&holder);
    assert_eq!(json(&turn.recv_timeout(PATIENCE).unwrap())["turn"], true);
}

#[test]
fn a_jump_of_the_clock_ends_a_wait_or_gives_it_the_turn() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let open = Open::new(dir.path(), clock.clone());
    open.enter();
    let (waiter, _) = open.enter();
    let wait = open.send("queue/wait", and(&waiter, json!({ "timeoutMs": 30_000 })));
    open.await_parked(1);
    clock.advance(30_000);
    assert_eq!(json(&wait.recv_timeout(PATIENCE).unwrap())["turn"], false);

    clock.advance(open.limits.lease_ms - 30_001);
    let wait = open.send("queue/wait", waiter);
    open.await_parked(1);
    clock.advance(1);
    assert_eq!(json(&wait.recv_timeout(PATIENCE).unwrap())["turn"], true);
}

#[test]
fn dropping_the_engine_answers_those_who_wait() {
    let dir = tempfile::tempdir().unwrap();
    let mut open = Open::new(dir.path(), ManualClock::new());
    open.enter();
    let (waiter, _) = open.enter();
    let wait = open.send("queue/wait", waiter);
    open.await_parked(1);
    drop(open.engine.take());
    assert_eq!(code(&wait.recv_timeout(PATIENCE).unwrap()), "busy");
    assert_eq!(code(&open.ask("mint", json!({ "scope": "adr" }))), "busy");
}

#[test]
fn an_idle_engine_with_nothing_parked_does_nothing() {
    let dir = tempfile::tempdir().unwrap();
    #[derive(Debug)]
    struct Counting(std::sync::atomic::AtomicU64);
    impl Clock for Counting {
        fn now(&self) -> kernel::Millis {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            SystemClock.now()
        }
    }
    let clock = Arc::new(Counting(0.into()));
    let open = Open::new(dir.path(), clock.clone());
    open.get("mint", json!({ "scope": "adr" }));
    let looks = clock.0.load(std::sync::atomic::Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(clock.0.load(std::sync::atomic::Ordering::SeqCst), looks);
}

#[test]
fn the_model_parks_wakes_and_times_as_an_engine_does() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let open = Open::new(dir.path(), clock.clone());
    let slice = landing::Slice { box_id: open.file.box_id().as_str().into(), ..Default::default() };
    let model: Model<landing::Landing> = Model::new(slice, Limits::default(), clock.clone());
    let send = |name: &str, body: serde_json::Value| {
        let (send, receive) = std::sync::mpsc::channel();
        model.submit(open.call(name, body), Box::new(move |answer| drop(send.send(answer))));
        receive
    };
    let enter = |n: u8| {
        let ticket = format!("00000000-0000-4000-8000-00000000000{n}");
        let body = json!({ "ticket": ticket, "branch": "b", "head": "a".repeat(40), "label": "l" });
        let entry = json(&send("queue/enter", body).recv_timeout(PATIENCE).unwrap())["entry"].clone();
        json!({ "ticket": ticket, "entry": entry })
    };
    let (holder, second, third) = (enter(1), enter(2), enter(3));
    let wait = send("queue/wait", second);
    let timed = send("queue/wait", and(&third, json!({ "timeoutMs": 5_000 })));
    assert!(wait.try_recv().is_err());
    send("queue/leave", and(&holder, json!({ "outcome": "landed" })))
        .recv_timeout(PATIENCE)
        .unwrap()
        .unwrap();
    assert_eq!(json(&wait.recv_timeout(PATIENCE).unwrap())["turn"], true);
    assert!(timed.try_recv().is_err());
    clock.advance(5_000);
    assert_eq!(json(&timed.recv_timeout(PATIENCE).unwrap())["turn"], false);
    let last = send("queue/wait", third);
    drop(model);
    assert_eq!(code(&last.recv_timeout(PATIENCE).unwrap()), "busy");
}
