//! `signalbox demo`: eight branches are landed through six incidents, by a script with a lock file and by
//! signalbox, and the two repositories are compared afterwards.

mod audit;
mod by_flock;
mod by_signalbox;
mod ground;
mod incident;
mod programs;
mod table;
mod tell;

use super::Context;
use crate::args::Demo;
use crate::outcome::line;
use audit::Final;
use ground::{BRANCHES, Ground};
use incident::{Finding, Half, INCIDENTS, Incident};
use passage::Interrupt;
use passage::end::{End, exit, quoted};
use programs::Programs;
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use table::Row;
use tell::{Paint, Tell};

/// After how long a person looks why nothing lands.
const PERSON: Duration = Duration::from_secs(3);

/// Why the demo could not be run to its end.
#[derive(Debug)]
enum Trouble {
    /// A signal asked it to stop.
    Stopped(i32),
    /// Something did not work that has to.
    Failed(String),
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Trouble {
    fn end(self) -> End {
        match self {
            Self::Stopped(signal) => End::new(
                u8::try_from(128 + signal).unwrap_or(130),
                "interrupted",
                "the demo was stopped; its folder is removed, and nothing that it started runs on",
            ),
            Self::Failed(text) => End::new(
                exit::INTERNAL,
                "demo_failed",
                "the demo could not be run to its end; the next line says why",
            )
            .more(text),
        }
    }
}

/// What came of one half.
struct Outcome {
    findings: Vec<Finding>,
    end: Final,
    /// Both in one cell.
    summary: Finding,
}

pub(super) fn run(context: &Context, args: &Demo) -> Result<End, End> {
    let tell = Tell { paint: Paint::fitting(), json: context.json };
    let began = Instant::now();
    let root = tempfile::Builder::new()
        .prefix("signalbox-demo-")
        .tempdir()
        .map_err(|e| Trouble::Failed(format!("no folder can be made: {e}")).end())?;
    let path = root.path().canonicalize().map_err(|e| Trouble::from(e).end())?;
    let programs = Programs::new(&path, watch()).map_err(Trouble::end)?;
    let shown = both(tell, &programs, &path);
    // Nothing may run on in a folder that is looked at or removed.
    drop(programs);
    let (flock, signalbox) = shown.map_err(Trouble::end)?;
    let end = verdict(tell, flock.as_ref(), &signalbox, began.elapsed());
    if args.keep {
        let _ = root.keep();
        return Ok(kept(&end, &path, flock.is_some()));
    }
    if end.exit == exit::DONE {
        let line = format!("{} In a repository of yours it begins with:", end.line);
        let mut begin = End::new(end.exit, end.code, line).next("signalbox init --check 'make test'");
        begin.facts = end.facts;
        return Ok(begin);
    }
    Ok(end)
}

/// Hears Ctrl-C, SIGTERM and a closed terminal. However often they come, the demo tidies up first: that is
/// soon done.
fn watch() -> Interrupt {
    let interrupt = Interrupt::default();
    let cell = interrupt.cell();
    if let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) {
        std::thread::spawn(move || {
            for signal in &mut signals {
                cell.store(signal, Ordering::Relaxed);
            }
        });
    }
    interrupt
}

/// Runs both halves; the first only where there is a flock.
fn both(tell: Tell, programs: &Programs, root: &Path) -> Result<(Option<Outcome>, Outcome), Trouble> {
    if !programs.has("git") {
        return Err(Trouble::Failed("git cannot be started; install git 2.39 or later".to_owned()));
    }
    tell.opening();
    tell.script();
    tell.text("");
    std::thread::scope(|scope| {
        // Made while the first half waits for its person.
        let second = scope.spawn(|| Ground::make(programs, root.join("signalbox")));
        let flock = if programs.has("flock") {
            let ground = Ground::make(programs, root.join("flock"))?;
            Some(half(tell, &mut by_flock::ByFlock::new(&ground)?, None)?)
        } else {
            tell.text("     flock (of util-linux) is not installed, so this half is not run.\n");
            None
        };
        // So that a tree that was checked there does not count as checked here.
        let _ = std::fs::remove_file(programs.checked());
        tell.part("The same with signalbox");
        let ground = second.join().map_err(|_| Trouble::Failed("the second repository".to_owned()))??;
        let mut second = by_signalbox::BySignalbox::new(&ground, &mut |text| tell.step(text))?;
        tell.text("");
        let signalbox = half(tell, &mut second, Some(flock.as_ref()))?;
        Ok((flock, signalbox))
    })
}

/// Runs one half. With `first`, each incident is also printed for programs, beside what the first half made
/// of it.
fn half(tell: Tell, half: &mut dyn Half, first: Option<Option<&Outcome>>) -> Result<Outcome, Trouble> {
    let mut findings = Vec::new();
    for (at, incident) in INCIDENTS.iter().enumerate() {
        tell.incident(at + 1, incident);
        let finding = half.incident(incident.name, &mut |text| tell.step(text))?;
        tell.finding(&finding);
        tell.text("");
        if let (true, Some(first)) = (tell.json, first) {
            let first = first.map(|outcome| &outcome.findings[at]);
            line(&mut std::io::stdout(), &object(incident, first, &finding).to_string());
        }
        findings.push(finding);
    }
    let end = half.finally()?;
    let summary = Finding::new(end.sound(), summary(&end));
    Ok(Outcome { findings, end, summary })
}

fn object(incident: &Incident, flock: Option<&Finding>, signalbox: &Finding) -> Value {
    let found = |finding: &Finding| json!({ "good": finding.good, "found": finding.text });
    json!({
        "event": "incident", "incident": incident.name, "title": incident.title,
        "flock": flock.map(found), "signalbox": found(signalbox),
    })
}

fn summary(end: &Final) -> String {
    let mut parts = vec![format!("{} of {} landed", end.once(), BRANCHES.len())];
    for (branch, times) in end.landed.iter().filter(|(_, times)| **times > 1) {
        parts.push(format!("{branch} landed {times} times"));
    }
    for number in &end.doubles {
        parts.push(format!("{number} twice"));
    }
    if !end.by_hand {
        parts.push("the commit pushed by hand is lost".to_owned());
    }
    parts.push(if end.red { "main is red" } else { "main is green" }.to_owned());
    if end.sound() {
        parts[0] = format!("{} of {} landed, once each", end.once(), BRANCHES.len());
    }
    parts.join(", ")
}

/// Prints the table, and judges.
fn verdict(tell: Tell, flock: Option<&Outcome>, signalbox: &Outcome, took: Duration) -> End {
    let mut rows: Vec<Row<'_>> = INCIDENTS
        .iter()
        .enumerate()
        .map(|(at, incident)| Row {
            what: incident.short,
            found: [flock.map(|half| &half.findings[at]), Some(&signalbox.findings[at])],
        })
        .collect();
    rows.push(Row { what: "in the end", found: [flock.map(|half| &half.summary), Some(&signalbox.summary)] });
    tell.part("What was found in the two repositories");
    for text in table::lines(["incident", "with the lock file", "with signalbox"], &rows, tell.paint) {
        tell.text(&text);
    }
    tell.text("");
    let broken: Vec<&str> = INCIDENTS
        .iter()
        .zip(&signalbox.findings)
        .filter(|(_, finding)| !finding.good)
        .map(|(incident, _)| incident.name)
        .chain((!signalbox.end.sound()).then_some("in the end"))
        .collect();
    let end = if broken.is_empty() {
        End::new(exit::DONE, "shown", format!("That took {}.", seconds(took)))
    } else {
        let line = format!("signalbox did not keep its promise: {}; please report this", broken.join(", "));
        End::new(exit::INTERNAL, "promise_broken", line)
    };
    let count = |outcome: Option<&Outcome>| outcome.map(|outcome| outcome.end.once());
    end.fact("branches", BRANCHES.len())
        .fact("landedOnce", json!({ "flock": count(flock), "signalbox": count(Some(signalbox)) }))
        .fact("tookMs", u64::try_from(took.as_millis()).unwrap_or(u64::MAX))
}

/// Says where everything is, and what is worth trying there.
fn kept(shown: &End, root: &Path, flock: bool) -> End {
    let program = std::env::current_exe().map_or("signalbox".to_owned(), |p| p.display().to_string());
    let program = quoted(&program);
    let at = |path: &str| quoted(&root.join(path).display().to_string());
    let line = format!("{} Everything is in {}; try there:", shown.line, root.display());
    let other = if flock { "flock" } else { "signalbox" };
    let mut end = End::new(shown.exit, shown.code, line)
        .more(format!("cd {} && {program} log", at("signalbox/shop")))
        .more(format!("cd {} && {program} new adr 'One more'", at("signalbox/stock")))
        .more(format!("git -C {} log --graph --oneline main", at(&format!("{other}/trunk.git"))))
        .more(format!("rm -rf {}    (when you have seen enough)", quoted(&root.display().to_string())));
    end.facts.clone_from(&shown.facts);
    end.fact("folder", root.display().to_string())
}

/// A span in seconds.
fn seconds(span: Duration) -> String {
    format!("{}.{} s", span.as_secs(), span.subsec_millis() / 100)
}
