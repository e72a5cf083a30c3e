//! `limits`, and the settings of a box that it shows.

use crate::harness::World;
use crate::words::{columns, refused, refuses, well_formed};
use insta::assert_snapshot;
use rustix::process::Signal;

#[test]
fn limits_are_shown_with_their_units_and_whose_they_are() {
    let world = World::new();
    let repo = world.repo("r");
    let args =
        ["init", "--no-check", "--lease-ms", "90000", "--turn-ms", "500", "--freeze-holds-turns", "false"];
    repo.ok(&args);
    let (exit, stdout, stderr) = repo.people(&["limits"]);
    assert_eq!((exit, stderr.as_str()), (0, ""));
    assert!(stdout.lines().all(|line| columns(line) <= 100), "{stdout}");
    assert_snapshot!(stdout, @r"
    of this box (`signalbox init` sets them)
      leaseMs                  1:30  how long a place lives that is not heard of
      turnMs                  0.5 s  how long a turn may last
      freezeHoldsTurns           no  whether a freeze keeps turns from beginning
    of this version
      renewMs                  1:00  how often a place is renewed, at the least
      ticketAgeMs            7 days  how old a place may become
      liveTicketsMax            200  places in the queue
      waitMaxMs                55 s  how long one call waits
      endedShown                 20  ended places at hand, as in the log
      reportBytesMax          2 KiB  what is kept of how a place ended
      mintCountMax              100  numbers of one mint
      floorLiftMax             1000  how far a floor lifts a line that exists
      floorMax           1000000000  the highest floor
      holdSpanMaxMs        24:00:00  how long a hold may last
      holdPathsMax               64  paths of one hold
      holdPathBytesMax        4 KiB  all paths of one hold together
      openHoldsMax               20  open holds
      freezeBranchesMax          32  branches that a freeze admits
      requestMs              7 days  how long a request is remembered, so that it may be repeated
      sweepMax                  100  dead rows that one call removes
    of a service (a local state has no rates)
      bodyBytesMax           16 KiB  the body of one call
      openHoldsTotalMax        2000  open holds of all projects
      rateWindowMs             1:00  the window of the two rates, which each process counts for itself
      projectRateMax            300  calls of a project in one window
      addressRateMax            600  calls from an address in one window
    ");
    let done = repo.ok(&["limits"]);
    well_formed(&done);
    let limits = &done.events[0];
    assert_eq!((&limits["leaseMs"], &limits["turnMs"]), (&90_000.into(), &500.into()));
    assert_eq!((&limits["freezeHoldsTurns"], &limits["mintCountMax"]), (&false.into(), &100.into()));
    assert_eq!(done.end()["defaults"], false);
    // What is not named stays.
    repo.ok(&["init", "--turn-ms", "700"]);
    let limits = repo.ok(&["limits"]);
    assert_eq!((&limits.events[0]["leaseMs"], &limits.events[0]["turnMs"]), (&90_000.into(), &700.into()));
    refuses(&repo, &["init", "--freeze-holds-turns", "perhaps"], 2, "usage");
}

#[test]
fn limits_of_no_box_are_the_defaults_and_said_to_be() {
    let world = World::new();
    let repo = world.repo("r");
    let nowhere = world.tree(world.path("home"));
    for tree in [&repo, &nowhere] {
        let done = tree.ok(&["limits"]);
        assert_eq!((&done.events[0]["leaseMs"], &done.end()["defaults"]), (&300_000.into(), &true.into()));
        assert!(tree.people(&["limits"]).1.contains("there is none here"));
    }
    assert!(!repo.state().exists(), "a look makes nothing");
    std::fs::create_dir(repo.state()).unwrap();
    std::fs::write(repo.state().join("state.db"), "no database".repeat(100)).unwrap();
    let done = repo.run(&["limits"]);
    refused(&done, 3, "state_unusable");
}

#[test]
fn a_freeze_that_holds_no_turns_is_a_record_that_landings_obey_before_their_push() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check", "--freeze-holds-turns", "false"]);
    repo.branch("one");
    repo.branch("hotfix");
    let before = repo.git(&["rev-parse", "main"]);
    repo.ok(&["freeze", "open", "BUG-1", "--admit", "hotfix"]);
    let done = repo.run(&["land", "one"]);
    refused(&done, 14, "frozen");
    assert!(done.events.iter().any(|event| event["event"] == "turn"), "its turn began: {}", done.all());
    assert_eq!(repo.git(&["rev-parse", "main"]), before);
    refused(&repo.run(&["run", "true"]), 125, "frozen");
    assert_eq!(repo.ok(&["land", "hotfix"]).code(), "landed");
    repo.ok(&["init", "--freeze-holds-turns", "true"]);
    let mut waits = repo.start(&["land", "one"]);
    waits.until("the freeze", |e| e["text"].as_str().is_some_and(|text| text.contains("BUG-1")));
    waits.signal(Signal::INT);
    let done = waits.end();
    refused(&done, 130, "interrupted");
    assert!(
        !done.events.iter().any(|event| event["event"] == "turn"),
        "its turn did not begin: {}",
        done.all()
    );
}
