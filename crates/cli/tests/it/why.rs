//! `why`, in the situations that matter most, as people and programs are told.

use crate::harness::{Tree, World, eventually};
use crate::promises::kill_machine;
use crate::words::{plain, refuses, seen, well_formed};
use insta::assert_snapshot;
use serde_json::Value;

fn ready(world: &World, check: &str) -> Tree {
    let repo = world.repo("r");
    repo.ok(&["init", "--check", check]);
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "settings"]);
    repo
}

/// The codes of the causes, the nearest first.
#[track_caller]
fn causes(tree: &Tree, about: &[&str]) -> Vec<String> {
    let args: Vec<&str> = ["why"].iter().chain(about).copied().collect();
    let done = tree.ok(&args);
    well_formed(&done);
    let causes = done.end()["causes"].as_array().unwrap();
    let codes: Vec<String> = causes.iter().map(|cause| cause["code"].as_str().unwrap().to_owned()).collect();
    assert_eq!(done.code(), codes[0], "the nearest cause is the answer");
    codes
}

#[test]
fn why_tells_the_whole_chain_of_a_place_in_the_queue() {
    let world = World::with_clock();
    let gate = world.gate("gate");
    let repo = ready(&world, &gate.command());
    repo.branch("one");
    repo.branch("two");
    repo.branch("three");
    let mut one = repo.start(&["land", "one", "--label", "Ann"]);
    one.event("check");
    eventually("what it does is known", || repo.people(&["queue"]).1.contains("checking"));
    let mut two = repo.start(&["land", "two", "--label", "Bo"]);
    two.event("waiting");
    let mut three = repo.start(&["land", "three", "--label", "Cy"]);
    three.event("waiting");
    repo.ok(&["hold", "open", "release-3", "file-three", "--for", "2h", "--owner", "ops"]);
    world.advance(130_000);
    // A renewal on the moved clock is awaited, so that nobody counts as silent.
    eventually("everybody was heard of", || {
        let queue = repo.ok(&["queue"]);
        let now = world.now();
        let heard = |t: &Value| t["leaseUntil"].as_i64().unwrap() - now > 250_000;
        queue.events[0]["tickets"].as_array().unwrap().iter().all(heard)
    });
    assert_snapshot!(seen(&world, &repo, &["why", "three"]), @r"
    exit 0
    -- standard output
    2 ahead; Ann with one has had the turn for 2:10: checking
      then: the hold release-3 of ops covers file-three until 10:00
      next: signalbox queue --watch
    -- standard error
    ");
    assert_snapshot!(seen(&world, &repo, &["why", "one"]), @r"
    exit 0
    -- standard output
    one has had the turn for 2:10 and goes on: checking
      next: signalbox queue --watch
    -- standard error
    ");
    repo.ok(&["freeze", "open", "BUG-12", "--admit", "hotfix"]);
    assert_snapshot!(seen(&world, &repo, &["why", "three"]), @r"
    exit 0
    -- standard output
    frozen by BUG-12, which admits only hotfix; three waits until it is closed
      Tester in r opened the freeze (08:02)
      then: the hold release-3 of ops covers file-three until 10:00
      next: signalbox freeze list
    -- standard error
    ");
    assert_eq!(causes(&repo, &["one"]), ["has_the_turn", "frozen"]);
    let ticket = repo.ok(&["queue"]).events[0]["tickets"][1]["ticket"].as_str().unwrap().to_owned();
    assert_eq!(repo.ok(&["why", &ticket[..4]]).end()["branch"], "two");
    assert_eq!(repo.ok(&["why", &ticket]).end()["ticket"], ticket.as_str());
    repo.ok(&["freeze", "close", "BUG-12"]);
    repo.ok(&["hold", "close", "release-3", "--owner", "ops"]);
    gate.open();
    for running in [one, two, three] {
        assert_eq!(running.end().code(), "landed");
    }
    assert_eq!(causes(&repo, &[&ticket]), ["landed"]);
    assert_eq!(causes(&repo, &["three"]), ["landed"]);
}

#[test]
fn why_is_about_the_branch_here_and_on_the_trunk_about_what_is_ones_own() {
    let world = World::with_clock();
    let gate = world.gate("gate");
    let repo = ready(&world, &gate.command());
    assert_eq!(repo.ok(&["why"]).code(), "nothing_waits");
    let tree = repo.worktree("work");
    assert_eq!(tree.ok(&["why"]).code(), "already_in_trunk");
    tree.commit("work", "", "work");
    assert_eq!(causes(&tree, &[]), ["not_entered"]);
    tree.write("work", "more");
    assert_eq!(causes(&tree, &[]), ["dirty"]);
    tree.git(&["checkout", "-q", "--", "work"]);
    let mut land = tree.start(&["land", "--label", "Ann"]);
    land.event("check");
    assert_eq!(causes(&tree, &[]), ["has_the_turn"]);
    assert_eq!(repo.ok(&["why"]).end()["branch"], "work", "its process is this machine's");
    repo.branch("later");
    assert_eq!(repo.run(&["land", "later", "--no-wait"]).exit, Some(22));
    let both = repo.ok(&["why"]);
    well_formed(&both);
    let of =
        |n: usize| (both.events[n]["event"].as_str().unwrap(), both.events[n]["branch"].as_str().unwrap());
    assert_eq!((of(0), of(1), &both.end()["answers"]), (("why", "work"), ("why", "later"), &2.into()));
    assert_eq!(both.events[1]["code"], "still_waiting");
    gate.open();
    assert_eq!(land.end().code(), "landed");
    let end = refuses(&repo, &["why", "abcd12"], 2, "no_ticket");
    assert_eq!(end["do"], "signalbox --json log");
    assert_eq!(causes(&repo, &["no-such-branch"]), ["no_branch"]);
    assert_eq!(causes(&repo, &["main"]), ["trunk_itself"]);
    assert_eq!(repo.below("").run(&["why", "x", "y"]).exit, Some(2));
}

#[test]
fn why_tells_how_a_landing_ended_and_what_mends_it() {
    let world = World::with_clock();
    let repo = ready(&world, "! test -e bad");
    repo.git(&["switch", "-q", "-c", "red"]);
    repo.commit("bad", "", "bad");
    assert_eq!(repo.run(&["land"]).exit, Some(10));
    assert_snapshot!(seen(&world, &repo, &["why"]), @r"
    exit 0
    -- standard output
    the check of red failed with code 1 (08:00); mend the branch, then land it again
      Its output: [world]/r/.git/signalbox/logs/[id].log
      next: cat [world]/r/.git/signalbox/logs/[id].log
    -- standard error
    ");
    repo.git(&["rm", "-q", "bad"]);
    repo.commit("good", "", "mended");
    assert_eq!(causes(&repo, &[]), ["not_entered"], "another commit");
    for branch in ["ours", "theirs"] {
        repo.git(&["switch", "-q", "-c", branch, "main"]);
        repo.commit("README", branch, branch);
    }
    repo.ok(&["land", "ours"]);
    assert_eq!(repo.run(&["land", "theirs"]).exit, Some(12));
    assert_snapshot!(seen(&world, &repo, &["why", "theirs"]), @r"
    exit 0
    -- standard output
    conflict in README; merge the trunk into the branch, then land again
      README: changed by [commit] Merge branch 'ours' into main
      CONFLICT (content): Merge conflict in README
      On the branch:
        git switch theirs
        git merge main
        (mend the files, git add them, then: git commit --no-edit)
        signalbox land theirs
      next: git merge main
    -- standard error
    ");
    // Once what it told is begun, finishing that is what comes first.
    assert!(!repo.git_ok(&["merge", "main"]));
    let end = repo.ok(&["why"]).end().clone();
    assert_eq!((&end["code"], &end["do"]), (&"unfinished".into(), &"git status".into()), "{end}");
    assert_eq!(end["causes"][1]["code"], "conflict", "{end}");
    repo.git(&["merge", "--abort"]);
    assert_snapshot!(seen(&world, &repo, &["why", "ours"]), @r"
    exit 0
    -- standard output
    ours landed on main as [commit] (turn 2), 08:00
    -- standard error
    ");
    repo.branch("kept-out");
    repo.ok(&["hold", "open", "release", "file-kept-out", "--owner", "ops", "--for", "1h"]);
    assert_eq!(repo.run(&["land", "kept-out"]).exit, Some(14));
    assert_eq!(causes(&repo, &["kept-out"]), ["held"]);
    world.advance(3_600_000);
    assert_eq!(causes(&repo, &["kept-out"]), ["land_again"]);
}

#[test]
fn why_says_when_a_push_was_cut_off_and_when_a_process_is_gone() {
    let world = World::with_clock();
    let gate = world.gate("gate");
    let repo = ready(&world, &gate.command());
    repo.branch("work");
    let mut land = repo.start(&["land", "work"]);
    land.event("check");
    kill_machine(&land);
    land.end();
    eventually("its check is gone too", || causes(&repo, &["work"]) == ["process_gone"]);
    repo.ok(&["land", "--settle"]);
    gate.open();
    let faulty = repo.env("SIGNALBOX_FAULT", "push:intent-written:group");
    assert_eq!(faulty.run(&["land", "work"]).exit, None);
    let (_, said, _) = repo.people(&["why", "work"]);
    assert!(said.contains("next: signalbox land --settle"), "{said}");
    assert_eq!(causes(&repo, &["work"])[0], "outcome_unknown");
    repo.ok(&["land", "--settle"]);
    assert_eq!(causes(&repo, &["work"]), ["process_gone"]);
    repo.ok(&["land", "work"]);
}

#[test]
fn why_says_who_was_not_heard_of() {
    let world = World::with_clock();
    let gate = world.gate("gate");
    let repo = ready(&world, &gate.command());
    repo.branch("one");
    repo.branch("two");
    let mut one = repo.start(&["land", "one", "--label", "Ann"]);
    one.event("check");
    let mut two = repo.start(&["land", "two", "--label", "Bo"]);
    two.event("waiting");
    // As from another machine: nothing here tells whether they live.
    for gone in [one, two] {
        kill_machine(&gone);
        gone.end();
    }
    std::fs::remove_dir_all(repo.state().join("live")).unwrap();
    world.advance(250_000);
    assert_eq!(causes(&repo, &["two"]), ["silent", "waiting", "holder_silent"]);
    let (_, said, _) = repo.people(&["why", "two"]);
    assert!(plain(&world, &said).contains("next: signalbox land two --resume [id]"), "{said}");
    assert_eq!(causes(&repo, &["one"]), ["silent", "has_the_turn"]);
    world.advance(60_000);
    gate.open();
    repo.ok(&["land", "two"]);
    assert_eq!(causes(&repo, &["one"]), ["turn_lost"]);
}

#[test]
fn why_answers_where_nothing_can_land_at_all() {
    let world = World::with_clock();
    let bare = world.repo("r");
    assert_snapshot!(seen(&world, &bare, &["why"]), @r"
    exit 0
    -- standard output
    this repository is not set up for signalbox; run `signalbox init --check COMMAND`
      next: signalbox init --check 'make test'
    -- standard error
    ");
    let nowhere = world.tree(world.path("home"));
    refuses(&nowhere, &["why"], 2, "no_repository");
    let remote = world.bare("remote.git");
    let (first, second) = (world.clone_of(&remote, "first"), world.clone_of(&remote, "second"));
    first.ok(&["init", "--no-check"]);
    second.run(&["init", "--no-check"]);
    second.branch("work");
    assert_eq!(causes(&second, &["work"]), ["other_box", "not_entered"]);
    first.branch("work");
    std::fs::rename(&remote.path, world.path("away")).unwrap();
    assert_eq!(causes(&first, &["work"]), ["unreachable", "not_entered"]);
    std::fs::rename(world.path("away"), &remote.path).unwrap();
    first.ok(&["land", "work"]);
    assert_eq!(causes(&first, &["work"]), ["landed"]);
}
