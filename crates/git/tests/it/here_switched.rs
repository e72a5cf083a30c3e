//! Landings in place while worktrees are switched, and where the trunk is checked out in uncommon ways.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use git::{ObstacleKind, Oid, PushEnd, Remote, Trunk};

use crate::here::{kinds, land, scene, untouched};
use crate::lab::{Lab, lab, with_each_git, write};

fn wait_for(path: &Path) {
    while !path.exists() {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Lands while a lock keeps the transaction waiting, and calls something meanwhile.
fn land_behind_a_lock(at: &Path, trunk: &Trunk, old: &Oid, new: &Oid, meanwhile: impl FnOnce()) -> PushEnd {
    let lock = at.join(".git/refs/heads/main.lock");
    write(&lock, "");
    thread::scope(|scope| {
        let landing = scope.spawn(|| land(trunk, old, new));
        thread::sleep(Duration::from_millis(700));
        meanwhile();
        fs::remove_file(&lock).unwrap();
        landing.join().unwrap()
    })
}

/// A filter that keeps the transaction open while the worktree is written: there is a file `started` then.
fn slow_filter(lab: &Lab, at: &Path) {
    lab.ok(at, &["config", "filter.slow.smudge", "touch started; sleep 1; cat"]);
    write(&at.join(".git/info/attributes"), "b.txt filter=slow\n");
}

#[test]
fn a_switch_away_from_or_to_the_trunk_before_the_refs_are_locked_refuses_the_landing() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        lab.ok(&at, &["branch", "elsewhere"]);
        for to in ["elsewhere", "main"] {
            let end = land_behind_a_lock(&at, &trunk, &old, &new, || {
                lab.ok(&at, &["switch", "-q", to]);
            });
            assert!(matches!(&end, PushEnd::Refused { text } if text.contains("was switched")), "{end:?}");
            untouched(lab, &at, &trunk, &old);
            assert!(!at.join("dir/b.txt").exists());
            assert_eq!(lab.ok(&at, &["status", "--porcelain"]), "");
        }
        assert_eq!(land(&trunk, &old, &new), PushEnd::Accepted);
    });
}

#[test]
fn a_worktree_that_gets_the_trunk_during_the_transaction_is_brought_to_the_landing() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        lab.ok(&at, &["switch", "-q", "-c", "elsewhere"]);
        lab.ok(&at, &["worktree", "add", "-q", "../linked", "main"]);
        slow_filter(lab, &at);
        let landing = thread::spawn(move || land(&trunk, &old, &new));
        wait_for(&lab.path("linked/started"));
        lab.ok(&at, &["switch", "-q", "--ignore-other-worktrees", "main"]);
        assert_eq!(landing.join().unwrap(), PushEnd::Accepted);
        assert_eq!(fs::read_to_string(at.join("dir/b.txt")).unwrap(), "b\n");
        for worktree in [at, lab.path("linked")] {
            assert_eq!(lab.ok(&worktree, &["status", "--porcelain", "-uno"]), "");
        }
    });
}

#[test]
fn a_landing_that_was_carried_to_another_branch_is_taken_back() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        lab.ok(&at, &["branch", "elsewhere"]);
        slow_filter(lab, &at);
        let landing = thread::spawn(move || land(&trunk, &old, &new));
        wait_for(&at.join("started"));
        // What a `git switch` that read the index before does at its end.
        write(&at.join(".git/HEAD"), "ref: refs/heads/elsewhere\n");
        assert_eq!(landing.join().unwrap(), PushEnd::Accepted);
        assert_eq!(lab.ok(&at, &["status", "--porcelain", "-uno"]), "");
        assert!(!at.join("dir/b.txt").exists());
    });
}

#[test]
fn what_is_staged_meanwhile_refuses_the_landing_and_stays() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        write(&at.join("mine.txt"), "mine");
        let end = land_behind_a_lock(&at, &trunk, &old, &new, || {
            lab.ok(&at, &["add", "mine.txt"]);
        });
        assert!(matches!(&end, PushEnd::Refused { text } if text.contains("staged")), "{end:?}");
        untouched(lab, &at, &trunk, &old);
        assert_eq!(lab.ok(&at, &["status", "--porcelain"]), "A  mine.txt");
    });
}

#[test]
fn landings_while_a_worktree_is_switched_back_and_forth_are_never_shown_reverted() {
    let lab = lab();
    let at = lab.init("r");
    lab.branch(&at, "side", "side.txt", "s");
    lab.ok(&at, &["switch", "-q", "-c", "chain"]);
    let commits: Vec<Oid> = (0..10).map(|n| lab.commit(&at, &format!("landed{n}"), "l")).collect();
    lab.ok(&at, &["switch", "-q", "main"]);
    let trunk = lab.trunk(&at, Remote::Here);
    let (turn, end) = (Mutex::new(()), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for to in ["side", "main"].iter().cycle() {
                if end.load(Relaxed) {
                    break;
                }
                let held = turn.lock().unwrap();
                let out = lab.git(&at, &["switch", "-q", to]);
                // Git gives up on a locked HEAD after 100 ms, says so, and leaves the other branch's index behind.
                if String::from_utf8_lossy(&out.stderr).contains("HEAD") {
                    while !lab.git(&at, &["reset", "-q", "--hard"]).status.success() {}
                }
                drop(held);
                thread::sleep(Duration::from_millis(15));
            }
        });
        let mut old = lab.oid(&at, "main");
        let mut shown = Vec::new();
        for new in &commits {
            let landed = (0..40).any(|_| {
                let landed = land(&trunk, &old, new) == PushEnd::Accepted;
                let held = turn.lock().unwrap();
                if !at.join(".git/index.lock").exists() {
                    let status = lab.ok(&at, &["status", "--porcelain", "--branch", "-uno"]);
                    shown.extend(status.contains("landed").then_some(status));
                }
                drop(held);
                landed
            });
            if !landed {
                shown.push(format!("{new} did not land"));
            }
            old = new.clone();
        }
        end.store(true, Relaxed);
        assert_eq!(shown, Vec::<String>::new());
    });
}

/// The trunk is landed on where it is checked out, and from a linked worktree either just so or not at all.
fn lands_where_it_is_checked_out(lab: &Lab, at: &Path, old: &Oid, new: &Oid, seen_from_afar: bool) {
    lab.ok(at, &["worktree", "add", "-q", "--detach", "../linked"]);
    let afar = lab.trunk(&lab.path("linked"), Remote::Here);
    let found = afar.obstacles(Some(old), Some(new)).unwrap();
    assert_eq!(kinds(&found), if seen_from_afar { vec![] } else { vec![ObstacleKind::Missing] });
    let trunk = lab.trunk(at, Remote::Here);
    assert_eq!(trunk.obstacles(Some(old), Some(new)).unwrap(), []);
    write(&at.join("a.txt"), "mine");
    assert_eq!(kinds(&trunk.obstacles(Some(old), Some(new)).unwrap()), [ObstacleKind::TrackedChanges]);
    lab.ok(at, &["checkout", "-q", "--", "a.txt"]);
    let by = if seen_from_afar { &afar } else { &trunk };
    assert_eq!(land(by, old, new), PushEnd::Accepted);
    assert_eq!(fs::read_to_string(at.join("dir/b.txt")).unwrap(), "b\n");
    assert_eq!(lab.ok(at, &["status", "--porcelain"]), "");
    assert_eq!(lab.oid(at, "main"), *new);
    lab.ok(at, &["switch", "-q", "-c", "elsewhere"]);
    assert_eq!(afar.obstacles(Some(new), None).unwrap(), []);
}

#[test]
fn a_git_directory_behind_a_link_does_not_hide_the_worktree() {
    with_each_git(|lab| {
        let (at, _, old, new) = scene(lab);
        fs::rename(at.join(".git"), lab.path("store")).unwrap();
        std::os::unix::fs::symlink(lab.path("store"), at.join(".git")).unwrap();
        lands_where_it_is_checked_out(lab, &at, &old, &new, false);
    });
}

#[test]
fn a_git_directory_elsewhere_does_not_hide_the_worktree() {
    with_each_git(|lab| {
        let (at, _, old, new) = scene(lab);
        fs::rename(at.join(".git"), lab.path("store")).unwrap();
        write(&at.join(".git"), "gitdir: ../store\n");
        lands_where_it_is_checked_out(lab, &at, &old, &new, false);
    });
}

#[test]
fn a_trunk_that_is_a_symbolic_ref_is_seen_in_the_worktree_on_its_target() {
    with_each_git(|lab| {
        let (at, _, old, new) = scene(lab);
        lab.ok(&at, &["branch", "-m", "main", "master"]);
        lab.ok(&at, &["symbolic-ref", "refs/heads/main", "refs/heads/master"]);
        lands_where_it_is_checked_out(lab, &at, &old, &new, true);
        assert_eq!(lab.oid(&at, "master"), new);
    });
}
