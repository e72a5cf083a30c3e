//! Checks ahead of the turn: what waits is checked as it is expected to land, and lands as it was checked.

use crate::harness::{Running, Tree, World, eventually, executable};
use std::path::PathBuf;
use std::time::Duration;

/// A check that appends its begin, waits until the test's clock has moved since, and fails where the tree has a file
/// `red`. It notes which files it saw.
pub fn ticking(world: &World) -> String {
    let (clock, seen) = (world.path("clock"), world.path("seen"));
    format!(
        "at=$(cat '{clock}'); echo begin $SIGNALBOX_BRANCH >> '{seen}'; \
         until [ \"$(cat '{clock}')\" -gt \"$at\" ]; do sleep 0.02; done; \
         if [ -e red ]; then echo red $SIGNALBOX_BRANCH >> '{seen}'; exit 1; fi; \
         echo green $(git rev-parse 'HEAD^{{tree}}') >> '{seen}'",
        clock = clock.display(),
        seen = seen.display()
    )
}

pub fn settings(check: &str, parallel: u32) -> String {
    let check = check.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "[trunk]\nremote = \".\"\nbranch = \"main\"\n[check]\ncommand = \"{check}\"\nparallel = {parallel}\n"
    )
}

pub struct Line {
    pub world: World,
    pub repo: Tree,
    seen: PathBuf,
}

impl Line {
    pub fn new(parallel: u32) -> Self {
        Self::with(parallel, "")
    }

    pub fn with(parallel: u32, more: &str) -> Self {
        let world = World::with_clock();
        let repo = world.repo("r");
        let text = settings(&ticking(&world), parallel) + more;
        repo.commit(".signalbox.toml", &text, "settings");
        let seen = world.path("seen");
        std::fs::write(&seen, "").unwrap();
        Self { world, repo, seen }
    }

    pub fn seen(&self, word: &str) -> Vec<String> {
        let text = std::fs::read_to_string(&self.seen).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix(word));
        lines.map(|rest| rest.trim().to_owned()).collect()
    }

    /// Waits until so many checks have begun in all.
    pub fn begun(&self, n: usize) {
        eventually(&format!("{n} checks"), || self.seen("begin").len() >= n);
        assert_eq!(self.seen("begin").len(), n);
    }

    /// Starts landing branches one after the other: each is in the queue before the next.
    pub fn land(&self, branches: &[String]) -> Vec<Running> {
        let start = |branch: &String| {
            let mut running = self.repo.start(&["land", branch]);
            running.event("entered");
            running
        };
        branches.iter().map(start).collect()
    }
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("b{n}")).collect()
}

#[test]
fn ten_waiting_branches_take_the_time_of_one_check() {
    let line = Line::new(10);
    let branches = names(10);
    for branch in &branches {
        line.repo.branch(branch);
    }
    let landing = line.land(&branches);
    line.begun(10);
    line.world.advance(1_000);
    for running in landing {
        let done = running.end_within(Duration::from_secs(120));
        assert_eq!(done.exit, Some(0), "{}", done.all());
    }
    assert_eq!(line.seen("begin").len(), 10, "no tree was checked twice");
    // Each landing has a tree that was checked.
    let green = line.seen("green");
    for commit in &line.repo.first_parent("main")[..10] {
        let tree = line.repo.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
        assert!(green.contains(&tree), "{commit} has a tree that was not checked");
    }
    assert!(line.repo.leftovers().is_empty(), "{:?}", line.repo.leftovers());
}

#[test]
fn one_red_among_ten_keeps_no_other_from_landing_and_each_lands_with_a_tree_that_was_checked() {
    let line = Line::new(10);
    let branches = names(10);
    for branch in &branches {
        line.repo.branch(branch);
    }
    line.repo.git(&["switch", "-q", "b3"]);
    line.repo.commit("red", "", "red");
    line.repo.git(&["switch", "-q", "main"]);
    let mut landing = line.land(&branches);
    line.begun(10);
    // The first tick: three land; b3 and, with it, all behind it fail, and are checked again without it.
    line.world.advance(1_000);
    let ends: Vec<_> = landing.drain(..4).map(|r| r.end_within(Duration::from_secs(60))).collect();
    // Whose fault it is is found out in b3's own end: the trunk it stood on was checked and is green.
    assert_eq!(ends.iter().map(|d| d.exit.unwrap()).collect::<Vec<_>>(), [0, 0, 0, 10], "{}", ends[3].all());
    assert_eq!(ends[3].end()["fault"], "branch", "{}", ends[3].all());
    line.begun(16);
    line.world.advance(1_000);
    for running in landing {
        let done = running.end_within(Duration::from_secs(120));
        assert_eq!(done.exit, Some(0), "{}", done.all());
    }
    let green = line.seen("green");
    let landed = line.repo.first_parent("main");
    for commit in &landed[..9] {
        let tree = line.repo.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
        assert!(green.contains(&tree), "{commit} has a tree that was not checked");
    }
    assert_eq!(line.repo.tickets("main").len(), 9);
    assert_eq!(line.seen("begin").len(), 16);
}

#[test]
fn never_more_checks_at_once_than_the_setting_allows_and_none_ahead_where_it_is_off() {
    for (parallel, more, at_once) in [(3, "", 3), (1, "", 1), (4, "ahead = false\n", 1)] {
        let line = Line::with(parallel, more);
        let branches = names(5);
        for branch in &branches {
            line.repo.branch(branch);
        }
        let mut landing = line.land(&branches);
        line.begun(at_once);
        // Whoever may check ahead has had its moment once all have seen the queue.
        for running in &mut landing[1..] {
            running.event("waiting");
        }
        let mut ticks = 0;
        for running in landing {
            let mut running = running;
            while running.child.try_wait().unwrap().is_none() {
                let (begun, over) = (line.seen("begin").len(), line.seen("green").len());
                assert!(begun - over <= at_once, "{} at once with {parallel}", begun - over);
                if begun > over {
                    line.world.advance(1_000);
                    ticks += 1;
                    eventually("the checks end", || line.seen("green").len() >= begun);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            let done = running.end();
            assert_eq!(done.exit, Some(0), "{}", done.all());
        }
        assert_eq!(line.seen("begin").len(), 5, "with {parallel} {more}");
        assert!(ticks >= 5 / at_once, "{ticks} ticks with {parallel}");
    }
}

#[test]
fn a_check_that_runs_ahead_is_gone_on_with_when_the_turn_comes() {
    let line = Line::new(2);
    line.repo.branch("a");
    line.repo.branch("b");
    let gate = line.world.gate("gate");
    // The first branch has a check that passes without waiting for the clock: its turn ends before b's check does.
    let mut first = line.repo.start(&["land", "a"]);
    first.event("check");
    let mut second = line.repo.start(&["land", "b"]);
    let ahead = second.event("ahead");
    assert_eq!(ahead["with"], 1);
    line.begun(2);
    drop(gate);
    // b's check began at the same time of the clock as a's: both end with one tick, whoever is first.
    line.world.advance(1_000);
    assert_eq!(first.end().exit, Some(0));
    let done = second.end();
    assert_eq!(done.exit, Some(0), "{}", done.all());
    line.begun(2);
    let log = line.repo.ok(&["log"]);
    let of_b = log.events.iter().find(|e| e["branch"] == "b").unwrap_or_else(|| panic!("{}", log.all()));
    let word = of_b["report"]["ahead"].as_str().unwrap_or_default();
    assert!(["running", "passed"].contains(&word), "{of_b}\n{}", done.all());
}

#[test]
fn what_others_see_of_who_waits_is_what_it_does() {
    let line = Line::new(2);
    line.repo.branch("a");
    line.repo.branch("b");
    let mut first = line.repo.start(&["land", "a"]);
    first.event("check");
    let mut second = line.repo.start(&["land", "b"]);
    second.event("ahead");
    eventually("the step", || {
        let (_, out, _) = line.repo.people(&["queue"]);
        out.lines().any(|l| l.starts_with("1.") && l.contains("checking ahead"))
    });
    line.world.advance(1_000);
    assert_eq!(first.end().exit, Some(0));
    assert_eq!(second.end().exit, Some(0));
}

#[test]
fn who_will_conflict_hears_it_while_it_waits() {
    let line = Line::new(3);
    for branch in ["a", "b"] {
        line.repo.git(&["switch", "-q", "-c", branch, "main"]);
        line.repo.commit("README", &format!("{branch}\n"), branch);
        line.repo.git(&["switch", "-q", "main"]);
    }
    let mut first = line.repo.start(&["land", "a"]);
    first.event("check");
    let mut second = line.repo.start(&["land", "b"]);
    let warning = second.event("will_conflict");
    assert_eq!(warning["files"], serde_json::json!(["README"]), "{warning}");
    assert!(warning["with"].as_str().unwrap().starts_with("a of "), "{warning}");
    line.begun(1);
    line.world.advance(1_000);
    assert_eq!(first.end().exit, Some(0));
    let done = second.end();
    assert_eq!((done.exit, done.code()), (Some(12), "conflict"), "{}", done.all());
}

#[test]
fn a_passage_that_is_killed_while_it_checks_ahead_keeps_nobody_and_leaves_nothing() {
    let line = Line::new(3);
    for branch in names(3) {
        line.repo.branch(&branch);
    }
    let mut first = line.repo.start(&["land", "b0"]);
    first.event("check");
    let mut second = line.repo.start(&["land", "b1"]);
    second.event("ahead");
    let mut third = line.repo.start(&["land", "b2"]);
    third.event("ahead");
    line.begun(3);
    second.kill();
    second.end();
    // b1's place is ended without waiting for its lease, and b2 is checked without it.
    line.begun(4);
    line.world.advance(1_000);
    assert_eq!(first.end().exit, Some(0));
    let done = third.end();
    assert_eq!(done.exit, Some(0), "{}", done.all());
    assert_eq!(line.repo.tickets("main").len(), 2);
    let done = line.repo.start(&["land", "b1"]);
    line.begun(5);
    line.world.advance(1_000);
    assert_eq!(done.end().exit, Some(0));
    assert!(line.repo.leftovers().is_empty(), "{:?}", line.repo.leftovers());
}

#[test]
fn a_wait_that_is_given_up_stops_its_check() {
    let line = Line::new(2);
    line.repo.branch("a");
    line.repo.branch("b");
    let mut first = line.repo.start(&["land", "a"]);
    first.event("check");
    let mut second = line.repo.start(&["land", "b"]);
    second.event("ahead");
    line.begun(2);
    second.signal(rustix::process::Signal::INT);
    let done = second.end();
    assert_eq!(done.exit, Some(130), "{}", done.all());
    line.world.advance(1_000);
    assert_eq!(first.end().exit, Some(0));
    assert_eq!(line.seen("green").len(), 1, "b's check was stopped");
}

#[test]
fn with_a_remote_it_is_the_same() {
    let world = World::with_clock();
    let bare = world.bare("origin.git");
    let repo = world.clone_of(&bare, "r");
    let text = settings(&ticking(&world), 3).replace("\".\"", "\"origin\"");
    repo.commit(".signalbox.toml", &text, "settings");
    repo.git(&["push", "-q", "origin", "main"]);
    let seen = world.path("seen");
    std::fs::write(&seen, "").unwrap();
    let line = Line { world, repo, seen };
    for branch in names(3) {
        line.repo.branch(&branch);
    }
    let landing = line.land(&names(3));
    line.begun(3);
    line.world.advance(1_000);
    for running in landing {
        let done = running.end();
        assert_eq!(done.exit, Some(0), "{}", done.all());
    }
    line.begun(3);
    assert_eq!(bare.tickets("main").len(), 3);
}

#[test]
fn a_wait_is_estimated_from_the_last_turns_and_the_log_tells_how_good_that_was() {
    let line = Line::with(1, "");
    let branches = names(6);
    for branch in &branches {
        line.repo.branch(branch);
    }
    // Three turns of a second each, one after the other: from then on there is something to tell from.
    for (n, branch) in branches[..3].iter().enumerate() {
        let mut running = line.repo.start(&["land", branch]);
        running.event("check");
        line.begun(n + 1);
        line.world.advance(1_000);
        assert_eq!(running.end().exit, Some(0));
    }
    let mut first = line.repo.start(&["land", &branches[3]]);
    first.event("check");
    let mut second = line.repo.start(&["land", &branches[4]]);
    let told = second.until("an estimate", |e| e["event"] == "waiting" && !e["waitMs"].is_null());
    assert_eq!(told["waitMs"], serde_json::json!({ "low": 1_000, "likely": 1_000, "high": 1_000 }));
    for n in 4..6 {
        line.begun(n);
        line.world.advance(1_000);
        eventually("its end", || line.seen("green").len() == n);
    }
    assert_eq!(first.end().exit, Some(0));
    assert_eq!(second.end().exit, Some(0));
    let stats = line.repo.ok(&["log", "--stats"]).events[0].clone();
    assert_eq!(stats["estimates"], serde_json::json!({ "told": 1, "within": 1 }), "{stats}");
    assert_eq!(stats["outcomes"], serde_json::json!({ "landed": 5 }), "{stats}");
    let (exit, out, _) = line.repo.people(&["log", "--stats"]);
    assert_eq!(exit, 0);
    insta::assert_snapshot!(out, @r"
    ended     5: 5 landed
    wait         0.0 s   eight of ten between 0.0 s and 1.0 s
    turn         1.0 s   eight of ten between 1.0 s and 1.0 s
    check        1.0 s   eight of ten between 1.0 s and 1.0 s
    push         0.0 s   eight of ten between 0.0 s and 0.0 s
    ahead     0 had their check begun ahead of their turn
    estimates 1 of 1 waits ended within the range that was told
    ");
}

#[test]
fn what_was_foreseen_is_not_merged_again_when_it_has_landed() {
    for strategy in ["merge", "squash"] {
        let line = Line::with(4, &format!("[land]\nstrategy = \"{strategy}\"\n"));
        for branch in names(4) {
            line.repo.branch(&branch);
        }
        let (git, calls) = (line.world.path("git.sh"), line.world.path("calls"));
        let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\nexec git \"$@\"\n", calls.display());
        std::fs::write(&git, script).unwrap();
        executable(&git);
        let mut landing = line.land(&names(3));
        let last = line.repo.env("SIGNALBOX_GIT", git.to_str().unwrap());
        landing.push(last.start(&["land", "b3"]));
        line.begun(4);
        line.world.advance(1_000);
        for running in landing {
            assert_eq!(running.end().exit, Some(0));
        }
        let calls = std::fs::read_to_string(&calls).unwrap();
        let merges = calls.lines().filter(|call| call.contains("merge-tree")).count();
        assert_eq!(merges, 5, "four while it waits, one in its turn: {calls}");
    }
}

#[test]
fn a_squashed_branch_is_checked_ahead_too() {
    let line = Line::with(3, "[land]\nstrategy = \"squash\"\n");
    for branch in names(3) {
        line.repo.branch(&branch);
    }
    let landing = line.land(&names(3));
    line.begun(3);
    line.world.advance(1_000);
    for running in landing {
        let done = running.end();
        assert_eq!(done.exit, Some(0), "{}", done.all());
    }
    line.begun(3);
}
