use std::fs;
use std::path::Path;
use std::thread;

use git::{Obstacle, ObstacleKind, Oid, Operation, PushEnd, Remote, Trunk};

use crate::lab::{Lab, hook, lab, lab_sha256, with_each_git, write};

/// A repository whose trunk is checked out, and a commit to land: `b.txt` added, `a.txt` changed.
pub(crate) fn scene(lab: &Lab) -> (std::path::PathBuf, Trunk, Oid, Oid) {
    let at = lab.init("r");
    let old = lab.oid(&at, "main");
    lab.ok(&at, &["checkout", "-q", "-b", "side"]);
    lab.commit(&at, "a.txt", "one\ntwo\nTHREE\n");
    let new = lab.commit(&at, "dir/b.txt", "b\n");
    lab.ok(&at, &["checkout", "-q", "main"]);
    let trunk = lab.trunk(&at, Remote::Here);
    (at, trunk, old, new)
}

pub(crate) fn land(trunk: &Trunk, old: &Oid, new: &Oid) -> PushEnd {
    let before = trunk.read().unwrap().epoch;
    let epoch = trunk.repo.note_commit(format!("landed {new}").as_bytes(), before.as_ref()).unwrap();
    trunk.land(new, Some(old), &epoch, before.as_ref(), None).unwrap()
}

pub(crate) fn kinds(found: &[Obstacle]) -> Vec<ObstacleKind> {
    found.iter().map(|obstacle| obstacle.kind).collect()
}

pub(crate) fn untouched(lab: &Lab, at: &Path, trunk: &Trunk, old: &Oid) {
    assert_eq!(lab.oid(at, "main"), *old);
    assert_eq!(trunk.read().unwrap().epoch, None);
    assert!(!at.join(".git/refs/heads/main.lock").exists());
    assert!(!at.join(".git/index.lock").exists());
}

#[test]
fn a_landing_moves_refs_index_and_files_together() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        assert_eq!(trunk.obstacles(Some(&old), Some(&new)).unwrap(), []);
        assert_eq!(land(&trunk, &old, &new), PushEnd::Accepted);
        assert_eq!(trunk.read().unwrap().trunk, Some(new.clone()));
        assert_eq!(fs::read_to_string(at.join("dir/b.txt")).unwrap(), "b\n");
        assert_eq!(lab.ok(&at, &["status", "--porcelain"]), "");
        assert_eq!(lab.ok(&at, &["reflog", "-1", "--format=%gs", "main"]), "signalbox: land");
        assert_eq!(lab.ok(&at, &["reflog", "-1", "--format=%gs", "HEAD"]), "signalbox: land");
        assert_eq!(trunk.repair_after_crash(&old, &new).unwrap(), git::Repair::default());
    });
}

#[test]
fn a_landing_works_in_a_sha256_repository() {
    let lab = lab_sha256();
    let (at, trunk, old, new) = scene(&lab);
    assert_eq!(land(&trunk, &old, &new), PushEnd::Accepted);
    assert_eq!(lab.ok(&at, &["status", "--porcelain"]), "");
}

#[test]
fn a_landing_needs_no_worktree_on_the_trunk() {
    let lab = lab();
    let (at, trunk, old, new) = scene(&lab);
    lab.ok(&at, &["checkout", "-q", "-b", "elsewhere"]);
    write(&at.join("dir/b.txt"), "untracked here");
    assert_eq!(trunk.obstacles(Some(&old), Some(&new)).unwrap(), []);
    assert_eq!(land(&trunk, &old, &new), PushEnd::Accepted);
    assert_eq!(lab.oid(&at, "main"), new);
    assert_eq!(fs::read_to_string(at.join("dir/b.txt")).unwrap(), "untracked here");
}

#[test]
fn a_trunk_in_a_linked_worktree_is_updated_there() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        lab.ok(&at, &["checkout", "-q", "side"]);
        lab.ok(&at, &["worktree", "add", "-q", "../linked", "main"]);
        assert_eq!(land(&trunk, &old, &new), PushEnd::Accepted);
        assert!(lab.path("linked/dir/b.txt").exists());
        assert_eq!(lab.ok(&lab.path("linked"), &["status", "--porcelain"]), "");
    });
}

#[test]
fn a_first_trunk_can_land_where_none_was() {
    let lab = lab();
    let (at, _, old, new) = scene(&lab);
    let trunk = Trunk::new(lab.repo(&at), Remote::Here, "fresh");
    let epoch = trunk.repo.note_commit(b"e", None).unwrap();
    lab.ok(&at, &["checkout", "-q", "--orphan", "fresh"]);
    lab.ok(&at, &["rm", "-q", "-rf", "."]);
    assert_eq!(trunk.obstacles(None, Some(&new)).unwrap(), []);
    assert_eq!(trunk.land(&new, None, &epoch, None, None).unwrap(), PushEnd::Accepted);
    assert_eq!(lab.ok(&at, &["status", "--porcelain"]), "");
    let again = trunk.land(&old, None, &epoch, None, None).unwrap();
    assert!(matches!(again, PushEnd::Refused { .. }), "{again:?}");
    assert_eq!(lab.oid(&at, "fresh"), new);
}

#[test]
fn a_dirty_file_is_an_obstacle_and_refuses_the_landing_whole() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        write(&at.join("a.txt"), "mine\n");
        let found = trunk.obstacles(Some(&old), None).unwrap();
        assert_eq!(kinds(&found), [ObstacleKind::TrackedChanges]);
        assert_eq!(found[0].paths, ["a.txt"]);
        let end = land(&trunk, &old, &new);
        assert!(matches!(&end, PushEnd::Refused { text } if text.contains("a.txt")), "{end:?}");
        untouched(lab, &at, &trunk, &old);
        assert_eq!(fs::read_to_string(at.join("a.txt")).unwrap(), "mine\n");
        assert!(!at.join("dir").exists());
    });
}

#[test]
fn a_file_that_was_only_touched_is_no_change() {
    let lab = lab();
    let (at, trunk, old, new) = scene(&lab);
    fs::remove_file(at.join("a.txt")).unwrap();
    write(&at.join("a.txt"), "one\ntwo\nthree\n");
    let touched = fs::File::options().write(true).open(at.join("a.txt")).unwrap();
    touched.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
    assert_eq!(land(&trunk, &old, &new), PushEnd::Accepted);
}

#[test]
fn untracked_and_ignored_files_in_the_way_are_obstacles() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        write(&at.join(".git/info/exclude"), "b.txt\n");
        write(&at.join("dir/b.txt"), "ignored");
        write(&at.join("dir/other.txt"), "no matter");
        let found = trunk.obstacles(Some(&old), Some(&new)).unwrap();
        assert_eq!(kinds(&found), [ObstacleKind::InTheWay]);
        assert_eq!(found[0].paths, ["dir/b.txt"]);
        fs::remove_dir_all(at.join("dir")).unwrap();
        write(&at.join("dir"), "a file where a directory must come");
        let found = trunk.obstacles(Some(&old), Some(&new)).unwrap();
        assert_eq!(found[0].paths, ["dir"]);
        fs::remove_file(at.join("dir")).unwrap();
        write(&at.join("dir/b.txt/inner/file"), "a directory where a file must come");
        let found = trunk.obstacles(Some(&old), Some(&new)).unwrap();
        assert_eq!(found[0].paths, ["dir/b.txt/inner/file"]);
        assert_eq!(trunk.obstacles(Some(&old), None).unwrap(), []);
    });
}

#[test]
fn an_ignored_file_is_not_overwritten_even_if_nobody_asked_for_obstacles() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        write(&at.join(".git/info/exclude"), "b.txt\n");
        write(&at.join("dir/b.txt"), "ignored");
        let end = land(&trunk, &old, &new);
        assert!(matches!(&end, PushEnd::Refused { text } if text.contains("dir/b.txt")), "{end:?}");
        untouched(lab, &at, &trunk, &old);
        assert_eq!(fs::read_to_string(at.join("dir/b.txt")).unwrap(), "ignored");
    });
}

#[test]
fn a_submodule_that_lands_does_not_block_the_landings_after_it() {
    with_each_git(|lab| {
        let (at, trunk, old, _) = scene(lab);
        let inner = lab.init("inner");
        lab.ok(&at, &["checkout", "-q", "-b", "subs"]);
        lab.ok(&at, &["submodule", "--quiet", "add", "../inner", "sub"]);
        lab.ok(&at, &["commit", "-q", "-m", "sub"]);
        let with = lab.oid(&at, "HEAD");
        let next = lab.commit(&inner, "n", "n");
        lab.ok(&at, &["update-index", "--cacheinfo", &format!("160000,{next},sub")]);
        lab.ok(&at, &["commit", "-q", "-m", "bump"]);
        let bumped = lab.oid(&at, "HEAD");
        let after = lab.commit(&at, "after", "a");
        fs::remove_dir_all(at.join("sub")).unwrap();
        lab.ok(&at, &["checkout", "-q", "-f", "main"]);
        for (from, to) in [(&old, &with), (&with, &bumped), (&bumped, &after)] {
            assert_eq!(trunk.obstacles(Some(from), Some(to)).unwrap(), []);
            assert_eq!(land(&trunk, from, to), PushEnd::Accepted);
            lab.ok(&at, &["submodule", "--quiet", "init"]);
            if to == &with {
                lab.ok(&at, &["submodule", "--quiet", "update"]);
            }
        }
        assert_eq!(lab.ok(&at, &["status", "--porcelain", "--ignore-submodules=all"]), "");
    });
}

#[test]
fn a_trunk_inside_a_submodule_is_updated_where_it_stands() {
    with_each_git(|lab| {
        let outer = lab.init("outer");
        lab.init("inner");
        lab.ok(&outer, &["submodule", "--quiet", "add", "../inner", "sub"]);
        let at = outer.join("sub");
        let old = lab.oid(&at, "main");
        let new = lab.branch(&at, "side", "b.txt", "b\n");
        let trunk = lab.trunk(&at, Remote::Here);
        assert_eq!(trunk.obstacles(Some(&old), Some(&new)).unwrap(), []);
        assert_eq!(land(&trunk, &old, &new), PushEnd::Accepted);
        assert!(at.join("b.txt").exists());
        assert_eq!(lab.ok(&at, &["status", "--porcelain"]), "");
    });
}

#[test]
fn another_repository_in_the_place_of_a_worktree_is_left_alone() {
    let lab = lab();
    let (at, trunk, old, new) = scene(&lab);
    lab.ok(&at, &["checkout", "-q", "side"]);
    lab.ok(&at, &["worktree", "add", "-q", "../linked", "main"]);
    fs::remove_dir_all(lab.path("linked")).unwrap();
    let other = lab.init("linked");
    assert_eq!(land(&trunk, &old, &new), PushEnd::Accepted);
    assert!(!other.join("dir").exists());
}

#[test]
fn a_file_that_makes_room_for_a_directory_is_no_obstacle() {
    with_each_git(|lab| {
        let at = lab.init("r");
        lab.commit(&at, "x", "file");
        let old = lab.commit(&at, "y/inner", "in a directory");
        lab.ok(&at, &["checkout", "-q", "-b", "side"]);
        lab.ok(&at, &["rm", "-q", "-r", "x", "y"]);
        lab.commit(&at, "x/inner", "in a directory");
        let new = lab.commit(&at, "y", "file");
        lab.ok(&at, &["checkout", "-q", "main"]);
        let trunk = lab.trunk(&at, Remote::Here);
        assert_eq!(trunk.obstacles(Some(&old), Some(&new)).unwrap(), []);
        write(&at.join("y/untracked"), "u");
        assert_eq!(trunk.obstacles(Some(&old), Some(&new)).unwrap()[0].paths, ["y/untracked"]);
        fs::remove_file(at.join("y/untracked")).unwrap();
        assert_eq!(land(&trunk, &old, &new), PushEnd::Accepted);
        assert_eq!(lab.ok(&at, &["status", "--porcelain"]), "");
    });
}

#[test]
fn a_locked_index_is_an_obstacle_and_refuses_the_landing() {
    let lab = lab();
    let (at, trunk, old, new) = scene(&lab);
    write(&at.join(".git/index.lock"), "");
    assert_eq!(kinds(&trunk.obstacles(Some(&old), Some(&new)).unwrap()), [ObstacleKind::IndexLocked]);
    let end = land(&trunk, &old, &new);
    assert!(matches!(&end, PushEnd::Refused { text } if text.contains("index.lock")), "{end:?}");
    assert_eq!(trunk.leftover_locks().unwrap(), [at.join(".git/index.lock")]);
    fs::remove_file(at.join(".git/index.lock")).unwrap();
    untouched(&lab, &at, &trunk, &old);
}

#[test]
fn a_rebase_of_the_trunk_is_seen_though_its_head_is_detached() {
    with_each_git(|lab| {
        let (at, trunk, old, _) = scene(lab);
        lab.branch(&at, "clash", "a.txt", "clash\n");
        lab.commit(&at, "a.txt", "main\n");
        lab.ok(&at, &["worktree", "add", "-q", "--detach", "../bystander"]);
        assert!(!lab.git(&at, &["rebase", "clash"]).status.success());
        let found = trunk.obstacles(Some(&old), None).unwrap();
        assert!(kinds(&found).contains(&ObstacleKind::Operation(Operation::Rebase)), "{found:?}");
        assert!(found.iter().all(|obstacle| obstacle.worktree.ends_with("r")));
        lab.ok(&at, &["rebase", "--abort"]);
        assert_eq!(trunk.obstacles(Some(&old), None).unwrap(), []);
    });
}

#[test]
fn a_bisect_that_began_on_the_trunk_is_seen() {
    with_each_git(|lab| {
        let (at, trunk, old, _) = scene(lab);
        for n in 0..4 {
            lab.commit(&at, "n.txt", &n.to_string());
        }
        lab.ok(&at, &["bisect", "start", "main", old.as_str()]);
        let found = trunk.obstacles(Some(&old), None).unwrap();
        assert_eq!(kinds(&found), [ObstacleKind::Operation(Operation::Bisect)]);
    });
}

#[test]
fn a_merge_and_a_cherry_pick_under_way_are_seen() {
    let lab = lab();
    let (at, trunk, old, _) = scene(&lab);
    lab.commit(&at, "a.txt", "main\n");
    for (command, operation) in [("merge", Operation::Merge), ("cherry-pick", Operation::CherryPick)] {
        let target = if command == "merge" { "side" } else { "side~1" };
        assert!(!lab.git(&at, &[command, target]).status.success());
        let found = trunk.obstacles(Some(&old), None).unwrap();
        assert!(kinds(&found).contains(&ObstacleKind::Operation(operation)), "{found:?}");
        lab.ok(&at, &[command, "--abort"]);
    }
    assert_eq!(trunk.obstacles(Some(&old), None).unwrap(), []);
}

#[test]
fn a_second_worktree_on_the_trunk_is_an_obstacle() {
    let lab = lab();
    let (at, trunk, old, new) = scene(&lab);
    lab.ok(&at, &["worktree", "add", "-q", "--force", "../second", "main"]);
    let found = trunk.obstacles(Some(&old), Some(&new)).unwrap();
    assert_eq!(kinds(&found), [ObstacleKind::SecondWorktree]);
    assert!(found[0].worktree.ends_with("second"));
    lab.ok(&at, &["worktree", "lock", "../second"]);
    fs::remove_dir_all(lab.path("second")).unwrap();
    assert_eq!(kinds(&trunk.obstacles(Some(&old), None).unwrap()), [ObstacleKind::Missing]);
    lab.ok(&at, &["worktree", "unlock", lab.path("second").to_str().unwrap()]);
    assert_eq!(trunk.obstacles(Some(&old), None).unwrap(), []);
}

#[test]
fn a_trunk_that_moved_refuses_the_landing() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        let moved = lab.commit(&at, "other.txt", "o");
        let end = land(&trunk, &old, &new);
        assert!(matches!(end, PushEnd::Refused { .. }), "{end:?}");
        untouched(lab, &at, &trunk, &moved);
        assert_eq!(lab.ok(&at, &["status", "--porcelain"]), "");
    });
}

#[test]
fn a_commit_made_during_the_transaction_fails_or_comes_before_and_never_reverts_the_landing() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        // A slow filter keeps the transaction open while the worktree is written.
        lab.ok(&at, &["config", "filter.slow.smudge", "touch started; sleep 1; cat"]);
        write(&at.join(".git/info/attributes"), "b.txt filter=slow\n");
        let landing = thread::spawn(move || land(&trunk, &old, &new));
        while !at.join("started").exists() {
            thread::sleep(std::time::Duration::from_millis(5));
        }
        let commit = lab.git(&at, &["commit", "-q", "--allow-empty", "-m", "in between"]);
        assert!(!commit.status.success());
        assert_eq!(landing.join().unwrap(), PushEnd::Accepted);
        fs::remove_file(at.join("started")).unwrap();
        assert_eq!(lab.ok(&at, &["status", "--porcelain"]), "");
        assert_eq!(lab.ok(&at, &["log", "-1", "--format=%s", "main"]), "change dir/b.txt");
    });
}

#[test]
fn a_filter_that_fails_half_way_leaves_the_worktree_as_it_was() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        lab.ok(&at, &["config", "filter.bad.smudge", "false"]);
        lab.ok(&at, &["config", "filter.bad.required", "true"]);
        write(&at.join(".git/info/attributes"), "b.txt filter=bad\n");
        let end = land(&trunk, &old, &new);
        assert!(matches!(end, PushEnd::Refused { .. }), "{end:?}");
        untouched(lab, &at, &trunk, &old);
        assert_eq!(lab.ok(&at, &["status", "--porcelain"]), "");
    });
}

#[test]
fn hooks_of_the_repository_do_not_run() {
    let lab = lab();
    let (at, trunk, old, new) = scene(&lab);
    hook(&at.join(".git"), "reference-transaction", "exit 1");
    hook(&at.join(".git"), "post-index-change", "touch hooked");
    assert_eq!(land(&trunk, &old, &new), PushEnd::Accepted);
    assert!(!at.join("hooked").exists());
}

#[test]
fn a_lock_that_stays_is_shown_and_a_landing_behind_it_is_refused() {
    let lab = lab();
    let (at, trunk, old, new) = scene(&lab);
    assert!(trunk.leftover_locks().unwrap().is_empty());
    let lock = at.join(".git/refs/heads/main.lock");
    write(&lock, "");
    assert!(matches!(land(&trunk, &old, &new), PushEnd::Refused { .. }));
    assert_eq!(trunk.leftover_locks().unwrap(), [lock]);
}
