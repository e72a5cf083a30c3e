//! A branch that changes on its way, a trunk that moves beside the queue, a remote that refuses or is gone.

use crate::harness::{Tree, World, executable};
use crate::words::{count, more, refused, refuses};

/// A remote, a clone of it that is set up, and another clone that pushes beside the queue.
fn with_remote(world: &World, check: &str) -> (Tree, Tree, Tree) {
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    let other = world.clone_of(&remote, "other");
    clone.ok(&["init", "--check", check]);
    (remote, clone, other)
}

#[test]
fn a_branch_that_is_amended_while_it_waits_is_not_landed() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    repo.branch("first");
    let second = repo.worktree("second");
    second.commit("two", "2\n", "second");
    let mut ahead = repo.start(&["land", "first"]);
    ahead.event("check");
    let mut land = second.start(&["land"]);
    land.event("waiting");
    second.git(&["commit", "-q", "--amend", "-m", "second, reworded"]);
    gate.open();
    assert_eq!(ahead.end().code(), "landed");
    let done = land.end();
    let end = refused(&done, 12, "branch_moved");
    assert_eq!(end["do"], "signalbox --json land second");
    assert_eq!(count(&done, "check"), 0);
    assert_eq!(repo.tickets("main").len(), 1);
    assert_eq!(second.ok(&["land"]).code(), "landed");
}

#[test]
fn a_branch_that_is_amended_during_its_check_is_not_landed() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    let tree = repo.worktree("feature");
    tree.commit("a", "1\n", "a");
    let before = repo.git(&["rev-parse", "main"]);
    let mut land = tree.start(&["land"]);
    land.event("check");
    tree.commit("a", "2\n", "a again");
    gate.open();
    refused(&land.end(), 12, "branch_moved");
    assert_eq!(repo.git(&["rev-parse", "main"]), before);
    assert_eq!(repo.ok(&["log"]).events[0]["outcome"], "moved");
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_trunk_that_moves_once_outside_the_queue_is_merged_and_checked_again() {
    let world = World::new();
    let gate = world.gate("gate");
    let (remote, clone, other) = with_remote(&world, &format!("{}; test -f README", gate.command()));
    clone.branch("feature");
    let mut land = clone.start(&["land", "feature"]);
    land.event("check");
    let pushed = other.commit("beside", "x\n", "beside the queue");
    other.git(&["push", "-q", "origin", "main"]);
    gate.open();
    let done = land.end();
    assert_eq!(done.code(), "landed", "{}", done.all());
    assert_eq!(count(&done, "check"), 2);
    assert_eq!(remote.git(&["rev-parse", "main^1"]), pushed);
    assert!(remote.git_ok(&["cat-file", "-e", "main:file-feature"]));
}

#[test]
fn a_trunk_that_moves_again_and_again_is_given_up_and_every_merge_was_checked() {
    let world = World::new();
    let other = world.path("other");
    let moves = format!(
        "cd '{}' && echo x >> moved && git add -A && git commit -q -m moved && git push -q origin main",
        other.display()
    );
    let (remote, clone, _) = with_remote(&world, &moves);
    clone.branch("feature");
    let done = clone.run(&["land", "feature"]);
    let end = refused(&done, 20, "trunk_restless");
    assert_eq!(end["do"], "signalbox --json land feature");
    assert_eq!(count(&done, "check"), 3);
    assert_eq!(remote.tickets("main"), [""; 0]);
    assert_eq!(clone.ok(&["log"]).events[0]["outcome"], "moved");
    assert_eq!(clone.leftovers(), [""; 0]);
}

/// Installs a hook in a bare repository.
fn hook(remote: &Tree, name: &str, script: &str) {
    let path = remote.path.join("hooks").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    executable(&path);
}

#[test]
fn a_remote_whose_hook_refuses_the_trunk_is_quoted() {
    let world = World::new();
    let (remote, clone, _) = with_remote(&world, "true");
    let words = "case $1 in refs/heads/main) printf 'closed \\033[31mon Fridays\\n' >&2; exit 1;; esac";
    hook(&remote, "update", words);
    clone.branch("feature");
    let end = refuses(&clone, &["land", "feature"], 19, "remote_refused");
    assert!(more(&end).contains("on Fridays"), "{end}");
    assert_eq!(clone.ok(&["log"]).events[0]["outcome"], "refused");
    assert_eq!(clone.leftovers(), [""; 0]);
    std::fs::remove_file(remote.path.join("hooks/update")).unwrap();
    assert_eq!(clone.ok(&["land", "feature"]).code(), "landed");
}

#[test]
fn a_remote_whose_hook_refuses_everything_is_quoted_too() {
    let world = World::new();
    let (remote, clone, _) = with_remote(&world, "true");
    hook(&remote, "pre-receive", "echo 'in maintenance until noon' >&2; exit 1");
    clone.branch("feature");
    let end = refuses(&clone, &["land", "feature"], 19, "remote_refused");
    assert!(more(&end).contains("in maintenance until noon"), "{end}");
    assert_eq!(clone.leftovers(), [""; 0]);
    std::fs::remove_file(remote.path.join("hooks/pre-receive")).unwrap();
    assert_eq!(clone.ok(&["land", "feature"]).code(), "landed");
}

#[test]
fn a_remote_that_refuses_the_box_is_quoted() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    hook(&remote, "update", "case $1 in refs/heads/*) ;; *) echo 'only branches here' >&2; exit 1;; esac");
    let end = refuses(&clone, &["init", "--no-check"], 19, "box_refused");
    assert!(more(&end).contains("only branches here"), "{end}");
}

#[test]
fn a_remote_that_is_gone_costs_nothing_and_when_it_is_back_the_branch_lands() {
    let world = World::new();
    let (remote, clone, _) = with_remote(&world, "true");
    clone.branch("feature");
    let away = world.path("away.git");
    std::fs::rename(&remote.path, &away).unwrap();
    refuses(&clone, &["land", "feature"], 20, "unreachable");
    refuses(&clone, &["mint", "adr"], 20, "unreachable");
    assert_eq!(clone.leftovers(), [""; 0]);
    std::fs::rename(&away, &remote.path).unwrap();
    assert_eq!(clone.ok(&["land", "feature"]).code(), "landed");
}

#[test]
fn a_remote_that_goes_away_during_the_check_leaves_an_outcome_to_settle() {
    let world = World::new();
    let gate = world.gate("gate");
    let (remote, clone, _) = with_remote(&world, &gate.command());
    clone.branch("feature");
    let away = world.path("away.git");
    let mut land = clone.start(&["land", "feature"]);
    land.event("check");
    std::fs::rename(&remote.path, &away).unwrap();
    gate.open();
    let done = land.end();
    assert_eq!(refused(&done, 21, "outcome_unknown")["do"], "signalbox --json land --settle");
    refuses(&clone, &["land", "--settle"], 21, "outcome_unknown");
    std::fs::rename(&away, &remote.path).unwrap();
    let settled = clone.ok(&["land", "--settle"]);
    assert_eq!((settled.code(), settled.end()["notLanded"].as_i64()), ("settled", Some(1)));
    assert_eq!(clone.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(clone.leftovers(), [""; 0]);
}

#[test]
fn what_is_in_the_trunk_already_is_nothing_to_land() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    repo.git(&["branch", "same"]);
    assert_eq!(repo.ok(&["land", "same"]).code(), "already_in_trunk");
    repo.branch("feature");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "already_in_trunk");
    assert_eq!(repo.tickets("main").len(), 1);
}

#[test]
fn what_cannot_be_landed_from_here_is_refused_before_the_queue() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    refuses(&repo, &["land"], 2, "trunk_itself");
    refuses(&repo, &["land", "main"], 2, "trunk_itself");
    refuses(&repo, &["land", "absent"], 2, "no_branch");
    refuses(&repo, &["land", "two words"], 2, "branch_name");
    refuses(&repo, &["land", &"long".repeat(80)], 2, "branch_name");
    refuses(&repo, &["land", &"länger".repeat(30)], 2, "no_branch");
    repo.git(&["switch", "-q", "--detach"]);
    refuses(&repo, &["land"], 2, "detached");
    assert_eq!(repo.ok(&["queue"]).events[0]["tickets"].as_array().unwrap().len(), 0);
    assert_eq!(repo.ok(&["log"]).events.len(), 1, "nobody entered");
}

#[test]
fn a_dirty_worktree_of_the_branch_is_refused_and_untracked_files_are_fine() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    let tree = repo.worktree("feature");
    tree.commit("a", "1\n", "a");
    tree.write("a", "2\n");
    let end = refuses(&tree, &["land"], 2, "dirty");
    assert!(more(&end).contains('a'), "{end}");
    tree.git(&["add", "a"]);
    refuses(&tree, &["land"], 2, "dirty");
    tree.git(&["reset", "-q", "--hard"]);
    tree.write("untracked", "mine\n");
    assert_eq!(tree.ok(&["land"]).code(), "landed");
    assert_eq!(tree.read("untracked"), "mine\n");
    assert!(!repo.path.join("untracked").exists());
}

#[test]
fn a_dry_run_pushes_nothing() {
    let world = World::new();
    let (remote, clone, _) = with_remote(&world, "test -f file-feature");
    clone.branch("feature");
    let before = remote.git(&["rev-parse", "main"]);
    let done = clone.ok(&["land", "feature", "--dry-run"]);
    assert_eq!((done.code(), &done.end()["do"]), ("dry_run", &"signalbox --json land feature".into()));
    assert_eq!(remote.git(&["rev-parse", "main"]), before);
    assert_eq!(clone.leftovers(), [""; 0]);
    assert_eq!(clone.ok(&["log"]).events[0]["outcome"], "withdrawn");
}

#[test]
fn a_place_that_was_taken_without_waiting_is_kept_for_whoever_resumes_it() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    for branch in ["first", "second", "third"] {
        repo.branch(branch);
    }
    let mut first = repo.start(&["land", "first"]);
    first.event("check");
    let placed = repo.run(&["land", "second", "--no-wait"]);
    let end = refused(&placed, 22, "still_waiting");
    let ticket = end["ticket"].as_str().unwrap().to_owned();
    assert_eq!(end["do"], format!("signalbox --json land second --resume {ticket}"));
    let mut third = repo.start(&["land", "third"]);
    assert_eq!(third.event("waiting")["position"], 2);
    let mut second = repo.start(&["land", "second", "--resume", &ticket]);
    assert_eq!(second.event("waiting")["position"], 1);
    gate.open();
    let ends = [first.end(), second.end(), third.end()];
    assert!(ends.iter().all(|done| done.code() == "landed"), "{ends:#?}");
    let order: Vec<_> = ends.iter().map(|done| done.end()["ticket"].as_str().unwrap().to_owned()).collect();
    assert_eq!(repo.tickets("main"), order);
    assert_eq!(order[1], ticket);
}

#[test]
fn a_person_who_does_not_wait_is_told_the_ticket() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    repo.branch("first");
    repo.branch("second");
    let mut first = repo.start(&["land", "first"]);
    first.event("check");
    let (exit, _, stderr) = repo.people(&["land", "second", "--no-wait"]);
    assert_eq!(exit, 22);
    let queue = repo.ok(&["queue"]);
    let ticket = queue.events[0]["tickets"][1]["ticket"].as_str().unwrap();
    assert!(stderr.contains(&format!("signalbox land second --resume {ticket}")), "{stderr}");
    refuses(&repo, &["land", "second", "--wait", "1s"], 22, "still_waiting");
    gate.open();
    assert_eq!(first.end().code(), "landed");
}

#[test]
fn a_place_whose_lease_ended_is_taken_again_by_whoever_resumes_it() {
    let world = World::with_clock();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command(), "--lease-ms", "10000"]);
    repo.branch("first");
    repo.branch("second");
    let mut first = repo.start(&["land", "first"]);
    first.event("check");
    let placed = repo.run(&["land", "second", "--no-wait"]);
    let ticket = refused(&placed, 22, "still_waiting")["ticket"].as_str().unwrap().to_owned();
    gate.open();
    assert_eq!(first.end().code(), "landed");
    world.advance(10_001);
    let resumed = repo.ok(&["land", "second", "--resume", &ticket]);
    assert_eq!((resumed.code(), &resumed.end()["ticket"]), ("landed", &ticket.into()));
}

#[test]
fn a_commit_that_a_person_makes_on_the_trunk_during_a_check_is_merged_and_kept() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &format!("{}; test -f README", gate.command())]);
    repo.branch("feature");
    let mut land = repo.start(&["land", "feature"]);
    land.event("check");
    repo.write("mine", "mine\n");
    repo.git(&["add", "mine"]);
    repo.git(&["commit", "-q", "-m", "by hand"]);
    let mine = repo.git(&["rev-parse", "main"]);
    gate.open();
    let done = land.end();
    assert_eq!(done.code(), "landed", "{}", done.all());
    assert_eq!(count(&done, "check"), 2);
    assert_eq!(repo.git(&["rev-parse", "main^1"]), mine);
    assert_eq!((repo.read("mine"), repo.read("file-feature")), ("mine\n".into(), "feature\n".into()));
    assert_eq!(repo.git(&["status", "--porcelain", "-uno"]), "");
}

#[test]
fn a_trunk_whose_name_has_a_slash_is_landed_on() {
    for remote in [true, false] {
        let world = World::new();
        let bare = world.bare("remote.git");
        bare.git(&["branch", "-m", "main", "release/1.0"]);
        let tree = if remote { world.clone_of(&bare, "clone") } else { world.repo("r") };
        if !remote {
            tree.git(&["branch", "-m", "main", "release/1.0"]);
        }
        tree.ok(&["init", "--no-check", "--trunk", "release/1.0"]);
        for branch in ["release/1.1", "release/1.0-fix"] {
            tree.git(&["switch", "-q", "-c", branch, "release/1.0"]);
            tree.commit(&branch.replace('/', "-"), "", branch);
            assert_eq!(tree.ok(&["land"]).code(), "landed");
        }
        let trunk = if remote { &bare } else { &tree };
        assert_eq!(trunk.tickets("release/1.0").len(), 2);
    }
}

#[test]
fn a_remote_that_is_a_mirror_is_refused_with_the_remedy() {
    let world = World::new();
    let (_, clone, _) = with_remote(&world, "true");
    clone.git(&["config", "remote.origin.mirror", "true"]);
    clone.branch("feature");
    let end = refuses(&clone, &["land", "feature"], 3, "remote_mirror");
    assert_eq!(end["do"], "git config --unset remote.origin.mirror");
    clone.git(&["config", "--unset", "remote.origin.mirror"]);
    assert_eq!(clone.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(clone.leftovers(), [""; 0]);
}

#[test]
fn one_branch_that_is_landed_by_two_at_once_lands_once_and_both_are_content() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    repo.branch("feature");
    let mut first = repo.start(&["land", "feature"]);
    first.event("check");
    let mut second = repo.start(&["land", "feature"]);
    second.event("waiting");
    gate.open();
    assert_eq!((first.end().code(), second.end().code()), ("landed", "already_in_trunk"));
    assert_eq!(repo.tickets("main").len(), 1);
    assert_eq!(repo.leftovers(), [""; 0]);
}
