//! Many landers at once, on the machine's own clock, some of them killed.

use crate::harness::{Done, PATIENCE, Tree, World};
use crate::promises::{
    Kept, Place, assert_exactly_once, assert_nothing_left, branches, hook, kill_machine, landings, random,
    stress,
};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What may be killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kill {
    /// The passage alone, or its process group.
    Passage,
    /// Besides these, at times everything that the passage has started.
    Machine,
}

/// How a round of landings went.
#[derive(Default)]
struct Tally {
    landed: AtomicUsize,
    killed: AtomicUsize,
    tries: AtomicUsize,
    lost: AtomicUsize,
}

/// One try to land a branch, which may be killed at a moment left to chance.
fn try_once(tree: &Tree, branch: &str, kill: Kill, random: &mut fastrand::Rng, tally: &Tally) -> Done {
    tally.tries.fetch_add(1, Ordering::Relaxed);
    let running = tree.start(&["land", branch]);
    if random.u8(0..100) < 30 {
        // The chance of a kill is spread over the time that a passage takes, its wait included.
        std::thread::sleep(Duration::from_millis(random.u64(0..2_500)));
        match (kill, random.u8(0..3)) {
            (Kill::Machine, 0) => kill_machine(&running),
            (_, 1) => running.kill_group(),
            _ => running.kill(),
        }
    }
    // Twenty may be before it, on a machine that has other things to do.
    running.end_within(10 * PATIENCE)
}

/// Lands a branch, whatever happens on the way.
fn land(tree: &Tree, branch: &str, kill: Kill, random: &mut fastrand::Rng, tally: &Tally) {
    for _ in 0..60 {
        let done = try_once(tree, branch, kill, random, tally);
        match done.exit {
            Some(0) => {
                assert!(["landed", "already_in_trunk"].contains(&done.code()), "{}", done.all());
                tally.landed.fetch_add(1, Ordering::Relaxed);
                return;
            }
            None => drop(tally.killed.fetch_add(1, Ordering::Relaxed)),
            // The turn was lost again and again, or something moved under its hands: it is tried again.
            Some(17 | 20) => drop(tally.lost.fetch_add(1, Ordering::Relaxed)),
            _ => panic!("{branch}: {}", done.all()),
        }
    }
    panic!("{branch} is stuck");
}

/// Lands branches of one list by many processes at once, in trees that share one box.
fn landers(trees: &[Tree], names: &[String], landers: usize, kill: Kill, seed: &mut fastrand::Rng) -> Tally {
    let tally = Tally::default();
    let left = Mutex::new(names.to_vec());
    std::thread::scope(|scope| {
        for n in 0..landers {
            let mut random = seed.fork();
            let (tree, left, tally) = (&trees[n % trees.len()], &left, &tally);
            scope.spawn(move || {
                loop {
                    let next = left.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
                    let Some(name) = next else { return };
                    land(tree, &name, kill, &mut random, tally);
                }
            });
        }
    });
    tally
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("b{n}")).collect()
}

/// Twenty landers, leases of 0.3 s, slow hooks and checks, and kills at random.
#[expect(clippy::print_stdout, reason = "the figures of docs/reliability.md")]
fn storm(kept: Kept, strategy: &str) {
    const LANDERS: usize = 20;
    let mut random = random();
    let check = ["--check", "test -f README; sleep 0.0$((SIGNALBOX_TURN % 9))", "--strategy", strategy];
    let place = Place::with(World::new(), kept, &[&check[..], &["--lease-ms", "300"]].concat());
    let mut trees = vec![place.work.clone()];
    if kept == Kept::Remote {
        let second = place.world.clone_of(&place.trunk, "second");
        let second = second.env("SIGNALBOX_STATE", place.work.state().to_str().unwrap());
        second.ok(&["init", "--check", "test -f README", "--strategy", strategy]);
        trees.push(second);
        hook(&place.trunk, "pre-receive", "sleep 0.0$(($$ % 9)); exit 0");
        place.trunk.git(&["config", "receive.keepAlive", "0"]);
    }
    let names = names(LANDERS * stress());
    for tree in &trees {
        branches(tree, &names);
    }
    let kill = if kept == Kept::Remote { Kill::Machine } else { Kill::Passage };
    let began = Instant::now();
    let tally = landers(&trees, &names, LANDERS, kill, &mut random);
    let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    println!(
        "{kept:?} {strategy}: {} landed by {} tries, {} killed, {} lost their turns, {:.1} s",
        count(&tally.landed),
        count(&tally.tries),
        count(&tally.killed),
        count(&tally.lost),
        began.elapsed().as_secs_f64(),
    );
    assert_eq!(count(&tally.landed), names.len(), "nobody is stuck");
    assert_exactly_once(&place.trunk, &names);
    for tree in &trees {
        tree.ok(&["land", "--settle"]);
        assert_nothing_left(tree);
        tree.git(&["fsck", "--full", "--no-dangling", "--no-progress"]);
    }
    place.assert_nothing_left();
    place.assert_worktree_is_the_trunk();
}

#[test]
fn every_branch_lands_exactly_once_at_a_remote_whoever_is_killed() {
    storm(Kept::Remote, "merge");
}

#[test]
fn every_squashed_branch_lands_exactly_once_at_a_remote_whoever_is_killed() {
    storm(Kept::Remote, "squash");
}

#[test]
fn every_branch_lands_exactly_once_in_place_whoever_is_killed() {
    storm(Kept::Here, "merge");
}

#[test]
fn every_squashed_branch_lands_exactly_once_in_place_whoever_is_killed() {
    storm(Kept::Here, "squash");
}

/// Four worktrees of one repository with ten branches each, landed by four processes at once.
fn four_worktrees(kept: Kept) {
    let witness_of = |world: &World| world.path("witness");
    let world = World::new();
    let witness = witness_of(&world);
    let check = format!(
        "echo begin $SIGNALBOX_TURN >> {0}; test -f README; echo end $SIGNALBOX_TURN >> {0}",
        witness.display()
    );
    let place = Place::with(world, kept, &["--parallel", "1", "--check", &check]);
    let of = |n: usize| -> Vec<String> { (0..10).map(|m| format!("w{n}-{m}")).collect() };
    let trees: Vec<Tree> = (0..4).map(|n| place.work.worktree(&format!("tree{n}"))).collect();
    let all: Vec<String> = (0..4).flat_map(of).collect();
    place.branches(&all);
    let minted = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (n, tree) in trees.iter().enumerate() {
            let minted = &minted;
            scope.spawn(move || {
                for branch in of(n) {
                    tree.git(&["switch", "-q", &branch]);
                    let done = tree.ok(&["land"]);
                    assert_eq!(done.code(), "landed", "{}", done.all());
                    let number = tree.ok(&["mint", "adr"]).end()["first"].as_i64().unwrap();
                    minted.lock().unwrap().push(number);
                }
            });
        }
    });
    place.assert_exactly_once(&all);
    place.assert_nothing_left();
    for n in 0..4 {
        let own: Vec<String> =
            landings(&place.trunk).into_iter().map(|l| l.branch).filter(|b| of(n).contains(b)).collect();
        assert_eq!(own, of(n), "a worktree's branches land in the order in which it landed them");
    }
    let witness = std::fs::read_to_string(witness).unwrap();
    let lines: Vec<&str> = witness.lines().collect();
    assert_eq!(lines.len(), 80, "each tree that landed was checked once");
    let mut turns = Vec::new();
    for pair in lines.chunks(2) {
        let turn = pair[0].strip_prefix("begin ").unwrap();
        assert_eq!(pair[1].strip_prefix("end "), Some(turn), "no turn overlaps another: {witness}");
        turns.push(turn.parse::<i64>().unwrap());
    }
    let landed: Vec<i64> = landings(&place.trunk).into_iter().map(|landing| landing.turn).collect();
    assert_eq!(turns, landed, "the history is the order of the turns");
    let minted = minted.into_inner().unwrap();
    assert_eq!(minted.iter().collect::<BTreeSet<_>>().len(), 40, "{minted:?}");
}

#[test]
fn four_worktrees_land_ten_branches_each_in_the_order_of_their_turns_with_a_remote() {
    four_worktrees(Kept::Remote);
}

#[test]
fn four_worktrees_land_ten_branches_each_in_the_order_of_their_turns_in_place() {
    four_worktrees(Kept::Here);
}

#[test]
fn four_worktrees_land_nothing_while_the_trunks_own_worktree_has_changes() {
    let place = Place::new(World::new(), Kept::Here, "test -f README");
    let all = names(8);
    place.branches(&all);
    place.work.write("README", "being edited\n");
    let main = place.main();
    let trees: Vec<Tree> = (0..4).map(|n| place.work.worktree(&format!("tree{n}"))).collect();
    std::thread::scope(|scope| {
        for (n, tree) in trees.iter().enumerate() {
            let of_tree = all[2 * n..2 * n + 2].to_vec();
            scope.spawn(move || {
                for branch in of_tree {
                    tree.git(&["switch", "-q", &branch]);
                    let done = tree.run(&["land"]);
                    assert_eq!((done.exit, done.code()), (Some(2), "trunk_dirty"), "{}", done.all());
                    assert!(!done.events.iter().any(|event| event["event"] == "turn"), "before its turn");
                }
            });
        }
    });
    assert_eq!(place.main(), main);
    assert_eq!(place.work.read("README"), "being edited\n");
    assert_eq!(landings(&place.trunk), []);
    place.assert_nothing_left();
}

#[test]
fn no_number_is_minted_twice_and_a_repeated_request_gets_its_own_again() {
    let mut random = random();
    let place = Place::with(World::new(), Kept::Here, &["--no-check", "--line", "adr"]);
    let tree = Arc::new(place.work.clone());
    let (sender, answers) = channel();
    std::thread::scope(|scope| {
        for n in 0..64 * stress() {
            let (tree, sender, mut random) = (Arc::clone(&tree), sender.clone(), random.fork());
            scope.spawn(move || {
                let request = uuid(&mut random);
                let args =
                    ["mint", "adr", "--count", if n % 4 == 0 { "3" } else { "1" }, "--request", &request];
                let first = tree.start(&args);
                if n % 3 == 0 {
                    // When it is killed is left to chance.
                    std::thread::sleep(Duration::from_millis(random.u64(0..400)));
                    first.kill();
                }
                let first = first.end();
                let block = |done: &Done| {
                    (done.end()["first"].as_i64().unwrap(), done.end()["last"].as_i64().unwrap())
                };
                let told = (first.exit == Some(0)).then(|| block(&first));
                let repeated = block(&until_done(&tree, &args));
                assert!(
                    told.is_none_or(|told| told == repeated),
                    "a repeat gets the same: {told:?} {repeated:?}"
                );
                assert_eq!(block(&until_done(&tree, &args)), repeated, "and so does another");
                let _ = sender.send(repeated);
            });
        }
    });
    drop(sender);
    let numbers: Vec<i64> = answers.iter().flat_map(|(first, last)| first..=last).collect();
    let distinct: BTreeSet<i64> = numbers.iter().copied().collect();
    assert_eq!(distinct.len(), numbers.len(), "a number was minted twice");
    assert_eq!(numbers.len(), 64 * stress() + 2 * (64 * stress()).div_ceil(4));
    assert_eq!(distinct.last().copied(), i64::try_from(numbers.len()).ok(), "and none is left out");
}

/// Runs a mint until it is not told to try again.
fn until_done(tree: &Tree, args: &[&str]) -> Done {
    for _ in 0..20 {
        let done = tree.run(args);
        if done.exit == Some(20) {
            continue;
        }
        assert_eq!(done.exit, Some(0), "{}", done.all());
        return done;
    }
    panic!("the box is always busy");
}

fn uuid(random: &mut fastrand::Rng) -> String {
    let text = format!("{:032x}", random.u128(..));
    let part = |range: std::ops::Range<usize>| &text[range];
    format!("{}-{}-4{}-8{}-{}", part(0..8), part(8..12), part(13..16), part(17..20), part(20..32))
}
