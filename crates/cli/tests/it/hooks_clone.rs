//! The hooks of a person's repository: a pre-push hook for a trunk at a remote, and one on transactions for a trunk
//! that is kept in the repository itself.

use crate::harness::{Gate, Running, Tree, World};
use crate::hooks::{push, pushed};
use crate::promises::{Kept, Place};
use crate::words::{fits, plain, told};

/// A set-up repository with its hook, whose check waits at a gate.
fn hooked(kept: Kept) -> (Place, Gate) {
    let world = World::with_clock();
    let gate = world.gate("gate");
    gate.open();
    let place = Place::new(world, kept, &gate.command());
    place.work.ok(&["hook", "install"]);
    (place, gate)
}

/// A landing in its turn, and the worktree as a command of that turn sees it.
fn in_turn(place: &Place, gate: &Gate, branch: &str) -> (Running, Tree) {
    gate.close();
    let mut landing = place.work.start(&["land", branch]);
    let ticket = landing.event("entered")["ticket"].as_str().unwrap().to_owned();
    let turn = landing.event("turn")["turnNo"].to_string();
    landing.event("check");
    (landing, place.work.env("SIGNALBOX_TICKET", ticket).env("SIGNALBOX_TURN", turn))
}

#[test]
fn a_direct_push_from_a_clone_is_refused_with_the_way_out() {
    let (place, _) = hooked(Kept::Remote);
    place.branches(&["feature".to_owned()]);
    insta::assert_snapshot!(push(&place, &place.work, &["origin", "+feature:main"]).1, @r"
    signalbox: main of origin takes landings only; land the branch instead of pushing it
      Nothing was sent.
      Commits that are on your copy of it: git switch -c NAME, then land that branch.
      next: signalbox land
    error: failed to push some refs to '[world]/trunk.git'
    ");
    let url = place.trunk.path.to_str().unwrap();
    for args in [
        &["origin", ":main"][..],
        &["origin", "feature", "+feature:main"],
        &[url, "+feature:main"],
        &["origin", "+main:refs/signalbox/box"],
        &["origin", "main:refs/signalbox/epoch/main"],
    ] {
        let said = pushed(&place, &place.work, args);
        assert!(said.contains("takes landings only"), "{args:?}: {said}");
        told(said.split("\nerror:").next().unwrap());
    }
    assert_eq!(place.work.ok(&["land", "feature"]).code(), "landed", "a landing is not its business");
    assert!(push(&place, &place.work, &["--no-verify", "origin", "+main:main"]).0);
}

#[test]
fn other_pushes_from_a_clone_pass() {
    let (place, _) = hooked(Kept::Remote);
    place.branches(&["feature".to_owned()]);
    place.work.git(&["push", "-q", "origin", "feature", "feature:x/main", "feature:refs/tags/main"]);
    place.work.git(&["push", "-q", "origin", ":x/main"]);
    let fork = place.world.bare("fork.git");
    place.work.git(&["remote", "add", "fork", fork.path.to_str().unwrap()]);
    place.work.git(&["push", "-q", "--force", "fork", "feature:refs/heads/main"]);
    // The trunk's remote under another name is the trunk's remote.
    place.work.git(&["remote", "add", "same", place.trunk.path.to_str().unwrap()]);
    let said = pushed(&place, &place.work, &["same", "+feature:refs/heads/main"]);
    assert!(said.contains("takes landings only"), "{said}");
    let linked = place.work.worktree("linked");
    linked.commit("linked", "", "linked");
    assert!(pushed(&place, &linked, &["origin", "HEAD:refs/heads/main"]).contains("takes landings only"));
    linked.git(&["push", "-q", "origin", "linked"]);
}

#[test]
fn inside_a_turn_a_push_passes_and_after_it_no_longer() {
    let (place, gate) = hooked(Kept::Remote);
    place.branches(&["slow", "other"].map(str::to_owned));
    let (landing, inside) = in_turn(&place, &gate, "slow");
    let wrong = inside.env("SIGNALBOX_TURN", "7");
    let said = pushed(&place, &wrong, &["origin", "other:main"]);
    assert!(said.contains("the turn in which this runs is over"), "{said}");
    let stranger = inside.env("SIGNALBOX_TICKET", "00000000-0000-4000-8000-000000000001");
    assert!(pushed(&place, &stranger, &["origin", "other:main"]).contains("is over"));
    let (passed, said) = push(&place, &inside, &["origin", "other:main"]);
    assert!(passed, "{said}");
    gate.open();
    assert_eq!(landing.end().code(), "landed");
    insta::assert_snapshot!(pushed(&place, &inside, &["origin", "+slow:main"]), @r"
    signalbox: the turn in which this runs is over, so main does not move; take a new one
      Nothing was sent or changed.
      next: signalbox queue
    ");
}

#[test]
fn a_turn_that_has_lapsed_lets_nothing_through() {
    let (place, gate) = hooked(Kept::Remote);
    place.branches(&["slow", "other"].map(str::to_owned));
    let (landing, inside) = in_turn(&place, &gate, "slow");
    landing.signal(rustix::process::Signal::STOP);
    place.world.advance(300_001);
    assert!(pushed(&place, &inside, &["origin", "other:main"]).contains("is over"));
    landing.signal(rustix::process::Signal::CONT);
    gate.open();
    assert_eq!(landing.end().code(), "landed");
}

#[test]
fn where_the_box_cannot_be_asked_a_push_in_a_turn_is_refused() {
    let (place, _) = hooked(Kept::Remote);
    place.branches(&["feature".to_owned()]);
    let inside = place.work.env("SIGNALBOX_TICKET", "00000000-0000-4000-8000-000000000001");
    let state = place.work.state().join("state.db");
    std::fs::rename(&state, place.world.path("away")).unwrap();
    let said = pushed(&place, &inside, &["origin", "feature:main"]);
    assert!(said.contains("the box cannot be asked whose turn it is"), "{said}");
    assert!(!state.exists(), "nothing is made");
    std::fs::rename(place.world.path("away"), &state).unwrap();
}

#[test]
fn settings_that_are_gone_or_broken_do_not_stop_other_pushes() {
    let (place, _) = hooked(Kept::Remote);
    place.branches(&["feature".to_owned()]);
    place.work.write(".signalbox.toml", "nonsense = [");
    let said = pushed(&place, &place.work, &["origin", "feature:main"]);
    assert!(said.contains("takes landings only"), "init's copy counts: {said}");
    place.work.git(&["push", "-q", "origin", "feature"]);
    std::fs::remove_file(place.work.path.join(".signalbox.toml")).unwrap();
    std::fs::remove_file(place.work.state().join("settings.toml")).unwrap();
    let (passed, said) = push(&place, &place.work, &["origin", "feature:again"]);
    assert!(passed && said.contains("guards nothing"), "{said}");
}

/// Runs git, which must be refused by the hook; gives its words.
#[track_caller]
fn stopped(place: &Place, tree: &Tree, args: &[&str]) -> String {
    let before = place.main();
    let out = tree.command("git").args(args).output().unwrap();
    assert!(!out.status.success(), "{args:?} passed");
    assert_eq!(place.main(), before, "{args:?}");
    plain(&place.world, &String::from_utf8_lossy(&out.stderr))
}

#[test]
fn in_place_the_trunk_moves_by_landings_only() {
    let (place, _) = hooked(Kept::Here);
    place.branches(&["feature", "other"].map(str::to_owned));
    place.work.write("new", "new\n");
    place.work.git(&["add", "new"]);
    let said = stopped(&place, &place.work, &["commit", "-q", "-m", "on the trunk"]);
    insta::assert_snapshot!(said, @r"
    signalbox: main moves by landings only; put the work on a branch and land it
      Nothing is lost: `git switch -c NAME` takes what is staged along; commit there, then land.
      After a refused merge or reset, `git reset --merge` puts the files back as the trunk has them.
      next: signalbox land
    fatal: ref updates aborted by hook
    ");
    fits(said.lines().next().unwrap());
    // As the words say.
    place.work.git(&["switch", "-q", "-c", "kept"]);
    place.work.git(&["commit", "-q", "-m", "on a branch"]);
    place.work.git(&["switch", "-q", "main"]);
    let feature = place.work.git(&["rev-parse", "feature"]);
    stopped(&place, &place.work, &["merge", "-q", "--ff-only", "feature"]);
    place.work.git(&["reset", "-q", "--merge"]);
    assert_eq!(place.work.git(&["status", "--porcelain", "-uno"]), "");
    stopped(&place, &place.work, &["update-ref", "refs/heads/main", &feature]);
    stopped(&place, &place.work, &["branch", "-f", "main-alias", "main:"]);
    let linked = place.work.worktree("linked");
    stopped(&place, &linked, &["update-ref", "refs/heads/main", &feature]);
    stopped(&place, &linked, &["push", "-q", ".", "+feature:main"]);
    for name in ["feature", "kept", "other"] {
        let done = place.work.ok(&["land", name]);
        assert_eq!(done.code(), "landed", "{}", done.all());
    }
    place.work.git(&["pack-refs", "--all"]);
    place.work.git(&["gc", "-q"]);
    place.work.git(&["branch", "-q", "-D", "feature"]);
    place.work.git(&["tag", "v1"]);
    place.work.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "by hand"]);
}

#[test]
fn in_place_a_command_inside_a_turn_moves_the_trunk() {
    let (place, gate) = hooked(Kept::Here);
    place.branches(&["slow".to_owned()]);
    let (landing, inside) = in_turn(&place, &gate, "slow");
    place.work.git(&["switch", "-q", "--detach", "main"]);
    inside.git(&["commit", "-q", "--allow-empty", "-m", "deploy notes"]);
    let commit = inside.git(&["rev-parse", "HEAD"]);
    stopped(&place, &place.work, &["update-ref", "refs/heads/main", &commit]);
    inside.git(&["update-ref", "refs/heads/main", &commit]);
    gate.open();
    assert_eq!(landing.end().code(), "landed");
    let said = stopped(&place, &inside, &["update-ref", "refs/heads/main", &commit]);
    assert!(said.contains("the turn in which this runs is over"), "{said}");
}
