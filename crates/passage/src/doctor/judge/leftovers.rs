//! What killed processes have left.

use crate::doctor::code::Code;
use crate::doctor::finding::Finding;
use crate::end::{exit, naming, quoted};
use crate::pool::Left;
use std::path::PathBuf;

/// What is there of it.
#[derive(Debug, Clone, Default)]
pub(in crate::doctor) struct Leftovers {
    /// The branches of pushes whose end nobody has seen, and whose processes are gone.
    pub(in crate::doctor) cut_off: Vec<String>,
    /// Notes of pushes that cannot be read.
    pub(in crate::doctor) broken: Vec<PathBuf>,
    /// How many locks of passages are free.
    pub(in crate::doctor) dead_locks: usize,
    /// The tickets for which objects are kept and that nobody goes on with.
    pub(in crate::doctor) kept_refs: usize,
    /// Temporary files of processes that died.
    pub(in crate::doctor) temporaries: Vec<PathBuf>,
    /// The notes of places that were kept and have ended, with their branches.
    pub(in crate::doctor) kept_places: Vec<(String, PathBuf)>,
    /// What checks have left running.
    pub(in crate::doctor) running: Vec<Left>,
    /// Worktrees whose folders are gone.
    pub(in crate::doctor) worktrees: Vec<PathBuf>,
}

const SETTLE: &str = "signalbox land --settle";

pub(in crate::doctor) fn judge(facts: &Leftovers) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(branch) = facts.cut_off.first() {
        let line = "the push of {} was cut off and what became of it is not known yet; settle it";
        let others = facts.cut_off.iter().skip(1).map(|branch| naming("and of {}", [branch]));
        found.push(
            Finding::new(Code::OpenIntent, naming(line, [branch]))
                .lines(others)
                .exit(exit::UNKNOWN)
                .next(SETTLE),
        );
    }
    for note in &facts.broken {
        let line = "the note of a push cannot be read; look whether its branch landed, then remove it";
        let path = note.display().to_string();
        let finding = Finding::new(Code::BrokenIntent, line).exit(exit::INTERNAL);
        found.push(finding.next(format!("rm {}", quoted(&path))));
    }
    let counted =
        |n: usize, one: &str, many: &str| if n == 1 { one.to_owned() } else { format!("{n} {many}") };
    if facts.dead_locks > 0 {
        let locks =
            counted(facts.dead_locks, "a passage was killed and has", "passages were killed and have");
        let line = format!("{locks} left a lock; the next landing removes it, too");
        found.push(Finding::new(Code::DeadLocks, line).next(SETTLE));
    }
    if facts.kept_refs > 0 {
        let tickets = counted(facts.kept_refs, "a passage", "passages");
        let line =
            format!("objects are kept for {tickets} that nobody goes on with; the next landing lets go");
        found.push(Finding::new(Code::KeptRefs, line).next(SETTLE));
    }
    if !facts.temporaries.is_empty() {
        let files = counted(facts.temporaries.len(), "a temporary file", "temporary files");
        let line = format!("processes that died have left {files}; the next landing removes them, too");
        let paths = facts.temporaries.iter().take(10).map(|path| path.display().to_string());
        found.push(Finding::new(Code::Temporaries, line).lines(paths).next(SETTLE));
    }
    if let Some((branch, _)) = facts.kept_places.first() {
        let n = facts.kept_places.len();
        let text = "the kept place of {} has ended, and its note stands; remove it";
        let line = naming(text, [if n == 1 { branch } else { "some branches" }]);
        let notes: Vec<String> =
            facts.kept_places.iter().map(|(_, note)| quoted(&note.display().to_string())).collect();
        found.push(Finding::new(Code::KeptPlaces, line).next(format!("rm {}", notes.join(" "))));
    }
    if !facts.running.is_empty() {
        found.push(running(&facts.running));
    }
    if !facts.worktrees.is_empty() {
        let worktrees = counted(facts.worktrees.len(), "a worktree that is", "worktrees that are");
        let line = format!("git has records of {worktrees} gone; it drops them with: git worktree prune");
        let paths = facts.worktrees.iter().take(10).map(|path| path.display().to_string());
        found.push(Finding::new(Code::WorktreesGone, line).lines(paths).next("git worktree prune"));
    }
    if found.is_empty() {
        found.push(Finding::new(Code::Leftovers, "nothing of killed processes is left"));
    }
    found
}

fn running(left: &[Left]) -> Finding {
    let line = "checks have left processes running, which keep their checkouts from being used; stop them";
    let told = left.iter().take(10).map(|left| format!("{} in {}", left.named(), left.dir.display()));
    let mut pids: Vec<i32> =
        left.iter().flat_map(|left| &left.processes).map(|process| process.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    let words: Vec<String> = pids.iter().map(ToString::to_string).collect();
    Finding::new(Code::Checkouts, line).lines(told).next(format!("kill {}", words.join(" ")))
}
