//! Repositories and settings with which nothing lands, and what each is told.

use crate::behaviour_settings::settings;
use crate::harness::World;
use crate::words::{fits, more, refused, refuses, told, well_formed};

#[test]
fn outside_of_a_repository_every_command_says_so() {
    let world = World::new();
    let nowhere = world.tree(world.path("home"));
    for args in [&["land"][..], &["init", "--no-check"], &["mint", "adr"], &["queue"], &["log"]] {
        assert_eq!(refuses(&nowhere, args, 2, "no_repository")["do"], "git init");
    }
}

#[test]
fn a_repository_that_is_not_set_up_is_told_how() {
    let world = World::new();
    let repo = world.repo("r");
    for args in [&["land", "x"][..], &["mint", "adr"], &["new", "adr", "x"], &["queue"], &["log"]] {
        assert_eq!(refuses(&repo, args, 3, "not_set_up")["do"], "signalbox --json init --check 'make test'");
    }
    assert!(!repo.state().exists(), "a refusal leaves nothing behind");
}

#[test]
fn no_check_anywhere_is_never_taken_for_a_green_one() {
    let world = World::new();
    let repo = world.repo("r");
    repo.commit(".signalbox.toml", &settings(""), "settings without a check");
    repo.branch("feature");
    let end = refuses(&repo, &["land", "feature"], 3, "no_check");
    assert!(more(&end).contains("[check]"), "{end}");
    repo.commit(".signalbox.toml", &settings("[check]\nnone = true\n"), "said out loud");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
}

#[test]
fn a_settings_file_that_was_never_committed_counts_for_nothing_without_init() {
    let world = World::new();
    let repo = world.repo("r");
    repo.branch("feature");
    repo.write(".signalbox.toml", &settings("[check]\nnone = true\n"));
    refuses(&repo, &["land", "feature"], 3, "not_set_up");
    repo.ok(&["init"]);
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
}

#[test]
fn broken_settings_on_the_trunk_are_quoted_with_their_line() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    let local = repo.read(".signalbox.toml");
    repo.branch("feature");
    let broken = [
        (settings("[check]\ncomand = \"true\"\n"), "comand"),
        (settings("[check]\ncommand = \"true\n"), "5"),
        (settings("[land]\nstrategy = \"rebase\"\n"), "rebase"),
        ("\u{1b}[2J\n".to_owned(), "1"),
    ];
    for (at, (text, said)) in broken.iter().enumerate() {
        repo.commit(".signalbox.toml", text, "broken");
        let tree = repo.worktree(&format!("other-{at}"));
        tree.write(".signalbox.toml", &local);
        tree.git(&["commit", "-q", "-a", "-m", "mended"]);
        let end = refuses(&tree, &["land"], 3, "bad_settings");
        assert!(end["detail"].as_str().unwrap().contains("the trunk's .signalbox.toml"), "{end}");
        assert!(more(&end).contains(said), "{end}");
        refuses(&repo, &["land", "feature"], 3, "bad_settings");
        refuses(&tree, &["mint", "adr"], 3, "bad_settings");
    }
}

#[test]
fn a_trunk_whose_own_file_names_another_branch_is_refused() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    let other = "[trunk]\nremote = \".\"\nbranch = \"develop\"\n[check]\nnone = true\n";
    let mine = repo.read(".signalbox.toml");
    repo.commit(".signalbox.toml", other, "another trunk");
    let tree = repo.worktree("feature");
    tree.commit(".signalbox.toml", &mine, "back");
    let end = refuses(&tree, &["land"], 3, "other_trunk");
    assert!(end["detail"].as_str().unwrap().contains("develop"), "{end}");
    refuses(&tree, &["mint", "adr"], 3, "other_trunk");
}

#[test]
fn a_worktree_of_the_trunk_that_is_in_the_way_is_named_with_the_remedy() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    repo.commit(".gitignore", "*.log\n", "ignore logs");
    let tree = repo.worktree("feature");
    tree.write(".gitignore", "");
    tree.commit("build.log", "landing\n", "adds an ignored file");
    repo.write("README", "changed\n");
    assert!(refuses(&tree, &["land"], 2, "trunk_dirty")["do"].as_str().unwrap().contains("git status"));
    repo.git(&["checkout", "-q", "README"]);
    repo.write("build.log", "mine\n");
    refuses(&tree, &["land"], 2, "trunk_file_in_the_way");
    assert_eq!(repo.read("build.log"), "mine\n");
    std::fs::remove_file(repo.path.join("build.log")).unwrap();
    let second = world.path("second");
    repo.git(&["worktree", "add", "-q", "--force", second.to_str().unwrap(), "main"]);
    refuses(&tree, &["land"], 2, "trunk_twice");
    repo.git(&["worktree", "remove", second.to_str().unwrap()]);
    std::fs::write(repo.path.join(".git/index.lock"), "").unwrap();
    refuses(&tree, &["land"], 2, "trunk_index_locked");
    std::fs::remove_file(repo.path.join(".git/index.lock")).unwrap();
    repo.git(&["bisect", "start", "-q"]);
    refuses(&tree, &["land"], 2, "trunk_busy");
    repo.git(&["bisect", "reset"]);
    assert_eq!(tree.ok(&["land"]).code(), "landed");
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_ref_lock_that_outlived_its_process_is_named_with_the_command_that_removes_it() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    repo.branch("feature");
    let lock = repo.path.join(".git/refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    let end = refuses(&repo, &["land", "feature"], 2, "ref_locked");
    assert_eq!(end["do"], format!("rm {}", lock.display()));
    std::fs::remove_file(&lock).unwrap();
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    repo.branch("next");
    let lock = repo.path.join(".git/refs/signalbox/epoch/main.lock");
    std::fs::write(&lock, "").unwrap();
    refuses(&repo, &["land", "next"], 2, "ref_locked");
    std::fs::remove_file(&lock).unwrap();
    assert_eq!(repo.ok(&["land", "next"]).code(), "landed");
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_ticket_of_another_branch_or_of_another_process_is_refused() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    for branch in ["first", "second", "third"] {
        repo.branch(branch);
    }
    let mut first = repo.start(&["land", "first"]);
    let held = first.event("entered")["ticket"].as_str().unwrap().to_owned();
    first.event("check");
    refuses(&repo, &["land", "second", "--resume", &held], 24, "ticket_in_use");
    let placed = repo.run(&["land", "second", "--no-wait"]);
    let ticket = refused(&placed, 22, "still_waiting")["ticket"].as_str().unwrap().to_owned();
    refuses(&repo, &["land", "third", "--resume", &ticket], 24, "ticket_taken");
    gate.open();
    assert_eq!(first.end().code(), "landed");
}

#[test]
fn what_is_mistyped_is_refused_in_json_too() {
    let world = World::new();
    let repo = world.repo("r");
    let long = "x".repeat(300);
    for args in [
        &["land", "--bogus"][..],
        &["bogus"],
        &["land", "a", "b"],
        &["land", "--wait", "soon"],
        &["init", "--check", "x", "--no-check"],
        &["init", "--lease-ms", "1"],
        &["mint"],
        &["mint", "adr", "--count", &long],
    ] {
        refuses(&repo, args, 2, "usage");
    }
    let (exit, stdout, stderr) = repo.people::<&str>(&[]);
    assert_eq!((exit, stdout.as_str()), (2, ""));
    assert!(stderr.contains("Usage: signalbox"), "{stderr}");
}

#[test]
fn an_argument_that_is_no_utf8_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    let done = repo.run(&[OsStr::new("land"), OsStr::from_bytes(b"b\xff")]);
    refused(&done, 2, "usage");
    let head = repo.git(&["rev-parse", "main"]);
    let name = OsStr::from_bytes(b"refs/heads/b\xff");
    repo.git(&[OsStr::new("update-ref"), name, OsStr::new(&head)]);
    repo.git(&[OsStr::new("symbolic-ref"), OsStr::new("HEAD"), name]);
    refuses(&repo, &["land"], 2, "branch_name");
}

#[test]
fn a_git_that_is_missing_or_too_old_is_told() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    refuses(&repo.env("SIGNALBOX_GIT", "/no/such/git"), &["land"], 3, "git_missing");
    let old = world.path("old-git");
    std::fs::write(&old, "#!/bin/sh\necho git version 2.38.1\n").unwrap();
    crate::harness::executable(&old);
    refuses(&repo.env("SIGNALBOX_GIT", old.to_str().unwrap()), &["land"], 3, "git_too_old");
}

#[test]
fn a_refusal_goes_to_standard_error_and_a_result_to_standard_output() {
    let world = World::new();
    let repo = world.repo("r");
    let (exit, stdout, stderr) = repo.people(&["land"]);
    assert_eq!((exit, stdout.as_str()), (3, ""));
    told(&stderr);
    repo.ok(&["init", "--no-check"]);
    repo.branch("feature");
    let (exit, stdout, stderr) = repo.people(&["land", "feature"]);
    assert_eq!(exit, 0, "{stderr}");
    fits(stdout.lines().next().unwrap());
    let done = repo.run(&["land", "feature"]);
    well_formed(&done);
    assert_eq!(done.stderr, "", "a program reads standard output alone");
}
