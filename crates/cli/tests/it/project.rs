//! `project replace`.

use crate::crash::points;
use crate::harness::{Running, Tree, World, eventually};
use crate::promises::{Kept, Place};
use crate::words::{refused, refuses, well_formed};
use serde_json::Value;

fn ready(world: &World, check: &str) -> Tree {
    let repo = world.repo("r");
    repo.ok(&["init", "--check", check]);
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "settings"]);
    repo
}

/// The project's id, as nobody but the state knows it.
fn id(repo: &Tree) -> String {
    let conn = rusqlite::Connection::open(repo.state().join("state.db")).unwrap();
    conn.query_row("SELECT project FROM box", [], |row| row.get(0)).unwrap()
}

fn mint(repo: &Tree) -> i64 {
    repo.ok(&["mint", "adr"]).end()["first"].as_i64().unwrap()
}

const FRESH: &str = "3b241101-e2bb-4255-8caf-4136c566a962";

#[test]
fn replacing_the_project_goes_on_with_numbers_turns_holds_and_freeze_and_ends_places() {
    let world = World::with_clock();
    let repo = ready(&world, "true");
    repo.branch("one");
    repo.branch("two");
    repo.branch("three");
    assert_eq!(mint(&repo), 1);
    let turn = repo.ok(&["land", "one"]).end()["turnNo"].as_i64().unwrap();
    repo.ok(&["hold", "open", "release", "api/", "--owner", "ops"]);
    repo.ok(&["freeze", "open", "BUG-1", "--admit", "hotfix"]);
    assert_eq!(repo.run(&["land", "two", "--no-wait"]).exit, Some(22));
    let (before, holds) = (id(&repo), repo.people(&["hold", "list"]).1);
    let done = repo.ok(&["project", "replace"]);
    well_formed(&done);
    let after = id(&repo);
    assert_ne!(before, after);
    assert!(!done.all().contains(&before) && !done.all().contains(&after), "{}", done.all());
    assert_eq!(repo.people(&["hold", "list"]).1, holds);
    assert_eq!(repo.ok(&["queue"]).events[0]["tickets"], Value::Array(Vec::new()));
    repo.ok(&["freeze", "close", "BUG-1"]);
    assert_eq!(mint(&repo), 2);
    for branch in ["two", "three"] {
        let landed = repo.ok(&["land", branch]);
        assert!(landed.end()["turnNo"].as_i64() > Some(turn), "{}", landed.all());
    }
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn replacing_the_project_by_a_named_id_may_be_repeated_and_takes_no_id_twice() {
    let world = World::new();
    let repo = ready(&world, "true");
    let old = id(&repo);
    for _ in 0..2 {
        assert_eq!(repo.ok(&["project", "replace", "--to", FRESH]).code(), "replaced");
        assert_eq!(id(&repo), FRESH);
    }
    let end = refuses(&repo, &["project", "replace", "--to", &old], 24, "replacement_taken");
    assert!(!end.to_string().contains(&old), "{end}");
    let wrong = FRESH.to_uppercase();
    let end = refuses(&repo, &["project", "replace", "--to", &wrong], 2, "usage");
    assert!(!end.to_string().contains(&wrong), "{end}");
    assert_eq!(id(&repo), FRESH, "a refusal changed nothing");
    let bare = world.repo("bare");
    refuses(&bare, &["project", "replace"], 3, "not_set_up");
}

#[test]
fn a_landing_that_has_the_old_id_is_told_that_it_is_retired_and_lands_when_it_is_run_again() {
    let world = World::new();
    let gate = world.gate("gate");
    let repo = ready(&world, &gate.command());
    // A holder hears of it when it renews, which is every fifth of its lease.
    repo.ok(&["init", "--lease-ms", "10000"]);
    repo.branch("one");
    repo.branch("two");
    let mut one = repo.start(&["land", "one"]);
    one.event("check");
    let mut two = repo.start(&["land", "two"]);
    two.event("waiting");
    let mut watch = repo.start(&["queue", "--watch"]);
    watch.event("queue");
    repo.ok(&["project", "replace"]);
    let new = id(&repo);
    let stale = [one, two, watch].map(Running::end);
    assert!(repo.leftovers().is_empty(), "{:?}", repo.leftovers());
    for (done, branch) in stale.iter().zip(["one", "two"]) {
        assert_eq!(done.end()["do"], format!("signalbox --json land {branch}"));
    }
    for done in &stale {
        let end = refused(done, 3, "project_retired");
        assert!(end["detail"].as_str().unwrap().contains("run the command again"), "{end}");
        assert!(!done.all().contains(&new), "{}", done.all());
    }
    gate.open();
    for branch in ["one", "two"] {
        assert_eq!(repo.ok(&["land", branch]).code(), "landed");
    }
    assert_eq!(repo.tickets("main").len(), 2);
    eventually("nothing is left", || repo.leftovers().is_empty());
}

#[test]
fn replacing_the_project_survives_a_kill_at_any_point() {
    let place = || {
        let place = Place::new(World::new(), Kept::Here, "true");
        assert_eq!(mint(&place.work), 1);
        place
    };
    let met = points(&place(), &["project", "replace", "--to", FRESH]);
    assert!(met.iter().any(|point| point == "replace:called"), "{met:?}");
    for point in met {
        let place = place();
        let repo = &place.work;
        let old = id(repo);
        let faulty = repo.env("SIGNALBOX_FAULT", format!("{point}:kill"));
        assert_eq!(faulty.run(&["project", "replace", "--to", FRESH]).exit, None, "{point}");
        // Whoever comes next finds a project that is in use.
        assert_eq!(mint(repo), 2, "{point}");
        assert!([old.as_str(), FRESH].contains(&id(repo).as_str()), "{point}");
        assert_eq!(repo.ok(&["project", "replace", "--to", FRESH]).code(), "replaced", "{point}");
        assert_eq!((id(repo).as_str(), mint(repo)), (FRESH, 3), "{point}");
        place.branches(&["work".to_owned()]);
        repo.ok(&["land", "work"]);
    }
}

#[test]
fn replacing_the_project_from_several_processes_at_once_loses_no_number() {
    let world = World::new();
    let repo = ready(&world, "true");
    let mut last = mint(&repo);
    for _ in 0..5 {
        let all: Vec<Running> = (0..4).map(|_| repo.start(&["project", "replace"])).collect();
        let ends = all.into_iter().map(Running::end);
        let ends: Vec<(Option<i32>, String)> = ends.map(|done| (done.exit, done.code().to_owned())).collect();
        assert!(ends.iter().any(|(exit, _)| *exit == Some(0)), "{ends:?}");
        let expected = |(exit, code): &(Option<i32>, String)| match exit {
            Some(0) => code == "replaced",
            Some(24) => code == "replaced_meanwhile",
            // Who opened the state before another replaced the project.
            Some(3) => code == "project_retired",
            _ => false,
        };
        assert!(ends.iter().all(expected), "{ends:?}");
        let next = mint(&repo);
        assert_eq!(next, last + 1);
        last = next;
    }
}
