use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use git::{Oid, Remote, Repair, Trunk};

use crate::lab::{Lab, with_each_git, write};

const ODD: &str = "sp ace \"q\"\nline";

/// A landing that changes, adds, removes, makes executable, links, and turns a file into a directory.
fn scene(lab: &Lab) -> (PathBuf, Trunk, Oid, Oid) {
    let at = lab.init("r");
    for (path, content) in [("gone", "g"), ("script", "s"), ("turn", "t"), ("link", "l")] {
        lab.commit(&at, path, content);
    }
    let old = lab.oid(&at, "HEAD");
    lab.ok(&at, &["checkout", "-q", "-b", "side"]);
    lab.ok(&at, &["rm", "-q", "gone", "turn", "link"]);
    fs::set_permissions(at.join("script"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a.txt", at.join("link")).unwrap();
    write(&at.join("turn/inner"), "i");
    write(&at.join("new/deep/file"), "n");
    write(&at.join(ODD), "o");
    write(&at.join("a.txt"), "changed\n");
    lab.ok(&at, &["add", "-A"]);
    lab.ok(&at, &["commit", "-q", "-m", "much"]);
    let new = lab.oid(&at, "HEAD");
    lab.ok(&at, &["checkout", "-q", "main"]);
    let trunk = lab.trunk(&at, Remote::Here);
    (at, trunk, old, new)
}

fn clean(lab: &Lab, at: &std::path::Path) {
    assert_eq!(lab.ok(at, &["status", "--porcelain"]), "");
}

#[test]
fn a_worktree_that_ran_ahead_of_the_refs_is_taken_back() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        lab.ok(&at, &["read-tree", "-m", "-u", old.as_str(), new.as_str()]);
        let repair = trunk.repair_after_crash(&old, &new).unwrap();
        assert_eq!((repair.restored.len(), repair.left.len(), repair.index_lock), (8, 0, None));
        clean(lab, &at);
        assert!(!at.join("new").exists());
        assert_eq!(fs::read_to_string(at.join("turn")).unwrap(), "t");
    });
}

#[test]
fn a_worktree_that_stayed_behind_the_refs_is_brought_forward() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        lab.ok(&at, &["update-ref", "refs/heads/main", new.as_str()]);
        let repair = trunk.repair_after_crash(&old, &new).unwrap();
        assert_eq!((repair.restored.len(), repair.left.len()), (8, 0));
        clean(lab, &at);
        assert!(at.join("link").is_symlink());
        assert_eq!(trunk.repair_after_crash(&old, &new).unwrap(), Repair::default());
    });
}

#[test]
fn a_half_written_worktree_with_the_old_index_is_put_right() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        write(&at.join("a.txt"), "changed\n");
        write(&at.join("new/deep/file"), "n");
        fs::remove_file(at.join("gone")).unwrap();
        let repair = trunk.repair_after_crash(&old, &new).unwrap();
        assert_eq!(repair.restored, ["a.txt", "gone", "new/deep/file"]);
        clean(lab, &at);
    });
}

#[test]
fn content_of_somebody_else_is_left_and_named() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        lab.ok(&at, &["read-tree", "-m", "-u", old.as_str(), new.as_str()]);
        write(&at.join("a.txt"), "mine\n");
        write(&at.join("new/deep/file"), "mine");
        write(&at.join("unrelated"), "mine");
        let repair = trunk.repair_after_crash(&old, &new).unwrap();
        assert_eq!(repair.left, ["a.txt", "new/deep/file"]);
        assert_eq!(repair.restored.len(), 6);
        assert_eq!(fs::read_to_string(at.join("a.txt")).unwrap(), "mine\n");
        assert_eq!(fs::read_to_string(at.join("new/deep/file")).unwrap(), "mine");
        assert!(at.join("unrelated").exists());
    });
}

#[test]
fn a_locked_index_is_reported_and_nothing_is_set() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        lab.ok(&at, &["read-tree", "-m", "-u", old.as_str(), new.as_str()]);
        let lock = at.join(".git/index.lock");
        write(&lock, "");
        let repair = trunk.repair_after_crash(&old, &new).unwrap();
        assert_eq!((repair.restored.len(), repair.left.len()), (0, 8));
        assert_eq!(repair.index_lock, Some(lock));
    });
}

#[test]
fn files_behind_a_link_are_not_touched() {
    with_each_git(|lab| {
        let (at, trunk, old, new) = scene(lab);
        let outside = lab.path("outside");
        write(&outside.join("deep/file"), "n");
        symlink(&outside, at.join("new")).unwrap();
        let repair = trunk.repair_after_crash(&old, &new).unwrap();
        assert_eq!(repair.left, ["new/deep/file"]);
        assert!(outside.join("deep/file").exists());
    });
}

#[test]
fn a_sparse_worktree_is_put_right_and_stays_sparse() {
    with_each_git(|lab| {
        for (turn, (ahead, index)) in
            [(true, "--no-sparse-index"), (false, "--no-sparse-index"), (true, "--sparse-index")]
                .iter()
                .enumerate()
        {
            let at = lab.init(&format!("r{turn}"));
            for path in ["in/changed", "out/changed", "out/gone"] {
                lab.commit(&at, path, "before");
            }
            let old = lab.oid(&at, "HEAD");
            lab.ok(&at, &["checkout", "-q", "-b", "side"]);
            lab.ok(&at, &["rm", "-q", "out/gone"]);
            for path in ["in/changed", "out/changed", "out/new"] {
                lab.commit(&at, path, "after");
            }
            let new = lab.oid(&at, "HEAD");
            lab.ok(&at, &["checkout", "-q", "main"]);
            lab.ok(&at, &["sparse-checkout", "set", "--cone", index, "in"]);
            assert!(!at.join("out").exists());
            let trunk = lab.trunk(&at, Remote::Here);
            if *ahead {
                lab.ok(&at, &["read-tree", "-m", "-u", old.as_str(), new.as_str()]);
            } else {
                lab.ok(&at, &["update-ref", "refs/heads/main", new.as_str()]);
            }
            let repair = trunk.repair_after_crash(&old, &new).unwrap();
            assert_eq!((repair.restored.len(), &repair.left[..]), (4, &[][..]));
            clean(lab, &at);
            assert!(!at.join("out").exists(), "what it leaves out stays out");
            let inside = fs::read_to_string(at.join("in/changed")).unwrap();
            assert_eq!(inside, if *ahead { "before" } else { "after" });
        }
    });
}
