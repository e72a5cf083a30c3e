//! What hooks need to know of a repository.

use std::fs;

use bstr::ByteSlice;

use crate::lab::{lab, lab_sha256, with_each_git};

#[test]
fn the_folder_of_hooks_is_the_one_that_git_uses() {
    with_each_git(|lab| {
        let at = lab.init("repo");
        let dir = |at: &std::path::Path| lab.repo(at).hooks_dir().unwrap();
        assert_eq!(dir(&at), at.join(".git/hooks"));
        lab.ok(&at, &["worktree", "add", "-q", "-b", "side", "../side"]);
        assert_eq!(dir(&lab.path("side")), at.join(".git/hooks"));
        lab.ok(&at, &["config", "core.hooksPath", ".githooks"]);
        assert_eq!(dir(&at), at.join(".githooks"));
        assert_eq!(dir(&lab.path("side")), lab.path("side/.githooks"));
        lab.ok(&at, &["config", "core.hooksPath", "/some where/hooks"]);
        assert_eq!(dir(&at), std::path::Path::new("/some where/hooks"));
        lab.ok(&at, &["config", "core.hooksPath", "~/hooks"]);
        assert_eq!(dir(&at), lab.path("home/hooks"));
        lab.ok(&at, &["clone", "-q", "--bare", ".", "../bare.git"]);
        assert_eq!(dir(&lab.path("bare.git")), lab.path("bare.git/hooks"));
        assert!(lab.repo(&lab.path("bare.git")).is_bare().unwrap());
        assert!(!lab.repo(&at).is_bare().unwrap() && !lab.repo(&at.join(".git")).is_bare().unwrap());
    });
}

#[test]
fn own_settings_are_read_written_and_taken_out_and_nobody_elses_are() {
    let lab = lab();
    let at = lab.init("repo");
    let repo = lab.repo(&at);
    let values = || repo.own_config("signalbox.trunk").unwrap();
    assert!(values().is_empty());
    repo.set_own_config("signalbox.trunk", &[]).unwrap();
    let odd = ["main", "a b", " '\"$x\\ ", "line\nbreak"].map(|v| v.as_bytes().as_bstr());
    repo.set_own_config("signalbox.trunk", &odd).unwrap();
    assert_eq!(values(), odd);
    repo.set_own_config("signalbox.trunk", &odd[..1]).unwrap();
    assert_eq!(values(), ["main"]);
    repo.set_own_config("signalbox.trunk", &[]).unwrap();
    assert!(values().is_empty());
    fs::write(lab.path("home/config"), "[signalbox]\ntrunk = everywhere\n").unwrap();
    assert!(values().is_empty(), "the user's own configuration does not count");
}

#[test]
fn a_note_is_a_commit_and_nothing_that_leads_to_one() {
    for lab in [lab(), lab_sha256()] {
        let at = lab.init("repo");
        let repo = lab.repo(&at);
        let first = lab.oid(&at, "main");
        let note = repo.note_commit(b"word\n\nkey: value\n", Some(&first)).unwrap();
        let read = repo.note(&note).unwrap().unwrap();
        assert_eq!((read.parents, read.message.as_bytes()), (vec![first], &b"word\n\nkey: value\n"[..]));
        assert_eq!(repo.note(&lab.oid(&at, "main")).unwrap().unwrap().parents, []);
        lab.ok(&at, &["tag", "-a", "-m", "tag", "wrapped", note.as_str()]);
        for no_note in ["wrapped", "main^{tree}", "main:a.txt"] {
            assert_eq!(repo.note(&lab.oid(&at, no_note)).unwrap(), None, "{no_note}");
        }
        let absent = git::Oid::parse(&"1".repeat(repo.hash_length())).unwrap();
        assert_eq!(repo.note(&absent).unwrap(), None);
    }
}

#[test]
fn symbolic_refs_are_told_with_the_end_of_their_chain() {
    with_each_git(|lab| {
        let at = lab.init("repo");
        for (name, target) in [("alias", "main"), ("chain", "alias"), ("nowhere", "absent")] {
            lab.ok(&at, &["symbolic-ref", &format!("refs/heads/{name}"), &format!("refs/heads/{target}")]);
        }
        let many: Vec<String> = (0..450).map(|n| format!("refs/heads/x{n}")).collect();
        let names = ["refs/heads/main", "refs/heads/chain", "refs/heads/nowhere", "refs/heads/absent"];
        let names = many.iter().map(String::as_str).chain(names).chain(["refs/heads/alias"]);
        let found = lab.repo(&at).symbolic(names.map(|name| name.as_bytes().as_bstr())).unwrap();
        let mut found: Vec<_> = found.iter().map(|s| (s.name.to_string(), s.target.to_string())).collect();
        found.sort();
        let main = "refs/heads/main".to_owned();
        let wanted = ["refs/heads/alias", "refs/heads/chain"].map(|name| (name.to_owned(), main.clone()));
        assert_eq!(found, wanted);
        assert!(lab.repo(&at).symbolic([]).unwrap().is_empty(), "none asked, none told");
    });
}
