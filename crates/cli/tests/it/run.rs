//! `run`: the turn is held while a command runs.

use crate::behaviour::{lives, pid_in};
use crate::crash::points;
use crate::harness::{Running, Tree, World, eventually};
use crate::promises::{Kept, Place, assert_killed, kill_machine};
use crate::words::{refused, told, well_formed};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::process::Stdio;

fn ready(world: &World, init: &[&str]) -> Tree {
    let repo = world.repo("r");
    repo.ok(&[&["init"], init].concat());
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "settings"]);
    repo
}

fn queue(repo: &Tree) -> Vec<serde_json::Value> {
    repo.ok(&["queue"]).events[0]["tickets"].as_array().unwrap().clone()
}

/// A command that says that it runs, and then waits at the gate.
fn at_the_gate(world: &World, repo: &Tree, name: &str) -> (Running, std::path::PathBuf) {
    let pid = world.path(name);
    let script =
        format!("echo $$ > '{0}.new'; mv '{0}.new' '{0}'; {1}", pid.display(), world.gate("gate").command());
    let running = repo.start(&["run", "--label", "Ann", "--", "sh", "-c", &script]);
    eventually("the command runs", || pid.exists());
    // What it does is told by the thread that renews, a moment later.
    let known = |t: &serde_json::Value| t["step"].as_str().is_some_and(|step| step.starts_with("running: "));
    eventually("others know it", || queue(repo).iter().any(known));
    (running, pid)
}

#[test]
fn run_ends_with_the_commands_own_code_and_refuses_with_125() {
    let world = World::new();
    let repo = ready(&world, &["--no-check"]);
    for (script, exit) in
        [("exit 0", 0), ("exit 3", 3), ("exit 125", 125), ("kill -TERM $$", 143), ("kill -9 $$", 137)]
    {
        let done = repo.run(&["run", "--", "sh", "-c", script]);
        assert_eq!((done.exit, done.code()), (Some(exit), "ran"), "{}", done.all());
        well_formed(&done);
        assert_eq!(done.end()["commandExit"], exit);
    }
    let missing = repo.run(&["run", "--", "no-such-command", "a b"]);
    let end = refused(&missing, 125, "command_not_started");
    assert_eq!((&end["refusal"], &end["command"]), (&2.into(), &"no-such-command 'a b'".into()));
    refused(&repo.run(&["run"]), 125, "usage");
    refused(&repo.run(&["run", "--wait", "soon", "true"]), 125, "usage");
    let bare = world.repo("bare");
    let end = refused(&bare.run(&["run", "true"]), 125, "not_set_up").clone();
    assert_eq!(
        (&end["refusal"], &end["do"]),
        (&3.into(), &"signalbox --json init --check 'make test'".into())
    );
    assert_eq!(bare.people(&["run", "true"]).0, 125);
    assert_eq!(queue(&repo).len(), 0);
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn run_leaves_the_inputs_and_outputs_to_the_command() {
    let world = World::new();
    let repo = ready(&world, &["--no-check"]);
    let script =
        "cat; echo error >&2; echo $SIGNALBOX_TURN $SIGNALBOX_TRUNK $SIGNALBOX_ENTRY ${#SIGNALBOX_TICKET}";
    let mut command = repo.signalbox(&["run", "--", "sh", "-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"data\n").unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "data\n1 main 1 36\n", "nothing of ours is there");
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(stderr.contains("error\n") && stderr.contains("run      sh -c"), "{stderr}");
    let done = repo.ok(&["run", "--", "sh", "-c", "echo for people; exit 0"]);
    well_formed(&done);
    assert!(
        done.stderr.contains("for people"),
        "with --json standard output is for programs: {}",
        done.all()
    );
    let (exit, stdout, stderr) = repo.people(&["run", "--", "sh", "-c", "exit 3"]);
    assert_eq!((exit, stdout.as_str()), (3, ""));
    told(&stderr);
    assert!(stderr.contains("ended with code 3"), "{stderr}");
    repo.below("").ok(&["run", "sh", "-c", "test \"$PWD\" = \"$1\"", "sh", repo.path.to_str().unwrap()]);
    let log = repo.people(&["log"]).1;
    assert!(log.lines().nth(1).unwrap().contains("failed") && log.contains("ended with 3"), "{log}");
    assert!(log.lines().nth(2).unwrap().contains("ran       main"), "{log}");
}

#[test]
fn run_keeps_landings_and_other_commands_out_and_is_seen_by_them() {
    let world = World::new();
    let witness = world.path("witness");
    let note = |what: &str| {
        let file = witness.display();
        format!("echo begin {what} >> '{file}'; sleep 0.1; echo end {what} >> '{file}'")
    };
    let repo = ready(&world, &["--parallel", "1", "--check", &note("check")]);
    let branches = ["one", "two", "three"];
    for branch in branches {
        repo.branch(branch);
    }
    let mut all: Vec<Running> = Vec::new();
    let (first, _) = at_the_gate(&world, &repo, "first");
    for branch in branches {
        let mut land = repo.start(&["land", branch]);
        let waiting = land.event("waiting");
        let step = waiting["holder"]["step"].as_str().unwrap();
        assert!(step.starts_with("running: sh -c"), "{waiting}");
        assert_eq!(waiting["holder"]["label"], "Ann");
        all.push(land);
        let mut run = repo.start(&["run", "--", "sh", "-c", &note("command")]);
        run.event("waiting");
        all.push(run);
    }
    assert!(!witness.exists(), "nobody runs beside the first");
    world.gate("gate").open();
    all.push(first);
    for running in all {
        let done = running.end();
        assert_eq!(done.exit, Some(0), "{}", done.all());
    }
    let text = std::fs::read_to_string(&witness).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 12, "{text}");
    for pair in lines.chunks(2) {
        assert_eq!(pair[0].strip_prefix("begin "), pair[1].strip_prefix("end "), "{text}");
    }
    assert_eq!(repo.tickets("main").len(), 3);
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn run_takes_the_fence_of_its_turn_before_the_command_begins() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    clone.ok(&["init", "--no-check"]);
    let script = "git ls-remote origin refs/signalbox/epoch/main | grep -q . && \
        git log -1 --format=%B refs/signalbox/keep/$SIGNALBOX_TICKET/begun | grep -qx \"turn: $SIGNALBOX_TURN\"";
    clone.ok(&["run", "--", "sh", "-c", script]);
    std::fs::rename(&remote.path, world.path("away")).unwrap();
    let end = refused(&clone.run(&["run", "true"]), 125, "unreachable").clone();
    assert_eq!(end["refusal"], 20);
    assert_eq!(clone.leftovers(), [""; 0]);
}

#[test]
fn run_passes_signals_on_and_leaves_their_meaning_to_the_command() {
    let world = World::new();
    let repo = ready(&world, &["--no-check"]);
    for (signal, name) in [(Signal::INT, "INT"), (Signal::TERM, "TERM"), (Signal::HUP, "HUP")] {
        let (asked, pid) = (world.path(&format!("asked-{name}")), world.path(&format!("pid-{name}")));
        let script = format!(
            "trap 'echo >> {0}' {name}; echo $$ > '{1}.new'; mv '{1}.new' '{1}'; \
             until [ \"$(cat {0} 2>/dev/null | wc -l)\" -ge 2 ]; do sleep 0.02; done; exit 9",
            asked.display(),
            pid.display()
        );
        let run = repo.start(&["run", "--", "sh", "-c", &script]);
        pid_in(&pid);
        for times in 1..=2 {
            run.signal(signal);
            eventually("it was told", || {
                std::fs::read_to_string(&asked).is_ok_and(|text| text.len() >= times)
            });
        }
        let done = run.end();
        assert_eq!((done.exit, done.code()), (Some(9), "ran"), "{}", done.all());
    }
    let (run, pid) = at_the_gate(&world, &repo, "pid");
    let mut waiting = repo.start(&["run", "true"]);
    waiting.event("waiting");
    waiting.signal(Signal::INT);
    let end = refused(&waiting.end(), 130, "interrupted").clone();
    assert_eq!(end["do"], "signalbox --json run -- true");
    assert_eq!(queue(&repo).len(), 1, "it left");
    run.signal(Signal::TERM);
    assert_eq!(run.end().exit, Some(143), "a command that does not mind is ended by it");
    eventually("all of it", || !lives(pid_in(&pid)));
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn run_in_a_terminal_leaves_ctrl_c_to_the_command_and_lets_it_read() {
    let world = World::new();
    let repo = ready(&world, &["--no-check"]);
    let script = world.path("dialog");
    // What is waited for stands in no line that is only echoed.
    let text = "trap 'echo in''terrupted' INT\necho rea''dy\nread a\necho \"a\"=$a\nread b < /dev/tty\necho \"b\"=$b\nexit 7\n";
    std::fs::write(&script, text).unwrap();
    // No shell stays between, which would have a word of its own on the interruption.
    let line = format!("exec '{}' run -- bash '{}'", env!("CARGO_BIN_EXE_signalbox"), script.display());
    let mut command = repo.command("script");
    command.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut said = Vec::new();
    for (wanted, typed) in [("ready", "\x03"), ("interrupted", "one\n"), ("a=one", "two\n"), ("b=two", "")] {
        while !String::from_utf8_lossy(&said).contains(wanted) {
            let mut bytes = [0; 4096];
            let n = output.read(&mut bytes).unwrap();
            assert!(n > 0, "{wanted} did not come: {}", String::from_utf8_lossy(&said));
            said.extend_from_slice(&bytes[..n]);
        }
        input.write_all(typed.as_bytes()).unwrap();
    }
    output.read_to_end(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7), "{}", String::from_utf8_lossy(&said));
    assert_eq!(queue(&repo).len(), 0);
}

#[test]
fn run_stops_the_command_when_the_turn_is_lost() {
    let world = World::with_clock();
    let repo = ready(&world, &["--no-check"]);
    let (pid, child) = (world.path("pid"), world.path("child"));
    // It does not mind being asked.
    let script = format!(
        "trap '' TERM; (echo $$ > /dev/null; exec sleep 1000) & echo $! > '{1}'; echo $$ > '{0}.new'; \
         mv '{0}.new' '{0}'; wait; sleep 1000",
        pid.display(),
        child.display()
    );
    let run = repo.start(&["run", "--", "sh", "-c", &script]);
    let pids = [pid_in(&pid), pid_in(&child)];
    world.advance(300_000);
    let done = run.end();
    let end = refused(&done, 125, "turn_lost");
    assert_eq!((&end["refusal"], end["ranMs"].as_i64()), (&17.into(), Some(300_000)));
    assert!(!pids.into_iter().any(lives), "{pids:?}");
    assert_eq!(repo.leftovers(), [""; 0]);
    repo.ok(&["run", "true"]);
}

#[test]
fn run_stops_the_command_before_the_turns_limit() {
    let world = World::with_clock();
    let repo = ready(&world, &["--no-check", "--turn-ms", "400000"]);
    let (mut run, pid) = at_the_gate(&world, &repo, "pid");
    world.advance(250_000);
    let renewed = || queue(&repo)[0]["leaseUntil"].as_i64().unwrap() > world.now() + 290_000;
    eventually("the turn is renewed", renewed);
    world.advance(75_000);
    run.event("warning");
    world.advance(70_000);
    let done = run.end();
    let end = refused(&done, 125, "turn_limit");
    assert_eq!(
        (&end["turnMs"], &end["do"]),
        (&400_000.into(), &"signalbox --json init --turn-ms 800000".into())
    );
    assert!(!lives(pid_in(&pid)));
    assert_eq!(repo.ok(&["log"]).events[0]["outcome"], "limit");
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn run_that_is_killed_hands_its_turn_over_once_its_command_is_gone_too() {
    let world = World::with_clock();
    let repo = ready(&world, &["--no-check"]);
    repo.branch("work");
    let (run, pid) = at_the_gate(&world, &repo, "pid");
    run.kill();
    run.end();
    assert!(lives(pid_in(&pid)), "nothing ends it with its parent");
    assert_eq!(repo.run(&["land", "work", "--no-wait"]).exit, Some(22), "it still has the turn");
    world.gate("gate").open();
    eventually("the command has ended", || !lives(pid_in(&pid)));
    assert_eq!(repo.ok(&["land", "work"]).code(), "landed", "no lease was waited for");
    world.gate("gate").close();
    let (run, _) = at_the_gate(&world, &repo, "again");
    kill_machine(&run);
    run.end();
    repo.ok(&["run", "true"]);
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn run_waits_under_a_freeze_unless_its_branch_is_admitted() {
    let world = World::new();
    let repo = ready(&world, &["--no-check"]);
    let hotfix = repo.worktree("hotfix");
    repo.ok(&["freeze", "open", "BUG-1", "--admit", "hotfix"]);
    let mut waiting = repo.start(&["run", "true"]);
    waiting.until("the freeze", |e| e["text"].as_str().is_some_and(|text| text.contains("BUG-1")));
    hotfix.ok(&["run", "true"]);
    let late = repo.run(&["run", "--wait", "0s", "true"]);
    refused(&late, 125, "still_waiting");
    assert_eq!(queue(&repo).len(), 1, "who waits no longer leaves");
    repo.ok(&["freeze", "close", "BUG-1"]);
    assert_eq!(waiting.end().exit, Some(0));
    repo.git(&["checkout", "-q", "--detach"]);
    let done = repo.ok(&["run", "true"]);
    assert_eq!(done.end()["branch"], "main");
}

#[test]
fn run_and_land_inside_a_run_are_refused_instead_of_waiting_for_themselves() {
    let world = World::new();
    let repo = ready(&world, &["--no-check"]);
    repo.branch("work");
    let signalbox = env!("CARGO_BIN_EXE_signalbox");
    for (inner, exit) in [(&["run", "true"][..], 125), (&["land", "work"], 2)] {
        let done = repo.run(&[&["run", "--", signalbox], inner].concat());
        assert_eq!((done.exit, done.code()), (Some(exit), "ran"), "{}", done.all());
        assert!(done.stderr.contains("inside a turn"), "{}", done.all());
    }
    repo.ok(&["run", "--", signalbox, "queue"]);
    repo.ok(&["run", "--", signalbox, "mint", "adr"]);
}

#[test]
fn run_that_is_killed_at_any_point_keeps_nobody_waiting_and_leaves_nothing() {
    for kept in [Kept::Here, Kept::Remote] {
        let place = || {
            let place = Place::with(World::with_clock(), kept, &["--no-check"]);
            place.branches(&["work".to_owned()]);
            place
        };
        let points = points(&place(), &["run", "--", "true"]);
        assert!(points.iter().any(|point| point == "run:started"), "{points:?}");
        for point in points {
            let place = place();
            let faulty = place.work.env("SIGNALBOX_FAULT", format!("{point}:kill"));
            assert_killed(&faulty.run(&["run", "--", "true"]));
            // The clock stands still: a lease that had to be waited for would never end.
            assert_eq!(place.work.ok(&["land", "work"]).code(), "landed", "{point}");
            place.assert_exactly_once(&["work".to_owned()]);
            place.assert_nothing_left();
        }
    }
}
