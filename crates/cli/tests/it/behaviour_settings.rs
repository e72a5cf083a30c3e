//! Which settings count: the trunk's own, once it has them.

use crate::harness::{Tree, World};
use crate::words::{count, refused};

/// A settings file of this repository.
pub fn settings(rest: &str) -> String {
    format!("[trunk]\nremote = \".\"\nbranch = \"main\"\n{rest}")
}

/// A repository whose trunk has a settings file.
fn with_settings(world: &World, rest: &str) -> Tree {
    let repo = world.repo("r");
    repo.commit(".signalbox.toml", &settings(rest), "settings");
    repo.ok(&["init"]);
    repo
}

#[test]
fn a_branch_cannot_switch_off_its_own_check() {
    for edit in ["[check]\nnone = true\n", "[check]\ncommand = \"true\"\n"] {
        let world = World::new();
        let repo = with_settings(&world, "[check]\ncommand = \"! test -e bad\"\n");
        let tree = repo.worktree("feature");
        tree.write("bad", "");
        tree.commit(".signalbox.toml", &settings(edit), "no check for me");
        let done = tree.run(&["land"]);
        assert_eq!(refused(&done, 10, "check_red")["fault"], "branch");
        let (exit, ..) = tree.people(&["land"]);
        assert_eq!(exit, 10);
    }
}

#[test]
fn what_a_branch_changes_in_the_settings_counts_once_it_has_landed() {
    let world = World::new();
    let repo = with_settings(&world, "[check]\ncommand = \"! test -e bad\"\n");
    let tree = repo.worktree("settings");
    tree.commit(".signalbox.toml", &settings("[check]\ncommand = \"true\"\n"), "another check");
    let done = tree.ok(&["land"]);
    let check = done.events.iter().find(|event| event["event"] == "check").unwrap();
    assert_eq!(check["command"], "! test -e bad", "its own landing is still checked by the trunk's");
    let tree = repo.worktree("feature");
    tree.commit("bad", "", "bad");
    assert_eq!(tree.ok(&["land"]).code(), "landed");
}

#[test]
fn a_branch_cannot_change_the_strategy_of_its_own_landing() {
    let world = World::new();
    let repo = with_settings(&world, "[check]\nnone = true\n[land]\nstrategy = \"merge\"\n");
    let tree = repo.worktree("feature");
    let edit = settings("[check]\nnone = true\n[land]\nstrategy = \"squash\"\n");
    let head = tree.commit(".signalbox.toml", &edit, "squash");
    tree.ok(&["land"]);
    assert_eq!(repo.git(&["rev-parse", "main^2"]), head);
    repo.branch("next");
    repo.ok(&["land", "next"]);
    assert_eq!(repo.git(&["rev-list", "--parents", "-1", "main"]).split(' ').count(), 2, "squashed now");
}

#[test]
fn a_branch_cannot_drop_the_number_line_that_refuses_it() {
    let world = World::new();
    let line = "[[line]]\nname = \"adr\"\ntemplate = \"adr/{number}-{slug}\"\n";
    let repo = with_settings(&world, &format!("[check]\nnone = true\n{line}"));
    repo.commit("adr/1-one", "", "one");
    let tree = repo.worktree("feature");
    tree.write("adr/1-two", "");
    tree.commit(".signalbox.toml", &settings("[check]\nnone = true\n"), "no lines");
    refused(&tree.run(&["land"]), 12, "duplicate_number");
}

#[test]
fn while_the_trunk_has_no_settings_what_init_wrote_counts_in_every_worktree_and_land_says_so() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "! test -e bad"]);
    let tree = repo.worktree("feature");
    tree.write("bad", "");
    tree.commit(".signalbox.toml", &settings("[check]\nnone = true\n"), "no check for me");
    let done = tree.run(&["land"]);
    refused(&done, 10, "check_red");
    let note = done.events.iter().find(|event| event["event"] == "note").expect("a note");
    assert!(note["text"].as_str().unwrap().contains(".signalbox.toml"), "{note}");
    tree.git(&["rm", "-q", "bad"]);
    tree.commit("fine", "", "fine");
    std::fs::remove_file(repo.path.join(".signalbox.toml")).unwrap();
    assert_eq!(count(&tree.ok(&["land"]), "note"), 1);
    repo.branch("next");
    assert_eq!(count(&repo.ok(&["land", "next"]), "note"), 0, "the trunk has its own now");
}

#[test]
fn no_variable_of_the_environment_overrides_the_trunks_check() {
    let world = World::new();
    let repo = with_settings(&world, "[check]\ncommand = \"false\"\n");
    repo.branch("feature");
    let odd = repo.env("SIGNALBOX_CHECK", "true").env("SIGNALBOX_NO_CHECK", "1");
    refused(&odd.run(&["land", "feature"]), 10, "check_red");
}

#[test]
fn a_branch_cannot_choose_another_trunk_for_itself() {
    for committed in [true, false] {
        let world = World::new();
        let repo = if committed { with_settings(&world, "[check]\nnone = true\n") } else { world.repo("r") };
        repo.ok(&["init", "--no-check"]);
        repo.git(&["branch", "production", "main~0"]);
        let before = repo.git(&["rev-parse", "production"]);
        let tree = repo.worktree("feature");
        let other = settings("[check]\nnone = true\n").replace("main", "production");
        tree.commit(".signalbox.toml", &other, "elsewhere");
        let done = tree.run(&["land"]);
        refused(&done, 3, "other_trunk");
        assert_eq!(repo.git(&["rev-parse", "production"]), before);
    }
}
