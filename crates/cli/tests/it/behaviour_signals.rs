//! Ctrl-C and SIGTERM at every part of a passage.

use crate::behaviour::{lives, pid_in};
use crate::harness::{Running, World, eventually, executable};
use crate::words::{refused, well_formed};
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

fn notes_pid(file: &Path) -> String {
    format!("echo $$ > '{0}.new'; mv '{0}.new' '{0}'", file.display())
}

#[test]
fn ctrl_c_while_waiting_leaves_the_queue_at_once() {
    for (signal, exit) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let world = World::new();
        let repo = world.repo("r");
        let gate = world.gate("gate");
        repo.ok(&["init", "--check", &gate.command()]);
        repo.branch("first");
        repo.branch("second");
        let mut first = repo.start(&["land", "first"]);
        first.event("check");
        let mut second = repo.start(&["land", "second"]);
        second.event("waiting");
        second.signal(signal);
        let done = second.end();
        let end = refused(&done, exit, "interrupted");
        assert_eq!(end["do"], "signalbox --json land second");
        let log = repo.ok(&["log"]);
        assert_eq!(
            (&log.events[0]["branch"], &log.events[0]["outcome"]),
            (&"second".into(), &"withdrawn".into())
        );
        assert_eq!(repo.ok(&["queue"]).events[0]["tickets"].as_array().unwrap().len(), 1);
        gate.open();
        assert_eq!(first.end().code(), "landed");
        assert_eq!(repo.leftovers(), [""; 0]);
        assert_eq!(repo.tickets("main").len(), 1);
    }
}

#[test]
fn ctrl_c_during_the_check_stops_its_whole_group_and_leaves_nothing_behind() {
    for (signal, exit) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let world = World::new();
        let repo = world.repo("r");
        let (parent, child) = (world.path("parent"), world.path("child"));
        let check = format!(
            "(sh -c \"{}; exec sleep 1000\") & {}; wait",
            notes_pid(&child).replace('$', "\\$"),
            notes_pid(&parent)
        );
        repo.ok(&["init", "--check", &check]);
        repo.branch("feature");
        let before = repo.git(&["rev-parse", "main"]);
        let mut land = repo.start(&["land", "feature"]);
        land.event("check");
        let pids = [pid_in(&parent), pid_in(&child)];
        land.signal(signal);
        let done = land.end();
        refused(&done, exit, "interrupted");
        assert!(!pids.into_iter().any(lives), "{pids:?}");
        assert_eq!(repo.ok(&["log"]).events[0]["outcome"], "withdrawn");
        assert_eq!(repo.ok(&["queue"]).events[0]["tickets"].as_array().unwrap().len(), 0);
        assert_eq!(repo.git(&["rev-parse", "main"]), before);
        assert_eq!(repo.leftovers(), [""; 0]);
    }
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_takes_a_stubborn_check_with_it() {
    let world = World::new();
    let repo = world.repo("r");
    let (pid, asked) = (world.path("pid"), world.path("asked"));
    let check =
        format!("trap 'touch {}' TERM; {}; while :; do sleep 0.02; done", asked.display(), notes_pid(&pid));
    repo.ok(&["init", "--check", &check]);
    repo.branch("feature");
    let mut land = repo.start(&["land", "feature"]);
    land.event("check");
    let pid = pid_in(&pid);
    land.signal(Signal::INT);
    eventually("the check is asked to stop", || asked.exists());
    land.insist(Signal::INT);
    let done = land.end();
    assert_eq!(done.status.signal(), Some(2), "{}", done.all());
    eventually("the check is gone", || !lives(pid));
    repo.ok(&["init"]);
    repo.git(&["switch", "-q", "-c", "next"]);
    let ended = repo.run(&["land", "--settle"]);
    assert_eq!(ended.exit, Some(0), "{}", ended.all());
    assert_eq!(repo.ok(&["queue"]).events[0]["tickets"].as_array().unwrap().len(), 0, "its place was ended");
    assert_eq!(repo.leftovers(), [""; 0]);
}

/// A landing whose push waits at the remote in a hook until the gate is opened.
fn at_the_push(world: &World, ending: &str) -> (crate::harness::Tree, Running) {
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    clone.ok(&["init", "--no-check"]);
    clone.branch("feature");
    let hook = remote.path.join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let reached = world.path("reached");
    let script = format!(
        "#!/bin/sh\nif grep -q refs/heads/main; then touch '{}'; {}; {ending}; fi\n",
        reached.display(),
        world.gate("gate").command()
    );
    std::fs::write(&hook, script).unwrap();
    executable(&hook);
    let land = clone.start(&["land", "feature"]);
    eventually("the push is at the remote", || reached.exists());
    (clone, land)
}

#[test]
fn ctrl_c_during_the_push_waits_for_the_answer_and_says_it() {
    let world = World::new();
    let (clone, land) = at_the_push(&world, "exit 0");
    land.signal(Signal::INT);
    world.gate("gate").open();
    let done = land.end();
    assert_eq!((done.exit, done.code()), (Some(0), "landed"), "{}", done.all());
    well_formed(&done);
    assert_eq!(clone.ok(&["log"]).events[0]["outcome"], "landed");
    assert_eq!(clone.leftovers(), [""; 0]);
}

#[test]
fn ctrl_c_during_a_push_that_is_refused_says_that_nothing_landed() {
    let world = World::new();
    let (clone, land) = at_the_push(&world, "echo no >&2; exit 1");
    land.signal(Signal::INT);
    world.gate("gate").open();
    let done = land.end();
    refused(&done, 130, "interrupted");
    assert_eq!(clone.ok(&["log"]).events[0]["outcome"], "withdrawn");
    assert_eq!(clone.leftovers(), [""; 0]);
}

#[test]
fn a_second_ctrl_c_during_the_push_ends_at_once_and_the_next_landing_settles_it() {
    let world = World::new();
    let (clone, mut land) = at_the_push(&world, "exit 0");
    land.signal(Signal::INT);
    land.insist(Signal::TERM);
    let done = land.end();
    assert!(done.status.signal().is_some(), "{}", done.all());
    world.gate("gate").open();
    let settled = clone.run(&["land", "--settle"]);
    assert_eq!(settled.exit, Some(0), "{}", settled.all());
    eventually("the push has ended", || clone.run(&["land", "--settle"]).code() == "nothing_open");
    let again = clone.ok(&["land", "feature"]);
    assert!(["landed", "already_in_trunk"].contains(&again.code()), "{}", again.all());
    clone.git(&["fetch", "-q"]);
    assert_eq!(clone.tickets("origin/main").len(), 1, "exactly once");
    assert_eq!(clone.leftovers(), [""; 0]);
}
