//! Replaced projects over a real file: what comes over, what a stale caller is told, and replacements at one
//! instant from two engines.

use crate::support::{ManualClock, Open, START, code, json};
use kernel::{Code, Id};
use landing::Call;
use serde_json::{Value, json};
use std::sync::Barrier;
use store::{Answer, Calls, Options, Standing, StateFile};

/// A call of any project.
fn ask(open: &Open, project: &Id, name: &str, mut body: Value) -> Answer {
    let call = |body: &Value| {
        Call::parse(name, body.to_string().as_bytes(), open.clock.now(), &open.limits).unwrap()
    };
    body["project"] = project.as_str().into();
    loop {
        match open.desk.ask(call(&body)) {
            Err(refusal) if refusal.code == Code::Busy => {}
            other => return other,
        }
    }
}

fn replace(open: &Open, from: &Id, to: &Id) -> Answer {
    ask(open, from, "project/replace", json!({ "replacement": to.as_str() }))
}

fn enter(open: &Open, project: &Id, branch: &str) -> Value {
    let body = json!({
        "ticket": Id::random().as_str(), "branch": branch, "head": "a".repeat(40), "label": "somebody",
    });
    json(&ask(open, project, "queue/enter", body))
}

fn reopened(open: &Open) -> Id {
    StateFile::open(open.file.dir(), &Options::default(), open.clock.as_ref()).unwrap().project().clone()
}

#[test]
fn lines_holds_freeze_and_counters_come_over_and_repeating_answers_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let open = Open::new(dir.path(), ManualClock::new());
    let (old, new) = (open.file.project().clone(), Id::random());
    for (scope, count) in [("adr", 7), ("migration", 3)] {
        json(&ask(&open, &old, "mint", json!({ "scope": scope, "count": count })));
    }
    let first = enter(&open, &old, "first");
    enter(&open, &old, "second");
    let until = START + 1_000;
    let hold = json!({ "name": "release", "paths": ["api/"], "owner": "ops", "until": until });
    json(&ask(&open, &old, "hold/open", hold));
    let freeze = json!({ "issue": "BUG-1", "opener": "ops", "admissions": ["hotfix"] });
    json(&ask(&open, &old, "freeze/open", freeze));
    let stood = json(&ask(&open, &old, "hold/list", json!({})));

    let answer = replace(&open, &old, &new).unwrap();
    assert_eq!(replace(&open, &old, &new).unwrap(), answer, "byte for byte");
    assert_eq!(code(&replace(&open, &old, &Id::random())), "replacement_taken");

    assert_eq!(json(&ask(&open, &new, "hold/list", json!({}))), stood);
    for (scope, next) in [("adr", 8), ("migration", 4)] {
        assert_eq!(json(&ask(&open, &new, "mint", json!({ "scope": scope })))["first"], next);
    }
    assert_eq!(json(&ask(&open, &new, "queue/list", json!({})))["tickets"], json!([]));
    let later = enter(&open, &new, "hotfix");
    assert!(later["turnNo"].as_i64() > first["turnNo"].as_i64(), "the fencing token goes on: {later}");
    assert!(later["entry"].as_i64() > Some(2), "and so do the stays: {later}");
    assert_eq!(reopened(&open), new, "the box goes over to it when it is opened");
}

#[test]
fn a_stale_caller_is_told_that_its_id_is_retired_with_the_remedy_and_never_the_new_id() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let (open, stale) = (Open::new(dir.path(), clock.clone()), Open::new(dir.path(), clock));
    let (old, new) = (open.file.project().clone(), Id::random());
    let stay = enter(&stale, &old, "work");
    replace(&open, &old, &new).unwrap();
    let stay = json!({ "ticket": stay["ticket"], "entry": stay["entry"] });
    let with = |more: Value| crate::support::and(&stay, more);
    let calls = [
        ("mint", json!({ "scope": "adr" })),
        ("mint", json!({ "scope": "NOT A LINE" })),
        ("queue/renew", with(json!({}))),
        ("queue/wait", with(json!({ "timeoutMs": 50_000 }))),
        ("queue/leave", with(json!({ "outcome": "landed" }))),
        ("queue/list", json!({})),
        ("hold/open", json!({ "name": "h", "paths": ["a"], "owner": "o", "until": START + 1 })),
        ("hold/close", json!({ "name": "h", "owner": "o" })),
        ("hold/list", json!({})),
        ("freeze/open", json!({ "issue": "B", "opener": "o", "admissions": [] })),
        ("freeze/close", json!({ "issues": ["B"] })),
        ("project/lift", json!({})),
    ];
    for (name, body) in calls {
        let refusal = ask(&stale, &old, name, body).unwrap_err();
        assert_eq!(refusal.code, Code::ProjectRetired, "{name}");
        assert!(refusal.detail.contains("fetch the trunk"), "{name}: {}", refusal.detail);
        assert!(!String::from_utf8(refusal.body()).unwrap().contains(new.as_str()), "{name}");
    }
    assert_eq!(stale.file.project(), &old, "an open file stays what it was");
}

#[test]
fn a_call_that_waits_is_answered_when_its_project_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let (open, other) = (Open::new(dir.path(), clock.clone()), Open::new(dir.path(), clock));
    let old = open.file.project().clone();
    enter(&open, &old, "first");
    let (stay, _) = open.enter();
    let waits = open.send("queue/wait", crate::support::and(&stay, json!({ "timeoutMs": 50_000 })));
    open.await_parked(1);
    replace(&other, &old, &Id::random()).unwrap();
    let answer = waits.recv_timeout(crate::support::PATIENCE).unwrap();
    assert_eq!(code(&answer), "project_retired");
}

#[test]
fn of_two_replacements_at_once_one_is_carried_out_and_the_other_refused() {
    for _ in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let clock = ManualClock::new();
        let engines = [Open::new(dir.path(), clock.clone()), Open::new(dir.path(), clock)];
        let old = engines[0].file.project().clone();
        json(&ask(&engines[0], &old, "mint", json!({ "scope": "adr", "count": 5 })));
        let ids = [Id::random(), Id::random()];
        let at_once = Barrier::new(2);
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let start = |at: usize| {
                let (open, to, old, at_once) = (&engines[at], &ids[at], &old, &at_once);
                scope.spawn(move || {
                    at_once.wait();
                    replace(open, old, to)
                })
            };
            [start(0), start(1)].map(|thread| thread.join().unwrap()).into()
        });
        let (well, refused): (Vec<_>, Vec<_>) = (0..2).partition(|at| answers[*at].is_ok());
        assert_eq!((well.len(), refused.len()), (1, 1), "{answers:?}");
        assert_eq!(code(&answers[refused[0]]), "replacement_taken");
        let new = &ids[well[0]];
        assert_eq!(&reopened(&engines[0]), new);
        assert_eq!(json(&ask(&engines[1], new, "mint", json!({ "scope": "adr" })))["first"], 6);
        let lost = &ids[refused[0]];
        assert_eq!(
            json(&ask(&engines[0], lost, "mint", json!({ "scope": "adr" })))["first"],
            1,
            "it has no rows"
        );
    }
}

#[test]
fn replacements_that_cross_end_both_and_never_wait_for_each_other() {
    for _ in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let clock = ManualClock::new();
        let engines = [Open::new(dir.path(), clock.clone()), Open::new(dir.path(), clock)];
        let ids = [Id::random(), Id::random()];
        // Both are in use, so neither may be the other's replacement.
        for id in &ids {
            json(&ask(&engines[0], id, "mint", json!({ "scope": "adr" })));
        }
        let fresh = [Id::random(), Id::random()];
        for pair in [&ids, &fresh] {
            let at_once = Barrier::new(2);
            let answers: Vec<Answer> = std::thread::scope(|scope| {
                let start = |at: usize| {
                    let (open, from, to, at_once) = (&engines[at], &pair[at], &pair[1 - at], &at_once);
                    scope.spawn(move || {
                        at_once.wait();
                        replace(open, from, to)
                    })
                };
                [start(0), start(1)].map(|thread| thread.join().unwrap()).into()
            });
            let well = answers.iter().filter(|answer| answer.is_ok()).count();
            assert_eq!(well, usize::from(std::ptr::eq(pair, &fresh)), "{answers:?}");
        }
        for id in &ids {
            assert_eq!(json(&ask(&engines[1], id, "mint", json!({ "scope": "adr" })))["first"], 2);
        }
    }
}

#[test]
fn a_file_whose_replacement_nobody_finished_goes_on_with_the_last_id() {
    let dir = tempfile::tempdir().unwrap();
    let open = Open::new(dir.path(), ManualClock::new());
    let old = open.file.project().clone();
    let (second, third) = (Id::random(), Id::random());
    replace(&open, &old, &second).unwrap();
    replace(&open, &second, &third).unwrap();
    assert_eq!(reopened(&open), third);
    // Another box's id is nothing that this file could go on with.
    let conn = rusqlite::Connection::open(dir.path().join("state.db")).unwrap();
    let elsewhere = Id::random();
    let sql = "UPDATE projects SET retired_to = ?1, retired_at = 1 WHERE project = ?2";
    assert_eq!(conn.execute(sql, [elsewhere.as_str(), third.as_str()]).unwrap(), 1);
    assert_eq!(reopened(&open), third);
}

#[test]
fn what_a_project_has_come_to_is_read_and_nothing_moves_on() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let open = Open::new(dir.path(), clock.clone());
    assert_eq!(open.file.standing().unwrap(), Standing::default());
    let project = open.file.project().clone();
    json(&ask(&open, &project, "mint", json!({ "scope": "adr", "count": 7 })));
    json(&ask(&open, &project, "mint", json!({ "scope": "a", "floor": 4 })));
    enter(&open, &project, "first");
    clock.advance(1_000);
    let lines = vec![("a".to_owned(), 5), ("adr".to_owned(), 7)];
    let standing = Standing { time: START, turn_no: 1, lines };
    assert_eq!(open.file.standing().unwrap(), standing);
    assert_eq!(open.file.standing().unwrap(), standing, "a look is no call");
}
