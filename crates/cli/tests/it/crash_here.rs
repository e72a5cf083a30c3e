//! A trunk that is checked out in this repository, and what people do there while a landing is on its way.

use crate::harness::{Done, Gate, Running, Tree, World, eventually, executable};
use crate::promises::{Kept, Place, assert_killed, below, gone, kill_machine};

/// A repository with branch `feature`, whose check writes a line and waits at a gate.
fn gated() -> (Place, Gate) {
    let world = World::with_clock();
    let gate = world.gate("gate");
    let check = format!("echo run >> {}; {}", world.path("checks").display(), gate.command());
    let place = Place::new(world, Kept::Here, &check);
    place.branches(&["feature".to_owned()]);
    (place, gate)
}

/// The same whose gate is open.
fn open() -> Place {
    let (place, gate) = gated();
    gate.open();
    place
}

fn checks(place: &Place) -> usize {
    std::fs::read_to_string(place.world.path("checks")).unwrap_or_default().lines().count()
}

/// A landing whose check runs.
fn in_check(place: &Place) -> Running {
    let mut running = place.work.start(&["land", "feature"]);
    running.event("check");
    running
}

/// It was refused with 2 by this code, and neither trunk nor its worktree's files moved.
fn assert_refused(place: &Place, done: &Done, code: &str, main: &str) {
    assert_eq!((done.exit, done.code()), (Some(2), code), "{}", done.all());
    assert!(!done.end()["do"].is_null(), "{}", done.all());
    assert_eq!(place.main(), main, "the trunk has not moved");
    place.assert_nothing_left();
}

#[test]
fn a_commit_that_a_person_makes_on_the_trunk_during_the_check_is_kept_and_landed_upon() {
    let (place, gate) = gated();
    let running = in_check(&place);
    let users = place.work.commit("users", "mine\n", "a person's own");
    gate.open();
    let done = running.end();
    assert_eq!(done.code(), "landed", "{}", done.all());
    assert_eq!(place.work.git(&["rev-parse", "main^1"]), users, "nothing is reverted");
    assert_eq!(place.work.read("users"), "mine\n");
    assert_eq!(checks(&place), 2, "what lands is what was checked");
    place.assert_exactly_once(&["feature".to_owned()]);
    place.assert_nothing_left();
}

#[test]
fn a_commit_of_the_very_file_that_the_branch_adds_is_a_conflict_and_is_kept() {
    let (place, gate) = gated();
    let running = in_check(&place);
    let users = place.work.commit("file-feature", "mine\n", "a person's own");
    gate.open();
    let done = running.end();
    assert_eq!((done.exit, done.code()), (Some(12), "conflict"), "{}", done.all());
    assert_eq!(place.main(), users);
    assert_eq!(place.work.read("file-feature"), "mine\n");
    place.assert_worktree_is_the_trunk();
    place.assert_nothing_left();
}

#[test]
fn an_untracked_or_ignored_file_where_the_landing_adds_one_is_not_overwritten() {
    for ignored in [false, true] {
        let place = open();
        if ignored {
            place.work.commit(".gitignore", "file-*\n", "ignore");
        }
        place.work.write("file-feature", "precious\n");
        let main = place.main();
        let done = place.work.run(&["land", "feature"]);
        assert_refused(&place, &done, "trunk_file_in_the_way", &main);
        assert!(done.all().contains("file-feature"), "the file is named: {}", done.all());
        assert_eq!(place.work.read("file-feature"), "precious\n");
        std::fs::remove_file(place.work.path.join("file-feature")).unwrap();
        assert_eq!(place.work.ok(&["land", "feature"]).code(), "landed");
        place.assert_exactly_once(&["feature".to_owned()]);
    }
}

#[test]
fn a_file_that_comes_into_the_way_during_the_check_is_not_overwritten() {
    for ignored in [false, true] {
        let (place, gate) = gated();
        if ignored {
            place.work.commit(".gitignore", "file-*\n", "ignore");
        }
        let main = place.main();
        let running = in_check(&place);
        place.work.write("file-feature", "precious\n");
        gate.open();
        assert_refused(&place, &running.end(), "trunk_file_in_the_way", &main);
        assert_eq!(place.work.read("file-feature"), "precious\n");
    }
}

#[test]
fn a_file_that_a_person_edits_in_the_trunks_worktree_during_the_check_is_kept() {
    for staged in [false, true] {
        let (place, gate) = gated();
        let main = place.main();
        let running = in_check(&place);
        place.work.write("README", "edited\n");
        if staged {
            place.work.git(&["add", "README"]);
        }
        gate.open();
        assert_refused(&place, &running.end(), "trunk_dirty", &main);
        assert_eq!(place.work.read("README"), "edited\n");
        assert!(!place.work.path.join("file-feature").exists());
    }
}

/// A rebase of the trunk that has stopped at a conflict.
fn rebasing(tree: &Tree) {
    tree.git(&["branch", "elsewhere", "main"]);
    tree.commit("README", "ours\n", "ours");
    tree.git(&["switch", "-q", "elsewhere"]);
    tree.commit("README", "theirs\n", "theirs");
    tree.git(&["switch", "-q", "main"]);
    assert!(!tree.git_ok(&["rebase", "-q", "elsewhere"]), "it stops");
}

#[test]
fn a_rebase_of_the_trunk_that_is_under_way_is_left_alone() {
    let place = open();
    rebasing(&place.work);
    let main = place.main();
    let done = place.work.run(&["land", "feature"]);
    assert_refused(&place, &done, "trunk_busy", &main);
    place.work.git(&["rebase", "--abort"]);
    assert_eq!(place.main(), main, "the rebase comes back to where it began");
    assert_eq!(place.work.ok(&["land", "feature"]).code(), "landed");
    place.assert_exactly_once(&["feature".to_owned()]);
}

#[test]
fn a_rebase_or_bisect_of_the_trunk_that_begins_during_the_check_is_left_alone() {
    for bisect in [false, true] {
        let (place, gate) = gated();
        let running = in_check(&place);
        if bisect {
            place.work.commit("README", "again\n", "again");
            place.work.git(&["bisect", "start", "-q", "HEAD", "HEAD~1"]);
        } else {
            rebasing(&place.work);
        }
        let main = place.main();
        gate.open();
        assert_refused(&place, &running.end(), "trunk_busy", &main);
    }
}

#[test]
fn a_second_worktree_on_the_trunk_ends_a_landing_before_anything_moves() {
    let place = open();
    let second = place.world.path("second");
    place.work.git(&["worktree", "add", "-q", "--force", second.to_str().unwrap(), "main"]);
    let main = place.main();
    let done = place.work.run(&["land", "feature"]);
    assert_refused(&place, &done, "trunk_twice", &main);

    let (place, gate) = gated();
    let main = place.main();
    let running = in_check(&place);
    let second = place.world.path("second");
    place.work.git(&["worktree", "add", "-q", "--force", second.to_str().unwrap(), "main"]);
    gate.open();
    assert_refused(&place, &running.end(), "trunk_twice", &main);
    assert!(!place.work.path.join("file-feature").exists());
}

#[test]
fn what_a_landing_needs_survives_a_collection_of_all_that_nothing_refers_to() {
    for kept in [Kept::Remote, Kept::Here] {
        for strategy in ["merge", "squash"] {
            let collect = "git gc --prune=now --quiet && git prune --expire=now";
            let place = Place::with(World::with_clock(), kept, &["--check", collect, "--strategy", strategy]);
            let names = ["one".to_owned(), "two".to_owned()];
            place.branches(&names);
            for name in &names {
                let done = place.work.ok(&["land", name]);
                assert_eq!(done.code(), "landed", "{}", done.all());
            }
            place.assert_exactly_once(&names);
            place.assert_nothing_left();
            place.work.git(&["fsck", "--full", "--no-dangling", "--no-progress"]);
        }
    }
}

#[test]
fn a_lock_of_a_ref_that_outlived_its_process_is_named_with_the_command_that_removes_it() {
    for name in ["refs/heads/main", "refs/signalbox/epoch/main"] {
        let place = open();
        let main = place.main();
        let lock = place.work.path.join(format!(".git/{name}.lock"));
        std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
        std::fs::write(&lock, "").unwrap();
        let done = place.work.run(&["land", "feature"]);
        assert_eq!((done.exit, done.code()), (Some(2), "ref_locked"), "{}", done.all());
        assert_eq!(done.end()["do"], format!("rm {}", lock.display()), "{}", done.all());
        assert_eq!(place.main(), main);
        place.assert_worktree_is_the_trunk();
        assert!(lock.exists(), "it is the person's to remove");
        std::fs::remove_file(&lock).unwrap();
        assert_eq!(place.work.ok(&["land", "feature"]).code(), "landed");
        place.assert_exactly_once(&["feature".to_owned()]);
        place.assert_nothing_left();
    }
}

/// A branch `half` of two files, and a landing of it that is held when the first of them has been written.
fn held_half_way(place: &Place) -> Running {
    let half = place.work.worktree("half");
    half.commit("file-half", "half\n", "the first");
    half.commit("z-last", "last\n", "the second");
    let dir = place.world.path("");
    let script = format!(
        "#!/bin/sh\n[ \"$PWD\" != {work} ] || [ -e {dir}let-go ] || : > {dir}held\n\
         while [ \"$PWD\" = {work} ] && ! [ -e {dir}let-go ]; do sleep 0.02; done\ncat\n",
        work = place.work.path.display(),
        dir = dir.display(),
    );
    let filter = place.world.path("filter");
    std::fs::write(&filter, script).unwrap();
    executable(&filter);
    place.work.git(&["config", "filter.slow.smudge", filter.to_str().unwrap()]);
    place.work.git(&["config", "filter.slow.clean", "cat"]);
    std::fs::write(place.work.path.join(".git/info/attributes"), "z-* filter=slow\n").unwrap();
    let running = place.work.start(&["land", "half"]);
    eventually("the files are being written", || place.world.path("held").exists());
    assert!(place.work.path.join("file-half").exists());
    running
}

fn let_go(place: &Place) {
    std::fs::write(place.world.path("let-go"), "").unwrap();
}

/// Runs a command again and again, removing each lock that it names, until it succeeds.
fn without_locks(place: &Place, args: &[&str]) -> Done {
    for _ in 0..5 {
        let done = place.work.run(args);
        if done.exit == Some(0) {
            return done;
        }
        let remedy = done.end()["do"].as_str().unwrap().replace("rm -i ", "rm ");
        assert!(remedy.contains("rm "), "a lock is named: {}", done.all());
        assert!(place.work.command("sh").args(["-c", &remedy]).status().unwrap().success(), "{remedy}");
    }
    panic!("there are always more locks");
}

#[test]
fn a_landing_that_is_killed_with_its_gits_while_the_trunks_files_are_written_is_put_right_once_the_locks_are_gone()
 {
    for settle_first in [false, true] {
        let place = open();
        let main = place.main();
        let running = held_half_way(&place);
        kill_machine(&running);
        assert_killed(&running.end());
        let_go(&place);
        assert_eq!(place.main(), main, "the trunk's ref moves last");
        // Its gits leave their locks, which only a person may remove: each is named.
        if settle_first {
            without_locks(&place, &["land", "--settle"]);
            place.assert_worktree_is_the_trunk();
            assert!(!place.work.path.join("file-half").exists(), "what did not land is not in the files");
        }
        assert_eq!(without_locks(&place, &["land", "feature"]).code(), "landed");
        assert!(!place.work.path.join("file-half").exists(), "what did not land is not in the files");
        assert_eq!(place.work.ok(&["land", "half"]).code(), "landed");
        place.assert_exactly_once(&["feature".to_owned(), "half".to_owned()]);
        place.assert_nothing_left();
    }
}

#[test]
fn a_landing_that_is_killed_alone_while_the_trunks_files_are_written_is_put_right_without_a_person() {
    for settle_first in [false, true] {
        let place = open();
        let main = place.main();
        let running = held_half_way(&place);
        let gits = below(running.pid());
        running.kill_group();
        assert_killed(&running.end());
        let_go(&place);
        eventually("its gits end", || gits.iter().all(|(pid, _)| gone(*pid)));
        assert_eq!(place.main(), main, "the trunk's ref moves last");
        if settle_first {
            place.work.ok(&["land", "--settle"]);
            place.assert_worktree_is_the_trunk();
        }
        let done = place.work.ok(&["land", "feature"]);
        assert_eq!(done.code(), "landed", "{}", done.all());
        assert!(!place.work.path.join("file-half").exists(), "what did not land is not in the files");
        assert_eq!(place.work.ok(&["land", "half"]).code(), "landed");
        place.assert_exactly_once(&["feature".to_owned(), "half".to_owned()]);
        place.assert_nothing_left();
    }
}
