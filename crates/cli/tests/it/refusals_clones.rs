//! One box keeps a trunk: other clones, copies, moved repositories and lost states.

use crate::harness::{Tree, World};
use crate::words::{more, refused, refuses};
use std::path::Path;

/// A remote with two clones; the first one keeps the trunk.
fn two_clones(world: &World) -> (Tree, Tree, Tree) {
    let remote = world.bare("remote.git");
    let first = world.clone_of(&remote, "first");
    let second = world.clone_of(&remote, "second");
    first.ok(&["init", "--no-check", "--line", "adr=adr/{number:04}-{slug}.md"]);
    first.git(&["switch", "-q", "-c", "settings"]);
    first.git(&["add", ".signalbox.toml"]);
    first.git(&["commit", "-q", "-m", "settings"]);
    first.ok(&["land"]);
    second.git(&["pull", "-q"]);
    (remote, first, second)
}

fn first_number(tree: &Tree, line: &str) -> i64 {
    tree.ok(&["mint", line]).end()["first"].as_i64().unwrap()
}

#[test]
fn a_second_clone_is_refused_with_the_ways_out() {
    let world = World::new();
    let (remote, _, second) = two_clones(&world);
    second.branch("feature");
    let before = remote.git(&["for-each-ref"]);
    for args in [&["land", "feature"][..], &["mint", "adr"], &["new", "adr", "x"], &["init"]] {
        let end = refuses(&second, args, 3, "other_box");
        let ways = more(&end);
        assert!(ways.contains("--state DIR") && ways.contains("SIGNALBOX_STATE"), "{ways}");
        assert!(ways.contains("init --take-over"), "{ways}");
    }
    assert_eq!(remote.git(&["for-each-ref"]), before);
    assert_eq!(second.leftovers(), [""; 0]);
}

#[test]
fn a_second_clone_that_uses_the_first_ones_state_lands_and_mints() {
    let world = World::new();
    let (remote, first, second) = two_clones(&world);
    let state = first.state();
    let state = state.to_str().unwrap();
    assert_eq!(first_number(&first, "adr"), 1);
    second.branch("feature");
    let done = second.ok(&["land", "feature", "--state", state]);
    assert_eq!(done.code(), "landed");
    let by_variable = second.env("SIGNALBOX_STATE", state);
    assert_eq!(first_number(&by_variable, "adr"), 2);
    assert_eq!(remote.tickets("main").len(), 2);
    first.branch("another");
    assert_eq!(first.ok(&["land", "another"]).code(), "landed");
    assert_eq!(first.ok(&["log"]).events.len(), 4, "one register for both clones");
}

#[test]
fn a_clone_that_takes_over_starts_above_and_the_first_one_is_refused_from_then_on() {
    let world = World::new();
    let (remote, first, second) = two_clones(&world);
    first.branch("one");
    let turn = first.ok(&["land", "one"]).end()["turnNo"].as_i64().unwrap();
    first.git(&["switch", "-q", "-c", "decision", "origin/main"]);
    first.commit("adr/0017-old.md", "", "seventeen");
    first.ok(&["land"]);
    assert_eq!(first_number(&first, "adr"), 18);
    second.git(&["pull", "-q"]);
    assert_eq!(second.ok(&["init", "--take-over"]).code(), "ready");
    assert_eq!(first_number(&second, "adr"), 18, "above what the trunk's files show");
    second.branch("two");
    let done = second.ok(&["land", "two"]);
    assert!(done.end()["turnNo"].as_i64().unwrap() > turn + 1, "{}", done.all());
    first.git(&["switch", "-q", "main"]);
    first.branch("three");
    let before = remote.git(&["for-each-ref"]);
    refuses(&first, &["land", "three"], 3, "other_box");
    refuses(&first, &["mint", "adr"], 3, "other_box");
    assert_eq!(remote.git(&["for-each-ref"]), before);
    assert_eq!(first.leftovers(), [""; 0]);
}

#[test]
fn a_take_over_during_a_landing_stops_that_landing() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let first = world.clone_of(&remote, "first");
    let second = world.clone_of(&remote, "second");
    let gate = world.gate("gate");
    first.ok(&["init", "--check", &gate.command()]);
    first.branch("feature");
    let before = remote.git(&["rev-parse", "main"]);
    let mut land = first.start(&["land", "feature"]);
    land.event("check");
    second.ok(&["init", "--check", "true", "--take-over"]);
    gate.open();
    refused(&land.end(), 3, "other_box");
    assert_eq!(remote.git(&["rev-parse", "main"]), before);
    assert_eq!(first.leftovers(), [""; 0]);
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-r").args([from, to]).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_copied_repository_is_refused_until_it_takes_over() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "test -f README", "--line", "adr"]);
    repo.branch("one");
    repo.ok(&["land", "one"]);
    assert_eq!(first_number(&repo, "adr"), 1);
    copy(&repo.path, &world.path("copy"));
    let twin = world.tree(world.path("copy"));
    twin.branch("two");
    for args in [&["land", "two"][..], &["mint", "adr"], &["queue"], &["init"]] {
        assert_eq!(refuses(&twin, args, 3, "state_copied")["do"], "signalbox --json init --take-over");
    }
    assert_eq!(first_number(&repo, "adr"), 2, "the original goes on");
    twin.ok(&["init", "--take-over"]);
    assert_eq!(twin.ok(&["land", "two"]).code(), "landed", "with a worktree for its own checks");
    assert_eq!(first_number(&twin, "adr"), 2, "its numbers go on where the copy was made");
    repo.branch("three");
    assert_eq!(repo.ok(&["land", "three"]).code(), "landed");
}

#[test]
fn a_moved_repository_goes_on_once_it_is_told_that_it_was_moved() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "test -f README", "--line", "adr"]);
    repo.branch("one");
    let turn = repo.ok(&["land", "one"]).end()["turnNo"].as_i64().unwrap();
    assert_eq!(first_number(&repo, "adr"), 1);
    copy(&repo.path, &world.path("moved"));
    std::fs::remove_dir_all(&repo.path).unwrap();
    let moved = world.tree(world.path("moved"));
    refuses(&moved, &["mint", "adr"], 3, "state_copied");
    moved.ok(&["init", "--moved"]);
    assert_eq!(first_number(&moved, "adr"), 2);
    moved.branch("two");
    let done = moved.ok(&["land", "two"]);
    assert_eq!(done.end()["turnNo"].as_i64(), Some(turn + 1));
}

#[test]
fn a_repository_that_was_renamed_needs_no_word() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "test -f README"]);
    repo.branch("one");
    repo.ok(&["land", "one"]);
    std::fs::rename(&repo.path, world.path("renamed")).unwrap();
    let renamed = world.tree(world.path("renamed"));
    renamed.branch("two");
    assert_eq!(renamed.ok(&["land", "two"]).code(), "landed");
}

#[test]
fn a_lost_state_is_noticed_and_taking_over_starts_above_turn_and_numbers() {
    let world = World::new();
    let repo = world.repo("r");
    repo.commit(
        ".signalbox.toml",
        "[trunk]\nremote = '.'\nbranch = 'main'\n[check]\nnone = true\n[[line]]\nname = 'adr'\n\
         template = 'adr/{number}-{slug}.md'\n",
        "settings",
    );
    repo.ok(&["init"]);
    let tree = repo.worktree("decision");
    tree.commit("adr/30-x.md", "", "thirty");
    let turn = tree.ok(&["land"]).end()["turnNo"].as_i64().unwrap();
    std::fs::remove_dir_all(repo.state()).unwrap();
    repo.branch("two");
    refuses(&repo, &["land", "two"], 3, "other_box");
    refuses(&repo, &["mint", "adr"], 3, "other_box");
    refuses(&repo, &["init"], 3, "other_box");
    repo.ok(&["init", "--take-over"]);
    assert_eq!(first_number(&repo, "adr"), 31);
    let done = repo.ok(&["land", "two"]);
    assert!(done.end()["turnNo"].as_i64().unwrap() > turn);
}

#[test]
fn taking_over_twice_or_what_is_ones_own_changes_nothing_for_others() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check", "--line", "adr"]);
    assert_eq!(first_number(&repo, "adr"), 1);
    let before = repo.git(&["rev-parse", "refs/signalbox/box"]);
    repo.ok(&["init", "--take-over"]);
    assert_eq!(repo.git(&["rev-parse", "refs/signalbox/box"]), before);
    assert_eq!(first_number(&repo, "adr"), 2);
}
