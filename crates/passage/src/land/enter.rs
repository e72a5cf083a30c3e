//! Steps 1 and 2: what must hold before entering, and the wait.

use super::command::{Errand, commit_here};
use super::{Inside, Options, Passage};
use crate::end::{End, exit, naming, quoted, short};
use crate::event::{Event, Show};
use crate::fault;
use crate::holds;
use crate::interrupt::Interrupt;
use crate::kept;
use crate::lfs;
use crate::live::{self, Live};
use crate::locked;
use crate::lookout::{Found, Lookout, Waiter};
use crate::machine::{Saw, Why};
use crate::project_time;
use crate::renew;
use crate::results;
use crate::settings::Settings;
use crate::settle;
use crate::site::Site;
use crate::split;
use client::{CallError, Enter, Stay, TicketView, Typed};
use git::{GitError, Head, Obstacle, ObstacleKind, Oid, Operation, Remote, Repo};
use kernel::{Code, Id, Millis};
use landing::Outcome;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// What others see of who waits for its turn to run a command begins like this; what follows is the command.
pub(crate) const TO_RUN: &str = "waiting to run: ";

/// The longest that one `queue/wait` waits.
const WAIT_MAX_MS: Millis = 55_000;

/// How often a waiter looks for tickets of this machine whose processes are gone.
const REAP_EVERY: Duration = Duration::from_millis(250);

impl<'a> Passage<'a> {
    /// Everything that is refused before the queue is entered.
    pub(super) fn prepare(
        site: &'a Site,
        show: Arc<dyn Show>,
        interrupt: Interrupt,
        options: Options,
        errand: Option<Errand>,
    ) -> Result<Self, End> {
        not_inside(site, &options)?;
        // While another passage lives the lock may be its own: then the queue decides who touches the refs.
        if !live::any_lives(&site.live_dir())
            && let Some(end) = locked::end(&locked::refs(&site.trunk))
        {
            return Err(end);
        }
        let report = settle::settle(site, show.as_ref());
        if let Some(end) = locked::end(&report.locks) {
            return Err(end);
        }
        if !report.left.is_empty() {
            return Err(left_behind(&report.left));
        }
        settle::reap(site, show.as_ref());
        settle::tidy(site);
        let (head, (ticket, live)) = match &errand {
            // A place that was kept is a landing's.
            Some(_) => (commit_here(site)?, fresh_place(site)?),
            None => {
                let head = pin(site, show.as_ref(), &options)?;
                let place = place(site, options.ticket.as_ref(), &options.branch, &head)?;
                (head, place)
            }
        };
        let deadline = options.wait.map(|wait| Instant::now() + wait);
        Ok(Self {
            site,
            show,
            interrupt,
            options,
            head,
            ticket,
            live,
            stay: None,
            stands: false,
            turn: None,
            epoch: None,
            seen: None,
            landing: None,
            intent: None,
            phases: BTreeMap::new(),
            check_code: None,
            files: Vec::new(),
            end: None,
            lease_until: Millis::MIN,
            said: String::new(),
            hold: None,
            found: Found::default(),
            ahead: None,
            held_path: None,
            frozen_by: None,
            deadline,
            errand,
        })
    }

    pub(super) fn enter(&mut self) -> Saw {
        // What is reported is this stay's.
        self.phases.clear();
        self.found = Found::default();
        self.ahead = None;
        let enter = Enter {
            ticket: self.ticket.clone(),
            branch: self.options.branch.clone(),
            head: self.head.as_str().to_owned(),
            label: self.options.label.clone(),
            step: Some(match &self.errand {
                Some(errand) => format!("{TO_RUN}{}", errand.shown()),
                None => "waiting".to_owned(),
            }),
        };
        let entered = self.site.calls().enter(&enter, None);
        fault::point("enter:answered");
        let view = match entered {
            Ok(view) => view,
            Err(error) => {
                self.end = Some(crate::refused::end(&error, None));
                return if error.is(Code::TicketGone) { Saw::Gone } else { Saw::Unreachable };
            }
        };
        self.stay = Some(Stay { ticket: self.ticket.clone(), entry: view.entry });
        self.lease_until = view.lease_until;
        if let Some(text) = project_time::ahead(self.site.clock.now(), view.touched_at) {
            self.show.show(&Event::Warning(&text));
        }
        let position = u64::try_from(view.position).unwrap_or(0);
        self.show.show(&Event::Entered { ticket: self.ticket.as_str(), position });
        if view.turn {
            return match self.begin_turn(&view) {
                Saw::Turn => Saw::Entered { turn: true },
                other => other,
            };
        }
        self.tell(&view);
        if self.options.wait == Some(Duration::ZERO) {
            return Saw::StillWaiting;
        }
        Saw::Entered { turn: false }
    }

    fn tell(&self, view: &TicketView) {
        if let Some(freeze) = &view.blocked {
            self.show.show(&Event::Note(&holds::waiting_for(freeze)));
        }
        let Some(holder) = view.ahead.first() else { return };
        self.show.show(&Event::Waiting {
            position: u64::try_from(view.position).unwrap_or(0),
            holder: &holder.label,
            branch: &holder.branch,
            step: &holder.step,
            wait: None,
        });
    }

    /// One long wait after another, each of which also renews, until the turn comes. Meanwhile tickets of
    /// this machine whose processes are gone are ended, so that nobody waits for their leases.
    pub(super) fn wait(&mut self) -> Saw {
        let Some(stay) = self.stay.clone() else { return Saw::Broken };
        let deadline = self.deadline;
        let mut lease = None;
        let lookout = self.look_out(&stay);
        loop {
            let every = lease.map_or(1_000, renew::interval).min(WAIT_MAX_MS);
            let answer = match self.wait_once(&stay, every, deadline) {
                Waited::Answer(answer) => *answer,
                Waited::Enough => {
                    drop(lookout);
                    // Only a word for others: nobody checks for it any more.
                    let _ = self.site.calls().patience(Duration::ZERO).renew(&stay, Some("waiting"));
                    return Saw::StillWaiting;
                }
                Waited::Interrupted => return Saw::Interrupted,
            };
            match answer {
                Ok(view) if view.turn => {
                    self.found = lookout.end();
                    return self.begin_turn(&view);
                }
                Ok(view) => {
                    lease = Some(view.lease_until - view.touched_at);
                    self.lease_until = view.lease_until;
                }
                Err(error) if error.is(Code::TicketGone) => return Saw::Gone,
                // The place stands as long as its lease.
                Err(error) if error.worth_repeating() && self.site.clock.now() < self.lease_until => {
                    self.show.show(&Event::Note("the box does not answer in time; it is asked again"));
                }
                Err(error) => {
                    self.end = Some(crate::refused::end(&error, None));
                    return Saw::Unreachable;
                }
            }
        }
    }

    fn look_out(&self, stay: &Stay) -> Lookout {
        let waiter = Waiter {
            show: Arc::clone(&self.show),
            interrupt: self.interrupt.clone(),
            branch: self.options.branch.clone(),
            head: self.head.clone(),
            stay: stay.clone(),
            lands: self.errand.is_none(),
        };
        Lookout::start(self.site, waiter)
    }

    /// Leaves, so that nobody starves, and waits until the hold that is in the way has ended. A lapse of the
    /// hold is noticed by the clock, a close by the queue's change mark.
    pub(super) fn await_hold(&mut self) -> Saw {
        self.give_back(Outcome::Held, Why::Held);
        self.turn = None;
        self.epoch = None;
        self.landing = None;
        self.found = Found::default();
        let Some((name, owner)) = self.hold.take() else { return Saw::HoldEnded };
        self.show.show(&Event::Note(&format!("waiting for the hold {name} of {owner} to end")));
        let mut told = false;
        loop {
            match self.site.calls().holds() {
                Ok(view) if !view.holds.iter().any(|h| h.name == name && h.owner == owner) => {
                    return Saw::HoldEnded;
                }
                Ok(_) => told = false,
                Err(error) if told => {
                    self.end = Some(crate::refused::end(&error, None));
                    return Saw::Unreachable;
                }
                Err(_) => told = true,
            }
            if self.interrupt.signal().is_some() {
                return Saw::Interrupted;
            }
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.end = self.end.take().map(|end| holds::still_held(end, &self.options.branch));
                return Saw::Held;
            }
            std::thread::sleep(REAP_EVERY);
        }
    }

    fn wait_once(&self, stay: &Stay, timeout: Millis, deadline: Option<Instant>) -> Waited {
        let (sender, answer) = sync_channel(1);
        let (signals, project, stay) =
            (Arc::clone(&self.site.signals), self.site.project.clone(), stay.clone());
        std::thread::spawn(move || {
            let calls = Typed::new(signals.as_ref(), &project).patience(Duration::ZERO);
            let answer = calls.wait(&stay, Some(timeout));
            // The passage may have stopped listening.
            let _ = sender.send(answer);
        });
        let mut reaped = Instant::now();
        loop {
            match answer.recv_timeout(Duration::from_millis(50)) {
                Ok(answer) => return Waited::Answer(Box::new(answer)),
                Err(RecvTimeoutError::Disconnected) => return Waited::Interrupted,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.interrupt.signal().is_some() {
                return Waited::Interrupted;
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Waited::Enough;
            }
            if reaped.elapsed() >= REAP_EVERY {
                reaped = Instant::now();
                settle::reap(self.site, self.show.as_ref());
            }
        }
    }
}

/// The ticket to go on with, or a fresh one, with its lock.
fn place(site: &Site, named: Option<&Id>, branch: &str, head: &Oid) -> Result<(Id, Live), End> {
    let Some(ticket) = named else {
        return kept::take(site, branch, head.as_str()).map_or_else(|| fresh_place(site), Ok);
    };
    let live = live_of(site, ticket)?;
    // Whoever settles it looks at the lock first, and closes the intent last.
    if site.journal().of_ticket(ticket).is_some() {
        live.release();
        let line = "an earlier push of this ticket is not settled yet; settle it, then land again";
        return Err(End::new(exit::UNKNOWN, "outcome_unknown", line).next("signalbox land --settle"));
    }
    kept::forget(&site.state, ticket);
    Ok((ticket.clone(), live))
}

fn fresh_place(site: &Site) -> Result<(Id, Live), End> {
    let fresh = Id::random();
    let live = live_of(site, &fresh)?;
    Ok((fresh, live))
}

fn live_of(site: &Site, ticket: &Id) -> Result<Live, End> {
    Live::take(&site.live_dir(), ticket).map_err(|e| match e.kind() {
        std::io::ErrorKind::WouldBlock => {
            End::new(exit::RULE, "ticket_in_use", "another process has this ticket; let it finish")
        }
        _ => End::internal(format!("the state folder cannot be used: {e}")),
    })
}

enum Waited {
    Answer(Box<Result<TicketView, CallError>>),
    Enough,
    Interrupted,
}

/// Refuses what would wait for its own turn for ever.
fn not_inside(site: &Site, options: &Options) -> Result<(), End> {
    let Inside { run, check } = &options.inside;
    if run.is_none() && check.is_none() {
        return Ok(());
    }
    let queue = site.calls().list(None).map_err(|e| crate::refused::end(&e, None))?;
    let is = |ticket: &Option<Id>, t: &TicketView| ticket.as_ref().is_some_and(|id| t.ticket == id.as_str());
    let line = if queue.tickets.iter().any(|t| t.turn && is(run, t)) {
        "this is started inside a turn that `run` holds, and would wait for it for ever; do it after it"
    } else if queue.tickets.iter().any(|t| is(check, t)) {
        // Whoever waits has its own place before it, too.
        "this is started by a check, and would wait for its landing for ever; take it out of the check"
    } else {
        return Ok(());
    };
    Err(End::new(exit::USAGE, "inside_a_turn", line).next("signalbox queue"))
}

/// Pins the commit that lands, and refuses what must not enter.
fn pin(site: &Site, show: &dyn Show, options: &Options) -> Result<Oid, End> {
    let branch = options.branch.as_str();
    let head = pin_here(site, branch)?;
    split::one_push_url(site)?;
    let seen = site.read_trunk()?;
    let (settings, its_own) = site.trunk_settings(seen.trunk.as_ref())?;
    if !its_own {
        show.show(&Event::Note("the trunk has no .signalbox.toml yet; what `init` wrote here counts"));
    }
    if let Some(end) = unchecked(site, &settings) {
        return Err(end);
    }
    if let Some(trunk) = &seen.trunk
        && site.repo.is_ancestor(&head, trunk).map_err(End::internal)?
    {
        return Err(already_there(site, branch));
    }
    if site.trunk.remote == Remote::Here {
        before_the_turn(site, show)?;
    }
    if !options.dry_run {
        lfs::send(site, show, branch, seen.trunk.as_ref(), &head)?;
    }
    Ok(head)
}

/// What is said of a repository whose history is cut off.
///
/// # Errors
/// Git failed.
pub(crate) fn shallow(repo: &Repo) -> Result<Option<End>, GitError> {
    Ok(repo.is_shallow()?.then(|| {
        let line = "this clone is shallow, so merges could be silently wrong; run `git fetch --unshallow`";
        End::new(exit::SETUP, "shallow", line).next("git fetch --unshallow")
    }))
}

/// The part of pinning that needs no look at the trunk.
pub(crate) fn pin_here(site: &Site, branch: &str) -> Result<Oid, End> {
    let repo = &site.repo;
    if let Some(end) = shallow(repo).map_err(End::internal)? {
        return Err(end);
    }
    if branch == site.trunk.branch {
        return Err(End::new(
            exit::USAGE,
            "trunk_itself",
            naming("{} is the trunk itself; land a branch: git switch -c NAME", [branch]),
        )
        .next("git switch -c my-change"));
    }
    if !landing::branch::is_branch(branch) {
        let line = "the branch's name cannot be sent (too long, or no UTF-8); rename it: git branch -m NAME";
        return Err(End::new(exit::USAGE, "branch_name", line));
    }
    let head = repo.resolve(&format!("refs/heads/{branch}")).map_err(End::internal)?;
    let Some(head) = head else {
        let line = naming("there is no branch {} here, or it has no commit; see `git branch`", [branch]);
        return Err(End::new(exit::USAGE, "no_branch", line));
    };
    clean(site, branch)?;
    Ok(head)
}

/// How long the trunk's worktree may be in the middle of somebody else's landing.
const LANDING_MAX: Duration = Duration::from_secs(30);

/// Refuses what is in the way in the trunk's own worktree. While another passage has an open intent, what is seen may
/// be the middle of its landing; and a landing that was cut off is put right first.
fn before_the_turn(site: &Site, show: &dyn Show) -> Result<(), End> {
    let until = Instant::now() + LANDING_MAX;
    let somebody_lands = || {
        let lives = |ticket: &Id| live::owner(&site.live_dir(), ticket) == live::Owner::Lives;
        site.journal().all().0.iter().any(|intent| intent.ticket.parse().is_ok_and(|ticket| lives(&ticket)))
    };
    // One look may fall between a landing and the end of its intent.
    let mut quiet = 0;
    loop {
        let before = somebody_lands();
        let trunk = site.repo.resolve(&site.trunk.trunk_ref()).map_err(End::internal)?;
        let obstacles = site.trunk.obstacles(trunk.as_ref(), None).map_err(End::internal)?;
        let Some(end) = in_the_way(&obstacles) else { return Ok(()) };
        quiet = if before || somebody_lands() { 0 } else { quiet + 1 };
        if quiet > 1 || Instant::now() >= until {
            return Err(end);
        }
        settle::settle(site, show);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The trunk has it all already.
pub(crate) fn already_there(site: &Site, branch: &str) -> End {
    let line = naming("{} is already in {}; nothing to land", [branch, &site.trunk_name()]);
    End::new(exit::DONE, "already_in_trunk", line)
}

/// The trunk was there and is not.
pub(crate) fn trunk_gone(site: &Site) -> End {
    let line = "the trunk {} is gone, though branches landed on it; bring it back, or name another in init";
    End::new(exit::SETUP, "trunk_gone", naming(line, [&site.trunk_name()])).more(
        "If it was renamed: write its new name as trunk.branch in .signalbox.toml and run signalbox init.",
    )
}

/// The branch's own worktree must have nothing that would be left out of the landing.
fn clean(site: &Site, branch: &str) -> Result<(), End> {
    let Some(worktree) = site.repo.worktree() else { return Ok(()) };
    match site.repo.head(worktree) {
        Ok(Head::Branch(here)) if here == branch => {}
        // One whose name is no UTF-8 is not this one.
        Ok(_) | Err(GitError::Unreadable { .. }) => return Ok(()),
        Err(error) => return Err(End::internal(error)),
    }
    let changed = site.repo.tracked_changes(worktree).map_err(End::internal)?;
    if changed.is_empty() {
        return Ok(());
    }
    let mut end = if under_way(site) {
        let line = "{} is in the middle of a merge or rebase; finish it (git status says how), then land";
        End::new(exit::USAGE, "unfinished", naming(line, [branch])).next("git status")
    } else {
        let line = naming("{} has changes that are not committed; commit or stash them, then land", [branch]);
        End::new(exit::USAGE, "dirty", line).next("git status")
    };
    for path in changed.iter().take(10) {
        end = end.more(format!("  {}", short(&path.to_string(), 90)));
    }
    Err(end)
}

/// Whether git is in the middle of something in this worktree, so that a plain commit could commit conflicts.
fn under_way(site: &Site) -> bool {
    let names = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];
    names.iter().any(|name| site.repo.git_dir().join(name).exists())
}

/// Never land unchecked by accident, nor by a check that depends on what is no file.
pub(crate) fn unchecked(site: &Site, settings: &Settings) -> Option<End> {
    let top = site.repo.worktree().unwrap_or(site.repo.common_dir());
    if let Some(file) = results::no_file(&settings.check, top) {
        let line = "check.files names {}, which is a folder, a pipe or a device; name files alone";
        return Some(End::new(exit::SETUP, "bad_settings", naming(line, [file])));
    }
    (settings.check.command.is_none() && !settings.check.none).then(|| {
        End::new(
            exit::SETUP,
            "no_check",
            "no check is configured on the trunk; set check.command (or check.none = true) there",
        )
        .more(format!("In {} on the trunk:  [check]  command = \"make test\"", crate::settings::FILE))
    })
}

/// What a landing in place would run into.
pub(crate) fn in_the_way(obstacles: &[Obstacle]) -> Option<End> {
    let first = obstacles.first()?;
    let at = short(&first.worktree.display().to_string(), 21);
    let cd = format!("cd {}", quoted(&first.worktree.display().to_string()));
    let (code, line, next) = match first.kind {
        ObstacleKind::SecondWorktree => (
            "trunk_twice",
            "two worktrees have the trunk checked out; switch one to another branch".to_owned(),
            "git worktree list".to_owned(),
        ),
        ObstacleKind::Missing => (
            "trunk_worktree_missing",
            format!("the trunk's worktree {at} cannot be reached; see: git worktree list"),
            "git worktree list".to_owned(),
        ),
        ObstacleKind::Operation(operation) => {
            let verb = match operation {
                Operation::Rebase => "rebase",
                Operation::Merge => "merge",
                Operation::CherryPick => "cherry-pick",
                Operation::Revert => "revert",
                Operation::Bisect => "bisect",
            };
            (
                "trunk_busy",
                format!("a {verb} of the trunk is under way in {at}; finish or abort it"),
                format!("{cd} && git status"),
            )
        }
        ObstacleKind::TrackedChanges => (
            "trunk_dirty",
            format!("the trunk's worktree {at} has changes; its owner commits or stashes them"),
            format!("{cd} && git status"),
        ),
        ObstacleKind::InTheWay => (
            "trunk_file_in_the_way",
            format!("a file in the trunk's worktree {at} would be overwritten; move it"),
            format!("{cd} && git status --ignored"),
        ),
        ObstacleKind::IndexLocked => (
            "trunk_index_locked",
            format!("the index of {at} is locked; if no git runs there, remove its index.lock"),
            format!("{cd} && rm -i \"$(git rev-parse --git-path index.lock)\""),
        ),
    };
    let mut end = End::new(exit::USAGE, code, line).next(next);
    for obstacle in obstacles {
        for path in obstacle.paths.iter().take(10) {
            end = end.more(format!("  {}", short(&path.to_string(), 90)));
        }
    }
    Some(end)
}

/// After a crash, what a person must look at before anything lands in place.
pub(super) fn left_behind(paths: &[String]) -> End {
    let mut end = End::new(
        exit::USAGE,
        "trunk_left_behind",
        "a landing was cut off and files in the trunk's worktree are not the trunk's; look at them",
    )
    .more("They hold something that is neither from before nor from after that landing, so they were left:")
    .next("git status");
    for path in paths.iter().take(20) {
        end = end.more(format!("  {}", short(path, 120)));
    }
    end
}

/// The branch that is checked out where the command stands.
///
/// # Errors
/// None is: a detached head, or no worktree.
pub fn current_branch(site: &Site) -> Result<String, End> {
    let detached = || {
        End::new(exit::USAGE, "detached", "no branch is checked out here; name one: signalbox land BRANCH")
            .next("git branch")
    };
    let worktree = site.repo.worktree().ok_or_else(detached)?;
    match site.repo.head(worktree) {
        Ok(Head::Branch(branch) | Head::Unborn(branch)) => Ok(branch),
        Ok(Head::Detached(_)) => Err(detached()),
        Err(GitError::Unreadable { .. }) => Err(End::new(
            exit::USAGE,
            "branch_name",
            "the branch's name is no UTF-8; rename it: git branch -m NAME",
        )),
        Err(error) => Err(End::internal(error)),
    }
}
