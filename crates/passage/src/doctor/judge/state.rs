//! The state's folder and file, and the clocks.

use crate::doctor::code::Code;
use crate::doctor::finding::Finding;
use crate::end::{End, exit, quoted, short};
use crate::project_time;
use kernel::Millis;
use std::path::PathBuf;

/// What is known of the state.
#[derive(Debug, Clone)]
pub(in crate::doctor) struct State {
    pub(in crate::doctor) dir: PathBuf,
    /// Why it cannot be used, or is not whole.
    pub(in crate::doctor) unusable: Option<End>,
    /// The database's files that stand, and a name beside them that is free.
    pub(in crate::doctor) files: Vec<PathBuf>,
    pub(in crate::doctor) aside: PathBuf,
    /// Who owns the folder, and who asks.
    pub(in crate::doctor) owner: Option<(u32, u32)>,
    /// Whether every user may enter the folder.
    pub(in crate::doctor) open: bool,
    /// Bytes that can be written there.
    pub(in crate::doctor) free: Option<u64>,
    /// Next to nothing can be written there.
    pub(in crate::doctor) full: bool,
}

/// With less than this, in bytes, a warning is due.
const FREE_MIN: u64 = 64 << 20;

pub(in crate::doctor) fn judge(facts: &State) -> Vec<Finding> {
    let mut found = Vec::new();
    let dir = quoted(&facts.dir.display().to_string());
    match &facts.unusable {
        Some(end) => found.push(unusable(facts, end)),
        None if !facts.full => {
            let line = format!("whole, {} free", facts.free.map_or("?".to_owned(), size));
            found.push(Finding::new(Code::State, line).more(facts.dir.display().to_string()));
        }
        None => {}
    }
    let told = found.iter().any(|finding: &Finding| finding.code == Code::DiskFull);
    if facts.full && !told {
        let line = "the disk of the state is full; free space there";
        found.push(Finding::new(Code::DiskFull, line).next(format!("df -h {dir}")).exit(exit::AGAIN));
    } else if let Some(free) = facts.free.filter(|free| *free < FREE_MIN && !facts.full) {
        let line = format!("only {} are free on the disk of the state; free space there", size(free));
        found.push(Finding::new(Code::DiskLow, line).next(format!("df -h {dir}")));
    }
    if let Some((owner, me)) = facts.owner.filter(|(owner, me)| owner != me && *me == 0) {
        let line =
            format!("the state belongs to user {owner} and you are user {me}; what you make is not theirs");
        found.push(
            Finding::new(Code::StateNotYours, line)
                .more(format!("Work as user {owner}, or make it yours (as the system's administrator):"))
                .next(format!("chown -R {me} {dir}")),
        );
    }
    if facts.open {
        let line = "every user of this machine can enter the state's folder, and read the project's id";
        found.push(Finding::new(Code::StateOpen, line).next(format!("chmod -R o= {dir}")));
    }
    found
}

fn unusable(facts: &State, end: &End) -> Finding {
    let dir = quoted(&facts.dir.display().to_string());
    let mut finding = Finding::of(end.clone());
    match finding.code {
        Code::StateUnusable if !facts.files.is_empty() => {
            let words = |paths: &[PathBuf]| -> Vec<String> {
                paths.iter().map(|path| quoted(&path.display().to_string())).collect()
            };
            let aside = quoted(&facts.aside.display().to_string());
            let files = words(&facts.files).join(" ");
            finding.end.next =
                Some(format!("mkdir {aside} && mv {files} {aside} && signalbox init --take-over"));
            finding = finding.more(
                "Set aside it can still be looked at. A backup of it is no way back: turns and numbers of later \
                 would be given again.",
            );
        }
        Code::StateReadOnly => {
            finding.end.next = match facts.owner {
                Some((owner, me)) if owner != me => {
                    finding =
                        finding.more(format!("It belongs to user {owner}. The administrator can give it:"));
                    Some(format!("chown -R {me} {dir}"))
                }
                _ => Some(format!("chmod -R u+rwX {dir}")),
            };
        }
        Code::StateBusy => finding.end.next = Some("signalbox doctor".to_owned()),
        Code::DiskFull => finding.end.next = Some(format!("df -h {dir}")),
        _ => {}
    }
    finding.more(facts.dir.display().to_string())
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = UNITS.iter().enumerate().rev().find(|(n, _)| bytes >> (10 * n) > 0).map_or(0, |(n, _)| n);
    format!("{} {}", bytes >> (10 * unit), UNITS[unit])
}

/// What the clocks say.
#[derive(Debug, Clone, Copy)]
pub(in crate::doctor) struct Clocks {
    /// This machine's.
    pub(in crate::doctor) now: Millis,
    /// The latest that the project has seen.
    pub(in crate::doctor) project: Millis,
    /// The file system's, when it was asked right before `now`; none where it does not tell.
    pub(in crate::doctor) files: Option<Millis>,
}

pub(in crate::doctor) fn judge_clocks(facts: &Clocks) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(text) = project_time::ahead(facts.now, facts.project) {
        let (line, more) = text.split_once(": ").unwrap_or((&text, ""));
        found.push(
            Finding::new(Code::ProjectAhead, line).more(capital(more)).next("signalbox project replace"),
        );
    }
    let apart = |files: &Millis| files.abs_diff(facts.now) > project_time::AHEAD_MAX.unsigned_abs();
    if let Some(files) = facts.files.filter(apart) {
        let by = crate::times::span(i64::try_from(files.abs_diff(facts.now)).unwrap_or(i64::MAX));
        let line =
            format!("the file system's clock and this machine's are {} apart; set both", short(&by, 20));
        found.push(Finding::new(Code::FileClock, line));
    }
    if found.is_empty() {
        let line = "this clock, the project's time and the file system's agree; a remote's is not seen";
        found.push(Finding::new(Code::Clock, line));
    }
    found
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::unusable_state;
    use store::OpenError;

    fn state(error: Option<OpenError>) -> State {
        let dir = PathBuf::from("/a b");
        State {
            unusable: error.map(|error| unusable_state(&dir, &error)),
            files: vec![dir.join("state.db")],
            aside: dir.join("state.db.damaged"),
            dir,
            owner: Some((1, 1)),
            open: false,
            free: Some(5 << 30),
            full: false,
        }
    }

    fn told(facts: &State) -> Vec<(Code, Option<String>)> {
        judge(facts).into_iter().map(|finding| (finding.code, finding.end.next)).collect()
    }

    #[test]
    fn every_reason_why_a_state_cannot_be_opened_is_a_finding_of_its_own() {
        let set_aside = "mkdir '/a b/state.db.damaged' && mv '/a b/state.db' '/a b/state.db.damaged' && \
                         signalbox init --take-over";
        for (error, code, next) in [
            (OpenError::Missing, Code::NotSetUp, Some("signalbox init --check 'make test'")),
            (OpenError::Newer, Code::StateNewer, None),
            (OpenError::NotOurs, Code::StateUnusable, Some(set_aside)),
            (OpenError::Corrupt, Code::StateUnusable, Some(set_aside)),
            (OpenError::ReadOnly, Code::StateReadOnly, Some("chmod -R u+rwX '/a b'")),
            (OpenError::Full, Code::DiskFull, Some("df -h '/a b'")),
            (OpenError::NetworkFileSystem("nfs"), Code::StateOnNetwork, None),
            (OpenError::Copied, Code::StateCopied, Some("signalbox init --take-over")),
            (OpenError::Busy, Code::StateBusy, Some("signalbox doctor")),
        ] {
            assert_eq!(told(&state(Some(error))), [(code, next.map(str::to_owned))], "{error:?}");
        }
    }

    #[test]
    fn a_disk_that_is_low_or_full_is_told_once() {
        let with = |free, full| State { free: Some(free), full, ..state(None) };
        assert_eq!(told(&with(FREE_MIN, false)), [(Code::State, None)]);
        let df = Some("df -h '/a b'".to_owned());
        assert_eq!(told(&with(FREE_MIN - 1, false)), [(Code::State, None), (Code::DiskLow, df.clone())]);
        assert_eq!(told(&with(0, true)), [(Code::DiskFull, df.clone())]);
        let full = State { full: true, free: Some(0), ..state(Some(OpenError::Full)) };
        assert_eq!(told(&full), [(Code::DiskFull, df)]);
        assert_eq!(size(5 << 30), "5 GiB");
        assert_eq!(size(0), "0 B");
    }

    #[test]
    fn clocks_that_are_a_minute_apart_are_told() {
        let codes = |project, files| -> Vec<Code> {
            let facts = Clocks { now: 1_000_000, project, files };
            judge_clocks(&facts).iter().map(|finding| finding.code).collect()
        };
        assert_eq!(codes(0, Some(1_060_000)), [Code::Clock]);
        assert_eq!(codes(0, Some(1_060_001)), [Code::FileClock]);
        assert_eq!(codes(0, Some(939_999)), [Code::FileClock]);
        assert_eq!(codes(1_060_001, None), [Code::ProjectAhead]);
    }
}
