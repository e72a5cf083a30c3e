//! What `do` may not do, and waits and trunks that end.

use crate::harness::{Tree, World};

fn ready(world: &World) -> Tree {
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    repo.branch("feature");
    repo
}

#[test]
fn refusals_of_a_trunk_that_is_gone_leave_the_next_branch_as_it_is() {
    let world = World::new();
    let repo = ready(&world);
    repo.ok(&["land", "feature"]);
    repo.git(&["branch", "-m", "main", "develop"]);
    repo.git(&["switch", "-q", "-c", "other"]);
    repo.commit("other", "1\n", "other");
    let done = repo.run(&["land", "other"]);
    assert_eq!((done.exit, done.code()), (Some(3), "trunk_gone"), "{}", done.all());
    assert!(!repo.git_ok(&["rev-parse", "-q", "--verify", "refs/heads/main"]));
}

#[test]
fn refusals_of_an_unfinished_merge_never_say_to_commit_it() {
    let world = World::new();
    let repo = ready(&world);
    repo.git(&["switch", "-q", "-c", "ours", "main"]);
    repo.commit("file-feature", "ours\n", "ours");
    assert!(!repo.git_ok(&["merge", "-q", "feature"]));
    let done = repo.run(&["land"]);
    assert_eq!((done.exit, done.code()), (Some(2), "unfinished"), "{}", done.all());
    assert_eq!(done.end()["do"], "git status");
}

#[test]
fn refusals_say_what_to_type_for_the_same_state_and_the_same_dry_run() {
    let world = World::new();
    let repo = world.repo("r");
    let state = world.path("state");
    let state = state.to_str().unwrap();
    repo.ok(&["--state", state, "init", "--no-check"]);
    repo.branch("feature");
    repo.ok(&["--state", state, "freeze", "open", "BUG-1"]);
    let waits = repo.run(&["--state", state, "land", "feature", "--dry-run", "--no-wait"]);
    assert_eq!(waits.exit, Some(22), "{}", waits.all());
    assert_eq!(waits.end()["do"], format!("signalbox --state {state} --json land feature --dry-run"));
}

#[test]
fn a_dry_run_moves_nothing_at_the_remote() {
    let world = World::new();
    let remote = world.bare("remote");
    let repo = world.clone_of(&remote, "r");
    repo.ok(&["init", "--check", "true"]);
    repo.branch("feature");
    repo.branch("other");
    let refs = || remote.git(&["for-each-ref"]);
    let fresh = refs();
    assert_eq!(repo.ok(&["land", "feature", "--dry-run"]).code(), "dry_run");
    assert_eq!(refs(), fresh, "before the first landing");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    let landed = refs();
    assert_eq!(repo.ok(&["land", "other", "--dry-run"]).code(), "dry_run");
    assert_eq!(refs(), landed, "after one");
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn refusals_by_a_hold_come_when_the_wait_is_over() {
    let world = World::new();
    let repo = ready(&world);
    repo.ok(&["hold", "open", "release", "file-feature", "--owner", "ops"]);
    let done = repo.run(&["land", "feature", "--wait-holds", "--wait", "1s"]);
    assert_eq!((done.exit, done.code()), (Some(14), "held"), "{}", done.all());
    assert_eq!(repo.leftovers(), [""; 0]);
}
