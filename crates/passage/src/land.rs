//! `land`: carries out what the [`Machine`] says, and tells it what was seen.

pub mod command;
mod ending;
pub mod enter;
mod push;

use crate::check::{self, Before, Checked, Question};
use crate::end::{End, exit, land_command, short};
use crate::epoch::{Epoch, State, Stop, may_replace};
use crate::event::{Event, Show};
use crate::fault;
use crate::holds;
use crate::interrupt::Interrupt;
use crate::journal::Intent;
use crate::live::Live;
use crate::lookout::Found;
use crate::machine::{Do, Machine, Saw, Ways};
use crate::merging::{self, Landing, Merged, Passenger};
use crate::numbers;
use crate::renew::Renewer;
use crate::site::{Site, git_failed};
use crate::split;
use crate::times::span;
use client::{Stay, TicketView};
use git::{GitError, Oid, PushEnd, Seen};
use kernel::{Code, Id, Millis};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long a ref that was refused is left alone before it is tried again.
const A_MOMENT: Duration = Duration::from_millis(100);

/// How to land.
#[derive(Debug, Clone)]
pub struct Options {
    /// The branch.
    pub branch: String,
    /// Who lands, for people.
    pub label: String,
    /// A ticket to go on with.
    pub ticket: Option<Id>,
    /// Stop before the push.
    pub dry_run: bool,
    /// How long to wait for the turn; none: as long as it takes.
    pub wait: Option<Duration>,
    /// A lost turn is waited for again.
    pub reenter: bool,
    /// Whom this passage acts for: holds of this owner are no obstacle.
    pub owner: String,
    /// Wait for a hold that is in the way, outside the queue.
    pub wait_holds: bool,
    /// What this command itself was started by.
    pub inside: Inside,
}

/// What a command was started by, as its environment tells.
#[derive(Debug, Clone, Default)]
pub struct Inside {
    /// The ticket in whose turn `run` has started it.
    pub run: Option<Id>,
    /// The ticket whose check has started it.
    pub check: Option<Id>,
}

/// One passage on its way.
pub struct Passage<'a> {
    site: &'a Site,
    show: Arc<dyn Show>,
    interrupt: Interrupt,
    options: Options,
    head: Oid,
    ticket: Id,
    live: Live,
    stay: Option<Stay>,
    /// Until when its place stands, if nothing more is heard of it.
    lease_until: Millis,
    /// The box could not be told that it left.
    stands: bool,
    turn: Option<Turn>,
    epoch: Option<Oid>,
    seen: Option<Seen>,
    landing: Option<Landing>,
    intent: Option<Intent>,
    phases: BTreeMap<&'static str, Millis>,
    check_code: Option<i32>,
    files: Vec<String>,
    /// What is to be said, where the step that failed knows it best.
    end: Option<End>,
    /// What the remote said last.
    said: String,
    /// The hold that is in the way: its name and owner.
    hold: Option<(String, String)>,
    /// What was found out while it waited.
    found: Found,
    /// What a check ahead was worth, for the report.
    ahead: Option<&'static str>,
    /// The first path that it covers.
    held_path: Option<String>,
    /// The issues of the freeze that is in the way.
    frozen_by: Option<Vec<String>>,
    /// When its caller wants to wait no longer, for the turn or for a hold.
    deadline: Option<Instant>,
    /// The command that the turn is for, where nothing lands.
    errand: Option<command::Errand>,
}

struct Turn {
    no: i64,
    began: Millis,
    until: Millis,
    lease: Millis,
    renewer: Renewer,
}

impl std::fmt::Debug for Passage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passage").field("branch", &self.options.branch).finish_non_exhaustive()
    }
}

/// Lands a branch: all nine steps. Ends with what the caller does next, whatever happens.
#[must_use]
pub fn land(site: &Site, show: Arc<dyn Show>, interrupt: &Interrupt, options: Options) -> End {
    let again = land_command(&options.branch, "");
    match Passage::prepare(site, show, interrupt.clone(), options, None) {
        Ok(passage) => carry_out(passage),
        Err(end) if end.code == "interrupted" => end.next(again),
        Err(end) => end,
    }
}

/// Does what the machine says until it says that the passage has ended.
fn carry_out(mut passage: Passage<'_>) -> End {
    let site = passage.site;
    let mut machine = Machine::new(passage.ways());
    loop {
        let now = machine.now();
        fault::point(&format!("before:{}", name(now)));
        let began = site.clock.now();
        let saw = match now {
            Do::Enter => passage.enter(),
            Do::Wait => passage.wait(),
            Do::TakeEpoch => passage.take_epoch(),
            Do::Confirm => passage.confirm(),
            Do::Merge => passage.merge(),
            Do::Numbers => passage.numbers(),
            Do::Check => passage.check(),
            Do::Run => passage.run_command(),
            Do::Push => passage.push(),
            Do::ReadBack => passage.read_back(),
            Do::Fence => passage.fence(),
            Do::AwaitHold => passage.await_hold(),
            Do::Leave(outcome, why) => return passage.leave(outcome, why),
            Do::Finish(why) => return passage.finish(why),
        };
        *passage.phases.entry(name(now)).or_default() += (site.clock.now() - began).max(0);
        fault::point(&format!("after:{}", name(now)));
        machine.next(passage.interruptible(now, saw));
    }
}

/// A step's name, in the report and for fault points.
fn name(step: Do) -> &'static str {
    match step {
        Do::Enter => "enter",
        Do::Wait => "wait",
        Do::TakeEpoch => "epoch",
        Do::Confirm => "confirm",
        Do::Merge => "merge",
        Do::Numbers => "numbers",
        Do::Check => "check",
        Do::Run => "run",
        Do::Push => "push",
        Do::ReadBack => "read",
        Do::Fence => "fence",
        Do::AwaitHold => "hold",
        Do::Leave(..) => "leave",
        Do::Finish(_) => "finish",
    }
}

impl Passage<'_> {
    fn ways(&self) -> Ways {
        let Options { dry_run, reenter, wait_holds, .. } = self.options;
        Ways { dry_run, reenter, wait_holds, errand: self.errand.is_some() }
    }

    /// Before the push a person may stop it between any two steps; once it was sent, its answer is waited
    /// for. While a command runs, it is the command that is asked to stop.
    fn interruptible(&self, step: Do, saw: Saw) -> Saw {
        let sent = matches!(step, Do::Push | Do::ReadBack | Do::Fence | Do::Run);
        if self.interrupt.signal().is_some() && !sent && saw != Saw::Gone { Saw::Interrupted } else { saw }
    }

    /// Sends something to the remote. A person who asks to stop meanwhile is told that its answer is waited for.
    fn sending<T>(&self, send: impl FnOnce() -> T) -> T {
        let (sent, answer) = channel::<()>();
        let (interrupt, show) = (&self.interrupt, &self.show);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while answer.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout) {
                    if interrupt.signal().is_some() {
                        return show.show(&Event::Warning(
                            "something was sent to the remote and its answer is waited for, since it may count; \
                             stop once more to end at once",
                        ));
                    }
                }
            });
            let answer = send();
            drop(sent);
            answer
        })
    }

    fn step(&self, step: &str) {
        self.show.show(&Event::Step(step));
        if let Some(turn) = &self.turn {
            turn.renewer.step(step);
        }
    }

    fn passenger(&self) -> Passenger<'_> {
        let turn_no = self.turn.as_ref().map_or(0, |turn| turn.no);
        Passenger { branch: &self.options.branch, head: &self.head, ticket: &self.ticket, turn_no }
    }

    /// The turn has come: from now on a thread renews it.
    fn begin_turn(&mut self, view: &TicketView) -> Saw {
        let (Some(stay), Some(no)) = (&self.stay, view.turn_no) else { return Saw::Broken };
        let began = view.turn_at.unwrap_or(view.touched_at);
        self.show.show(&Event::Turn { turn_no: no, waited: began - view.entered_at });
        self.turn = Some(Turn {
            no,
            began,
            until: view.turn_until.unwrap_or(Millis::MAX),
            lease: view.lease_until - view.touched_at,
            renewer: Renewer::start(self.site, stay, no, view),
        });
        Saw::Turn
    }

    fn lose_turn(&mut self) -> Saw {
        self.turn = None;
        self.epoch = None;
        Saw::Gone
    }

    fn take_epoch(&mut self) -> Saw {
        self.step("taking the fence");
        let seen = match self.site.read_trunk() {
            Ok(seen) => seen,
            Err(end) => return self.refused_read(end),
        };
        let Some(turn) = &self.turn else { return Saw::Broken };
        let mine = Epoch {
            turn_no: turn.no,
            ticket: self.ticket.clone(),
            box_id: self.site.box_id.clone(),
            state: State::Begun,
            trunk: seen.trunk.as_ref().map_or_else(|| "none".to_owned(), |t| t.as_str().to_owned()),
        };
        match self.replace_epoch(&seen, &mine) {
            Ok(saw) => saw,
            Err(error) => {
                self.end = Some(git_failed(&error));
                if matches!(error, GitError::Mirror { .. }) { Saw::BadSettings } else { Saw::Broken }
            }
        }
    }

    fn replace_epoch(&mut self, seen: &Seen, mine: &Epoch) -> Result<Saw, GitError> {
        let repo = &self.site.repo;
        let stands = match &seen.epoch {
            Some(stands) => {
                let Some(epoch) = Epoch::parse(&repo.message_of(stands)?.to_string()) else {
                    self.end = Some(End::new(
                        exit::SETUP,
                        "epoch_unreadable",
                        "the fence at the remote is of a newer version or no fence; use the newest signalbox",
                    ));
                    return Ok(Saw::BadSettings);
                };
                Some(epoch)
            }
            None => None,
        };
        if let Err(stop) = may_replace(stands.as_ref(), mine) {
            if stop == Stop::LaterTurn {
                self.lose_turn();
            }
            return Ok(Saw::Stopped(stop));
        }
        let epoch = repo.note_commit(mine.message(Id::random().as_str()).as_bytes(), seen.epoch.as_ref())?;
        fault::point("epoch:before-keep");
        repo.keep(self.ticket.as_str(), "begun", &epoch)?;
        let trunk = &self.site.trunk;
        fault::point("epoch:before-move");
        let moved = self.sending(|| trunk.create_or_move(&trunk.epoch_ref(), &epoch, seen.epoch.as_ref()))?;
        fault::point("epoch:moved");
        match moved {
            PushEnd::Accepted => {}
            PushEnd::Refused { ref text } | PushEnd::NoAnswer { ref text } => {
                // Whether it moved all the same is read, never guessed.
                match trunk.peek() {
                    Ok(now) if now.epoch.as_ref() == Some(&epoch) => {}
                    Ok(now) if now.epoch == seen.epoch => {
                        self.said.clone_from(text);
                        if matches!(moved, PushEnd::Refused { .. }) {
                            if self.turn_is_gone() {
                                return Ok(self.lose_turn());
                            }
                            // Another's ref lock, or a hook: it gets a moment.
                            std::thread::sleep(A_MOMENT);
                            return Ok(Saw::Refused);
                        }
                        self.end = Some(self.site.unanswered(text.clone()));
                        return Ok(Saw::Unreachable);
                    }
                    Ok(_) => return self.epoch_again(),
                    Err(error) => {
                        self.end = Some(self.site.unreadable(error));
                        return Ok(Saw::Unreachable);
                    }
                }
            }
        }
        self.epoch = Some(epoch);
        Ok(Saw::Took)
    }

    /// Somebody moved the epoch between our reading and our writing: look again.
    fn epoch_again(&mut self) -> Result<Saw, GitError> {
        Ok(self.take_epoch())
    }

    /// Whether the box says so: a server's hook that asks it refuses for that reason too.
    fn turn_is_gone(&self) -> bool {
        let (Some(stay), Some(turn)) = (&self.stay, &self.turn) else { return true };
        match self.site.calls().renew(stay, None) {
            Ok(view) => !view.turn || view.turn_no != Some(turn.no),
            Err(error) => error.is(Code::TicketGone),
        }
    }

    fn refused_read(&mut self, end: End) -> Saw {
        let saw = match end.code {
            "other_box" => Saw::Stopped(Stop::OtherBox),
            "unreachable" => Saw::Unreachable,
            "interrupted" => Saw::Interrupted,
            "internal" => Saw::Broken,
            _ => Saw::BadSettings,
        };
        self.end = Some(end);
        saw
    }

    /// Asks the box; only its word counts. A lost answer is asked for again until the lease must be over.
    fn confirm(&mut self) -> Saw {
        match self.site.repo.resolve(&format!("refs/heads/{}", self.options.branch)) {
            _ if self.errand.is_some() => {}
            Ok(Some(head)) if head == self.head => {}
            Ok(_) => return Saw::BranchMoved,
            Err(error) => return self.broken(error),
        }
        let (Some(stay), Some(turn)) = (&self.stay, &self.turn) else { return Saw::Gone };
        let no = turn.no;
        match self.site.calls().renew(stay, None) {
            Ok(view) if view.turn && view.turn_no == Some(no) => self.obey(&view),
            Ok(_) => self.lose_turn(),
            Err(error) if error.is(Code::TicketGone) => self.lose_turn(),
            Err(error) => {
                self.end = Some(crate::refused::end(&error, None));
                Saw::Unreachable
            }
        }
    }

    /// Holds and freeze, as they stand in the answer that confirms the turn.
    fn obey(&mut self, view: &TicketView) -> Saw {
        if view.freeze.as_ref().is_some_and(|freeze| self.frozen(freeze)) {
            return Saw::Frozen;
        }
        let Some(landing) = self.landing.as_ref().filter(|_| !view.holds.is_empty()) else {
            return Saw::Ours;
        };
        let changed = match merging::changed(self.site, landing) {
            Ok(changed) => changed,
            Err(error) => return self.broken(error),
        };
        let now = self.site.clock.now();
        let Some((hold, path)) = holds::held(&view.holds, &self.options.owner, &changed, now) else {
            return Saw::Ours;
        };
        self.end = Some(holds::held_end(&self.options.branch, hold, path, &span(hold.until - now)));
        self.hold = Some((hold.name.clone(), hold.owner.clone()));
        self.held_path = Some(path.to_string());
        Saw::Held
    }

    fn merge(&mut self) -> Saw {
        self.step("merging");
        let seen = match split::read_trunk(self.site, self.epoch.as_ref()) {
            Ok(seen) => seen,
            Err(end) => return self.refused_read(end),
        };
        if seen.trunk.is_none() && self.site.had_a_trunk(&seen) {
            return self.refused_read(enter::trunk_gone(self.site));
        }
        let trunk = seen.trunk.clone();
        self.seen = Some(seen);
        let settings = match self.site.trunk_settings(trunk.as_ref()) {
            Ok((settings, _)) => settings,
            Err(end) => return self.refused_read(end),
        };
        if let Some(end) = enter::unchecked(self.site, &settings) {
            return self.refused_read(end);
        }
        if let Err(error) = merging::complete(self.site, trunk.as_ref(), &self.head) {
            return self.refused_read(self.site.unreadable(error));
        }
        // Objects that nothing refers to yet may be collected under our hands: once more, then.
        let merged = merging::merge(self.site, trunk.as_ref(), settings.clone(), &self.passenger())
            .or_else(|_| merging::merge(self.site, trunk.as_ref(), settings, &self.passenger()));
        match merged {
            Ok(Merged::Ready(landing)) => {
                self.landing = Some(*landing);
                Saw::Merged
            }
            Ok(Merged::Nothing) => Saw::Nothing,
            Ok(Merged::Conflict(end, files)) => {
                self.files = files;
                self.end = Some(end);
                Saw::Conflict
            }
            Err(error) => self.broken(error),
        }
    }

    fn numbers(&mut self) -> Saw {
        let Some(landing) = &self.landing else { return Saw::Broken };
        match numbers::refusal(self.site, landing, &self.passenger()) {
            Ok(None) => Saw::NumbersFine,
            Ok(Some(end)) => {
                let files = end.facts.get("files").and_then(|files| files.as_array());
                let files = files.into_iter().flatten().filter_map(|file| file.as_str());
                self.files = files.map(str::to_owned).collect();
                self.end = Some(end);
                Saw::Duplicate
            }
            Err(error) => self.broken(error),
        }
    }

    fn check(&mut self) -> Saw {
        self.step("checking");
        let (Some(landing), Some(turn)) = (&self.landing, &self.turn) else { return Saw::Broken };
        let subject = check::Subject {
            commit: &landing.commit,
            tree: &landing.tree,
            settings: &landing.settings,
            ticket: &self.ticket,
            branch: &self.options.branch,
            turn_no: turn.no,
        };
        let (until, began, lease) = (turn.until, turn.began, turn.lease);
        let limits = crate::turn::Turn { renewer: &turn.renewer, until, began, lease };
        let Some(question) = Question::of(self.site, &landing.settings, &landing.tree) else {
            return Saw::Green;
        };
        let before = self.found.about(&question.key);
        self.ahead =
            before.as_ref().filter(|before| before.key() == question.key).map(|before| match before {
                Before::Running(_) => "running",
                Before::Ended(ended) if ended.code == Some(0) => "passed",
                Before::Ended(_) => "failed",
            });
        let (site, show, subject) = (self.site, &self.show, (&subject, question));
        let checked = check::in_turn(site, show, &self.interrupt, &self.live, subject, &limits, before);
        match checked {
            Ok(Checked::Green) => {
                self.check_code = Some(0);
                Saw::Green
            }
            Ok(Checked::Red(code)) => {
                self.check_code = code;
                Saw::Red
            }
            Ok(Checked::Lost) => self.lose_turn(),
            Ok(Checked::TooLong(ran)) => {
                self.end = Some(ending::too_long(ran, turn.until - turn.began));
                Saw::TooLong
            }
            Ok(Checked::Interrupted) => Saw::Interrupted,
            Err(error) => {
                self.end = Some(error.end());
                Saw::Broken
            }
        }
    }

    fn broken(&mut self, error: impl std::fmt::Display) -> Saw {
        self.end = Some(End::internal(error));
        Saw::Broken
    }

    fn branch(&self, most: usize) -> String {
        short(&self.options.branch, most)
    }
}
