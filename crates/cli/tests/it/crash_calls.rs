//! A passage that is killed at its calls of git, and a settling that is killed at its fault points.

use crate::crash::{killed, points, told};
use crate::harness::{Tree, World, eventually, executable};
use crate::promises::{Kept, Place, assert_killed, random, stress};

/// A git that counts its calls and kills whoever calls it the n-th time: before it does anything, while it goes
/// on, or after it has done it.
fn counting(place: &Place) -> Tree {
    let path = place.world.path("git");
    let script = format!(
        "#!/bin/sh\n\
         n=$(($(cat {dir}calls) + 1))\n\
         echo $n > {dir}calls\n\
         case \"$n:$KILL_AT\" in\n\
         $n:$n:before) kill -9 $PPID; : > {dir}done; exit 1 ;;\n\
         $n:$n:while) kill -9 $PPID; git \"$@\"; : > {dir}done ;;\n\
         $n:$n:after) git \"$@\"; status=$?; kill -9 $PPID; : > {dir}done; exit $status ;;\n\
         *) exec git \"$@\" ;;\n\
         esac\n",
        dir = place.world.path("").display(),
    );
    std::fs::write(&path, script).unwrap();
    executable(&path);
    place.work.env("SIGNALBOX_GIT", path.to_str().unwrap())
}

fn calls(place: &Place) -> usize {
    std::fs::read_to_string(place.world.path("calls")).unwrap().trim().parse().unwrap()
}

fn forget(place: &Place) {
    std::fs::write(place.world.path("calls"), "0\n").unwrap();
    let _ = std::fs::remove_file(place.world.path("done"));
}

/// Kills at calls of git that are left to chance; at all of them where the run is a long one.
fn at_calls(kept: Kept) {
    let mut random = random();
    let place = Place::new(World::with_clock(), kept, "test -f README");
    let counting = counting(&place);
    let mut names = vec!["first".to_owned(), "second".to_owned()];
    place.branches(&names);
    place.work.ok(&["land", "first"]);
    forget(&place);
    counting.ok(&["land", "second"]);
    let mut all: Vec<(usize, &str)> =
        (1..=calls(&place)).flat_map(|n| ["before", "while", "after"].map(|when| (n, when))).collect();
    assert!(all.len() > 100);
    random.shuffle(&mut all);
    all.truncate(if stress() >= 10 { all.len() } else { 12 * stress() });
    for (turn, (n, when)) in all.into_iter().enumerate() {
        let (victim, other) = (format!("victim-{turn}"), format!("other-{turn}"));
        place.branches(&[victim.clone(), other.clone()]);
        let before = place.main();
        forget(&place);
        let at = format!("{n}:{when}");
        let running = counting.env("KILL_AT", &at).start(&["land", &victim]);
        let done = running.end();
        if done.exit == Some(0) {
            // How often git is called differs a little from run to run: this one was over before.
            assert!(calls(&place) < n && done.code() == "landed", "call {at}: {}", done.all());
            names.push(victim);
            continue;
        }
        assert_killed(&done);
        eventually("the last git ends", || place.world.path("done").exists());
        let landed = place.has(&victim);
        if !landed {
            assert_eq!(place.main(), before, "call {at}: before or after");
        }
        let done = place.work.ok(&["land", &other]);
        assert_eq!(done.code(), "landed", "call {at}: {}", done.all());
        place.assert_worktree_is_the_trunk();
        let done = place.work.ok(&["land", &victim]);
        assert_eq!(done.code() == "already_in_trunk", landed, "call {at}: {}", done.all());
        place.assert_nothing_left();
        names.extend([victim, other]);
    }
    place.assert_exactly_once(&names);
}

#[test]
fn a_landing_that_is_killed_at_any_call_of_git_is_before_or_after_with_a_remote() {
    at_calls(Kept::Remote);
}

#[test]
fn a_landing_that_is_killed_at_any_call_of_git_is_before_or_after_in_place() {
    at_calls(Kept::Here);
}

/// A settling that is killed is taken up by the next one, and says the same.
fn settling_is_killed(kept: Kept) {
    let place = Place::new(World::with_clock(), kept, "test -f README");
    let mut names = Vec::new();
    for fault in ["push:intent-written:kill", "push:sent:kill"] {
        let branch = |n: usize| format!("{}-{n}", fault.replace(':', "-"));
        place.branches(&[branch(0)]);
        killed(&place, &branch(0), fault);
        let landed = place.has(&branch(0));
        let points = points(&place, &["land", "--settle"]);
        assert!(points.iter().any(|point| point == "settle:left"), "{points:?}");
        assert_eq!(place.work.ok(&["land", &branch(0)]).code() == "already_in_trunk", landed);
        names.push(branch(0));
        for (n, point) in (1..).zip(points) {
            place.branches(&[branch(n)]);
            killed(&place, &branch(n), fault);
            let settling =
                place.work.env("SIGNALBOX_FAULT", format!("{point}:kill")).run(&["land", "--settle"]);
            assert_killed(&settling);
            assert_eq!(place.has(&branch(n)), landed);
            let done = place.work.ok(&["land", "--settle"]);
            let said = told(&done, &branch(n));
            assert!(said.is_none_or(|said| said == landed), "{point}: {}", done.all());
            place.assert_nothing_left();
            place.assert_worktree_is_the_trunk();
            assert_eq!(place.work.ok(&["land", &branch(n)]).code() == "already_in_trunk", landed, "{point}");
            names.push(branch(n));
        }
    }
    place.assert_exactly_once(&names);
}

#[test]
fn a_settling_that_is_killed_at_any_point_is_taken_up_by_the_next_with_a_remote() {
    settling_is_killed(Kept::Remote);
}

#[test]
fn a_settling_that_is_killed_at_any_point_is_taken_up_by_the_next_in_place() {
    settling_is_killed(Kept::Here);
}
