//! Worlds in which branches are landed under faults, and what must hold there whatever happened.

use crate::harness::{Done, Running, Tree, World, executable};
use rustix::process::{Pid, Signal};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Where the trunk is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// At a bare remote of this clone.
    Remote,
    /// At a bare remote whose hooks let landings only pass.
    Guarded,
    /// In this repository itself, checked out in its main worktree.
    Here,
}

/// A repository that was set up, and the one that has its trunk (which may be the same).
pub struct Place {
    pub world: World,
    pub work: Tree,
    pub trunk: Tree,
    pub kept: Kept,
}

impl Place {
    /// A repository whose branches are checked by `check`.
    pub fn new(world: World, kept: Kept, check: &str) -> Self {
        Self::with(world, kept, &["--check", check])
    }

    /// A repository that is set up with these options.
    pub fn with(world: World, kept: Kept, init: &[&str]) -> Self {
        let (work, trunk) = match kept {
            Kept::Remote | Kept::Guarded => {
                let trunk = world.bare("trunk.git");
                (world.clone_of(&trunk, "work"), trunk)
            }
            Kept::Here => {
                let repo = world.repo("work");
                (repo.clone(), repo)
            }
        };
        work.ok(&[&["init"], init].concat());
        if kept == Kept::Guarded {
            let state = work.state();
            trunk.ok(&["hook", "install", "--server", "--state", state.to_str().unwrap()]);
        }
        Self { world, work, trunk, kept }
    }

    /// Makes branches from `main`, each with one commit that adds a file of its own.
    pub fn branches(&self, names: &[String]) {
        branches(&self.work, names);
    }

    /// The trunk's commit.
    pub fn main(&self) -> String {
        self.trunk.git(&["rev-parse", "refs/heads/main"])
    }

    /// Whether the trunk's history has this branch.
    pub fn has(&self, branch: &str) -> bool {
        landings(&self.trunk).iter().any(|landing| landing.branch == branch)
    }

    /// The trunk's own worktree, where there is one, is exactly the trunk.
    pub fn assert_worktree_is_the_trunk(&self) {
        if self.kept == Kept::Here {
            assert_eq!(self.trunk.git(&["status", "--porcelain", "-uno"]), "", "the trunk's worktree");
            assert_eq!(self.trunk.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
        }
    }

    /// The epoch at the trunk: `begun`, `landed` or `void`; empty where there is none.
    pub fn epoch(&self) -> String {
        let name = "refs/signalbox/epoch/main";
        let text = self.trunk.git(&["for-each-ref", "--format=%(contents)", name]);
        text.lines().find_map(|line| line.strip_prefix("state: ")).unwrap_or("").to_owned()
    }

    /// What a settled place must not have: what is kept for a passage, notes of checks, locks of refs.
    pub fn assert_nothing_left(&self) {
        assert_nothing_left(&self.work);
        assert_eq!(ref_locks(&self.trunk), [""; 0]);
    }

    /// Everything of [`assert_exactly_once`], and the worktree.
    pub fn assert_exactly_once(&self, names: &[String]) {
        assert_exactly_once(&self.trunk, names);
        self.assert_worktree_is_the_trunk();
    }
}

/// Makes branches from `main`, each with one commit that adds a file of its own. One process makes them all.
pub fn branches(tree: &Tree, names: &[String]) {
    let mut text = String::new();
    for name in names {
        let (message, content) = (format!("work on {name}\n"), format!("{name}\n"));
        let who = "Tester <tester@example.org> 1800000000 +0000";
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "commit refs/heads/{name}\ncommitter {who}\ndata {}\n{message}from refs/heads/main\n\
             M 100644 inline {}\ndata {}\n{content}\n",
            message.len(),
            file_of(name),
            content.len(),
        );
    }
    let mut child =
        tree.command("git").args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// The file that a branch of [`branches`] adds.
pub fn file_of(branch: &str) -> String {
    format!("file-{}", branch.replace('/', "-"))
}

/// One commit of a trunk's first-parent line that a passage made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    pub branch: String,
    pub turn: i64,
    pub ticket: String,
}

/// What passages landed on a trunk, the oldest first.
pub fn landings(trunk: &Tree) -> Vec<Landed> {
    let format = "--format=%s%x09%(trailers:key=Signalbox-Turn,valueonly,separator=%x2C)%x09\
                  %(trailers:key=Signalbox-Ticket,valueonly,separator=%x2C)";
    let text = trunk.git(&["log", "--first-parent", "--reverse", format, "refs/heads/main"]);
    let landed = |line: &str| {
        let mut fields = line.split('\t');
        let (subject, turn, ticket) = (fields.next()?, fields.next()?, fields.next()?);
        let branch = match subject.strip_prefix("Merge branch '") {
            Some(rest) => rest.split('\'').next()?,
            None => subject.strip_prefix("work on ")?,
        };
        Some(Landed { branch: branch.to_owned(), turn: turn.parse().ok()?, ticket: ticket.to_owned() })
    };
    text.lines().filter_map(landed).collect()
}

/// Each branch is in the trunk's first-parent line exactly once, by one ticket and one turn of its own; the turns
/// grow; the trunk's tree has every file; the repository is sound.
pub fn assert_exactly_once(trunk: &Tree, names: &[String]) {
    let landed = landings(trunk);
    let mut times: BTreeMap<&str, u32> = names.iter().map(|name| (name.as_str(), 0)).collect();
    for landing in &landed {
        *times.entry(&landing.branch).or_default() += 1;
    }
    let wrong: Vec<_> = times.iter().filter(|(_, times)| **times != 1).collect();
    assert!(wrong.is_empty(), "not exactly once: {wrong:?} in {landed:#?}");
    let tickets: BTreeSet<&str> = landed.iter().map(|landing| landing.ticket.as_str()).collect();
    assert_eq!(tickets.len(), landed.len(), "one ticket landed twice: {landed:#?}");
    assert!(landed.windows(2).all(|pair| pair[0].turn < pair[1].turn), "turns out of order: {landed:#?}");
    let files = trunk.git(&["ls-tree", "-r", "--name-only", "refs/heads/main"]);
    let files: BTreeSet<&str> = files.lines().collect();
    for name in names {
        assert!(files.contains(file_of(name).as_str()), "{name} is in the history and its file is not there");
    }
    trunk.git(&["fsck", "--full", "--no-dangling", "--no-progress"]);
}

/// Nothing of a passage is left in this repository: see [`Tree::leftovers`], and besides no note of a check that
/// has ended, no lock of a ref or an index, no record of a worktree that is gone.
pub fn assert_nothing_left(tree: &Tree) {
    assert_eq!(tree.leftovers(), [""; 0]);
    assert_eq!(ref_locks(tree), [""; 0]);
    let checks = tree.home().join(".cache/signalbox/checks");
    let notes: Vec<PathBuf> = listed(&checks)
        .flat_map(|of| listed(&of).collect::<Vec<_>>())
        .filter(|path| path.extension().is_some_and(|e| e == "last"))
        .collect();
    assert!(notes.is_empty(), "notes of checks: {notes:?}");
    let prunable = tree.git(&["worktree", "list", "--porcelain"]);
    assert!(!prunable.contains("prunable"), "{prunable}");
}

fn git_dir(tree: &Tree) -> PathBuf {
    PathBuf::from(tree.git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]))
}

fn listed(dir: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path())
}

/// The lock files that git has in this repository.
pub fn ref_locks(tree: &Tree) -> Vec<String> {
    fn below(dir: &Path, found: &mut Vec<String>) {
        for path in listed(dir) {
            if path.ends_with("signalbox") && path.parent().is_some_and(|above| !above.ends_with("refs")) {
                continue;
            }
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "lock") {
                found.push(path.display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    below(&git_dir(tree), &mut found);
    found
}

/// Writes a hook of a repository.
pub fn hook(tree: &Tree, name: &str, script: &str) {
    let path = git_dir(tree).join("hooks").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    executable(&path);
}

/// It was killed, and did not end by itself.
pub fn assert_killed(done: &Done) {
    assert_eq!(done.status.signal(), Some(9), "{}", done.all());
}

/// The processes below this one, by the system's table, each with its command's name.
pub fn below(process: Pid) -> Vec<(Pid, String)> {
    let mut children: BTreeMap<i32, Vec<(i32, String)>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let (Some(open), Some(close)) = (stat.find('('), stat.rfind(')')) else { continue };
        let parent = stat[close + 1..].split_ascii_whitespace().nth(1).and_then(|ppid| ppid.parse().ok());
        let Some(parent) = parent else { continue };
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let name = if command.is_empty() { stat[open + 1..close].to_owned() } else { command };
        children.entry(parent).or_default().push((pid, name));
    }
    let mut found = Vec::new();
    let mut next = vec![process.as_raw_nonzero().get()];
    while let Some(parent) = next.pop() {
        for (pid, name) in children.remove(&parent).unwrap_or_default() {
            next.push(pid);
            found.extend(Pid::from_raw(pid).map(|pid| (pid, name)));
        }
    }
    found
}

/// Kills a passage with all that it has started but the server's side of a push, as if its machine had died.
pub fn kill_machine(running: &Running) {
    let mut tree = below(running.pid());
    let server: Vec<Pid> =
        tree.iter().filter(|(_, name)| name.contains("receive-pack")).map(|(pid, _)| *pid).collect();
    let served: BTreeSet<i32> = server
        .iter()
        .flat_map(|pid| below(*pid))
        .map(|(pid, _)| pid)
        .chain(server.iter().copied())
        .map(|pid| pid.as_raw_nonzero().get())
        .collect();
    tree.retain(|(pid, _)| !served.contains(&pid.as_raw_nonzero().get()));
    let _ = rustix::process::kill_process(running.pid(), Signal::KILL);
    for (pid, _) in tree {
        // It may have ended meanwhile.
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Whether the process is stopped by a signal.
pub fn stopped(process: Pid) -> bool {
    let stat =
        std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|fields| fields.trim_start().starts_with('T'))
}

/// Whether the process is gone.
pub fn gone(process: Pid) -> bool {
    !Path::new(&format!("/proc/{}", process.as_raw_nonzero())).exists()
}

/// How large the long runs are: 1, unless `SIGNALBOX_STRESS` says otherwise.
pub fn stress() -> usize {
    std::env::var("SIGNALBOX_STRESS").ok().map_or(1, |text| text.parse().unwrap())
}

/// A random generator whose seed is printed, and can be set by `SIGNALBOX_SEED`.
#[expect(clippy::print_stdout, reason = "a failed run is repeated with its seed")]
pub fn random() -> fastrand::Rng {
    let seed =
        std::env::var("SIGNALBOX_SEED").map_or_else(|_| fastrand::u64(..), |text| text.parse().unwrap());
    println!("SIGNALBOX_SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

/// The queue: branch, whether it has the turn, and when its lease ends.
pub fn queue(tree: &Tree) -> Vec<(String, bool, i64)> {
    let done = tree.ok(&["queue"]);
    let tickets = done.events.iter().find(|event| event["event"] == "queue").unwrap()["tickets"].clone();
    let ticket = |t: &serde_json::Value| {
        (t["branch"].as_str().unwrap().to_owned(), t["turn"] == true, t["leaseUntil"].as_i64().unwrap())
    };
    tickets.as_array().unwrap().iter().map(ticket).collect()
}
