//! Places in the queue: whose they are, and that one process has each.

use crate::harness::{Tree, World, eventually, executable};
use crate::promises::{Kept, Place, assert_killed, stopped};
use crate::words::refused;
use rustix::process::Signal;

const TICKET: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

/// A repository whose checks wait at a gate, with these branches, the first of which is in its check.
fn gated(world: &World, branches: &[&str]) -> (Tree, crate::harness::Running) {
    let repo = world.repo("r");
    repo.ok(&["init", "--check", &world.gate("gate").command()]);
    for branch in branches {
        repo.branch(branch);
    }
    let mut first = repo.start(&["land", branches[0]]);
    first.event("check");
    (repo, first)
}

fn places(tree: &Tree) -> Vec<String> {
    let queue = tree.ok(&["queue"]);
    let tickets = queue.events[0]["tickets"].as_array().unwrap().iter();
    tickets.map(|ticket| ticket["ticket"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn one_process_has_a_ticket_though_another_was_about_to_take_it() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    repo.branch("feature");
    let args = ["land", "feature", "--resume", TICKET];
    let late = repo.env("SIGNALBOX_FAULT", "live:locked:stop").start(&args);
    eventually("it is about to take the ticket", || stopped(late.pid()));
    let mut holder = repo.start(&args);
    holder.event("check");
    late.signal(Signal::CONT);
    refused(&late.end(), 24, "ticket_in_use");
    let lock = repo.state().join(format!("live/{TICKET}.lock"));
    assert!(lock.exists(), "the holder's");
    gate.open();
    assert_eq!(holder.end().code(), "landed");
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_place_whose_process_died_is_not_ended_under_one_that_goes_on_with_it() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    repo.branch("feature");
    repo.branch("other");
    let args = ["land", "feature", "--resume", TICKET];
    let dead = repo.env("SIGNALBOX_FAULT", "after:enter:kill").run(&args);
    assert_killed(&dead);
    let ender = repo.env("SIGNALBOX_FAULT", "reap:listed:stop").start(&["land", "other"]);
    eventually("another is about to end its place", || stopped(ender.pid()));
    let mut on = repo.start(&args);
    on.event("check");
    let mut ender = ender;
    ender.signal(Signal::CONT);
    ender.event("waiting");
    assert!(repo.state().join(format!("live/{TICKET}.lock")).exists(), "who lives is seen to live");
    gate.open();
    for done in [on.end(), ender.end()] {
        assert_eq!(done.code(), "landed", "{}", done.all());
    }
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_kept_place_is_not_lost_with_a_process_that_dies_before_it_has_it() {
    let world = World::new();
    let (repo, first) = gated(&world, &["first", "second"]);
    let kept = repo.run(&["land", "second", "--no-wait"]);
    let kept = refused(&kept, 22, "still_waiting")["ticket"].clone();
    assert_killed(&repo.env("SIGNALBOX_FAULT", "live:locked:kill").run(&["land", "second"]));
    let mut second = repo.start(&["land", "second"]);
    assert_eq!(second.event("entered")["ticket"], kept);
    world.gate("gate").open();
    assert_eq!((first.end().code(), second.end().code()), ("landed", "landed"));
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_kept_place_that_a_process_has_is_left_to_it() {
    let world = World::new();
    let (repo, first) = gated(&world, &["first", "second"]);
    let kept = repo.run(&["land", "second", "--no-wait"]);
    let kept = refused(&kept, 22, "still_waiting")["ticket"].as_str().unwrap().to_owned();
    let resumed = ["land", "second", "--resume", &kept];
    let one = repo.env("SIGNALBOX_FAULT", "live:taken:stop").start(&resumed);
    eventually("one has the place, and has not said so", || stopped(one.pid()));
    let mut other = repo.start(&["land", "second"]);
    assert_ne!(other.event("entered")["ticket"], kept.as_str());
    one.signal(Signal::CONT);
    world.gate("gate").open();
    let ends = [first.end(), one.end(), other.end()];
    assert!(ends.iter().all(|done| done.exit == Some(0)), "{}", ends.map(|done| done.all()).join("\n"));
    assert_eq!(repo.tickets("main").len(), 2);
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_kept_place_is_of_its_repository_where_two_share_a_state() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let [first, second] = ["first", "second"].map(|name| world.clone_of(&remote, name));
    let gate = world.gate("gate");
    first.ok(&["init", "--check", &gate.command()]);
    let state = first.state();
    let second = second.env("SIGNALBOX_STATE", state.to_str().unwrap());
    first.branch("feature");
    second.git(&["fetch", "-q", first.path.to_str().unwrap(), "feature:feature"]);
    first.branch("ahead");
    let mut ahead = first.start(&["land", "ahead"]);
    ahead.event("check");
    let kept = first.run(&["land", "feature", "--no-wait"]);
    let kept = refused(&kept, 22, "still_waiting")["ticket"].as_str().unwrap().to_owned();
    let mut of_second = second.start(&["land", "feature"]);
    assert_ne!(of_second.event("entered")["ticket"], kept.as_str(), "the same commit of the same branch");
    of_second.event("waiting");
    assert_eq!(places(&first).len(), 3);
    let mut of_first = first.start(&["land", "feature"]);
    assert_eq!(of_first.event("entered")["ticket"], kept.as_str());
    gate.open();
    for done in [ahead.end(), of_first.end(), of_second.end()] {
        assert_eq!(done.exit, Some(0), "{}", done.all());
    }
    assert_eq!(remote.tickets("main").len(), 2);
}

#[test]
fn what_is_seen_in_the_middle_of_another_landing_is_not_taken_for_somebodys_changes() {
    let place = Place::new(World::with_clock(), Kept::Here, "true");
    place.branches(&["first".to_owned(), "second".to_owned()]);
    let dir = place.world.path("");
    // A git that waits once the trunk's files are written and before its ref moves; and one that tells when it looks.
    let script = |name: &str, body: String| {
        let path = place.world.path(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}")).unwrap();
        executable(&path);
        place.work.env("SIGNALBOX_GIT", path.to_str().unwrap())
    };
    let slow = script(
        "slow-git",
        format!(
            "case \"$*\" in\n*read-tree*--dry-run*) exec git \"$@\" ;;\n\
             *read-tree*) git \"$@\"; status=$?; : > {0}written; until [ -e {0}go ]; do sleep 0.02; done; exit $status ;;\n\
             *) exec git \"$@\" ;;\nesac\n",
            dir.display()
        ),
    );
    let looking = script(
        "looking-git",
        format!(
            "case \"$*\" in *' status '*) echo look >> {}looks ;; esac\nexec git \"$@\"\n",
            dir.display()
        ),
    );
    let first = slow.start(&["land", "first"]);
    eventually("the trunk's files are written", || place.world.path("written").exists());
    assert_ne!(place.work.git(&["status", "--porcelain", "--untracked-files=no"]), "", "a look sees changes");
    let second = looking.start(&["land", "second"]);
    let looks = || std::fs::read_to_string(place.world.path("looks")).unwrap_or_default().lines().count();
    eventually("the second has seen them, and looks again", || looks() >= 2);
    std::fs::write(place.world.path("go"), "").unwrap();
    for done in [first.end(), second.end()] {
        assert_eq!(done.code(), "landed", "{}", done.all());
    }
    place.assert_exactly_once(&["first".to_owned(), "second".to_owned()]);
    place.assert_nothing_left();
}

#[test]
fn changes_in_the_trunks_worktree_that_stay_are_refused_though_another_passage_lives() {
    let world = World::new();
    let (repo, first) = gated(&world, &["first", "second"]);
    repo.write("README", "somebody's\n");
    refused(&repo.run(&["land", "second"]), 2, "trunk_dirty");
    repo.git(&["checkout", "-q", "README"]);
    world.gate("gate").open();
    assert_eq!(first.end().code(), "landed");
}

#[test]
fn a_landing_in_a_repository_that_is_gone_is_given_up_when_a_person_settles() {
    let world = World::new();
    let [gone, here] = ["gone", "here"].map(|name| world.repo(name));
    let state = world.path("state");
    let [gone, here] = [gone, here].map(|tree| tree.env("SIGNALBOX_STATE", state.to_str().unwrap()));
    for tree in [&gone, &here] {
        tree.ok(&["init", "--no-check"]);
        tree.branch("feature");
    }
    assert_killed(&gone.env("SIGNALBOX_FAULT", "push:intent-written:kill").run(&["land", "feature"]));
    std::fs::remove_dir_all(&gone.path).unwrap();
    assert_eq!(here.ok(&["land", "feature"]).code(), "landed", "it is in nobody's way");
    let settled = here.ok(&["land", "--settle"]);
    assert_eq!((settled.code(), &settled.end()["notLanded"]), ("settled", &1.into()), "{}", settled.all());
    assert!(settled.all().contains(gone.path.to_str().unwrap()), "{}", settled.all());
    assert_eq!(here.ok(&["land", "--settle"]).code(), "nothing_open");
    assert_eq!(places(&here), [""; 0]);
}
