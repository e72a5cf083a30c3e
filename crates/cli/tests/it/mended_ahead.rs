//! Looking ahead costs nothing that it need not, and leaves nothing behind.

use crate::ahead::{Line, settings};
use crate::harness::{World, eventually, executable};
use rustix::process::{Pid, Signal, test_kill_process};

#[test]
fn a_remote_that_is_silent_while_who_waits_looks_at_it_keeps_no_turn_and_no_process() {
    for stopped in [false, true] {
        let world = World::new();
        let bare = world.bare("origin.git");
        let repo = world.clone_of(&bare, "r");
        let gate = world.gate("gate");
        let text = settings(&gate.command(), 3).replace("\".\"", "\"origin\"");
        repo.commit(".signalbox.toml", &text, "settings");
        repo.git(&["push", "-q", "origin", "main"]);
        let (silent, pids, pack) = (world.path("silent"), world.path("pids"), world.path("pack.sh"));
        let script = format!(
            "#!/bin/sh\nif [ -e '{}' ]; then echo $$ >> '{}'; exec sleep 600; fi\nexec git upload-pack \"$@\"\n",
            silent.display(),
            pids.display()
        );
        std::fs::write(&pack, script).unwrap();
        executable(&pack);
        repo.git(&["config", "remote.origin.uploadpack", pack.to_str().unwrap()]);
        for branch in ["a", "b", "c"] {
            repo.branch(branch);
        }
        let mut first = repo.start(&["land", "a"]);
        first.event("check");
        let mut second = repo.start(&["land", "b"]);
        second.event("entered");
        let mut third = repo.start(&["land", "c"]);
        third.event("ahead");
        // Others stand before it from now on: it reads the trunk anew.
        std::fs::write(&silent, "").unwrap();
        second.signal(Signal::INT);
        assert_eq!(second.end().exit, Some(130));
        let reads = || std::fs::read_to_string(&pids).unwrap_or_default().lines().count() > 0;
        eventually("a read of the remote", reads);
        std::fs::remove_file(&silent).unwrap();
        if stopped {
            third.signal(Signal::INT);
        }
        gate.open();
        assert_eq!(first.end().exit, Some(0));
        let done = third.end();
        assert_eq!(done.exit, Some(if stopped { 130 } else { 0 }), "{}", done.all());
        for pid in std::fs::read_to_string(&pids).unwrap().lines() {
            let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
            eventually("what read the remote ends", || test_kill_process(pid).is_err());
        }
    }
}

#[test]
fn who_waits_asks_git_for_nothing_that_it_knows() {
    let line = Line::new(2);
    line.repo.branch("a");
    line.repo.branch("b");
    let (git, calls) = (line.world.path("git.sh"), line.world.path("calls"));
    std::fs::write(&git, format!("#!/bin/sh\necho \"$@\" >> '{}'\nexec git \"$@\"\n", calls.display()))
        .unwrap();
    executable(&git);
    let count = || std::fs::read_to_string(&calls).unwrap().lines().count();
    let mut first = line.repo.start(&["land", "a"]);
    first.event("check");
    let mut second = line.repo.env("SIGNALBOX_GIT", git.to_str().unwrap()).start(&["land", "b"]);
    second.event("ahead");
    line.begun(2);
    let before = count();
    // Each of them is a change of the queue that it sees, and looks at.
    for n in 0..6 {
        line.repo.ok(&["hold", "open", &format!("h{n}"), "elsewhere/"]);
        second.event("waiting");
    }
    assert_eq!(count(), before, "{}", std::fs::read_to_string(&calls).unwrap());
    line.world.advance(1_000);
    assert_eq!(first.end().exit, Some(0));
    assert_eq!(second.end().exit, Some(0));
}
