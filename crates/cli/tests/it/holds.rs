//! Holds and freezes, as `land` obeys them; and places that were kept.

use crate::harness::{Tree, World, eventually};
use crate::words::refuses;

fn ready(world: &World, check: &str) -> Tree {
    let repo = world.repo("r");
    repo.commit("api/a", "1\n", "api");
    repo.commit("docs/b", "1\n", "docs");
    repo.ok(&["init", "--check", check]);
    repo
}

fn hold(repo: &Tree, name: &str, path: &str) {
    repo.ok(&["hold", "open", name, path, "--owner", "ops", "--for", "1h"]);
}

/// A branch from `main` whose one commit the shell command makes.
fn branch_with(repo: &Tree, branch: &str, command: &str) {
    repo.git(&["switch", "-q", "-c", branch, "main"]);
    assert!(repo.command("sh").args(["-c", command]).status().unwrap().success());
    repo.git(&["add", "-A", "--", ":!.signalbox.toml"]);
    repo.git(&["commit", "-q", "-m", branch]);
    repo.git(&["switch", "-q", "main"]);
}

#[test]
fn holds_keep_out_whatever_changes_a_path_under_them() {
    let world = World::new();
    let repo = ready(&world, "true");
    for (branch, command) in [
        ("change", "echo 2 > api/a"),
        ("add", "echo 2 > api/new"),
        ("delete", "git rm -q api/a"),
        ("mode", "chmod +x api/a"),
        ("away", "git mv api/a docs/a"),
        ("into", "git mv docs/b api/b"),
    ] {
        branch_with(&repo, branch, command);
    }
    branch_with(&repo, "beside", "echo 2 > docs/b; mkdir apis; echo 1 > apis/x");
    hold(&repo, "release", "api/");
    for branch in ["change", "add", "delete", "mode", "away", "into"] {
        let done = repo.run(&["land", branch]);
        assert_eq!((done.exit, done.code()), (Some(14), "held"), "{branch}: {}", done.all());
        assert_eq!(done.end()["hold"], "release");
        assert!(done.end()["path"].as_str().unwrap().starts_with("api/"), "{}", done.all());
    }
    repo.ok(&["land", "beside"]);
    repo.ok(&["land", "change", "--owner", "ops"]);
    repo.ok(&["hold", "close", "release", "--owner", "ops"]);
    repo.ok(&["land", "mode"]);
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn holds_on_one_file_keep_out_that_file_only_and_end_by_the_clock() {
    let world = World::with_clock();
    let repo = ready(&world, "true");
    branch_with(&repo, "change", "echo 2 > api/a");
    hold(&repo, "one", "api/a");
    hold(&repo, "other", "api/b");
    assert_eq!(repo.run(&["land", "change"]).end()["hold"], "one");
    world.advance(3_600_000);
    repo.ok(&["land", "change"]);
}

#[test]
fn holds_opened_during_the_check_are_obeyed_before_the_push() {
    let world = World::new();
    let gate = world.gate("gate");
    let repo = ready(&world, &gate.command());
    branch_with(&repo, "change", "echo 2 > api/a");
    let before = repo.git(&["rev-parse", "main"]);
    let mut landing = repo.start(&["land", "change"]);
    landing.event("check");
    let opened = repo.ok(&["hold", "open", "release", "api", "--owner", "ops"]);
    assert_eq!(opened.end()["landing"]["branch"], "change");
    gate.open();
    let done = landing.end();
    assert_eq!((done.exit, done.code()), (Some(14), "held"), "{}", done.all());
    assert_eq!(repo.git(&["rev-parse", "main"]), before);
}

#[test]
fn holds_that_are_waited_for_let_others_pass_and_the_landing_goes_on_when_they_end() {
    let world = World::new();
    let repo = ready(&world, "true");
    branch_with(&repo, "change", "echo 2 > api/a");
    branch_with(&repo, "beside", "echo 2 > docs/b");
    hold(&repo, "release", "api/");
    let mut waiting = repo.start(&["land", "change", "--wait-holds"]);
    waiting.until("the wait for the hold", |e| e["text"].as_str().is_some_and(|t| t.contains("release")));
    repo.ok(&["land", "beside"]);
    repo.ok(&["hold", "close", "release", "--owner", "ops"]);
    let done = waiting.end();
    assert_eq!((done.exit, done.code()), (Some(0), "landed"), "{}", done.all());
}

#[test]
fn holds_that_are_waited_for_too_long_say_that_the_wait_is_over() {
    let world = World::new();
    let repo = ready(&world, "true");
    branch_with(&repo, "change", "echo 2 > api/a");
    hold(&repo, "release", "api/");
    let end = refuses(&repo, &["land", "change", "--wait-holds", "--wait", "0s"], 14, "held");
    assert_eq!(
        end["detail"],
        "api/a is still under the hold release, and the wait is over; land again to wait on"
    );
    assert_eq!(end["do"], "signalbox --json land change --wait-holds");
}

#[test]
fn holds_of_another_owner_are_not_taken_or_closed() {
    let world = World::new();
    let repo = ready(&world, "true");
    hold(&repo, "release", "api/");
    let taken = repo.run(&["hold", "open", "release", "api/", "--owner", "me"]);
    assert_eq!((taken.exit, taken.code()), (Some(24), "hold_taken"), "{}", taken.all());
    let gone = repo.run(&["hold", "close", "release", "--owner", "me"]);
    assert_eq!((gone.exit, gone.code()), (Some(24), "hold_gone"), "{}", gone.all());
    assert_eq!(gone.end()["do"], "signalbox --json hold close release --owner ops");
    let none = repo.run(&["hold", "close", "no-such", "--owner", "me"]);
    assert_eq!(none.end()["do"], "signalbox --json hold list", "{}", none.all());
    let bad = repo.run(&["hold", "open", "x", "../outside", "--owner", "me"]);
    assert_eq!((bad.exit, bad.code()), (Some(2), "invalid_request"), "{}", bad.all());
}

#[test]
fn freezes_let_only_the_admitted_commit_land_and_the_others_keep_their_places() {
    let world = World::new();
    let repo = ready(&world, "true");
    branch_with(&repo, "hotfix", "echo fix > fix");
    branch_with(&repo, "first", "echo 1 > first");
    let head = repo.git(&["rev-parse", "hotfix"]);
    repo.ok(&["freeze", "open", "BUG-1", "--admit", &format!("hotfix@{head}")]);
    let mut first = repo.start(&["land", "first"]);
    first.until("the freeze", |e| e["text"].as_str().is_some_and(|t| t.contains("BUG-1")));
    branch_with(&repo, "hotfix-2", "echo more > fix");
    let look_alike = repo.run(&["land", "hotfix-2", "--no-wait"]);
    assert_eq!(look_alike.exit, Some(22), "{}", look_alike.all());
    repo.ok(&["land", "hotfix"]);
    repo.ok(&["freeze", "close", "BUG-1"]);
    assert_eq!(first.end().exit, Some(0));
    let order = repo.git(&["log", "--first-parent", "--format=%s", "-2", "main"]);
    assert_eq!(order, "Merge branch 'first' into main\nMerge branch 'hotfix' into main");
}

#[test]
fn freezes_that_admit_one_commit_keep_the_branch_out_once_it_has_moved_on() {
    let world = World::new();
    let repo = ready(&world, "true");
    branch_with(&repo, "hotfix", "echo fix > fix");
    let head = repo.git(&["rev-parse", "hotfix"]);
    // A branch may have such a name; it is admitted by that no more than any other.
    let look_alike = format!("hotfix@{head}");
    branch_with(&repo, &look_alike, "echo other > other");
    repo.ok(&["freeze", "open", "BUG-1", "--admit", &look_alike]);
    repo.git(&["switch", "-q", "hotfix"]);
    repo.commit("more", "1\n", "more than was admitted");
    repo.git(&["switch", "-q", "main"]);
    for branch in ["hotfix", &look_alike] {
        let done = repo.run(&["land", branch, "--no-wait"]);
        assert_eq!((done.exit, done.code()), (Some(22), "still_waiting"), "{}", done.all());
        assert!(done.all().contains("frozen by BUG-1"), "{}", done.all());
    }
    repo.git(&["branch", "-f", "hotfix", &head]);
    assert_eq!(repo.ok(&["land", "hotfix"]).code(), "landed");
}

#[test]
fn freezes_opened_during_the_check_stop_the_landing_before_its_push() {
    let world = World::new();
    let gate = world.gate("gate");
    let repo = ready(&world, &gate.command());
    branch_with(&repo, "change", "echo 2 > api/a");
    let before = repo.git(&["rev-parse", "main"]);
    let mut landing = repo.start(&["land", "change"]);
    landing.event("check");
    repo.ok(&["freeze", "open", "BUG-1", "--admit", "hotfix"]);
    gate.open();
    let done = landing.end();
    assert_eq!((done.exit, done.code()), (Some(14), "frozen"), "{}", done.all());
    assert_eq!(done.end()["admissions"][0], "hotfix");
    assert_eq!(repo.git(&["rev-parse", "main"]), before);
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn kept_places_are_gone_on_with_by_the_next_landing_of_the_same_commit() {
    let world = World::with_clock();
    let gate = world.gate("gate");
    let repo = ready(&world, &gate.command());
    branch_with(&repo, "first", "echo 1 > first");
    branch_with(&repo, "second", "echo 2 > second");
    let mut first = repo.start(&["land", "first"]);
    first.event("check");
    let kept = repo.run(&["land", "second", "--no-wait"]);
    assert_eq!(kept.exit, Some(22), "{}", kept.all());
    let second = repo.start(&["land", "second"]);
    eventually("the second waits alone", || {
        repo.ok(&["queue"]).events[0]["tickets"].as_array().is_some_and(|tickets| tickets.len() == 2)
    });
    gate.open();
    assert_eq!(first.end().exit, Some(0));
    let done = second.end();
    assert_eq!((done.exit, &done.end()["ticket"]), (Some(0), &kept.end()["ticket"]), "{}", done.all());
}

#[test]
fn freezes_that_stand_are_listed_where_a_refusal_by_one_says() {
    let world = World::with_clock();
    let repo = ready(&world, "true");
    assert_eq!(repo.people(&["freeze", "list"]).1, "no freeze stands\n");
    branch_with(&repo, "change", "echo 2 > api/a");
    repo.ok(&["init", "--freeze-holds-turns", "false"]);
    hold(&repo, "one", "docs/");
    repo.ok(&["freeze", "open", "BUG-1", "--admit", "hotfix", "--opener", "Ann\u{202e}"]);
    let frozen = repo.run(&["land", "change"]);
    assert_eq!((frozen.exit, &frozen.end()["do"]), (Some(14), &"signalbox --json freeze list".into()));
    let listed = "frozen by BUG-1 since 2027-01-15 08:00:00 (Ann\u{fffd}); admits hotfix\n";
    assert_eq!(repo.people(&["freeze", "list"]).1, listed);
    assert!(repo.people(&["hold", "list"]).1.starts_with(listed), "and with the holds");
    let done = repo.ok(&["freeze", "list"]);
    assert_eq!((&done.events[0]["event"], &done.events[0]["issues"][0]), (&"freeze".into(), &"BUG-1".into()));
    let closed = repo.run(&["freeze", "close", "BUG-2"]);
    assert_eq!((closed.exit, &closed.end()["do"]), (Some(24), &"signalbox --json freeze list".into()));
}

#[test]
fn holds_and_freezes_are_refused_in_the_words_of_the_command_line() {
    let world = World::new();
    let repo = ready(&world, "true");
    let long = "x".repeat(201);
    for (args, word) in [
        (&["mint", "BAD"][..], "line's name"),
        (&["mint", "adr", "--count", "0"], "--count"),
        (&["mint", "adr", "--floor", "-1"], "floor"),
        (&["hold", "open", "x", "../a"], "paths"),
        (&["hold", "open", "x", "a", "--for", "48h"], "--for"),
        (&["hold", "open", "x", "a", "--owner", &long], "--owner"),
        (&["hold", "open", &long, "a"], "hold's name"),
        (&["freeze", "open", "a,b"], "issue"),
        (&["freeze", "open", "B", "--admit", "a..b"], "--admit"),
        (&["freeze", "open", "B", "--opener", &long], "--opener"),
        (&["freeze", "close", "a,b"], "issue"),
    ] {
        let end = refuses(&repo, args, 2, "invalid_request");
        let line = end["detail"].as_str().unwrap();
        assert!(line.contains(word) && !line.contains("breaks its rule"), "{args:?}: {line}");
    }
}
