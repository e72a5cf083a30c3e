//! What a check may do to a passage, and what it may not.

use crate::harness::{World, eventually};
use crate::words::{count, refused};
use rustix::process::{Pid, test_kill_process};
use std::path::Path;

/// Whether a process is still there. One that has ended and was not yet waited for is not.
pub fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let zombie = stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok()) && !zombie
}

/// The process number that a check wrote into a file.
pub fn pid_in(file: &Path) -> i32 {
    let read = || std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
    eventually("the process number", || read().is_some());
    read().unwrap()
}

/// A shell command that writes its own process number into a file.
fn notes_pid(file: &Path) -> String {
    format!("echo $$ > '{0}.new'; mv '{0}.new' '{0}'", file.display())
}

#[test]
fn a_check_past_the_turns_limit_is_stopped_and_the_setting_is_named() {
    let world = World::with_clock();
    let repo = world.repo("r");
    let pid = world.path("pid");
    let check = format!("sleep 1000 & {}; wait", notes_pid(&pid));
    repo.ok(&["init", "--check", &check, "--lease-ms", "20000", "--turn-ms", "60000"]);
    repo.branch("slow");
    let before = repo.git(&["rev-parse", "main"]);
    let mut land = repo.start(&["land", "slow"]);
    land.event("check");
    let pid = pid_in(&pid);
    for _ in 0..5 {
        world.advance(10_000);
        // The next step is taken only once the turn was renewed at this time.
        let renewed = world.now() + 20_000;
        eventually("a renewal", || {
            let queue = repo.ok(&["queue"]);
            queue.events[0]["tickets"][0]["leaseUntil"].as_i64().is_some_and(|until| until >= renewed)
        });
    }
    let warning = land.event("warning");
    assert!(warning["text"].as_str().unwrap().contains("four fifths"), "{warning}");
    assert!(lives(pid));
    world.advance(9_500);
    let done = land.end();
    let end = refused(&done, 17, "turn_limit");
    assert_eq!((end["checkMs"].as_i64(), end["turnMs"].as_i64()), (Some(59_500), Some(60_000)));
    assert!(end["detail"].as_str().unwrap().contains("ran 59 s"), "{end}");
    assert_eq!(end["do"], "signalbox --json init --turn-ms 120000");
    eventually("the check's group is gone", || !lives(pid));
    assert_eq!(repo.git(&["rev-parse", "main"]), before, "nothing was pushed");
    assert_eq!(repo.ok(&["log"]).events[0]["outcome"], "limit");
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn the_remedy_that_a_turn_limit_names_is_one() {
    let world = World::with_clock();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command(), "--lease-ms", "20000", "--turn-ms", "60000"]);
    repo.ok(&["init", "--turn-ms", "120000"]);
    repo.branch("a");
    let mut land = repo.start(&["land", "a"]);
    land.event("check");
    let queue = repo.ok(&["queue"]);
    let turn = &queue.events[0]["tickets"][0];
    let length = turn["turnUntil"].as_i64().unwrap() - turn["turnAt"].as_i64().unwrap();
    gate.open();
    assert_eq!(length, 120_000);
    assert_eq!(land.end().code(), "landed");
}

#[test]
fn a_check_that_ignores_sigterm_is_killed() {
    let world = World::new();
    let repo = world.repo("r");
    let pid = world.path("pid");
    let check = format!("trap '' TERM; {}; while :; do sleep 0.05; done", notes_pid(&pid));
    repo.ok(&["init", "--check", &check, "--turn-ms", "1500"]);
    repo.branch("stubborn");
    let done = repo.run(&["land", "stubborn"]);
    refused(&done, 17, "turn_limit");
    assert!(!lives(pid_in(&pid)));
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_check_that_floods_its_output_fills_neither_disk_nor_memory() {
    let world = World::new();
    let repo = world.repo("r");
    let gate = world.gate("gate");
    let flooded = world.path("flooded");
    let check = format!(
        "head -c 200000000 /dev/zero | tr '\\0' x; touch '{}'; {}",
        flooded.display(),
        gate.command()
    );
    repo.ok(&["init", "--check", &check]);
    repo.branch("loud");
    let mut land = repo.start(&["land", "loud"]);
    let log = land.event("check")["log"].as_str().unwrap().to_owned();
    eventually("the flood is over", || flooded.exists());
    let status = std::fs::read_to_string(format!("/proc/{}/status", land.child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 100_000, "{peak} kB");
    gate.open();
    let done = land.end();
    assert_eq!(done.code(), "landed", "{}", done.all());
    assert_eq!(std::fs::metadata(log).unwrap().len(), 32 << 20);
}

#[test]
fn a_check_that_is_red_on_the_branch_alone_is_the_branchs_fault() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "! test -e bad"]);
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.commit("bad", "", "something bad");
    let before = repo.git(&["rev-parse", "main"]);
    let done = repo.run(&["land"]);
    let end = refused(&done, 10, "check_red");
    assert_eq!((&end["fault"], end["checkCode"].as_i64()), (&"branch".into(), Some(1)));
    assert_eq!(count(&done, "check"), 2, "the merge, then the trunk alone");
    assert!(Path::new(end["log"].as_str().unwrap()).exists());
    assert_eq!(repo.git(&["rev-parse", "main"]), before);
    let again = repo.run(&["land"]);
    refused(&again, 10, "check_red");
    assert_eq!(count(&again, "check"), 1, "that the trunk passes is remembered");
    assert_eq!(repo.ok(&["log"]).events[0]["outcome"], "failed");
}

#[test]
fn a_check_that_is_red_on_the_trunk_too_is_the_trunks_fault_and_that_is_remembered() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "test -e absent || exit 7"]);
    repo.branch("feature");
    let first = repo.run(&["land", "feature"]);
    let end = refused(&first, 10, "check_red");
    assert_eq!((&end["fault"], end["checkCode"].as_i64()), (&"trunk".into(), Some(7)));
    assert_eq!(count(&first, "check"), 2);
    let second = repo.run(&["land", "feature"]);
    assert_eq!(refused(&second, 10, "check_red")["fault"], "trunk");
    assert_eq!(count(&second, "check"), 1, "the trunk alone is not checked a second time");
}

#[test]
fn a_tree_that_was_green_is_not_checked_again() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "test -f README"]);
    repo.branch("feature");
    let dry = repo.ok(&["land", "feature", "--dry-run"]);
    assert_eq!((dry.code(), count(&dry, "check")), ("dry_run", 1));
    let done = repo.ok(&["land", "feature"]);
    assert_eq!((done.code(), count(&done, "check"), count(&done, "already_green")), ("landed", 0, 1));
}

#[test]
fn a_result_does_not_hold_for_other_values_of_what_it_depends_on() {
    let world = World::new();
    let repo = world.repo("r");
    repo.commit(
        ".signalbox.toml",
        "[trunk]\nremote = '.'\nbranch = 'main'\n[check]\ncommand = 'true'\nenv = ['MODE']\n",
        "settings",
    );
    repo.ok(&["init"]);
    repo.branch("feature");
    assert_eq!(count(&repo.env("MODE", "a").ok(&["land", "feature", "--dry-run"]), "check"), 1);
    assert_eq!(count(&repo.env("MODE", "a").ok(&["land", "feature", "--dry-run"]), "check"), 0);
    assert_eq!(count(&repo.env("MODE", "b").ok(&["land", "feature", "--dry-run"]), "check"), 1);
}

#[test]
fn a_background_process_that_holds_the_pipe_open_does_not_hang_the_check() {
    let world = World::new();
    let repo = world.repo("r");
    let (inside, outside) = (world.path("inside"), world.path("outside"));
    let sleeper = |file: &Path| format!("sh -c \"{}; exec sleep 300\"", notes_pid(file).replace('$', "\\$"));
    let check = format!(
        "{} & setsid {} & until [ -e '{}' ] && [ -e '{}' ]; do sleep 0.02; done; echo hello",
        sleeper(&inside),
        sleeper(&outside),
        inside.display(),
        outside.display()
    );
    repo.ok(&["init", "--check", &check]);
    repo.branch("feature");
    let mut land = repo.start(&["land", "feature"]);
    let log = land.event("check")["log"].as_str().unwrap().to_owned();
    let done = land.end();
    assert_eq!(done.code(), "landed", "{}", done.all());
    let outside = pid_in(&outside);
    assert!(lives(outside), "it has left the check's group, so it is not ours to end");
    rustix::process::kill_process(Pid::from_raw(outside).unwrap(), rustix::process::Signal::KILL).unwrap();
    eventually("what stayed in the group is gone", || !lives(pid_in(&inside)));
    assert_eq!(std::fs::read_to_string(log).unwrap(), "hello\n");
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_check_gets_no_variable_of_git_and_knows_what_it_checks() {
    let world = World::new();
    let repo = world.repo("r");
    let out = world.path("env");
    let check =
        format!("env -0 > '{}'; test \"$(git rev-parse --show-toplevel)\" = \"$(pwd -P)\"", out.display());
    repo.ok(&["init", "--check", &check]);
    repo.branch("feature");
    let other = world.repo("other");
    let odd = repo
        .env("GIT_DIR", other.path.join(".git").to_str().unwrap())
        .env("GIT_WORK_TREE", other.path.to_str().unwrap())
        .env("GIT_INDEX_FILE", "nowhere")
        .env("GIT_ODD", "1");
    assert_eq!(odd.ok(&["land", "feature"]).code(), "landed");
    let env = std::fs::read_to_string(out).unwrap();
    assert!(!env.split('\0').any(|pair| pair.starts_with("GIT_")), "{env}");
    for pair in ["SIGNALBOX_BRANCH=feature", "SIGNALBOX_TRUNK=main", "SIGNALBOX_TURN=1"] {
        assert!(env.split('\0').any(|p| p == pair), "{pair}: {env}");
    }
    assert!(repo.git(&["log", "--format=%s", "main"]).contains("Merge branch 'feature'"));
}

#[test]
fn ignored_files_stay_warm_between_checks_and_all_else_is_cleaned() {
    let world = World::new();
    let repo = world.repo("r");
    repo.commit(".gitignore", "cache/\n", "ignore the cache");
    let out = world.path("found");
    let check = format!(
        "ls -d cache/warm untracked .git/rebase-merge 2>/dev/null > '{0}'; cat README >> '{0}'; \
         mkdir -p cache; touch cache/warm untracked; echo changed > README; git switch -q -C left-behind",
        out.display()
    );
    repo.ok(&["init", "--check", &check]);
    for (branch, found) in [("one", "hello\n"), ("two", "cache/warm\nhello\n")] {
        repo.branch(branch);
        let done = repo.run(&["land", branch]);
        assert_eq!(done.code(), "landed", "{}", done.all());
        assert_eq!(std::fs::read_to_string(&out).unwrap(), found, "{branch}");
    }
}

#[test]
fn a_check_that_cannot_be_found_is_red_and_no_fault_of_ours() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "no-such-program-anywhere"]);
    repo.branch("feature");
    let done = repo.run(&["land", "feature"]);
    let end = refused(&done, 10, "check_red");
    assert_eq!((&end["fault"], end["checkCode"].as_i64()), (&"trunk".into(), Some(127)));
}
