//! Ctrl-C while git talks to a remote that says nothing.

use crate::behaviour::{lives, pid_in};
use crate::harness::{Tree, World, eventually, executable};
use crate::words::refused;
use rustix::process::Signal;
use std::path::PathBuf;
use std::time::Duration;

/// Half of what a listing of a silent remote's refs may take, so that it is not its limit that ends the command.
const AT_ONCE: Duration = Duration::from_secs(30);

/// A remote over an ssh that the test can silence.
struct Silent {
    world: World,
    remote: Tree,
    clone: Tree,
}

impl Silent {
    fn new() -> Self {
        let world = World::new();
        let remote = world.bare("remote.git");
        let ssh = world.path("ssh");
        let script = "#!/bin/sh
            cd \"$(dirname \"$0\")\"
            for last; do :; done
            case $last in *upload-pack*) side=read ;; *) side=write ;; esac
            if [ -e hang-$side ]; then
                left=$(cat hang-$side)
                if [ \"$left\" = 0 ]; then
                    echo $$ > pid.new; mv pid.new pid
                    until [ -e go ]; do sleep 0.02; done
                else
                    echo $((left - 1)) > hang-$side
                fi
            fi
            eval \"exec $last\"
        ";
        std::fs::write(&ssh, script).unwrap();
        executable(&ssh);
        let clone = world.clone_of(&remote, "clone");
        let clone = clone.env("GIT_SSH_COMMAND", ssh.to_str().unwrap()).env("GIT_SSH_VARIANT", "ssh");
        clone.git(&["remote", "set-url", "origin", &format!("ssh://host{}", remote.path.display())]);
        clone.ok(&["init", "--no-check"]);
        clone.branch("feature");
        Self { world, remote, clone }
    }

    /// From now on the remote is silent, after so many more connections to read (or to write).
    fn hang(&self, side: &str, after: u32) -> PathBuf {
        std::fs::write(self.world.path(&format!("hang-{side}")), after.to_string()).unwrap();
        self.world.path("pid")
    }

    fn unchanged(&self, before: &str) {
        std::fs::write(self.world.path("go"), "").unwrap();
        assert_eq!(self.remote.git(&["rev-parse", "main"]), before);
        assert_eq!(self.clone.ok(&["queue"]).events[0]["tickets"].as_array().unwrap().len(), 0);
        assert_eq!(self.clone.leftovers(), [""; 0]);
        assert_eq!(self.clone.ok(&["land", "feature"]).code(), "landed");
    }
}

#[test]
fn the_first_ctrl_c_ends_what_only_reads_from_a_silent_remote_at_once() {
    for (signal, exit) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let silent = Silent::new();
        let before = silent.remote.git(&["rev-parse", "main"]);
        let pid = silent.hang("read", 0);
        let land = silent.clone.start(&["land", "feature"]);
        let pid = pid_in(&pid);
        land.signal(signal);
        let done = land.end_within(AT_ONCE);
        let end = refused(&done, exit, "interrupted");
        assert_eq!(end["do"], "signalbox --json land feature");
        eventually("the connection is gone", || !lives(pid));
        silent.unchanged(&before);
    }
}

#[test]
fn the_first_ctrl_c_ends_a_fetch_from_a_silent_remote_at_once() {
    let silent = Silent::new();
    let seed = silent.world.tree(silent.world.path("remote.git-seed"));
    seed.commit("more", "1\n", "more");
    seed.git(&["push", "-q", silent.remote.path.to_str().unwrap(), "main"]);
    let before = silent.remote.git(&["rev-parse", "main"]);
    let pid = silent.hang("read", 1);
    let land = silent.clone.start(&["land", "feature"]);
    pid_in(&pid);
    land.signal(Signal::INT);
    refused(&land.end_within(AT_ONCE), 130, "interrupted");
    silent.unchanged(&before);
}

#[test]
fn the_first_ctrl_c_in_the_turn_gives_it_back_though_the_remote_is_silent() {
    let silent = Silent::new();
    let before = silent.remote.git(&["rev-parse", "main"]);
    let pid = silent.hang("read", 1);
    let mut land = silent.clone.start(&["land", "feature"]);
    land.event("turn");
    pid_in(&pid);
    land.signal(Signal::INT);
    refused(&land.end_within(AT_ONCE), 130, "interrupted");
    assert_eq!(silent.clone.ok(&["log"]).events[0]["outcome"], "withdrawn");
    silent.unchanged(&before);
}

#[test]
fn ctrl_c_while_something_is_sent_says_that_its_answer_is_waited_for() {
    for (after, exit, code) in [(0, 130, "interrupted"), (1, 0, "landed")] {
        let silent = Silent::new();
        let pid = silent.hang("write", after);
        let mut land = silent.clone.start(&["land", "feature"]);
        pid_in(&pid);
        land.signal(Signal::INT);
        let warning = land.event("warning");
        assert!(warning["text"].as_str().unwrap().contains("its answer is waited for"), "{warning}");
        std::fs::write(silent.world.path("go"), "").unwrap();
        let done = land.end();
        assert_eq!((done.exit, done.code()), (Some(exit), code), "{}", done.all());
        assert_eq!(silent.clone.leftovers(), [""; 0]);
    }
}
