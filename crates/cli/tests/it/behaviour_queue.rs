//! What others see: the queue as it changes, and the log.

use crate::harness::{World, eventually};
use crate::words::{columns, refused, refuses, well_formed};
use rustix::process::Signal;

#[test]
fn the_queue_is_seen_as_it_changes() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    repo.branch("first");
    repo.branch("second");
    let mut watch = repo.start(&["queue", "--watch"]);
    let tickets = |event: &serde_json::Value| event["tickets"].as_array().map_or(0, Vec::len);
    watch.until("an empty queue", |event| event["event"] == "queue" && tickets(event) == 0);
    let mut first = repo.start(&["land", "first", "--label", "Ann"]);
    let seen = watch.until("the check of the first", |event| event["tickets"][0]["step"] == "checking");
    assert_eq!(
        (&seen["tickets"][0]["branch"], &seen["tickets"][0]["label"]),
        (&"first".into(), &"Ann".into())
    );
    assert_eq!((&seen["tickets"][0]["turn"], &seen["tickets"][0]["turnNo"]), (&true.into(), &1.into()));
    first.event("check");
    let second = repo.start(&["land", "second"]);
    let seen = watch.until("the second behind it", |event| tickets(event) == 2);
    assert_eq!(
        (&seen["tickets"][1]["branch"], &seen["tickets"][1]["position"]),
        (&"second".into(), &1.into())
    );
    gate.open();
    watch.until("the turn of the second", |event| {
        event["tickets"][0]["branch"] == "second" && event["tickets"][0]["turn"] == true
    });
    watch.until("the empty queue again", |event| tickets(event) == 0);
    assert_eq!((first.end().code(), second.end().code()), ("landed", "landed"));
    watch.signal(Signal::INT);
    let done = watch.end();
    well_formed(&done);
}

#[test]
fn the_queue_for_people_has_one_line_for_each_place() {
    let world = World::with_clock();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    assert_eq!(repo.people(&["queue"]).1, "nobody is in the queue of main\n");
    repo.branch("first");
    repo.branch(&"long-name-".repeat(8));
    let mut first = repo.start(&["land", "first", "--label", "Ann"]);
    first.event("check");
    refused(&repo.run(&["land", &"long-name-".repeat(8), "--no-wait", "--label", "Bo"]), 22, "still_waiting");
    world.advance(75_000);
    eventually("what it does is known", || repo.people(&["queue"]).1.contains("checking"));
    insta::assert_snapshot!(repo.people(&["queue"]).1, @r"
    turn first                            Ann                        checking, 1:15
    1.   long-name-long-n…name-long-name- Bo                         waiting, 1:15
    ");
    gate.open();
    assert_eq!(first.end().code(), "landed");
}

#[test]
fn the_log_tells_how_each_stay_ended_and_how_long_its_parts_took() {
    let world = World::with_clock();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    let check = format!("{}; ! test -e bad", gate.command());
    repo.ok(&["init", "--check", &check, "--line", "adr=adr/{number}-{slug}"]);
    assert!(repo.people(&["log"]).1.contains("nothing has ended yet"));
    repo.branch("fine");
    let mut land = repo.start(&["land", "fine"]);
    land.event("check");
    world.advance(65_000);
    gate.open();
    let landed = land.end();
    assert_eq!(landed.code(), "landed", "{}", landed.all());
    let head = repo.git(&["rev-parse", "main~0"]);
    repo.git(&["switch", "-q", "-c", "bad", "main"]);
    repo.commit("bad", "", "bad");
    refused(&repo.run(&["land"]), 10, "check_red");
    repo.git(&["switch", "-q", "-c", "clash", "main~1"]);
    repo.commit("file-fine", "clash\n", "clash");
    refused(&repo.run(&["land"]), 12, "conflict");
    let log = repo.ok(&["log"]);
    well_formed(&log);
    let outcomes: Vec<_> = log.events.iter().filter_map(|e| e["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["conflict", "failed", "landed"], "the latest first");
    let first = &log.events[2];
    assert_eq!(first["report"]["commit"], head.as_str());
    assert_eq!(first["report"]["phases"]["check"], 65_000);
    assert_eq!(log.events[1]["report"]["checkCode"], 1);
    assert_eq!(log.events[0]["report"]["files"][0], "file-fine");
    let (_, stdout, _) = repo.people(&["log"]);
    let lines: Vec<_> = stdout.lines().collect();
    assert!(lines[2].contains(&format!("as {}", &head[..9])) && lines[2].contains("check 1:05"), "{stdout}");
    assert!(lines[1].contains("the check ended with 1"), "{stdout}");
    assert!(lines[0].contains("in file-fine"), "{stdout}");
    assert_eq!(repo.people(&["log", "-n", "1"]).1.lines().count(), 1);
    let widest = lines.iter().map(|line| columns(line)).max();
    assert!(widest < Some(140), "{stdout}");
    refuses(&repo, &["log", "-n", "few"], 2, "usage");
}

#[test]
fn who_waits_is_told_who_has_the_turn_and_what_it_does() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    repo.branch("first");
    repo.branch("second");
    let mut first = repo.start(&["land", "first", "--label", "Ann"]);
    first.event("check");
    let mut second = repo.start(&["land", "second"]);
    let waiting = second.until("what the holder does", |event| event["holder"]["step"] == "checking");
    assert_eq!((&waiting["holder"]["label"], &waiting["holder"]["branch"]), (&"Ann".into(), &"first".into()));
    gate.open();
    let done = second.end();
    assert_eq!(done.code(), "landed", "{}", done.all());
    assert_eq!(done.events.iter().find(|event| event["event"] == "turn").unwrap()["turnNo"], 2);
    assert_eq!(first.end().code(), "landed");
}

#[test]
fn the_log_says_why_something_was_held_frozen_or_withdrawn() {
    let world = World::with_clock();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command(), "--line", "adr=adr/{number}-{slug}"]);
    repo.branch("work");
    let head = repo.git(&["rev-parse", "work"]);
    repo.ok(&["hold", "open", "release", "file-work", "--owner", "ops\u{202e}", "--for", "2h"]);
    refused(&repo.run(&["land", "work"]), 14, "held");
    repo.ok(&["hold", "close", "release", "--owner", "ops\u{202e}"]);
    let mut land = repo.start(&["land", "work"]);
    land.event("check");
    repo.ok(&["freeze", "open", "BUG-1", "--admit", "hotfix"]);
    gate.open();
    refused(&land.end(), 14, "frozen");
    repo.ok(&["freeze", "close", "BUG-1"]);
    repo.ok(&["land", "work", "--dry-run"]);
    gate.close();
    repo.branch("other");
    let mut land = repo.start(&["land", "other"]);
    land.event("check");
    land.signal(Signal::TERM);
    refused(&land.end(), 143, "interrupted");
    let mut land = repo.start(&["land", "other"]);
    land.event("check");
    repo.git(&["update-ref", "refs/heads/other", &head]);
    gate.open();
    refused(&land.end(), 12, "branch_moved");
    repo.git(&["switch", "-q", "-c", "double", "main"]);
    repo.commit("adr/1-a", "", "a");
    repo.commit("adr/1-b", "", "b");
    refused(&repo.run(&["land"]), 12, "duplicate_number");
    insta::assert_snapshot!(repo.people(&["log"]).1, @r"
    2027-01-15 08:00:00  duplicate double                           in adr/1-a, waited 0.0 s
    2027-01-15 08:00:00  moved     other                            the branch was changed on its way, waited 0.0 s, check 0.0 s
    2027-01-15 08:00:00  withdrawn other                            stopped by SIGTERM, waited 0.0 s, check 0.0 s
    2027-01-15 08:00:00  withdrawn work                             a dry run, waited 0.0 s, check 0.0 s
    2027-01-15 08:00:00  frozen    work                             frozen by BUG-1, waited 0.0 s, check 0.0 s
    2027-01-15 08:00:00  held      work                             file-work is under the hold release of ops�, waited 0.0 s
    ");
}
