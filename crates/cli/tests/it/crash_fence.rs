//! Pushes whose client is slow or dead while the server still works on them.

use crate::harness::{Running, World, eventually};
use crate::promises::{
    Kept, Place, assert_killed, below, gone, hook, kill_machine, landings, random, stress,
};
use rustix::process::Pid;

/// The lease of a box that nobody set otherwise.
const LEASE: i64 = 300_000;

/// A clone of a bare remote that holds the first push of a landing in its hook until the test opens it.
fn held(strategy: &str) -> Place {
    let place = Place::with(
        World::with_clock(),
        Kept::Remote,
        &["--check", "test -f README", "--strategy", strategy],
    );
    let dir = place.world.path("hook");
    std::fs::create_dir(&dir).unwrap();
    let script = format!(
        "while read old new ref; do [ \"$ref\" = refs/heads/main ] && landing=1; done\n\
         [ -n \"$landing\" ] && mkdir {0}/taken 2>/dev/null || exit 0\n\
         echo $PPID > {0}/server.new && mv {0}/server.new {0}/server\n\
         until [ -e {0}/open ]; do sleep 0.02; done",
        dir.display()
    );
    hook(&place.trunk, "pre-receive", &script);
    // A server that notices that its client is gone only when it has done its work, as one across a network does.
    place.trunk.git(&["config", "receive.keepAlive", "0"]);
    place.branches(&["slow".to_owned(), "other".to_owned()]);
    place
}

fn open(place: &Place) {
    std::fs::write(place.world.path("hook/open"), "").unwrap();
}

/// Waits until the first push stands in the hook; gives the server's process.
fn in_the_hook(place: &Place) -> Pid {
    let file = place.world.path("hook/server");
    eventually("the push is in the hook", || file.exists());
    Pid::from_raw(std::fs::read_to_string(file).unwrap().trim().parse().unwrap()).unwrap()
}

fn order(place: &Place) -> Vec<String> {
    landings(&place.trunk).into_iter().map(|landing| landing.branch).collect()
}

#[test]
fn a_stale_holders_push_that_is_under_way_is_refused_by_the_remote() {
    for strategy in ["merge", "squash"] {
        let place = held(strategy);
        let slow = place.work.start(&["land", "slow"]);
        in_the_hook(&place);
        place.world.advance(LEASE + 1);
        let done = place.work.ok(&["land", "other"]);
        assert_eq!(done.code(), "landed", "{}", done.all());
        let main = place.main();
        open(&place);
        let done = slow.end();
        assert_eq!(done.code(), "landed", "{}", done.all());
        assert_eq!(order(&place), ["other", "slow"]);
        assert_eq!(place.trunk.git(&["rev-parse", "main^1"]), main, "it landed on what the other landed");
        assert_eq!(landings(&place.trunk)[1].turn, 3, "in a turn of its own");
        place.assert_exactly_once(&["slow".to_owned(), "other".to_owned()]);
        place.assert_nothing_left();
    }
}

#[test]
fn a_stale_holders_push_that_is_refused_ends_its_command_where_it_shall_not_enter_again() {
    let place = held("merge");
    let slow = place.work.start(&["land", "slow", "--no-reenter"]);
    in_the_hook(&place);
    place.world.advance(LEASE + 1);
    place.work.ok(&["land", "other"]);
    open(&place);
    let done = slow.end();
    assert_eq!((done.exit, done.code()), (Some(17), "turn_lost"), "{}", done.all());
    assert_eq!(order(&place), ["other"]);
    assert_eq!(place.work.ok(&["land", "--settle"]).code(), "nothing_open");
    place.assert_nothing_left();
}

/// A landing whose client dies with its push while the server still works on it; gives the server's process.
fn orphaned(place: &Place) -> Pid {
    let slow: Running = place.work.start(&["land", "slow"]);
    let server = in_the_hook(place);
    let pushing = below(slow.pid()).iter().any(|(_, name)| name.contains("push --porcelain"));
    assert!(pushing, "the push is a child of the client");
    kill_machine(&slow);
    assert_killed(&slow.end());
    assert!(!gone(server), "the server goes on");
    server
}

/// After all: settled, landed exactly once, nothing left.
fn once(place: &Place) {
    assert_eq!(place.work.ok(&["land", "other"]).code(), "landed");
    place.assert_exactly_once(&["slow".to_owned(), "other".to_owned()]);
    place.assert_nothing_left();
}

#[test]
fn a_push_whose_client_died_is_fenced_by_the_settling_and_never_lands_afterwards() {
    for strategy in ["merge", "squash"] {
        let place = held(strategy);
        let server = orphaned(&place);
        let main = place.main();
        let done = place.work.ok(&["land", "--settle"]);
        assert_eq!(done.code(), "settled", "{}", done.all());
        assert_eq!((&done.end()["landed"], &done.end()["notLanded"]), (&0.into(), &1.into()));
        assert_eq!(place.epoch(), "void");
        open(&place);
        eventually("the server has done its work", || gone(server));
        assert_eq!(place.main(), main, "what was said not to land does not");
        assert_eq!(place.work.ok(&["land", "slow"]).code(), "landed");
        once(&place);
    }
}

#[test]
fn a_push_whose_client_died_and_that_landed_before_the_settling_is_found_and_not_landed_again() {
    for strategy in ["merge", "squash"] {
        let place = held(strategy);
        let server = orphaned(&place);
        open(&place);
        eventually("the server has done its work", || gone(server));
        let done = place.work.ok(&["land", "--settle"]);
        assert_eq!(
            (&done.end()["landed"], &done.end()["notLanded"]),
            (&1.into(), &0.into()),
            "{}",
            done.all()
        );
        assert_eq!(place.epoch(), "landed");
        assert_eq!(place.work.ok(&["land", "slow"]).code(), "already_in_trunk");
        once(&place);
    }
}

#[test]
fn the_next_landing_fences_a_dead_clients_push_before_it_takes_the_turn() {
    for strategy in ["merge", "squash"] {
        let place = held(strategy);
        let server = orphaned(&place);
        let done = place.work.ok(&["land", "other"]);
        assert_eq!(done.events[0]["event"], "settled", "{}", done.all());
        assert_eq!(done.events[0]["landed"], false, "{}", done.all());
        open(&place);
        eventually("the server has done its work", || gone(server));
        assert_eq!(order(&place), ["other"]);
        assert_eq!(place.work.ok(&["land", "slow"]).code(), "landed");
        place.assert_exactly_once(&["slow".to_owned(), "other".to_owned()]);
        place.assert_nothing_left();
    }
}

#[test]
fn a_push_that_races_with_its_settling_lands_once_and_the_settling_tells_which() {
    let mut random = random();
    for n in 0..4 * stress() {
        let place = held(if n % 2 == 0 { "merge" } else { "squash" });
        let server = orphaned(&place);
        let settling = place.work.start(&["land", "--settle"]);
        // How far the settling has come when the push goes on is left to chance.
        std::thread::sleep(std::time::Duration::from_millis(random.u64(0..120)));
        open(&place);
        let done = settling.end();
        assert_eq!(done.code(), "settled", "{}", done.all());
        eventually("the server has done its work", || gone(server));
        assert_eq!(done.end()["landed"] == 1, place.has("slow"), "{}", done.all());
        assert_eq!(place.work.run(&["land", "slow"]).exit, Some(0));
        once(&place);
    }
}
