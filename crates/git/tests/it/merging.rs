use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use bstr::BString;
use git::{GitError, Identity, Merge};

use crate::lab::{lab, lab_sha256, with_each_git, write};

fn ada() -> Identity {
    Identity { name: "Ada".to_owned(), email: "ada@example.org".to_owned() }
}

#[test]
fn two_sides_that_fit_merge_into_a_tree_without_touching_anything() {
    with_each_git(|lab| {
        let at = lab.init("r");
        let side = lab.branch(&at, "side", "b.txt", "b\n");
        let main = lab.commit(&at, "c.txt", "c\n");
        write(&at.join("a.txt"), "dirty\n");
        let repo = lab.repo(&at);
        let Merge::Clean { tree } = repo.merge(&main, &side).unwrap() else { panic!("conflict") };
        assert_eq!(repo.tree_paths(&tree).unwrap(), ["a.txt", "b.txt", "c.txt"]);
        let merged =
            repo.commit_tree(&tree, &[&main, &side], b"Merge side\n\nbody\n", &ada(), &ada()).unwrap();
        assert_eq!(repo.parents_of(&merged).unwrap(), [main.clone(), side.clone()]);
        assert_eq!(repo.tree_of(&merged).unwrap(), tree);
        assert_eq!(repo.message_of(&merged).unwrap(), "Merge side\n\nbody\n");
        assert_eq!(repo.subject_of(&merged).unwrap(), "Merge side");
        assert!(repo.is_ancestor(&side, &merged).unwrap());
        assert!(!repo.is_ancestor(&merged, &side).unwrap());
        assert_eq!(
            repo.first_parent(Some(&lab.oid(&at, "main~1")), &merged).unwrap(),
            [merged.clone(), main.clone()]
        );
        assert_eq!(lab.oid(&at, "HEAD"), main);
        assert_eq!(fs::read_to_string(at.join("a.txt")).unwrap(), "dirty\n");
    });
}

#[test]
fn a_conflict_names_each_path_once_and_the_landing_that_caused_it() {
    with_each_git(|lab| {
        let at = lab.init("r");
        let base = lab.oid(&at, "main");
        let side = lab.branch(&at, "side", "a.txt", "ONE\ntwo\nthree\n");
        let landed = lab.branch(&at, "other", "a.txt", "uno\ntwo\nthree\n");
        lab.ok(&at, &["merge", "-q", "--no-ff", "-m", "Land other", "other"]);
        let main = lab.commit(&at, "later.txt", "x");
        let repo = lab.repo(&at);
        let Merge::Conflict { paths, messages } = repo.merge(&main, &side).unwrap() else { panic!("clean") };
        assert_eq!(paths, ["a.txt"]);
        assert!(messages.iter().any(|m| m.contains("CONFLICT (content)")), "{messages:?}");
        let (commit, subject) = repo.last_change(Some(&base), &main, b"a.txt").unwrap().unwrap();
        assert_eq!(subject, "Land other");
        assert_ne!(commit, landed);
        assert_eq!(repo.last_change(Some(&base), &main, b"absent").unwrap(), None);
    });
}

#[test]
fn attributes_that_stand_in_a_worktree_do_not_count() {
    with_each_git(|lab| {
        let at = lab.init("r");
        let side = lab.branch(&at, "side", "a.txt", "one\ntwo\nside\n");
        let main = lab.commit(&at, "a.txt", "one\ntwo\nmain\n");
        write(&at.join(".gitattributes"), "* merge=union\n");
        lab.ok(&at, &["add", ".gitattributes"]);
        assert!(matches!(lab.repo(&at).merge(&main, &side).unwrap(), Merge::Conflict { .. }));
    });
}

#[test]
fn attributes_of_the_trunk_count_where_git_can_read_them() {
    with_each_git(|lab| {
        let at = lab.init("r");
        lab.commit(&at, ".gitattributes", "a.txt merge=union\n");
        let side = lab.branch(&at, "side", "a.txt", "one\ntwo\nside\n");
        let main = lab.commit(&at, "a.txt", "one\ntwo\nmain\n");
        fs::remove_file(at.join(".gitattributes")).unwrap();
        let repo = lab.repo(&at);
        let clean = matches!(repo.merge(&main, &side).unwrap(), Merge::Clean { .. });
        assert_eq!(clean, repo.version() >= (2, 41, 0));
    });
}

#[test]
fn a_merge_driver_of_the_users_configuration_does_not_run() {
    let lab = lab();
    let at = lab.init("r");
    let flag = lab.path("ran");
    let config = fs::read_to_string(lab.path("home/config")).unwrap();
    fs::write(
        lab.path("home/config"),
        format!(
            "{config}[merge \"mine\"]\ndriver = touch {}\n[core]\nattributesFile = {}\n",
            flag.display(),
            lab.path("home/attributes").display()
        ),
    )
    .unwrap();
    fs::write(lab.path("home/attributes"), "* merge=mine\n").unwrap();
    let side = lab.branch(&at, "side", "a.txt", "one\ntwo\nside\n");
    let main = lab.commit(&at, "a.txt", "one\ntwo\nmain\n");
    assert!(matches!(lab.repo(&at).merge(&main, &side).unwrap(), Merge::Conflict { .. }));
    assert!(!flag.exists());
}

#[test]
fn paths_may_hold_any_bytes() {
    with_each_git(|lab| {
        let at = lab.init("r");
        let odd: &[u8] = b"sp ace \"quote\"\nline\\ \xff\xfe";
        lab.ok(&at, &["checkout", "-q", "-b", "side"]);
        fs::write(at.join(OsStr::from_bytes(odd)), "side").unwrap();
        lab.ok(&at, &["add", "-A"]);
        lab.ok(&at, &["commit", "-q", "-m", "odd"]);
        let side = lab.oid(&at, "HEAD");
        lab.ok(&at, &["checkout", "-q", "main"]);
        fs::write(at.join(OsStr::from_bytes(odd)), "main").unwrap();
        lab.ok(&at, &["add", "-A"]);
        lab.ok(&at, &["commit", "-q", "-m", "odd on main"]);
        let main = lab.oid(&at, "HEAD");
        let repo = lab.repo(&at);
        let Merge::Conflict { paths, .. } = repo.merge(&main, &side).unwrap() else { panic!("clean") };
        assert_eq!(paths, [BString::from(odd)]);
        assert_eq!(repo.read_file(&side, odd).unwrap().unwrap(), b"side");
        assert_eq!(repo.read_file(&side, b"none").unwrap(), None);
        assert_eq!(repo.changed_paths(&main, &side).unwrap()[0].path, odd);
        assert_eq!(repo.last_change(None, &main, odd).unwrap().unwrap().1, "odd on main");
        fs::write(at.join(OsStr::from_bytes(odd)), "dirty").unwrap();
        assert_eq!(repo.tracked_changes(&at).unwrap(), [BString::from(odd)]);
    });
}

#[test]
fn submodule_entries_pass_through_a_merge() {
    with_each_git(|lab| {
        let at = lab.init("r");
        let link = lab.oid(&at, "HEAD");
        lab.ok(&at, &["checkout", "-q", "-b", "side"]);
        lab.ok(&at, &["update-index", "--add", "--cacheinfo", &format!("160000,{link},sub")]);
        lab.ok(&at, &["commit", "-q", "-m", "sub"]);
        let side = lab.oid(&at, "HEAD");
        lab.ok(&at, &["checkout", "-q", "main"]);
        let main = lab.commit(&at, "c.txt", "c\n");
        let repo = lab.repo(&at);
        let Merge::Clean { tree } = repo.merge(&main, &side).unwrap() else { panic!("conflict") };
        let changes = repo.changed_paths(&main, &tree).unwrap();
        assert_eq!(changes.len(), 1);
        assert_eq!(
            (changes[0].status, changes[0].new_mode, changes[0].new.as_ref()),
            (b'A', 0o160_000, Some(&link))
        );
        assert_eq!(repo.read_file(&tree, b"sub").unwrap(), None);
    });
}

#[test]
fn unrelated_histories_are_told_apart_from_failures() {
    with_each_git(|lab| {
        let at = lab.init("r");
        let main = lab.oid(&at, "main");
        lab.ok(&at, &["checkout", "-q", "--orphan", "other"]);
        let other = lab.commit(&at, "z.txt", "z");
        assert!(matches!(lab.repo(&at).merge(&main, &other), Err(GitError::Unrelated)));
    });
}

#[test]
fn a_sha256_repository_works_like_any_other() {
    let lab = lab_sha256();
    let at = lab.init("r");
    let side = lab.branch(&at, "side", "b.txt", "b\n");
    let main = lab.commit(&at, "c.txt", "c\n");
    let repo = lab.repo(&at);
    assert_eq!(repo.hash_length(), 64);
    assert!(matches!(repo.merge(&main, &side).unwrap(), Merge::Clean { .. }));
    let note = repo.note_commit(b"epoch 1", None).unwrap();
    let next = repo.note_commit(b"epoch 2", Some(&note)).unwrap();
    assert_eq!(next.as_str().len(), 64);
    assert_eq!(repo.parents_of(&next).unwrap(), [note]);
    assert!(repo.tree_paths(&next).unwrap().is_empty());
}

#[test]
fn a_message_may_hold_bytes_that_are_not_utf8() {
    let lab = lab();
    let repo = lab.repo(&lab.init("r"));
    let tree = repo.empty_tree().unwrap();
    let commit = repo.commit_tree(&tree, &[], b"caf\xe9\n", &ada(), &ada()).unwrap();
    assert_eq!(repo.message_of(&commit).unwrap(), "café\n");
}
