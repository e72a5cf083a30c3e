//! What a passage does while it waits: follow the queue, tell how it stands in it, warn of conflicts, and check ahead
//! what it expects to land.
//!
//! It runs beside the wait and never keeps it: whatever it found out when the turn comes is handed over, also a check
//! that still runs.

use crate::check::{Before, Checked, Kind, Question, Running, Subject};
use crate::estimate::{self, Range};
use crate::event::{Event, Show};
use crate::fault;
use crate::forecast::{Forecast, forecast};
use crate::foresee::Foresight;
use crate::holds;
use crate::interrupt::Interrupt;
use crate::land::command::RUNNING;
use crate::land::enter::TO_RUN;
use crate::results::Verdict;
use crate::settings::Settings;
use crate::site::Site;
use crate::slots;
use client::{EndedView, QueueView, Stay, TicketView, Typed};
use git::Oid;
use kernel::{Id, Millis};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Behind how many others it is not worth while yet to merge them all; more where more checks may run at once.
const FORESIGHT: usize = 4;

/// How long one has waited before anything is merged: most waits are shorter.
const FIRST: Duration = Duration::from_millis(300);

/// How often a running check is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How soon it is tried again where a slot was taken, or where one ahead may turn out to fail.
const AGAIN: Duration = Duration::from_millis(250);

/// The least time between two looks at the queue: for who is near its turn, and for who is not.
const PAUSE: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(2)];

/// How long one look at the queue waits for a change, in milliseconds.
const FOLLOW_MS: Millis = 20_000;

/// Who waits.
#[derive(Clone)]
pub(crate) struct Waiter {
    pub(crate) show: Arc<dyn Show>,
    pub(crate) interrupt: Interrupt,
    pub(crate) branch: String,
    pub(crate) head: Oid,
    pub(crate) stay: Stay,
    /// Whether it lands a branch: a command that is only run in a turn changes nothing that could be foreseen.
    pub(crate) lands: bool,
}

/// A lookout at work. Dropped, it stops, and its check with it.
pub(crate) struct Lookout {
    shared: Arc<Mutex<Shared>>,
    /// Ends what it reads from the remote.
    halt: Arc<AtomicI32>,
}

#[derive(Default)]
struct Shared {
    stop: bool,
    /// A check is being started or stopped, or the remote is read: the process must not end meanwhile, else what it
    /// has started would be left alone.
    busy: bool,
    before: Option<Before>,
    estimate: Option<Range>,
}

/// What a lookout leaves.
#[derive(Default)]
pub(crate) struct Found {
    /// About the tree that was expected.
    pub(crate) before: Option<Before>,
    /// How long the wait was expected to be when it began.
    pub(crate) estimate: Option<Range>,
    of: Option<Arc<Mutex<Shared>>>,
    /// Stops a check that nobody needs any more.
    stopping: Option<JoinHandle<()>>,
}

impl Found {
    /// What it found about the tree of that key. A check of another tree is stopped beside what goes on: that may take
    /// a while, and the turn has come.
    pub(crate) fn about(&mut self, key: &str) -> Option<Before> {
        let before = self.before.take()?;
        if before.key() == key {
            return Some(before);
        }
        // Where there is no thread to be had, it is dropped, and so stopped, here.
        self.stopping = std::thread::Builder::new().name("stop".into()).spawn(move || drop(before)).ok();
        None
    }

    /// Before the process ends: no check is left alone that was being started or stopped.
    pub(crate) fn settle(&mut self) {
        self.before = None;
        if let Some(shared) = self.of.take() {
            quiet(&shared);
        }
        if let Some(stopping) = self.stopping.take() {
            // A thread that panicked has ended too.
            let _ = stopping.join();
        }
    }
}

/// What stops a read from the remote: any number but 0.
const HALTED: i32 = 1;

/// How long a check may take to be started or stopped until it is left to itself.
const QUIET: Duration = Duration::from_secs(15);

fn quiet(shared: &Mutex<Shared>) {
    let until = Instant::now() + QUIET;
    while lock(shared).busy && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Lookout {
    /// Starts looking out. Without a thread to do it nothing is foretold, and nothing is lost.
    pub(crate) fn start(site: &Site, waiter: Waiter) -> Self {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let halt = Interrupt::default();
        let (site, of_thread) = (site.clone().heeding(&halt), Arc::clone(&shared));
        let _ = std::thread::Builder::new()
            .name("lookout".into())
            .spawn(move || Watch::new(&site, waiter, of_thread).run());
        Self { shared, halt: halt.cell() }
    }

    /// Ends it at once, and gives what it found.
    pub(crate) fn end(self) -> Found {
        let mut shared = lock(&self.shared);
        shared.stop = true;
        self.halt.store(HALTED, Ordering::Relaxed);
        let of = Some(Arc::clone(&self.shared));
        Found { before: shared.before.take(), estimate: shared.estimate, of, stopping: None }
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        if std::mem::replace(&mut shared.stop, true) {
            return;
        }
        self.halt.store(HALTED, Ordering::Relaxed);
        let before = shared.before.take();
        drop(shared);
        drop(before);
        quiet(&self.shared);
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The queue, each time that it has changed; less often while its reader is `far` behind.
fn follow(site: &Site, far: Arc<AtomicBool>) -> Receiver<QueueView> {
    let (sender, views) = sync_channel(1);
    let (signals, project) = (Arc::clone(&site.signals), site.project.clone());
    std::thread::spawn(move || {
        let calls = Typed::new(signals.as_ref(), &project);
        let mut mark: Option<String> = None;
        loop {
            let after = mark.as_deref().map(|mark| (mark, FOLLOW_MS));
            // Who is far behind does not wait for each change: it would have the box awake for all of them.
            match calls.list(after.filter(|_| !far.load(Ordering::Relaxed))) {
                Ok(view) => {
                    mark = Some(view.mark.clone());
                    // Nobody listens any more.
                    if sender.send(view).is_err() {
                        return;
                    }
                }
                Err(_) => std::thread::sleep(Duration::from_secs(1)),
            }
            std::thread::sleep(PAUSE[usize::from(far.load(Ordering::Relaxed))]);
        }
    });
    views
}

struct Watch<'a> {
    site: &'a Site,
    waiter: Waiter,
    ticket: Id,
    shared: Arc<Mutex<Shared>>,
    world: Option<Foresight<'a>>,
    /// Of whom the trunk was read last: their stays.
    read_for: Vec<i64>,
    trunk: Option<Oid>,
    /// Of the commit that was expected to be landed on last.
    settings: Option<(Oid, Settings)>,
    told: HashSet<String>,
    step: String,
    began: Instant,
    far: Arc<AtomicBool>,
    worth_it: bool,
    again: Option<Instant>,
}

impl<'a> Watch<'a> {
    fn new(site: &'a Site, waiter: Waiter, shared: Arc<Mutex<Shared>>) -> Self {
        let ticket = waiter.stay.ticket.clone();
        let (world, trunk, settings) = (None, None, None);
        let (read_for, told, step) = (vec![-1], HashSet::new(), String::new());
        let (began, far) = (Instant::now(), Arc::new(AtomicBool::new(true)));
        Self {
            site,
            waiter,
            ticket,
            shared,
            world,
            read_for,
            trunk,
            settings,
            told,
            step,
            began,
            far,
            worth_it: true,
            again: None,
        }
    }

    fn run(mut self) {
        let views = follow(self.site, Arc::clone(&self.far));
        let mut view = None;
        while !lock(&self.shared).stop {
            match views.recv_timeout(LOOK) {
                Ok(new) => {
                    self.tell(&new);
                    view = Some(new);
                    self.again = Some(Instant::now().max(self.began + FIRST));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
            }
            self.look_at_the_check();
            if let Some(view) = view.as_ref().filter(|_| self.again.is_some_and(|at| Instant::now() >= at)) {
                self.again = None;
                self.look(view);
            }
        }
    }

    /// Who has its turn before this one; none where there is no place to speak of, or nothing to expect of it.
    fn before<'v>(&self, view: &'v QueueView) -> Option<Vec<&'v TicketView>> {
        let mine = view.tickets.iter().position(|t| t.ticket == self.ticket.as_str());
        // No place, or the turn has come: the wait hears of it by itself.
        let mine = mine.filter(|at| !view.tickets[*at].turn)?;
        let comes = |t: &&TicketView| t.turn || admitted(view, &t.branch, &t.head);
        admitted(view, &self.waiter.branch, self.waiter.head.as_str())
            .then(|| view.tickets[..mine].iter().filter(comes).collect())
    }

    /// Whether so many are before this one that it is not worth while yet to merge them all.
    fn far(&self, before: usize) -> bool {
        // Which settings count is known once they were read; until then what this worktree has must do.
        let parallel = self.world.as_ref().map_or(self.site.settings.check.parallel, Foresight::parallel);
        before > FORESIGHT.max(usize::try_from(parallel).unwrap_or(FORESIGHT))
    }

    /// Shows what it saw, unless its time is over: the turn, and what came of it, have the last word.
    fn show(&self, event: &Event<'_>) {
        let shared = lock(&self.shared);
        if !shared.stop {
            self.waiter.show.show(event);
        }
    }

    fn look(&mut self, view: &QueueView) {
        let Some(before) = self.before(view).filter(|_| self.waiter.lands) else { return };
        self.worth_it = worth_it(&view.ended);
        if self.worth_it && !self.far(before.len()) && self.foresee(&before).is_none() {
            // What cannot be read or merged now is left to the turn.
            if let Some(world) = &mut self.world {
                world.forget();
            }
            self.read_for = vec![-1];
        }
    }

    fn tell(&mut self, view: &QueueView) {
        if let Some(freeze) = &view.freeze
            && holds::keeps_out(freeze, &self.waiter.branch, self.waiter.head.as_str())
        {
            let text = holds::waiting_for(freeze);
            if self.told.insert(text.clone()) {
                self.show(&Event::Note(&text));
            }
        }
        let Some(before) = self.before(view) else { return };
        self.far.store(self.far(before.len()), Ordering::Relaxed);
        let Some(first) = before.first() else { return };
        let now = self.site.clock.now();
        let elapsed = first.turn_at.map_or(0, |at| now - at);
        let wait = estimate::turn(&view.ended).map(|turn| estimate::wait(turn, before.len(), elapsed));
        let mut shared = lock(&self.shared);
        if shared.stop {
            return;
        }
        shared.estimate = shared.estimate.or(wait);
        self.waiter.show.show(&Event::Waiting {
            position: before.len() as u64,
            holder: &first.label,
            branch: &first.branch,
            step: &first.step,
            wait,
        });
    }

    /// Merges what is expected to land, and sees to its check. None where something cannot be told now.
    fn foresee(&mut self, before: &[&TicketView]) -> Option<()> {
        let trunk = self.trunk(before)?;
        let landing: Vec<&TicketView> = before.iter().filter(|t| !runs(&t.step)).copied().collect();
        let heads: Vec<Oid> = landing.iter().filter_map(|t| Oid::parse(&t.head).ok()).collect();
        if heads.len() != landing.len() {
            return Some(());
        }
        let head = self.waiter.head.clone();
        match forecast(self.world.as_mut()?, &trunk, &heads, &head).ok()? {
            Forecast::Lands { commit, base, with } => {
                self.told.retain(|text| !text.starts_with(WILL_CONFLICT));
                self.expect(&commit, &base, before.len(), with.len())?;
            }
            Forecast::Conflict { with, files } => {
                self.stop_check();
                self.warn(with.and_then(|at| landing.get(at)).copied(), &files);
            }
            Forecast::Nothing | Forecast::Unknown => self.stop_check(),
        }
        Some(())
    }

    /// The trunk; read anew whenever others stand before this one.
    fn trunk(&mut self, before: &[&TicketView]) -> Option<Oid> {
        let stays: Vec<i64> = before.iter().map(|t| t.entry).collect();
        if self.read_for != stays {
            let seen = self.reading(Site::read_trunk)?;
            let (settings, _) = self.reading(|site| site.trunk_settings(seen.trunk.as_ref()))?;
            match &mut self.world {
                Some(world) => world.settings(settings),
                None => self.world = Some(Foresight::new(self.site, settings)),
            }
            self.trunk = match (&seen.trunk, &mut self.world) {
                (Some(trunk), Some(world)) => Some(world.trunk(trunk).ok()?),
                _ => None,
            };
            self.read_for = stays;
        }
        self.trunk.clone()
    }

    /// Reads something that may be at the remote. None where it cannot be read, or its time is over.
    fn reading<T, E>(&self, read: impl FnOnce(&Site) -> Result<T, E>) -> Option<T> {
        let mut shared = lock(&self.shared);
        if shared.stop {
            return None;
        }
        shared.busy = true;
        drop(shared);
        let seen = read(self.site);
        self.at_rest();
        seen.ok()
    }

    /// The settings that count on that commit.
    fn settings_on(&mut self, commit: &Oid) -> Option<Settings> {
        if let Some((_, settings)) = self.settings.as_ref().filter(|(of, _)| of == commit) {
            return Some(settings.clone());
        }
        let (settings, its_own) = self.reading(|site| site.trunk_settings(Some(commit)))?;
        // What does not stand in the commit may change.
        self.settings = its_own.then(|| (commit.clone(), settings.clone()));
        Some(settings)
    }

    fn warn(&mut self, other: Option<&TicketView>, files: &[String]) {
        let with = other.map_or_else(|| "the trunk".to_owned(), |t| format!("{} of {}", t.branch, t.label));
        let text = match files {
            [] => format!("{WILL_CONFLICT} with {with}"),
            [file] => format!("{WILL_CONFLICT} with {with} in {file}"),
            [file, more @ ..] => format!("{WILL_CONFLICT} with {with} in {file} and {} more", more.len()),
        };
        if self.told.insert(text.clone()) {
            self.show(&Event::WillConflict { with: &with, files });
        }
        self.say_step(WILL_CONFLICT);
    }

    /// That commit is expected to land, on `base`, with so many `landed` of those `before`: its check, if it may run.
    fn expect(&mut self, commit: &Oid, base: &Oid, before: usize, landed: usize) -> Option<()> {
        let settings = self.settings_on(base)?;
        let tree = self.world.as_mut()?.tree(commit).ok()?;
        let Some(question) = Question::of(self.site, &settings, &tree) else { return Some(()) };
        let room = settings.check.ahead && before < usize::try_from(settings.check.parallel).unwrap_or(0);
        if lock(&self.shared).before.as_ref().is_some_and(|known| known.key() == question.key) {
            // Where it failed, one ahead may be to blame, and be found out.
            if self.failed() {
                self.again = Some(Instant::now() + AGAIN);
            }
            return Some(());
        }
        self.stop_check();
        match self.site.results().get(&question.key) {
            Some(Verdict::Green) => {
                self.say_step("passed ahead");
                return Some(());
            }
            Some(Verdict::Red) => {
                self.again = Some(Instant::now() + AGAIN);
                return Some(());
            }
            None => {}
        }
        if room {
            self.check(commit, &tree, &settings, question, landed);
        }
        Some(())
    }

    fn failed(&self) -> bool {
        matches!(&lock(&self.shared).before, Some(Before::Ended(ended)) if ended.code != Some(0))
    }

    fn check(&mut self, commit: &Oid, tree: &Oid, settings: &Settings, question: Question, landed: usize) {
        let Ok(Some(slot)) = slots::take(&self.site.state, settings.check.parallel) else {
            self.again = Some(Instant::now() + AGAIN);
            return;
        };
        let subject =
            Subject { commit, tree, settings, ticket: &self.ticket, branch: &self.waiter.branch, turn_no: 0 };
        let mut shared = lock(&self.shared);
        if shared.stop {
            return;
        }
        shared.busy = true;
        drop(shared);
        fault::point("ahead:before-start");
        let started =
            Running::start(self.site, None, &self.waiter.interrupt, &subject, question, Kind::Ahead, slot);
        fault::point("ahead:started");
        let mut shared = lock(&self.shared);
        // Without a worktree to run it in it is left to the turn; so is one that began too late.
        let Some(running) = started.ok().filter(|_| !shared.stop) else {
            drop(shared);
            return self.at_rest();
        };
        shared.busy = false;
        let log = running.log();
        self.waiter.show.show(&Event::Ahead { with: landed, log: &log });
        shared.before = Some(Before::Running(Box::new(running)));
        drop(shared);
        self.say_step("checking ahead");
    }

    fn look_at_the_check(&mut self) {
        let mut shared = lock(&self.shared);
        let Some(Before::Running(running)) = &mut shared.before else { return };
        let Ok(Some(checked)) = running.ended() else { return };
        // The lock is kept until what it said is remembered: the turn may come in this moment.
        let Some(Before::Running(running)) = shared.before.take() else { return };
        let Some(ended) = running.over(self.site, checked) else { return };
        let (code, took, log) = (ended.code, ended.took, ended.log.display().to_string());
        ended.show_left(self.waiter.show.as_ref());
        self.waiter.show.show(&Event::AheadChecked { code, took, log: &log });
        shared.before = Some(Before::Ended(ended));
        drop(shared);
        self.say_step(if checked == Checked::Green { "passed ahead" } else { "failed ahead" });
        self.again = Some(Instant::now());
    }

    fn stop_check(&mut self) {
        let mut shared = lock(&self.shared);
        let before = shared.before.take();
        shared.busy = before.is_some();
        drop(shared);
        // Dropped outside the lock: to stop it may take a while.
        drop(before);
        self.at_rest();
    }

    fn at_rest(&self) {
        lock(&self.shared).busy = false;
    }

    /// Lets others see what it does.
    fn say_step(&mut self, step: &str) {
        if self.step == step || lock(&self.shared).stop {
            return;
        }
        step.clone_into(&mut self.step);
        // Only a word for others; a place that is gone is noticed by the wait.
        let _ = self.site.calls().patience(Duration::ZERO).renew(&self.waiter.stay, Some(step));
    }
}

/// Whether that is what others see of who holds the turn, or waits for it, to run a command.
fn runs(step: &str) -> bool {
    step.starts_with(RUNNING) || step.starts_with(TO_RUN)
}

/// How short a check is not worth foreseeing anything, in milliseconds: neither a check ahead nor a warning would come
/// much before the turn.
const SHORT: Millis = 500;

/// Whether any of the last checks took long enough for foresight to be of use. One that was not needed in its turn took
/// no time there, so the longest counts.
fn worth_it(ended: &[EndedView]) -> bool {
    let check = |stay: &EndedView| stay.report.as_ref()?.get("phases")?.get("check")?.as_i64();
    ended.iter().filter_map(check).max().is_none_or(|longest| longest >= SHORT)
}

/// How every warning of a conflict begins, and what others see of who has one.
const WILL_CONFLICT: &str = "will conflict";

fn admitted(view: &QueueView, branch: &str, head: &str) -> bool {
    view.freeze.as_ref().is_none_or(|freeze| !holds::keeps_out(freeze, branch, head))
}
