use std::fs;
use std::thread;

use git::{GitError, Head};

use crate::lab::{hook, lab, with_each_git, write};

#[test]
fn a_worktree_is_reset_to_another_commit_and_keeps_ignored_files() {
    with_each_git(|lab| {
        let at = lab.init("r");
        let first = lab.commit(&at, ".gitignore", "cache/\n");
        let second = lab.commit(&at, "b.txt", "b");
        let repo = lab.repo(&at);
        let tree = lab.path("check");
        repo.worktree_add_detached(&tree, &first).unwrap();
        assert!(!tree.join("b.txt").exists());
        write(&tree.join("cache/warm"), "w");
        write(&tree.join("junk/file"), "j");
        write(&tree.join("a.txt"), "changed");
        lab.ok(&lab.path("check"), &["init", "-q", "nested"]);
        write(&at.join(".git/worktrees/check/index.lock"), "");
        repo.worktree_reset(&tree, &second).unwrap();
        assert_eq!(fs::read_to_string(tree.join("b.txt")).unwrap(), "b");
        assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap(), "one\ntwo\nthree\n");
        assert!(tree.join("cache/warm").exists());
        assert!(!tree.join("junk").exists() && !tree.join("nested").exists());
        assert_eq!(repo.head(&tree).unwrap(), Head::Detached(second));
        repo.worktree_remove(&tree).unwrap();
        assert!(!tree.exists());
        assert_eq!(repo.worktrees().unwrap().len(), 1);
        repo.worktree_remove(&tree).unwrap();
    });
}

#[test]
fn a_reset_ends_what_a_check_left_under_way_and_moves_no_branch() {
    with_each_git(|lab| {
        let at = lab.init("r");
        let side = lab.branch(&at, "side", "a.txt", "side\n");
        let main = lab.commit(&at, "a.txt", "main\n");
        let repo = lab.repo(&at);
        let tree = lab.path("check");
        repo.worktree_add_detached(&tree, &side).unwrap();
        lab.ok(&tree, &["checkout", "-q", "side"]);
        assert!(!lab.git(&tree, &["rebase", "main"]).status.success());
        repo.worktree_reset(&tree, &main).unwrap();
        assert_eq!(lab.oid(&at, "side"), side);
        assert!(!lab.ok(&tree, &["status"]).contains("rebase"));
        lab.ok(&tree, &["checkout", "-q", "side"]);
        assert!(!lab.git(&tree, &["merge", "main"]).status.success());
        repo.worktree_reset(&tree, &main).unwrap();
        assert_eq!(lab.oid(&at, "side"), side);
        assert_eq!(lab.ok(&tree, &["status", "--porcelain"]), "");
        assert_eq!(repo.head(&tree).unwrap(), Head::Detached(main));
    });
}

#[test]
fn only_linked_worktrees_are_reset_or_removed() {
    let lab = lab();
    let at = lab.init("r");
    let other = lab.init("other");
    write(&at.join("precious"), "p");
    let repo = lab.repo(&at);
    let commit = lab.oid(&at, "HEAD");
    for path in [&at, &other, &lab.path("home")] {
        assert!(matches!(repo.worktree_reset(path, &commit), Err(GitError::NotALinkedWorktree(_))));
        assert!(matches!(repo.worktree_remove(path), Err(GitError::NotALinkedWorktree(_))));
    }
    assert!(at.join("precious").exists());
}

#[test]
fn worktrees_can_be_added_at_once() {
    with_each_git(|lab| {
        let at = lab.init("r");
        let commit = lab.oid(&at, "HEAD");
        hook(&at.join(".git"), "post-checkout", "exit 1");
        let repo = lab.repo(&at);
        let added: Vec<_> = (0..6)
            .map(|n| {
                let (repo, commit, path) =
                    (repo.clone(), commit.clone(), lab.path(&format!("checks/{n}/tree")));
                thread::spawn(move || repo.worktree_add_detached(&path, &commit).unwrap())
            })
            .collect();
        let taken = repo.worktree_add_detached(&lab.path("home"), &commit);
        assert!(matches!(taken, Err(GitError::Io { .. })));
        added.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(repo.worktrees().unwrap().len(), 7);
        fs::remove_dir_all(lab.path("checks/0")).unwrap();
        repo.worktree_prune().unwrap();
        assert_eq!(repo.worktrees().unwrap().len(), 6);
    });
}
