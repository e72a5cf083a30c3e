//! The check: run in a worktree of its own, in a process group of its own, while the turn is renewed
//! elsewhere.

use crate::event::{Event, Show};
use crate::interrupt::Interrupt;
use crate::live::Live;
use crate::pool::{self, Bay, Left, NoBay};
use crate::process::{Group, Task};
use crate::results::{self, Verdict};
use crate::settings::Settings;
use crate::site::Site;
use crate::slots;
use crate::turn::{Over, Turn};
use crate::{fault, files};
use git::Oid;
use kernel::{Id, Millis};
use rustix::process::Signal;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// It passed, or need not run.
    Green,
    /// It failed, with this code; none if a signal ended it.
    Red(Option<i32>),
    /// The turn was lost; the check was stopped.
    Lost,
    /// The turn's limit came; the check was stopped. It had run for this long.
    TooLong(Millis),
    /// A person asked to stop.
    Interrupted,
}

/// What is checked, for whom.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The commit to check out.
    pub commit: &'a Oid,
    /// Its tree: what the result is remembered by.
    pub tree: &'a Oid,
    /// The trunk's settings.
    pub settings: &'a Settings,
    /// The ticket.
    pub ticket: &'a Id,
    /// The branch.
    pub branch: &'a str,
    /// The turn.
    pub turn_no: i64,
}

/// A command that decides about a tree, and what its result is remembered by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The command.
    pub command: String,
    /// See [`results::key`].
    pub key: String,
}

impl Question {
    /// What is to be asked about a tree; none where nothing is checked.
    #[must_use]
    pub fn of(site: &Site, settings: &Settings, tree: &Oid) -> Option<Self> {
        let check = &settings.check;
        let command = check.command.as_deref().filter(|_| !check.none)?.to_owned();
        let top = site.repo.worktree().unwrap_or(site.repo.common_dir());
        let key = results::key(tree.as_str(), &command, check, top);
        Some(Self { command, key })
    }
}

/// What a passage found out before its turn.
#[derive(Debug)]
pub enum Before {
    /// A check that still runs.
    Running(Box<Running>),
    /// A check that has ended.
    Ended(Ended),
}

/// A check that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// What its result is remembered by.
    pub key: String,
    /// The command.
    pub command: String,
    /// The command's exit code.
    pub code: Option<i32>,
    /// How long it took.
    pub took: Millis,
    /// Where its output is.
    pub log: PathBuf,
    /// What it has left running.
    pub left: Option<Left>,
    /// Whether it was killed from outside, which says nothing of the tree.
    pub killed: bool,
}

impl Ended {
    /// Says what it has left running.
    pub(crate) fn show_left(&self, show: &dyn Show) {
        let Some(left) = &self.left else { return };
        let (n, named, dir) = (left.processes.len(), left.named(), left.dir.display());
        let some = if n == 1 { "a process".to_owned() } else { format!("{n} processes") };
        let text = format!("the check left {some} running: {named}; {dir} is not used again while that runs");
        show.show(&Event::Warning(&text));
    }
}

impl Before {
    /// The key of the tree that it is about.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Running(running) => &running.key,
            Self::Ended(ended) => &ended.key,
        }
    }
}

/// Runs the check of `subject` in its turn, unless its tree was green before. What was found out `before` about the
/// same tree counts.
///
/// # Errors
/// There is no worktree to run it in, or it cannot be started.
pub fn in_turn(
    site: &Site,
    show: &Arc<dyn Show>,
    interrupt: &Interrupt,
    live: &Live,
    (subject, question): (&Subject<'_>, Question),
    turn: &Turn<'_>,
    before: Option<Before>,
) -> Result<Checked, NoBay> {
    if site.results().get(&question.key) == Some(Verdict::Green) {
        show.show(&Event::AlreadyGreen);
        return Ok(Checked::Green);
    }
    match before {
        Some(Before::Running(running)) => {
            show.show(&Event::Note("its check, which began ahead, goes on"));
            running.shown(show.as_ref());
            return running.watched(site, show.as_ref(), interrupt, Some(turn));
        }
        Some(Before::Ended(Ended { command, code, took, log, killed: false, .. })) if code != Some(0) => {
            show.show(&Event::Check { command: &command, log: &log.display().to_string() });
            show.show(&Event::Output(&tail(&log)));
            show.show(&Event::Checked { code, took });
            return Ok(Checked::Red(code));
        }
        _ => {}
    }
    let running =
        Running::start(site, Some(show), interrupt, subject, question, Kind::Turn, live.for_child()?)?;
    running.watched(site, show.as_ref(), interrupt, Some(turn))
}

/// Runs the check of the trunk alone, once: what it said is remembered. It waits for a slot, but where there is none at
/// all (`check.parallel` 1). Nothing but an interruption stops it.
///
/// # Errors
/// As [`in_turn`].
pub fn of_trunk(
    site: &Site,
    show: &Arc<dyn Show>,
    interrupt: &Interrupt,
    live: &Live,
    subject: &Subject<'_>,
) -> Result<Checked, NoBay> {
    let Some(question) = Question::of(site, subject.settings, subject.tree) else {
        return Ok(Checked::Green);
    };
    match site.results().get(&question.key) {
        Some(Verdict::Green) => {
            show.show(&Event::AlreadyGreen);
            return Ok(Checked::Green);
        }
        Some(Verdict::Red) => return Ok(Checked::Red(None)),
        None => {}
    }
    let parallel = subject.settings.check.parallel;
    let guard = loop {
        match slots::take(&site.state, parallel) {
            Ok(Some(slot)) => break slot,
            // Nobody waits for it: it lets those go first for whom somebody does.
            Ok(None) if parallel > 1 && interrupt.signal().is_none() => std::thread::sleep(FOR_A_SLOT),
            _ => break live.for_child()?,
        }
    };
    if interrupt.signal().is_some() {
        return Ok(Checked::Interrupted);
    }
    let running = Running::start(site, Some(show), interrupt, subject, question, Kind::Trunk, guard)?;
    running.watched(site, show.as_ref(), interrupt, None)
}

/// How often the check of the trunk alone looks for a slot.
const FOR_A_SLOT: Duration = Duration::from_millis(100);

/// What a check is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A landing whose turn it is.
    Turn,
    /// A landing that waits.
    Ahead,
    /// The trunk alone, to tell whose fault a red check is.
    Trunk,
}

/// A check that runs. Dropped, it is stopped.
pub struct Running {
    /// What its result is remembered by.
    pub key: String,
    command: String,
    log: PathBuf,
    began: Millis,
    group: Group,
    bay: Option<Bay>,
    interrupt: Interrupt,
    aloud: bool,
    tree: Oid,
    settings: Settings,
    killed: bool,
    /// The command may close its own copy of the guard.
    _guard: File,
}

/// The signals that end a check from outside: the system where memory is short, and people.
const FROM_OUTSIDE: [Signal; 2] = [Signal::KILL, Signal::TERM];

/// Whether a code, or what a shell says of what it had started, is of a signal from outside.
fn killed_from_outside(code: i32) -> bool {
    FROM_OUTSIDE.iter().any(|signal| code == 128 + signal.as_raw())
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("group", &self.group).finish_non_exhaustive()
    }
}

impl Running {
    /// Starts a check. Its output goes to a log, and to `aloud`. `guard` becomes its standard input.
    ///
    /// # Errors
    /// As [`in_turn`].
    pub fn start(
        site: &Site,
        aloud: Option<&Arc<dyn Show>>,
        interrupt: &Interrupt,
        subject: &Subject<'_>,
        question: Question,
        kind: Kind,
        guard: File,
    ) -> Result<Self, NoBay> {
        let bay = pool::take(&site.repo, &site.live_dir(), subject.commit)?;
        fault::point("check:bay-taken");
        bay.occupied(subject.ticket, None)?;
        let log = log_path(&site.state, subject.ticket, kind != Kind::Trunk)?;
        fault::point("check:before-start");
        // What the check says is shown after the line that says that it runs.
        let said = Arc::new(Mutex::new(()));
        let saying = said.lock();
        let (turn, ahead) = match kind {
            Kind::Ahead => (String::new(), "1"),
            _ => (subject.turn_no.to_string(), ""),
        };
        let Question { command, key } = question;
        let kept = guard.try_clone()?;
        let mut group = Group::start(Task {
            command: &command,
            dir: &bay.dir,
            env: &[
                ("SIGNALBOX_BRANCH", subject.branch.to_owned()),
                ("SIGNALBOX_TRUNK", site.trunk.branch.clone()),
                ("SIGNALBOX_TURN", turn),
                ("SIGNALBOX_AHEAD", ahead.to_owned()),
                ("SIGNALBOX_CHECK", subject.ticket.as_str().to_owned()),
            ],
            guard,
            log: create(&log)?,
            sink: match aloud {
                Some(show) => {
                    let (show, said) = (Arc::clone(show), Arc::clone(&said));
                    Arc::new(move |bytes: &[u8]| {
                        drop(said.lock());
                        show.show(&Event::Output(bytes));
                    })
                }
                None => Arc::new(|_: &[u8]| {}),
            },
        })?;
        fault::point("check:spawned");
        interrupt.guard(group.number());
        if let Err(error) = bay.occupied(subject.ticket, Some(group.number())) {
            group.stop();
            interrupt.unguard(group.number());
            return Err(error.into());
        }
        fault::point("check:started");
        let began = site.clock.now();
        let running = Self {
            key,
            command,
            log,
            began,
            group,
            bay: Some(bay),
            interrupt: interrupt.clone(),
            aloud: aloud.is_some(),
            tree: subject.tree.clone(),
            settings: subject.settings.clone(),
            killed: false,
            _guard: kept,
        };
        if let Some(show) = aloud {
            running.shown(show.as_ref());
        }
        drop(saying);
        Ok(running)
    }

    fn shown(&self, show: &dyn Show) {
        show.show(&Event::Check { command: &self.command, log: &self.log.display().to_string() });
    }

    /// Whether it has ended, and how: green or red.
    ///
    /// # Errors
    /// The system cannot tell.
    pub fn ended(&mut self) -> std::io::Result<Option<Checked>> {
        Ok(self.group.ended()?.map(|status| {
            let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
            self.killed = code.is_some_and(killed_from_outside);
            if status.success() { Checked::Green } else { Checked::Red(code) }
        }))
    }

    /// Where its output goes, for people.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.display().to_string()
    }

    /// For how long it has run.
    #[must_use]
    pub fn ran(&self, now: Millis) -> Millis {
        (now - self.began).max(0)
    }

    /// It has ended like this: clears up after it, and remembers what it said, unless it was killed, or what the
    /// result depends on has changed meanwhile. None where it had to be stopped.
    pub fn over(mut self, site: &Site, checked: Checked) -> Option<Ended> {
        let (verdict, code) = match checked {
            Checked::Green => (Verdict::Green, Some(0)),
            Checked::Red(code) => (Verdict::Red, code),
            // Dropped, it is stopped.
            _ => return None,
        };
        let took = self.ran(site.clock.now());
        self.group.clear();
        let left = self.vacate();
        fault::point("check:ended");
        let killed = self.killed;
        let asked = Question::of(site, &self.settings, &self.tree);
        if !killed && asked.is_some_and(|question| question.key == self.key) {
            site.results().put(&self.key, verdict);
        }
        let (key, command, log) = (self.key.clone(), self.command.clone(), self.log.clone());
        Some(Ended { key, command, code, took, log, left, killed })
    }

    /// Waits for its end.
    fn watched(
        mut self,
        site: &Site,
        show: &dyn Show,
        interrupt: &Interrupt,
        turn: Option<&Turn<'_>>,
    ) -> Result<Checked, NoBay> {
        let aloud = self.aloud;
        let checked = watch(site, show, interrupt, &mut self, turn)?;
        if let Some(ended) = self.over(site, checked) {
            if !aloud && ended.code != Some(0) {
                show.show(&Event::Output(&tail(&ended.log)));
            }
            show.show(&Event::Checked { code: ended.code, took: ended.took });
            ended.show_left(show);
        }
        Ok(checked)
    }

    fn vacate(&mut self) -> Option<Left> {
        self.interrupt.unguard(self.group.number());
        self.bay.take()?.vacated()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.bay.is_some() {
            self.group.stop();
            // Where something of it goes on, its note says so.
            let _ = self.vacate();
            fault::point("check:ended");
        }
    }
}

/// How much of the log of a check that ran ahead is shown where it failed, in bytes.
const TAIL: u64 = 16 << 10;

/// The end of a log. Without one that can be read there is nothing to show.
fn tail(log: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        file.take(TAIL).read_to_end(&mut text)
    });
    if read.is_ok() { text } else { Vec::new() }
}

/// How often a running check is looked at.
const LOOK: Duration = Duration::from_millis(10);

fn watch(
    site: &Site,
    show: &dyn Show,
    interrupt: &Interrupt,
    running: &mut Running,
    turn: Option<&Turn<'_>>,
) -> std::io::Result<Checked> {
    let mut warned = false;
    loop {
        if let Some(checked) = running.ended()? {
            return Ok(checked);
        }
        if interrupt.signal().is_some() {
            return Ok(Checked::Interrupted);
        }
        if let Some(turn) = turn {
            let now = site.clock.now();
            match turn.over(now, turn.margin()) {
                Some(Over::Limit) => return Ok(Checked::TooLong(running.ran(now))),
                Some(Over::Lost) => return Ok(Checked::Lost),
                None => {}
            }
            if !warned && turn.nearly_over(now) {
                warned = true;
                show.show(&Event::Warning(
                    "the turn has used four fifths of its limit; at the limit the check is stopped",
                ));
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// How many logs are kept.
const LOGS_KEPT: usize = 100;

fn log_path(state: &Path, ticket: &Id, in_turn: bool) -> std::io::Result<PathBuf> {
    let dir = state.join("logs");
    files::private_dir(&dir)?;
    let mut old: Vec<(std::time::SystemTime, PathBuf)> = std::fs::read_dir(&dir)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            entry.file_name().to_str().filter(|name| files::is_log(name))?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    old.sort();
    let surplus = old.len().saturating_sub(LOGS_KEPT - 1);
    for (_, path) in old.into_iter().take(surplus) {
        let _ = files::drop(&path);
    }
    Ok(dir.join(files::log_name(ticket, in_turn)))
}

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
