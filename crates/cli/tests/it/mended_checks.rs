//! What a check leaves behind, and what it may not be given.

use crate::behaviour::{lives, pid_in};
use crate::harness::{Tree, World, eventually};
use crate::words::{more, refuses};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

/// The folder of this repository's checkouts: the only one below the home's cache.
fn checkouts(repo: &Tree) -> PathBuf {
    let all = repo.home().join(".cache/signalbox/checks");
    std::fs::read_dir(all).unwrap().next().unwrap().unwrap().path()
}

fn stop(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    eventually("it is gone", || !lives(pid));
}

#[test]
fn a_check_that_leaves_something_running_is_told_so_with_its_process_and_checkout() {
    let world = World::new();
    let repo = world.repo("r");
    let pid = world.path("pid");
    let leaves = format!(
        "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 300' >/dev/null 2>&1 </dev/null &
         until [ -e {0} ]; do sleep 0.02; done",
        pid.display()
    );
    repo.ok(&["init", "--check", &leaves]);
    repo.branch("first");
    repo.branch("second");
    let done = repo.ok(&["land", "first"]);
    let left = pid_in(&pid);
    let warning = done.events.iter().find(|event| event["event"] == "warning").unwrap();
    let text = warning["text"].as_str().unwrap();
    let dir = checkouts(&repo).join("0");
    assert!(text.starts_with(&format!("the check left a process running: {left} (sleep)")), "{text}");
    assert!(text.contains(dir.to_str().unwrap()), "{text}");
    std::fs::remove_file(&pid).unwrap();
    repo.ok(&["land", "second"]);
    assert!(checkouts(&repo).join("1").exists(), "the next check has a fresh one");
    stop(left);
    stop(pid_in(&pid));
}

#[test]
fn where_every_checkout_is_kept_by_what_checks_left_running_that_is_named_and_how_to_stop_it() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "true"]);
    repo.branch("first");
    repo.branch("second");
    repo.ok(&["land", "first"]);
    let mut sleeper = repo.command("sleep").arg("300").process_group(0).spawn().unwrap();
    for n in 0..64 {
        let note = format!("0f8fad5b-d9cb-469f-a165-70867728950e {}\n", sleeper.id());
        std::fs::write(checkouts(&repo).join(format!("{n}.last")), note).unwrap();
    }
    let end = refuses(&repo, &["land", "second"], 20, "checkouts_in_use");
    assert_eq!(end["do"], format!("kill {}", sleeper.id()));
    assert_eq!(end["pids"], serde_json::json!([sleeper.id()]));
    assert!(
        more(&end).contains(&format!("{} (sleep) in {}", sleeper.id(), checkouts(&repo).display())),
        "{end}"
    );
    assert_eq!(repo.leftovers(), [""; 0]);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert_eq!(repo.ok(&["land", "second"]).code(), "landed");
}
