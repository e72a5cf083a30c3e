use std::fs;

use git::{GitError, Head, Identity, Oid, Repo};

use crate::lab::{hook, lab, with_each_git, write};

#[test]
fn a_repository_is_found_from_below_and_from_a_linked_worktree() {
    with_each_git(|lab| {
        let at = fs::canonicalize(lab.init("r")).unwrap();
        lab.ok(&at, &["worktree", "add", "-q", "-b", "side", "../linked"]);
        fs::create_dir(at.join("deep")).unwrap();
        let repo = lab.repo(&at.join("deep"));
        assert_eq!(repo.worktree(), Some(at.as_path()));
        assert_eq!(repo.common_dir(), at.join(".git"));
        assert_eq!(repo.git_dir(), at.join(".git"));
        let linked = lab.repo(&lab.path("linked"));
        assert_eq!(linked.common_dir(), at.join(".git"));
        assert_eq!(linked.git_dir(), at.join(".git/worktrees/linked"));
        let listed = linked.worktrees().unwrap();
        assert_eq!(listed.len(), 2);
        assert_eq!(listed[1].branch.as_deref(), Some("refs/heads/side"));
        assert!(matches!(
            Repo::discover_with(&lab.path("home"), &lab.program()),
            Err(GitError::NotARepository { .. })
        ));
    });
}

#[test]
fn a_bare_repository_has_no_worktree() {
    let lab = lab();
    let (origin, _) = lab.cloned();
    let repo = lab.repo(&origin);
    assert_eq!(repo.worktree(), None);
    assert!(repo.worktrees().unwrap().is_empty());
}

#[test]
fn the_head_is_a_branch_a_commit_or_unborn() {
    let lab = lab();
    let at = lab.init("r");
    let repo = lab.repo(&at);
    assert_eq!(repo.head(&at).unwrap(), Head::Branch("main".to_owned()));
    lab.ok(&at, &["checkout", "-q", "--detach"]);
    assert_eq!(repo.head(&at).unwrap(), Head::Detached(lab.oid(&at, "HEAD")));
    lab.ok(&at, &["checkout", "-q", "--orphan", "new/one"]);
    assert_eq!(repo.head(&at).unwrap(), Head::Unborn("new/one".to_owned()));
}

#[test]
fn a_ref_resolves_to_the_commit_behind_a_tag() {
    let lab = lab();
    let at = lab.init("r");
    lab.ok(&at, &["tag", "-a", "-m", "x", "v1"]);
    let repo = lab.repo(&at);
    assert_eq!(repo.resolve("refs/tags/v1").unwrap(), Some(lab.oid(&at, "HEAD")));
    assert_eq!(repo.resolve("refs/tags/v2").unwrap(), None);
    assert_eq!(repo.resolve("--all").unwrap(), None);
}

#[test]
fn the_identity_is_the_users_or_else_that_of_the_commit_that_lands() {
    with_each_git(|lab| {
        let at = lab.init("r");
        let commit = lab.oid(&at, "HEAD");
        let ada = Identity { name: "Ada".to_owned(), email: "ada@example.org".to_owned() };
        lab.ok(&at, &["config", "user.name", "Grace"]);
        let both = lab.repo(&at).identity(Some(&commit)).unwrap();
        assert_eq!(
            both.committer,
            Identity { name: "Grace".to_owned(), email: "ada@example.org".to_owned() }
        );
        lab.ok(&at, &["config", "--unset", "user.name"]);
        fs::write(lab.path("home/config"), "").unwrap();
        let repo = lab.repo(&at);
        assert_eq!(repo.identity(Some(&commit)).unwrap().author, ada);
        assert_eq!(repo.identity(Some(&commit)).unwrap().committer, ada);
        assert_eq!(repo.identity(None).unwrap().author, Identity::signalbox());
    });
}

#[test]
fn a_shallow_clone_is_noticed() {
    with_each_git(|lab| {
        let (origin, work) = lab.cloned();
        lab.commit(&work, "b.txt", "b");
        lab.ok(&work, &["push", "-q", "origin", "main"]);
        assert!(!lab.repo(&work).is_shallow().unwrap());
        let url = format!("file://{}", origin.display());
        lab.ok(&lab.path("home"), &["clone", "-q", "--depth=1", &url, "../shallow"]);
        assert!(lab.repo(&lab.path("shallow")).is_shallow().unwrap());
    });
}

#[test]
fn the_default_branch_is_asked_of_the_remote_and_also_remembered() {
    let lab = lab();
    let (_, work) = lab.cloned();
    let repo = lab.repo(&work);
    assert_eq!(repo.remotes().unwrap(), ["origin"]);
    assert_eq!(repo.remote_head_branch("origin").unwrap().as_deref(), Some("main"));
    assert_eq!(repo.remembered_head_branch("origin").unwrap().as_deref(), Some("main"));
    assert_eq!(repo.remembered_head_branch("other").unwrap(), None);
    assert!(repo.remote_head_branch("nowhere").is_err());
}

#[test]
fn tracked_changes_are_staged_or_not_and_never_untracked() {
    let lab = lab();
    let at = lab.init("r");
    lab.commit(&at, "b.txt", "b");
    write(&at.join("new.txt"), "n");
    let repo = lab.repo(&at);
    assert!(repo.tracked_changes(&at).unwrap().is_empty());
    lab.ok(&at, &["mv", "b.txt", "c.txt"]);
    write(&at.join("a.txt"), "changed");
    assert_eq!(repo.tracked_changes(&at).unwrap(), ["a.txt", "b.txt", "c.txt"]);
}

#[test]
fn what_is_kept_outlives_gc_and_goes_when_dropped() {
    let lab = lab();
    let at = lab.init("r");
    let repo = lab.repo(&at);
    let note = repo.note_commit(b"kept", None).unwrap();
    let loose = repo.note_commit(b"lost", None).unwrap();
    repo.keep("t1", "landing", &note).unwrap();
    repo.keep("t10", "landing", &note).unwrap();
    lab.ok(&at, &["gc", "-q", "--prune=now"]);
    assert_eq!(repo.message_of(&note).unwrap(), "kept");
    assert!(repo.message_of(&loose).is_err());
    repo.drop_keep("t1").unwrap();
    repo.drop_keep("t1").unwrap();
    let kept = repo.kept().unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].ticket.as_str(), kept[0].name.as_str(), &kept[0].oid), ("t10", "landing", &note));
    assert!(matches!(repo.keep("../x", "y", &note), Err(GitError::BadRefName(_))));
}

#[test]
fn a_git_that_is_too_old_is_named() {
    let lab = lab();
    let at = lab.init("r");
    hook(&lab.path("bin"), "git", "echo git version 2.38.5");
    let old = git::Program::at(lab.path("bin/hooks/git"));
    let error = Repo::discover_with(&at, &old).unwrap_err();
    assert!(matches!(&error, GitError::TooOld { found } if found == "2.38.5"), "{error}");
    assert!(matches!(
        Repo::discover_with(&at, &git::Program::at("no-such-git")),
        Err(GitError::Start { .. })
    ));
}

#[test]
fn an_object_name_is_full_lowercase_hex() {
    assert!(Oid::parse(&"a".repeat(40)).is_ok());
    assert!(Oid::parse(&"0a".repeat(32)).is_ok());
    for bad in ["", "abc", &"A".repeat(40), &"0".repeat(40), &"g".repeat(40), &"a".repeat(41)] {
        assert!(Oid::parse(bad).is_err(), "{bad}");
    }
}
