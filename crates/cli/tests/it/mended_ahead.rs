//! Looking ahead costs nothing that it need not, and leaves nothing behind.

use crate::ahead::{Line, settings};
use crate::harness::{Tree, World, eventually, executable};
use rustix::process::{Pid, Signal, test_kill_process};

#[test]
fn a_remote_that_is_silent_while_who_waits_looks_at_it_keeps_no_turn_and_no_process() {
    for stopped in [false, true] {
        let world = World::new();
        let bare = world.bare("origin.git");
        let repo = world.clone_of(&bare, "r");
        let gate = world.gate("gate");
        let text = settings(&gate.command(), 3).replace("\".\"", "\"origin\"");
        repo.commit(".signalbox.toml", &text, "settings");
        repo.git(&["push", "-q", "origin", "main"]);
        let (silent, pids, pack) = (world.path("silent"), world.path("pids"), world.path("pack.sh"));
        let script = format!(
            "#!/bin/sh\nif [ -e '{}' ]; then echo $$ >> '{}'; exec sleep 600; fi\nexec git upload-pack \"$@\"\n",
            silent.display(),
            pids.display()
        );
        std::fs::write(&pack, script).unwrap();
        executable(&pack);
        repo.git(&["config", "remote.origin.uploadpack", pack.to_str().unwrap()]);
        for branch in ["a", "b", "c"] {
            repo.branch(branch);
        }
        let mut first = repo.start(&["land", "a"]);
        first.event("check");
        let mut second = repo.start(&["land", "b"]);
        second.event("entered");
        let mut third = repo.start(&["land", "c"]);
        third.event("ahead");
        // Others stand before it from now on: it reads the trunk anew.
        std::fs::write(&silent, "").unwrap();
        second.signal(Signal::INT);
        assert_eq!(second.end().exit, Some(130));
        let reads = || std::fs::read_to_string(&pids).unwrap_or_default().lines().count() > 0;
        eventually("a read of the remote", reads);
        std::fs::remove_file(&silent).unwrap();
        if stopped {
            third.signal(Signal::INT);
        }
        gate.open();
        assert_eq!(first.end().exit, Some(0));
        let done = third.end();
        assert_eq!(done.exit, Some(if stopped { 130 } else { 0 }), "{}", done.all());
        for pid in std::fs::read_to_string(&pids).unwrap().lines() {
            let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
            eventually("what read the remote ends", || test_kill_process(pid).is_err());
        }
    }
}

#[test]
fn who_waits_asks_git_for_nothing_that_it_knows() {
    let line = Line::new(2);
    line.repo.branch("a");
    line.repo.branch("b");
    let (git, calls) = (line.world.path("git.sh"), line.world.path("calls"));
    std::fs::write(&git, format!("#!/bin/sh\necho \"$@\" >> '{}'\nexec git \"$@\"\n", calls.display()))
        .unwrap();
    executable(&git);
    let count = || std::fs::read_to_string(&calls).unwrap().lines().count();
    let mut first = line.repo.start(&["land", "a"]);
    first.event("check");
    let mut second = line.repo.env("SIGNALBOX_GIT", git.to_str().unwrap()).start(&["land", "b"]);
    second.event("ahead");
    line.begun(2);
    let before = count();
    // Each of them is a change of the queue that it sees, and looks at.
    for n in 0..6 {
        line.repo.ok(&["hold", "open", &format!("h{n}"), "elsewhere/"]);
        second.event("waiting");
    }
    assert_eq!(count(), before, "{}", std::fs::read_to_string(&calls).unwrap());
    line.world.advance(1_000);
    assert_eq!(first.end().exit, Some(0));
    assert_eq!(second.end().exit, Some(0));
}

/// A repository whose trunk is in it, with that check, and three branches.
fn with_check(world: &World, check: &str, more: &str) -> Tree {
    let repo = world.repo("r");
    repo.commit(".signalbox.toml", &(settings(check, 2) + more), "settings");
    for branch in ["a", "b", "c"] {
        repo.branch(branch);
    }
    repo
}

#[test]
fn nobody_checks_for_a_place_that_is_kept() {
    let world = World::new();
    let gate = world.gate("gate");
    let repo = with_check(&world, &gate.command(), "");
    let mut first = repo.start(&["land", "a"]);
    first.event("check");
    let done = repo.run(&["land", "b", "--wait", "3s"]);
    assert_eq!(done.exit, Some(22), "{}", done.all());
    let queue = repo.ok(&["queue"]);
    assert_eq!(queue.events[0]["tickets"][1]["step"], "waiting", "{}", queue.all());
    gate.open();
    assert_eq!(first.end().exit, Some(0));
    assert_eq!(repo.ok(&["land", "b"]).code(), "landed");
}

#[test]
fn what_a_check_starts_does_not_wait_for_the_landing_that_it_checks() {
    let world = World::new();
    let (gate, said, signalbox) = (world.gate("gate"), world.path("said"), env!("CARGO_BIN_EXE_signalbox"));
    let check = format!(
        "for words in 'land c' 'run -- true'; do '{signalbox}' --json $words | tail -n 1 >> '{}'; done; {}",
        said.display(),
        gate.command()
    );
    let repo = with_check(&world, &check, "");
    let answers = |n| {
        let text = || std::fs::read_to_string(&said).unwrap_or_default();
        eventually("the answers", || text().lines().count() == n);
        text().lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    let mut first = repo.start(&["land", "a"]);
    first.event("check");
    answers(2);
    let mut second = repo.start(&["land", "b"]);
    second.event("ahead");
    for (answer, exit) in answers(4).iter().zip([2, 125, 2, 125]) {
        assert_eq!((&answer["code"], &answer["exit"]), (&"inside_a_turn".into(), &exit.into()), "{answer}");
        assert!(answer["detail"].as_str().unwrap().contains("started by a check"), "{answer}");
    }
    gate.open();
    assert_eq!(first.end().exit, Some(0));
    assert_eq!(second.end().exit, Some(0));
}

#[test]
fn a_check_that_was_killed_ahead_says_nothing_of_its_tree() {
    let world = World::new();
    let (gate, pids) = (world.gate("gate"), world.path("pids"));
    let check = format!("echo $SIGNALBOX_BRANCH $$ >> '{}'; {}", pids.display(), gate.command());
    let repo = with_check(&world, &check, "");
    let mut first = repo.start(&["land", "a"]);
    first.event("check");
    let mut second = repo.start(&["land", "b"]);
    second.event("ahead");
    let pid = || {
        let text = std::fs::read_to_string(&pids).unwrap();
        text.lines().find_map(|line| line.strip_prefix("b ")?.parse().ok())
    };
    eventually("the check ahead", || pid().is_some());
    rustix::process::kill_process(Pid::from_raw(pid().unwrap()).unwrap(), Signal::KILL).unwrap();
    assert_eq!(second.event("ahead_checked")["code"], 137);
    gate.open();
    assert_eq!(first.end().exit, Some(0));
    let done = second.end();
    assert_eq!(done.exit, Some(0), "{}", done.all());
    assert_eq!(std::fs::read_to_string(&pids).unwrap().lines().count(), 3, "it was checked in its turn");
}

#[test]
fn a_result_is_not_remembered_where_a_file_that_it_depends_on_was_changed_meanwhile() {
    let world = World::new();
    let (gate, outside) = (world.gate("gate"), world.path("outside"));
    let repo = with_check(&world, &gate.command(), "files = [\"../outside\"]\n");
    std::fs::write(&outside, "1").unwrap();
    let mut running = repo.start(&["land", "a", "--dry-run"]);
    running.event("check");
    std::fs::write(&outside, "2").unwrap();
    gate.open();
    assert_eq!(running.end().exit, Some(0));
    std::fs::write(&outside, "1").unwrap();
    for event in ["check", "already_green"] {
        let done = repo.ok(&["land", "a", "--dry-run"]);
        assert!(done.events.iter().any(|e| e["event"] == event), "{event}: {}", done.all());
    }
}

#[test]
fn a_check_that_closes_its_standard_input_still_counts() {
    let world = World::new();
    let (gate, began) = (world.gate("gate"), world.path("began"));
    let check = format!("exec </dev/null; echo >> '{}'; {}", began.display(), gate.command());
    let repo = with_check(&world, &check, "");
    let mut first = repo.start(&["land", "a"]);
    first.event("check");
    let mut second = repo.start(&["land", "b"]);
    second.event("ahead");
    eventually("both checks", || std::fs::read_to_string(&began).unwrap().lines().count() == 2);
    let slot = std::fs::File::open(repo.home().join(".cache/signalbox/slots/1.lock")).unwrap();
    assert!(slot.try_lock().is_err(), "its slot is free while it runs");
    gate.open();
    assert_eq!(first.end().exit, Some(0));
    assert_eq!(second.end().exit, Some(0));
    assert!(slot.try_lock().is_ok());
}

#[test]
fn a_box_that_is_busy_for_a_while_costs_nobody_its_place() {
    let world = World::new();
    let gate = world.gate("gate");
    let repo = with_check(&world, &gate.command(), "");
    // Who waits asks every four seconds.
    repo.ok(&["init", "--lease-ms", "20000"]);
    let mut first = repo.start(&["land", "a"]);
    first.event("check");
    let mut second = repo.start(&["land", "b"]);
    second.event("ahead");
    let conn = rusqlite::Connection::open(repo.state().join("state.db")).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    second.until("a note", |e| e["text"].as_str().is_some_and(|text| text.contains("asked again")));
    conn.execute_batch("ROLLBACK").unwrap();
    gate.open();
    assert_eq!(first.end().exit, Some(0));
    let done = second.end();
    assert_eq!(done.exit, Some(0), "{}", done.all());
    let entered = done.events.iter().filter(|e| e["event"] == "entered").count();
    assert_eq!(entered, 1, "it kept its place: {}", done.all());
}
