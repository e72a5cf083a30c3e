//! `run`: the turn is held while a command of the user's runs. It enters, waits, takes the fence and confirms as a
//! landing does; then the command runs in place of all that lands a branch.
//!
//! A landing of an older turn whose push is still under way is refused by the fence. The command itself no fence
//! can hold back: it is stopped when the turn is lost, and a little before the turn or an unanswered lease ends.

use super::{Options, Passage, carry_out};
use crate::end::{End, exit, naming, printable, quoted, short};
use crate::event::{Event, Show};
use crate::fault;
use crate::holds;
use crate::interrupt::Interrupt;
use crate::locked;
use crate::machine::{Saw, Why};
use crate::process::{Guest, STOP_GRACE, Visit};
use crate::site::Site;
use crate::times::span;
use crate::turn::{Over, Turn};
use git::{GitError, Head, Oid};
use kernel::Millis;
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

/// What others see of who runs a command in its turn begins like this.
pub(crate) const RUNNING: &str = "running: ";

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How much of a command others see, in characters.
const SHOWN_MAX: usize = 180;

/// A command that a turn is for.
#[derive(Debug)]
pub struct Errand {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// Its standard output goes to standard error, since this process's own is for programs.
    pub out_to_err: bool,
    status: Option<ExitStatus>,
    /// How long it ran until it was stopped.
    ran: Option<Millis>,
}

impl Errand {
    /// An errand.
    #[must_use]
    pub fn new(words: Vec<OsString>, out_to_err: bool) -> Self {
        Self { words, out_to_err, status: None, ran: None }
    }

    /// The command as it is typed.
    fn typed(&self) -> String {
        self.words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
    }

    /// The command as others see it, on one line.
    pub(super) fn shown(&self) -> String {
        let line = printable(&self.typed()).replace(['\n', '\t'], " ");
        short(&line, SHOWN_MAX).chars().take(SHOWN_MAX).collect()
    }

    /// Whether the command was stopped before its end.
    pub(super) fn was_stopped(&self) -> bool {
        self.ran.is_some()
    }

    /// The code that the command ended with, as a shell tells it; none where it did not end by itself.
    pub(super) fn code(&self) -> Option<i32> {
        let status = self.status?;
        status.code().or_else(|| status.signal().map(|signal| 128 + signal))
    }
}

/// Holds the turn while the command runs. Ends with the command's own exit code; a refusal of ours has 125, and
/// says in `refusal` which code of the table it is.
#[must_use]
pub fn run(site: &Site, show: Arc<dyn Show>, interrupt: &Interrupt, options: Options, errand: Errand) -> End {
    match Passage::prepare(site, show, interrupt.clone(), options, Some(errand)) {
        Ok(passage) => carry_out(passage),
        Err(end) => refusal(end),
    }
}

/// A refusal of `run` itself.
#[must_use]
pub fn refusal(mut end: End) -> End {
    if end.code == "interrupted" || end.exit == exit::RUN {
        return end;
    }
    let by_the_table = std::mem::replace(&mut end.exit, exit::RUN);
    end.fact("refusal", by_the_table)
}

/// The branch that a command is run for: the one that is checked out here, else the trunk's.
///
/// # Errors
/// Git fails.
pub fn branch_here(site: &Site) -> Result<String, End> {
    let trunk = || site.trunk.branch.clone();
    let Some(worktree) = site.repo.worktree() else { return Ok(trunk()) };
    match site.repo.head(worktree) {
        Ok(Head::Branch(branch) | Head::Unborn(branch)) if landing::branch::is_branch(&branch) => Ok(branch),
        Ok(_) | Err(GitError::Unreadable { .. }) => Ok(trunk()),
        Err(error) => Err(End::internal(error)),
    }
}

/// The commit that a command is run at.
pub(super) fn commit_here(site: &Site) -> Result<Oid, End> {
    let here = match site.repo.worktree() {
        Some(_) => site.repo.resolve("HEAD").map_err(End::internal)?,
        None => None,
    };
    let trunk = || site.read_trunk().map(|seen| seen.trunk);
    let line = "there is no commit here to run it at; make one first: git commit";
    match here {
        Some(here) => Ok(here),
        None => trunk()?.ok_or_else(|| End::new(exit::USAGE, "no_commit", line).next("git commit")),
    }
}

impl Passage<'_> {
    pub(super) fn run_command(&mut self) -> Saw {
        let Some(mut errand) = self.errand.take() else { return Saw::Broken };
        let saw = self.run_errand(&mut errand);
        self.errand = Some(errand);
        saw
    }

    fn run_errand(&mut self, errand: &mut Errand) -> Saw {
        let (Some(turn), Some(stay)) = (&self.turn, &self.stay) else { return Saw::Broken };
        let shown = errand.shown();
        turn.renewer.step(&format!("{RUNNING}{shown}"));
        let env = [
            ("SIGNALBOX_TURN", turn.no.to_string()),
            ("SIGNALBOX_TICKET", self.ticket.as_str().to_owned()),
            ("SIGNALBOX_ENTRY", stay.entry.to_string()),
            ("SIGNALBOX_TRUNK", self.site.trunk.branch.clone()),
        ];
        let guard = match self.live.for_child() {
            Ok(guard) => guard,
            Err(error) => return self.broken(error),
        };
        self.show.show(&Event::Runs { command: &shown });
        self.interrupt.relay(true);
        fault::point("run:before-start");
        let visit = Visit { words: &errand.words, env: &env, guard, out_to_err: errand.out_to_err };
        let saw = match Guest::start(visit) {
            Ok(mut guest) => {
                fault::point("run:started");
                self.attend(&mut guest, errand)
            }
            Err(error) => {
                let text = "{} cannot be started; look whether it is there and may be run";
                let end = End::new(exit::USAGE, "command_not_started", naming(text, [&shown]));
                self.end = Some(end.more(error.to_string()));
                Saw::Broken
            }
        };
        fault::point("run:ended");
        self.interrupt.relay(false);
        saw
    }

    /// Passes signals on to the command until it has ended, or must be stopped.
    fn attend(&mut self, guest: &mut Guest, errand: &mut Errand) -> Saw {
        let began = self.site.clock.now();
        let Some(turn) = &self.turn else { return Saw::Broken };
        let limits = Turn { renewer: &turn.renewer, until: turn.until, began: turn.began, lease: turn.lease };
        // Stopping takes time, and what still runs when the turn ends is in nobody's way but the next one's.
        let grace = Millis::try_from(STOP_GRACE.as_millis()).unwrap_or(Millis::MAX).saturating_add(1_000);
        let margin = grace.min((turn.until - turn.began) / 10);
        let mut warned = false;
        loop {
            match guest.ended() {
                Ok(Some(status)) => {
                    errand.status = Some(status);
                    return Saw::Ran { well: status.success() };
                }
                Ok(None) => {}
                Err(error) => {
                    guest.stop();
                    return self.broken(error);
                }
            }
            if let Some(signal) = self.interrupt.take() {
                guest.pass_on(signal);
            }
            let now = self.site.clock.now();
            let over = limits.over(now, margin);
            if over.is_some() || limits.in_doubt(now, grace) {
                errand.ran = Some(now - began);
                guest.stop();
                return if over == Some(Over::Limit) { Saw::TooLong } else { self.lose_turn() };
            }
            if !warned && limits.nearly_over(now) {
                warned = true;
                let text = "the turn has used four fifths of its limit; at the limit the command is stopped";
                self.show.show(&Event::Warning(text));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// How a `run` ended.
    pub(super) fn saying_of(&mut self, errand: &Errand, why: Why) -> End {
        let shown = errand.shown();
        let again = || format!("signalbox run -- {}", errand.typed());
        let given = self.end.take();
        let line = |text: &str| naming(text, [&shown]);
        let end = match why {
            Why::Ran => {
                let code = errand.code().unwrap_or(exit::INTERNAL.into());
                let turn = self.turn.as_ref().map_or(0, |turn| turn.no);
                let text = line(&format!("{{}} ended with code {code}; the turn ({turn}) was given back"));
                let exit = u8::try_from(code).unwrap_or(exit::INTERNAL);
                return End::new(exit, "ran", text).fact("command", shown.as_str()).fact("commandExit", code);
            }
            Why::StillWaiting => End::new(
                exit::WAITING,
                "still_waiting",
                line("the turn did not come in time; {} was not run"),
            )
            .next(again()),
            Why::TurnLost => match errand.ran {
                Some(ran) => {
                    let text = format!(
                        "the turn was lost, so {{}} was stopped after {}; see what it did",
                        span(ran)
                    );
                    End::new(exit::TURN, "turn_lost", line(&text)).fact("ranMs", ran)
                }
                None => {
                    let text = "the turn was lost before {} was started; nothing was run, try again";
                    End::new(exit::TURN, "turn_lost", line(text)).next(again())
                }
            },
            Why::TooLong => {
                let limit = self.turn.as_ref().map_or(0, |turn| turn.until - turn.began);
                let text =
                    format!("the turn's limit of {} came, so {{}} was stopped; raise the limit", span(limit));
                End::new(exit::TURN, "turn_limit", line(&text))
                    .more("The limit stands in the state: signalbox init --turn-ms N raises it for this box.")
                    .fact("ranMs", errand.ran.map_or(Value::Null, Value::from))
                    .fact("turnMs", limit)
                    .next(format!("signalbox init --turn-ms {}", limit.saturating_mul(2)))
            }
            Why::Interrupted => {
                let signal = self.interrupt.signal().unwrap_or(2);
                let code = u8::try_from(128 + signal).unwrap_or(130);
                End::new(code, "interrupted", line("stopped; {} was not run")).next(again())
            }
            Why::RemoteRefused => locked::end(&locked::all(&self.site.trunk)).unwrap_or_else(|| {
                let text = "the remote refuses the fence, so {} was not run; the next lines are its words";
                End::new(exit::REFUSED, "remote_refused", line(text)).more(self.said.clone())
            }),
            Why::Frozen => {
                let issues = self.frozen_by.clone().unwrap_or_default().join(", ");
                let text = "frozen by {}, which does not admit {}; {} was not run";
                let first = naming(text, [&issues, &self.options.branch, &shown]);
                let given = given.unwrap_or_else(|| End::new(exit::LATER, "frozen", &first));
                End { line: first, ..given }
            }
            _ => given.unwrap_or_else(|| End::internal(format!("{} was not run", short(&shown, 60)))),
        };
        let end = if end.code == "project_retired" { end.next(again()) } else { end };
        refusal(end.fact("command", shown))
    }

    /// Whether a freeze keeps out what this passage is for.
    pub(super) fn frozen(&mut self, freeze: &client::FreezeView) -> bool {
        if !holds::keeps_out(freeze, &self.options.branch, self.head.as_str()) {
            return false;
        }
        self.end = Some(holds::frozen_end(&self.options.branch, freeze));
        self.frozen_by = Some(freeze.issues.clone());
        true
    }
}
