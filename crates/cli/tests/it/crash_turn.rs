//! Turns whose holder is stopped or dead, while its check may go on.

use crate::crash::points;
use crate::harness::{Running, World, eventually};
use crate::promises::{Kept, Place, assert_killed, landings, queue, stopped, stress};
use rustix::process::Signal;
use std::path::Path;

/// The lease of a box that nobody set otherwise.
const LEASE: i64 = 300_000;

/// A check that writes down that it begins and ends, and waits at the gate of its branch, where that is closed.
fn check(world: &World) -> String {
    let dir = world.path("");
    format!(
        "echo \"begin $SIGNALBOX_BRANCH $(pwd)\" >> {0}/checks; \
         while [ -e {0}/closed-$SIGNALBOX_BRANCH ]; do sleep 0.02; done; echo \"end $SIGNALBOX_BRANCH\" >> {0}/checks",
        dir.display().to_string().trim_end_matches('/')
    )
}

fn place(kept: Kept) -> Place {
    let world = World::with_clock();
    let check = check(&world);
    let place = Place::new(world, kept, &check);
    place.branches(&["slow".to_owned(), "other".to_owned(), "third".to_owned()]);
    place
}

fn close(place: &Place, branch: &str) {
    std::fs::write(place.world.path(&format!("closed-{branch}")), "").unwrap();
}

fn open(place: &Place, branch: &str) {
    std::fs::remove_file(place.world.path(&format!("closed-{branch}"))).unwrap();
}

/// The lines of the checks' own record that begin so.
fn record(place: &Place, begin: &str) -> Vec<String> {
    let text = std::fs::read_to_string(place.world.path("checks")).unwrap_or_default();
    text.lines().filter(|line| line.starts_with(begin)).map(str::to_owned).collect()
}

/// A landing that is stopped while its check runs.
fn stop_in_check(place: &Place, args: &[&str]) -> Running {
    close(place, "slow");
    let mut slow = place.work.start(&[&["land", "slow"], args].concat());
    slow.event("check");
    eventually("the check begins", || record(place, "begin slow").len() == 1);
    slow.signal(Signal::STOP);
    eventually("it is stopped", || stopped(slow.pid()));
    slow
}

fn both(place: &Place) -> Vec<String> {
    landings(&place.trunk).into_iter().map(|landing| landing.branch).collect()
}

fn alone(kept: Kept) {
    let place = place(kept);
    let slow = stop_in_check(&place, &[]);
    open(&place, "slow");
    eventually("the check ends", || record(&place, "end slow").len() == 1);
    place.world.advance(LEASE + 1);
    slow.signal(Signal::CONT);
    let done = slow.end();
    assert_eq!(done.code(), "landed", "{}", done.all());
    assert_eq!(done.end()["turnNo"], 2, "it entered again: {}", done.all());
    assert_eq!(record(&place, "begin slow").len(), 1, "a finished green check is not run again");
    place.assert_exactly_once(&["slow".to_owned()]);
    place.assert_nothing_left();
}

#[test]
fn a_holder_that_slept_past_its_lease_lands_with_its_finished_check_with_a_remote() {
    alone(Kept::Remote);
}

#[test]
fn a_holder_that_slept_past_its_lease_lands_with_its_finished_check_in_place() {
    alone(Kept::Here);
}

fn with_others_waiting(kept: Kept) {
    let place = place(kept);
    let mut slow = stop_in_check(&place, &[]);
    close(&place, "other");
    let mut other = place.work.start(&["land", "other"]);
    other.event("waiting");
    // Half a lease, until the waiter was heard of again, and another half: the holder's lease ends alone.
    place.world.advance(LEASE / 2 + 1);
    let heard = place.world.now() + LEASE;
    eventually("the waiter is heard of", || queue(&place.work).contains(&("other".to_owned(), false, heard)));
    place.world.advance(LEASE / 2 + 1);
    other.event("turn");
    other.event("check");
    // The stale holder wakes in the other's turn, and its check is green.
    open(&place, "slow");
    eventually("the stale check ends", || record(&place, "end slow").len() == 1);
    slow.signal(Signal::CONT);
    let waiting = slow.event("waiting");
    assert_eq!(waiting["holder"]["branch"], "other", "never two turns");
    assert_eq!(both(&place), [""; 0], "nothing landed meanwhile");
    open(&place, "other");
    assert_eq!(other.end().code(), "landed");
    let done = slow.end();
    assert_eq!(done.code(), "landed", "{}", done.all());
    assert_eq!(both(&place), ["other", "slow"]);
    place.assert_exactly_once(&["other".to_owned(), "slow".to_owned()]);
    place.assert_nothing_left();
}

#[test]
fn a_holder_that_slept_past_its_lease_waits_again_behind_the_new_holder_with_a_remote() {
    with_others_waiting(Kept::Remote);
}

#[test]
fn a_holder_that_slept_past_its_lease_waits_again_behind_the_new_holder_in_place() {
    with_others_waiting(Kept::Here);
}

#[test]
fn a_lost_turn_ends_the_command_where_it_shall_not_enter_again() {
    for kept in [Kept::Remote, Kept::Here] {
        let place = place(kept);
        let slow = stop_in_check(&place, &["--no-reenter"]);
        place.world.advance(LEASE + 1);
        place.work.ok(&["land", "other"]);
        slow.signal(Signal::CONT);
        let done = slow.end();
        assert_eq!((done.exit, done.code()), (Some(17), "turn_lost"), "{}", done.all());
        assert_eq!(both(&place), ["other"]);
        open(&place, "slow");
        assert_eq!(place.work.ok(&["land", "slow"]).code(), "landed");
        place.assert_exactly_once(&["other".to_owned(), "slow".to_owned()]);
        place.assert_nothing_left();
    }
}

/// A landing that is stopped at a point until its lease is over and another has landed goes on.
fn stale_at(place: &Place, point: &str, names: &[String; 2]) {
    let [victim, other] = names;
    place.branches(names);
    let stale = place.work.env("SIGNALBOX_FAULT", format!("{point}:stop")).start(&["land", victim]);
    eventually("it is stopped", || stopped(stale.pid()));
    let landed = place.has(victim);
    place.world.advance(LEASE + 1);
    let done = place.work.ok(&["land", other]);
    assert_eq!(done.code(), "landed", "{point}: {}", done.all());
    assert_eq!(place.has(victim), landed, "{point}");
    place.assert_worktree_is_the_trunk();
    stale.signal(Signal::CONT);
    let done = stale.end();
    assert_eq!(done.exit, Some(0), "{point}: {}", done.all());
    assert!(place.has(victim), "{point}: {}", done.all());
    place.assert_nothing_left();
}

/// At every second point, from `first` on, unless the run is a long one.
fn stale_at_every_point(kept: Kept, first: usize) {
    let place = Place::new(World::with_clock(), kept, "test -f README");
    let mut names = vec!["first".to_owned()];
    place.branches(&names);
    place.work.ok(&["land", "first"]);
    names.push("second".to_owned());
    place.branches(&names[1..]);
    let points = points(&place, &["land", "second"]);
    let (first, step) = if stress() > 1 { (0, 1) } else { (first, 2) };
    for (n, point) in points.iter().enumerate().skip(first).step_by(step) {
        let pair = [format!("victim-{n}"), format!("other-{n}")];
        stale_at(&place, point, &pair);
        names.extend(pair);
    }
    place.assert_exactly_once(&names);
}

#[test]
fn a_passage_that_sleeps_at_any_point_past_its_lease_lands_once_with_a_remote() {
    stale_at_every_point(Kept::Remote, 0);
}

#[test]
fn a_passage_that_sleeps_at_any_point_past_its_lease_lands_once_through_a_servers_hooks() {
    stale_at_every_point(Kept::Guarded, 0);
}

#[test]
fn a_passage_that_sleeps_at_any_point_past_its_lease_lands_once_in_place() {
    stale_at_every_point(Kept::Here, 1);
}

/// Waits until a waiter has looked for dead passages some times more.
fn looks_again(log: &Path) {
    let looks = || {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        text.lines().filter(|line| *line == "reap:none-gone").count()
    };
    let before = looks();
    eventually("the waiter looks again", || looks() >= before + 3);
}

#[test]
fn a_check_that_outlives_its_passage_keeps_the_turn_until_the_lease_ends_and_its_worktree_after_it() {
    for kept in [Kept::Remote, Kept::Here] {
        let place = place(kept);
        close(&place, "slow");
        let mut slow = place.work.start(&["land", "slow"]);
        slow.event("check");
        eventually("the check begins", || record(&place, "begin slow").len() == 1);
        slow.kill();
        assert_killed(&slow.end());

        let log = place.world.path("waiter");
        let mut waiter =
            place.work.env("SIGNALBOX_FAULT_LOG", log.to_str().unwrap()).start(&["land", "other"]);
        waiter.event("waiting");
        looks_again(&log);
        let standing: Vec<_> =
            queue(&place.work).into_iter().map(|(branch, turn, _)| (branch, turn)).collect();
        let wanted = [("slow".to_owned(), true), ("other".to_owned(), false)];
        assert_eq!(standing, wanted, "while its check holds the lock it is not taken for dead");

        place.world.advance(LEASE / 2 + 1);
        let heard = place.world.now() + LEASE;
        eventually("the waiter is heard of", || {
            queue(&place.work).contains(&("other".to_owned(), false, heard))
        });
        place.world.advance(LEASE / 2 + 1);
        let done = waiter.end();
        assert_eq!(done.code(), "landed", "{}", done.all());
        assert_eq!(record(&place, "end slow").len(), 0, "the old check still runs");
        let at = |branch: &str| {
            let begins = record(&place, &format!("begin {branch} "));
            begins.last().unwrap().rsplit(' ').next().unwrap().to_owned()
        };
        assert_ne!(at("slow"), at("other"), "its worktree is not reused while it runs");

        open(&place, "slow");
        eventually("the old check ends", || record(&place, "end slow").len() == 1);
        assert_eq!(place.work.ok(&["land", "slow"]).code(), "landed");
        assert_eq!(place.work.ok(&["land", "third"]).code(), "landed");
        let names = ["slow", "other", "third"].map(str::to_owned);
        place.assert_exactly_once(&names);
        place.assert_nothing_left();
    }
}

#[test]
fn a_check_that_closed_its_passages_lock_frees_the_turn_and_still_keeps_its_worktree() {
    let world = World::with_clock();
    let check = format!("exec </dev/null; {}", check(&world));
    let place = Place::new(world, Kept::Remote, &check);
    place.branches(&["slow".to_owned(), "other".to_owned()]);
    close(&place, "slow");
    let mut slow = place.work.start(&["land", "slow"]);
    slow.event("check");
    eventually("the check begins", || record(&place, "begin slow").len() == 1);
    slow.kill();
    assert_killed(&slow.end());
    // The clock stands still: nobody waits for the lease.
    let done = place.work.ok(&["land", "other"]);
    assert_eq!(done.code(), "landed", "{}", done.all());
    let at = |branch: &str| {
        record(&place, &format!("begin {branch} ")).last().unwrap().rsplit(' ').next().unwrap().to_owned()
    };
    assert_ne!(at("slow"), at("other"), "its worktree is not reused while it runs");
    open(&place, "slow");
    eventually("the old check ends", || record(&place, "end slow").len() == 1);
    assert_eq!(place.work.ok(&["land", "slow"]).code(), "landed");
    place.assert_exactly_once(&["slow".to_owned(), "other".to_owned()]);
    place.assert_nothing_left();
}
