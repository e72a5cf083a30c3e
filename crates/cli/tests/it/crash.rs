//! A passage that is killed, at each of its fault points.

use crate::harness::{Done, World};
use crate::promises::{Kept, Place, assert_killed, stress};
use std::collections::BTreeMap;

/// The points that a run with these arguments passes, the second time that one is passed as `NAME#2`.
pub fn points(place: &Place, args: &[&str]) -> Vec<String> {
    let log = place.world.path("points");
    let _ = std::fs::remove_file(&log);
    place.work.env("SIGNALBOX_FAULT_LOG", log.to_str().unwrap()).ok(args);
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    let text = std::fs::read_to_string(&log).unwrap();
    let numbered = |name: &str| {
        let times = times.entry(name.to_owned()).or_default();
        *times += 1;
        if *times == 1 { name.to_owned() } else { format!("{name}#{times}") }
    };
    text.lines().map(numbered).collect()
}

/// Lands a branch under a fault, which kills it.
pub fn killed(place: &Place, branch: &str, fault: &str) {
    assert_killed(&place.work.env("SIGNALBOX_FAULT", fault).run(&["land", branch]));
}

/// What `land --settle` said of a branch: whether it landed, where it said anything.
pub fn told(done: &Done, branch: &str) -> Option<bool> {
    let of_branch = |event: &&serde_json::Value| event["event"] == "settled" && event["branch"] == branch;
    done.events.iter().find(of_branch).map(|event| event["landed"].as_bool().unwrap())
}

/// Settles, and compares what is said with what is.
fn settle(place: &Place, branch: &str) {
    let before = place.has(branch);
    let done = place.work.ok(&["land", "--settle"]);
    assert_eq!(place.has(branch), before, "settling lands nothing");
    let told = told(&done, branch);
    assert!(told.is_none_or(|told| told == before), "{} but landed: {before}", done.all());
    let count = |name: &str| done.end()[name].as_u64().unwrap();
    assert_eq!(count("landed"), u64::from(told == Some(true)), "{}", done.all());
    assert_eq!(count("notLanded"), u64::from(told == Some(false)), "{}", done.all());
}

/// One kill, and everything that must hold after it. The clock stands still throughout: nothing waits for a lease.
fn survives(place: &Place, fault: &str, names: &[String; 2], settle_first: bool) {
    let [victim, other] = names;
    place.branches(names);
    let before = place.main();
    killed(place, victim, fault);

    let after = place.main();
    let landed = place.has(victim);
    if landed {
        assert_eq!(place.trunk.git(&["rev-parse", "refs/heads/main^1"]), before, "{fault}");
        assert_eq!(place.epoch(), "landed", "{fault}: trunk and epoch move together");
    } else {
        assert_eq!(after, before, "{fault}: the trunk is before or after the landing");
    }
    place.assert_worktree_is_the_trunk();

    if settle_first {
        settle(place, victim);
    }
    let done = place.work.ok(&["land", other]);
    assert_eq!(done.code(), "landed", "{fault}: {}", done.all());
    assert_eq!(place.has(victim), landed, "{fault}: another's landing changes nothing about it");
    let done = place.work.ok(&["land", victim]);
    let wanted = if landed { "already_in_trunk" } else { "landed" };
    assert_eq!(done.code(), wanted, "{fault}: {}", done.all());
    place.assert_nothing_left();
}

/// Kills at the points that a landing passes: each `step`-th from the `first` on, and all in a long run.
fn at_points(kept: Kept, strategy: &str, how: &str, (first, step): (usize, usize)) {
    let (first, step) = if stress() > 1 { (0, 1) } else { (first, step) };
    let place =
        Place::with(World::with_clock(), kept, &["--check", "test -f README", "--strategy", strategy]);
    let mut names = vec!["first".to_owned()];
    place.branches(&names);
    // The first landing of all also makes the check's worktree.
    let made = points(&place, &["land", "first"]);
    names.push("second".to_owned());
    place.branches(&names[1..]);
    let points = points(&place, &["land", "second"]);
    assert!(points.len() > 30, "{points:?}");
    assert!(made.iter().any(|point| point == "bay:added"), "{made:?}");
    for (n, point) in points.iter().enumerate().skip(first).step_by(step) {
        let pair = [format!("victim-{n}"), format!("other-{n}")];
        survives(&place, &format!("{point}:{how}"), &pair, (n % 2 == 0) == (how == "kill"));
        names.extend(pair);
    }
    place.assert_exactly_once(&names);
    assert_eq!(place.work.ok(&["land", "--settle"]).code(), "nothing_open");
}

#[test]
fn a_landing_that_is_killed_at_any_point_is_before_or_after_with_a_remote() {
    at_points(Kept::Remote, "merge", "kill", (0, 1));
}

#[test]
fn a_landing_that_is_killed_at_any_point_is_before_or_after_through_a_servers_hooks() {
    at_points(Kept::Guarded, "squash", "kill", (1, 3));
}

#[test]
fn a_landing_that_is_killed_at_any_point_is_before_or_after_in_place() {
    at_points(Kept::Here, "merge", "kill", (0, 1));
}

#[test]
fn a_landing_whose_whole_group_is_killed_at_any_point_is_before_or_after_with_a_remote() {
    at_points(Kept::Remote, "squash", "group", (0, 2));
}

#[test]
fn a_landing_whose_whole_group_is_killed_at_any_point_is_before_or_after_in_place() {
    at_points(Kept::Here, "squash", "group", (1, 2));
}
