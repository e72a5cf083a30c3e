//! `doctor` on the place where the trunk is kept.

use crate::doctor::{here, sick, with_remote};
use crate::harness::{Tree, World, executable};
use crate::promises::assert_killed;
use insta::assert_snapshot;
use std::fs;

#[test]
fn a_remote_that_is_missing_or_away_is_told() {
    let world = World::new();
    let (remote, clone) = with_remote(&world, &[]);
    let away = world.path("away");
    fs::rename(&remote.path, &away).unwrap();
    let ill = sick(&clone, "unreachable");
    assert_snapshot!(ill.told(&world), @r"
    problem: the remote origin cannot be reached; nothing was sent. Try again when it is back
    fatal: '[world]/trunk.git' does not appear to be a git repository
    fatal: Could not read from remote repository.

    Please make sure you have the correct access rights
    and the repository exists.
    next: git ls-remote origin
    ");
    ill.healed_by(|| fs::rename(&away, &remote.path).unwrap());
    clone.git(&["remote", "rename", "origin", "other"]);
    let ill = sick(&clone, "no_remote");
    assert_snapshot!(ill.told(&world), @r"
    problem: there is no remote origin here; add it, or name another as trunk.remote
      git remote add origin URL
    ");
    ill.healed_by(|| drop(clone.git(&["remote", "rename", "other", "origin"])));
}

#[test]
fn a_mirror_and_several_push_urls_are_told() {
    let world = World::new();
    let (remote, clone) = with_remote(&world, &[]);
    clone.git(&["config", "remote.origin.mirror", "true"]);
    let ill = sick(&clone, "remote_mirror");
    assert_snapshot!(ill.told(&world), @r"
    problem: the remote origin is a mirror, to which git pushes no single refs; unset remote.*.mirror
    next: git config --unset remote.origin.mirror
    ");
    ill.heals();
    let other = world.bare("other.git");
    for url in [&remote, &other] {
        clone.git(&["remote", "set-url", "--add", "--push", "origin", url.path.to_str().unwrap()]);
    }
    let ill = sick(&clone, "push_urls");
    assert_snapshot!(ill.told(&world), @r#"
    problem: the remote origin is pushed to several places and read from one; name another, with one URL
    [world]/trunk.git
    [world]/other.git
    A landing can be exact in one place only. Make a remote for it, and mirror from there:
      git remote add trunk URL   and in .signalbox.toml:  [trunk]  remote = "trunk"
    next: git remote get-url --push --all origin
    "#);
    let other = other.path.to_str().unwrap();
    ill.healed_by(|| drop(clone.git(&["remote", "set-url", "--delete", "--push", "origin", other])));
}

#[test]
fn a_push_that_goes_nowhere_or_elsewhere_is_told() {
    let world = World::new();
    let (_, clone) = with_remote(&world, &[]);
    let unset = || drop(clone.git(&["config", "--unset", "remote.origin.pushurl"]));
    clone.git(&["config", "remote.origin.pushurl", world.path("nowhere").to_str().unwrap()]);
    let ill = sick(&clone, "push_unanswered");
    assert_snapshot!(ill.told(&world), @r"
    problem: the remote origin can be read and does not answer a push; see where pushes go
    fatal: '[world]/nowhere' does not appear to be a git repository
    fatal: Could not read from remote repository.

    Please make sure you have the correct access rights
    and the repository exists.
    next: git remote get-url --push origin
    ");
    ill.healed_by(unset);
    let other = world.bare("other.git");
    clone.git(&["config", "remote.origin.pushurl", other.path.to_str().unwrap()]);
    let ill = sick(&clone, "remote_split");
    assert_snapshot!(ill.told(&world), @r"
    problem: the remote origin took a push and does not show it: it is read elsewhere; make its URLs agree
    It is read from [world]/trunk.git
    and pushed to [world]/other.git
    See url, pushurl, url.*.insteadOf and url.*.pushInsteadOf; nothing landed.
    next: git remote -v && git config --get-regexp '^url\.'
    ");
    ill.healed_by(unset);
    assert!(!other.git(&["for-each-ref"]).contains("doctor"), "the trial leaves nothing there");
}

#[test]
fn a_remote_that_takes_no_refs_together_is_told_with_the_command_that_allows_it() {
    let world = World::new();
    let (remote, clone) = with_remote(&world, &[]);
    remote.git(&["config", "receive.advertiseAtomic", "false"]);
    let ill = sick(&clone, "atomic_refused");
    assert_snapshot!(ill.told(&world), @r"
    problem: the remote origin takes no refs together, so nothing can land; allow atomic pushes there
    fatal: the receiving end does not support --atomic push
    fatal: the remote end hung up unexpectedly
    next: git -C [world]/trunk.git config receive.advertiseAtomic true
    ");
    ill.heals();
    assert!(!remote.git(&["for-each-ref"]).contains("doctor"), "the trial leaves nothing");
}

#[test]
fn a_remote_that_refuses_or_hides_our_refs_is_told() {
    let world = World::new();
    let (remote, clone) = with_remote(&world, &[]);
    let hook = remote.path.join("hooks/pre-receive");
    let script = "#!/bin/sh\nif grep -q refs/signalbox/; then echo 'only branches here' >&2; exit 1; fi\n";
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, script).unwrap();
    executable(&hook);
    let ill = sick(&clone, "refs_refused");
    assert!(ill.told(&world).contains("remote: only branches here"), "{}", ill.told(&world));
    ill.healed_by(|| fs::remove_file(&hook).unwrap());
    remote.git(&["config", "uploadpack.hideRefs", "refs/signalbox/doctor"]);
    let ill = sick(&clone, "refs_hidden");
    assert_snapshot!(ill.told(&world), @r"
    problem: the remote origin takes refs/signalbox/ and does not show it; stop hiding it there
    next: git -C [world]/trunk.git config --add uploadpack.hideRefs '!refs/signalbox'
    ");
    ill.heals();
    assert!(!remote.git(&["for-each-ref"]).contains("doctor"), "the trial leaves nothing");
}

#[test]
fn a_trunk_that_another_clone_keeps_is_told_before_there_is_a_state_and_after() {
    let world = World::new();
    let (remote, clone) = with_remote(&world, &[]);
    let second = world.clone_of(&remote, "second");
    let ill = sick(&second, "other_box");
    assert!(!second.state().exists(), "nothing is made by looking");
    assert_snapshot!(ill.told(&world), @r"
    problem: this trunk is kept by another clone or an earlier state; share its state, or take over
    Numbers and turns come from one state. To use the other clone's: --state DIR (or SIGNALBOX_STATE), where DIR is the folder `signalbox` in that clone's git directory.
    If that state is lost: signalbox init --take-over. It starts above the trunk's highest turn and above the numbers of its files; the other clone is refused from then on. A line without files goes on a thousand above what the last landing recorded, or begins again where none did: then mint it once with --floor N.
    ");
    let shared = second.env("SIGNALBOX_STATE", clone.state().to_str().unwrap());
    crate::doctor::healthy(&shared, "other_box");
    second.run(&["queue"]);
    assert!(second.state().exists());
    let ill = sick(&second, "other_box");
    ill.healed_by(|| drop(second.ok(&["init", "--take-over"])));
    sick(&clone, "other_box");
}

#[test]
fn an_older_state_that_was_put_back_is_told() {
    let world = World::new();
    let repo = here(&world, "true");
    let file = repo.state().join("state.db");
    let land = |branch: &str| {
        repo.branch(branch);
        let done = repo.ok(&["land", branch]);
        let conn = rusqlite::Connection::open(&file).unwrap();
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        done.end()["turnNo"].as_i64().unwrap()
    };
    land("one");
    let backup = fs::read(&file).unwrap();
    assert_eq!(land("two"), 2);
    assert_eq!(land("three"), 3);
    fs::write(&file, backup).unwrap();
    let ill = sick(&repo, "state_behind");
    assert_snapshot!(ill.told(&world), @r"
    problem: main has had turn 3 and this state knows 1: an older state was put back; take over
    Until then no landing gets past the fence. Numbers go on above what the trunk's files show.
    next: signalbox init --take-over
    ");
    ill.heals();
    assert_eq!(land("four"), 4);
}

#[test]
fn a_trunk_that_is_gone_is_told() {
    let world = World::new();
    let (remote, clone) = with_remote(&world, &[]);
    let main = remote.git(&["rev-parse", "main"]);
    remote.git(&["update-ref", "-d", "refs/heads/main"]);
    let ill = sick(&clone, "trunk_gone");
    assert_snapshot!(ill.told(&world), @r"
    problem: the trunk origin/main is gone, though branches landed on it; bring it back, or name another in init
    If it was renamed: write its new name as trunk.branch in .signalbox.toml and run signalbox init.
    ");
    ill.healed_by(|| drop(remote.git(&["update-ref", "refs/heads/main", &main])));
}

/// What a killed doctor leaves is found by the next ones, which add nothing to it.
fn left(world: &World, tree: &Tree, trunk: &Tree) {
    let refs =
        || trunk.git(&["for-each-ref", "--format=%(refname)", "refs/signalbox/doctor"]).lines().count();
    assert_killed(&tree.env("SIGNALBOX_FAULT", "doctor:pushed:kill").run(&["doctor"]));
    assert_eq!(refs(), 2);
    crate::doctor::healthy(tree, "trial_left");
    assert_eq!(refs(), 2, "another one may be at work with them");
    world.advance(600_001);
    assert_killed(&tree.env("SIGNALBOX_FAULT", "doctor:pushed:kill").run(&["doctor"]));
    assert_eq!(refs(), 2, "they are used again");
    let ill = sick(tree, "trial_left");
    let told = ill.told(world);
    assert!(told.starts_with("warning: an earlier doctor left 2 trial refs at "), "{told}");
    assert!(told.contains("\nnext: git "), "{told}");
    ill.heals();
    assert_eq!(refs(), 0);
}

#[test]
fn refs_that_a_killed_doctor_has_left_are_told_and_no_more_come() {
    let world = World::with_clock();
    let (remote, clone) = with_remote(&world, &[]);
    left(&world, &clone, &remote);
    let world = World::with_clock();
    let repo = here(&world, "true");
    left(&world, &repo, &repo);
}

#[test]
fn a_remote_that_deletes_no_refs_is_told_and_gets_no_more_than_two() {
    let world = World::with_clock();
    let (remote, clone) = with_remote(&world, &[]);
    let hook = remote.path.join("hooks/update");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(
        &hook,
        "#!/bin/sh\ncase $3 in *[!0]*) exit 0 ;; esac\necho 'nothing is deleted here' >&2\nexit 1\n",
    )
    .unwrap();
    executable(&hook);
    for _ in 0..2 {
        clone.ok(&["doctor"]);
        world.advance(600_001);
        let refs = remote.git(&["for-each-ref", "--format=%(refname)", "refs/signalbox/doctor"]);
        assert_eq!(refs.lines().count(), 2, "they are used again: {refs}");
    }
    let before = remote.git(&["for-each-ref", "--format=%(refname)"]);
    let ill = sick(&clone, "trial_left");
    assert_eq!(remote.git(&["for-each-ref", "--format=%(refname)"]), before);
    fs::remove_file(&hook).unwrap();
    ill.heals();
}

#[test]
fn a_trunk_that_is_checked_out_twice_or_out_of_reach_is_told() {
    let world = World::new();
    let repo = here(&world, "true");
    let second = world.path("second");
    let second = second.to_str().unwrap();
    repo.git(&["worktree", "add", "-q", "-f", second, "main"]);
    let ill = sick(&repo, "trunk_twice");
    assert_snapshot!(ill.told(&world), @r"
    problem: two worktrees have the trunk checked out; switch one to another branch
    next: git worktree list
    ");
    ill.healed_by(|| drop(repo.git(&["switch", "-q", "-c", "other"])));
    repo.git(&["worktree", "lock", second]);
    fs::rename(second, world.path("away")).unwrap();
    let ill = sick(&repo, "trunk_worktree_missing");
    assert_snapshot!(ill.told(&world), @r"
    problem: the trunk's worktree [path] cannot be reached; see: git worktree list
    next: git worktree list
    ");
    ill.healed_by(|| fs::rename(world.path("away"), second).unwrap());
}

#[test]
fn a_trunk_whose_worktree_is_in_use_is_told() {
    let world = World::new();
    let repo = here(&world, "true");
    repo.write("README", "changed\n");
    let ill = sick(&repo, "trunk_dirty");
    assert_snapshot!(ill.told(&world), @r"
    problem: the trunk's worktree [path] has changes; its owner commits or stashes them
      README
    next: cd [world]/r && git status
    ");
    ill.healed_by(|| drop(repo.git(&["checkout", "-q", "--", "README"])));
    repo.git(&["switch", "-q", "-c", "other"]);
    repo.commit("README", "theirs\n", "theirs");
    repo.git(&["switch", "-q", "main"]);
    repo.commit("README", "ours\n", "ours");
    assert!(!repo.git_ok(&["merge", "-q", "other"]));
    let ill = sick(&repo, "trunk_busy");
    assert_snapshot!(ill.told(&world), @r"
    problem: a merge of the trunk is under way in [path] finish or abort it
    next: cd [world]/r && git status
    ");
    ill.healed_by(|| drop(repo.git(&["merge", "--abort"])));
}

#[test]
fn a_file_in_the_way_of_the_branch_that_is_checked_out_here_is_told() {
    let world = World::new();
    let repo = here(&world, "true");
    let work = repo.worktree("work");
    work.commit("new", "1\n", "new");
    repo.write("new", "mine\n");
    let ill = sick(&work, "trunk_file_in_the_way");
    assert_snapshot!(ill.told(&world), @r"
    warning: landing work would overwrite a file in the trunk's worktree; move it
      new
    next: cd [world]/r && git status --ignored
    ");
    ill.healed_by(|| fs::remove_file(repo.path.join("new")).unwrap());
}

#[test]
fn locks_that_a_killed_git_has_left_are_told() {
    let world = World::new();
    let repo = here(&world, "true");
    for (lock, code) in [("refs/heads/main.lock", ""), ("index.lock", "")] {
        let path = repo.path.join(".git").join(lock);
        fs::write(&path, code).unwrap();
    }
    let ill = sick(&repo, "ref_locked");
    assert_snapshot!(ill.told(&world), @r"
    problem: a git that was killed left the lock main.lock; if no git runs here, remove it
    [world]/r/.git/refs/heads/main.lock
    next: rm [world]/r/.git/refs/heads/main.lock
    ");
    ill.heals();
    let ill = sick(&repo, "git_locked");
    assert_snapshot!(ill.told(&world), @r"
    warning: git's own lock stands in the trunk's way; if no git or editor runs here, remove it
    [world]/r/.git/index.lock
    next: rm [world]/r/.git/index.lock
    ");
    ill.heals();
}
