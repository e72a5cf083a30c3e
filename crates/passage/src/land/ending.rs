//! Step 9: leave with outcome and report, remove what was made, and say what the caller does next.

use super::Passage;
use super::enter::already_there;
use crate::check::{self, Checked};
use crate::end::{End, exit, land_command, naming, printable, quoted, short};
use crate::event::Event;
use crate::fault;
use crate::kept;
use crate::locked;
use crate::machine::Why;
use crate::split;
use crate::times::span;
use kernel::{Code, Millis};
use landing::Outcome;
use serde_json::{Map, Value, json};

/// The largest report that the box takes, in bytes.
const REPORT_MAX: usize = 2_048;

/// The most files that a report names.
const REPORT_FILES_MAX: usize = 20;

/// The longest reason that a report gives, in characters.
const REASON_MAX: usize = 200;

impl Passage<'_> {
    pub(super) fn leave(mut self, outcome: Outcome, why: Why) -> End {
        self.give_back(outcome, why);
        self.finish(why)
    }

    /// Ends the stay, and with it the turn.
    pub(super) fn give_back(&mut self, outcome: Outcome, why: Why) {
        if let Some(turn) = &mut self.turn {
            turn.renewer.stop();
        }
        if let Some(stay) = &self.stay {
            let report = self.report(outcome, why);
            // A stay that has ended already keeps its row in the register.
            let calls = self.site.calls();
            let left = match calls.leave(stay, outcome.as_str(), Some(&report), None) {
                // A box that does not take this report: nobody shall wait for that.
                Err(error) if error.is(Code::InvalidRequest) => {
                    calls.leave(stay, outcome.as_str(), None, None)
                }
                left => left,
            };
            let over = [Code::TicketGone, Code::ProjectRetired];
            self.stands = left.is_err_and(|error| !over.iter().any(|code| error.is(*code)));
        }
        fault::point("leave:left");
    }

    pub(super) fn finish(mut self, why: Why) -> End {
        let end = self.saying(why);
        self.found.settle();
        self.tidy(why);
        end
    }

    /// Removes what was made: the refs that kept objects, the intent, the lock. What is still open stays.
    fn tidy(self, why: Why) {
        if why == Why::StillWaiting && self.errand.is_none() {
            if let Some(stay) = &self.stay {
                kept::put(self.site, stay, &self.options.branch, self.head.as_str());
            }
            return self.live.forget();
        }
        if why != Why::Unknown {
            let dropped = self.site.repo.drop_keep(self.ticket.as_str());
            fault::point("leave:dropped");
            if let Some(intent) = &self.intent {
                fault::point("leave:before-close");
                let closed = self.site.journal().close(intent, why == Why::Landed);
                fault::point("leave:closed");
                if dropped.is_err() || closed.is_err() {
                    let text =
                        "the record of this landing could not be completed; `signalbox land --settle` does";
                    self.show.show(&Event::Note(text));
                }
            }
        }
        if !self.stands {
            self.live.release();
        }
        // Else the lock's file stays, and is free: it lets the next waiter end the place at once.
        fault::point("leave:released");
    }

    fn report(&self, outcome: Outcome, why: Why) -> Value {
        let mut report = Map::new();
        if let Some(reason) = self.reason(why) {
            let reason = printable(&reason).replace(['\n', '\t'], " ");
            report.insert("reason".into(), reason.chars().take(REASON_MAX).collect::<String>().into());
        }
        if let Some(landing) = self.landing.as_ref().filter(|_| outcome == Outcome::Landed) {
            report.insert("commit".into(), landing.commit.as_str().into());
        }
        report.insert("phases".into(), json!(self.phases));
        if let Some(code) = self.check_code.or_else(|| self.errand.as_ref()?.code()) {
            report.insert("checkCode".into(), code.into());
        }
        if let Some(ahead) = self.ahead {
            report.insert("ahead".into(), ahead.into());
        }
        if let Some(wait) = self.found.estimate {
            report.insert("estimate".into(), json!([wait.low, wait.high]));
        }
        if !self.files.is_empty() {
            let first = self.files.iter().take(REPORT_FILES_MAX);
            let mut files: Vec<String> = first.map(|file| short(file, 120)).collect();
            report.insert("files".into(), json!(files));
            while Value::Object(report.clone()).to_string().len() > REPORT_MAX && !files.is_empty() {
                files.pop();
                report.insert("files".into(), json!(files));
            }
        }
        Value::Object(report)
    }

    /// What the outcome alone does not tell, for whoever reads the register later.
    fn reason(&self, why: Why) -> Option<String> {
        let said = || self.end.as_ref().map(|end| end.line.clone());
        Some(match why {
            Why::DryRun => "a dry run".to_owned(),
            Why::Nothing => "the trunk has it already".to_owned(),
            Why::BranchMoved => "the branch was changed on its way".to_owned(),
            Why::Restless => "the trunk was moved again and again outside the queue".to_owned(),
            Why::TurnLost => match &self.errand {
                Some(errand) if errand.was_stopped() => format!("ran {}", errand.shown()),
                _ => "the turn was lost".to_owned(),
            },
            Why::StillWaiting => "its turn did not come in time".to_owned(),
            Why::Interrupted => match self.interrupt.signal() {
                Some(15) => "stopped by SIGTERM".to_owned(),
                _ => "stopped by Ctrl-C".to_owned(),
            },
            Why::Held => {
                let (hold, path) = self.hold.as_ref().zip(self.held_path.as_ref())?;
                format!(
                    "{} is under the hold {} of {}",
                    short(path, 60),
                    short(&hold.0, 40),
                    short(&hold.1, 40)
                )
            }
            Why::RemoteRefused => self.said.lines().find(|line| !line.trim().is_empty())?.trim().to_owned(),
            Why::Frozen => {
                let issues = self.frozen_by.as_ref()?;
                format!("frozen by {}", short(&issues.join(", "), 100))
            }
            Why::OtherBox | Why::Obstacle | Why::BadSettings | Why::Broken | Why::Unreachable => said()?,
            Why::Ran | Why::TooLong => format!("ran {}", self.errand.as_ref()?.shown()),
            Why::Landed | Why::Conflict | Why::Duplicate | Why::Red | Why::Unknown => {
                return None;
            }
        })
    }

    fn saying(&mut self, why: Why) -> End {
        if let Some(errand) = self.errand.take() {
            let end = self.saying_of(&errand, why);
            self.errand = Some(errand);
            return self.with_facts(end);
        }
        let branch = self.branch(35);
        let land = land_command(&self.options.branch, "");
        let names = [self.options.branch.clone(), self.site.trunk_name()];
        let [name, trunk] = [names[0].as_str(), names[1].as_str()];
        let given = self.end.take();
        let end = match why {
            Why::Landed => self.landed(name, trunk),
            Why::Nothing => already_there(self.site, &self.options.branch),
            Why::DryRun => End::new(
                exit::DONE,
                "dry_run",
                naming("{} would land on {}: merged and checked, nothing pushed", [name, trunk]),
            )
            .next(land),
            Why::StillWaiting if self.options.dry_run => {
                let line = format!("{branch} still waits; its place is kept until its lease ends");
                End::new(exit::WAITING, "still_waiting", line).next(land_command(name, " --dry-run"))
            }
            Why::StillWaiting => {
                let resume = land_command(name, &format!(" --resume {}", self.ticket.as_str()));
                let line = format!("{branch} still waits; its place is kept until its lease ends");
                End::new(exit::WAITING, "still_waiting", line).next(resume)
            }
            Why::Red => self.red(name, trunk),
            Why::BranchMoved => End::new(
                exit::MEND,
                "branch_moved",
                format!("{branch} was changed while it was on its way; land it again as it is now"),
            )
            .next(land),
            Why::TurnLost => End::new(
                exit::TURN,
                "turn_lost",
                format!("the turn of {branch} is lost: it was not heard of in time; land it again"),
            )
            .next(land),
            Why::RemoteRefused if split::is_split(self.site) => split::end(self.site),
            Why::RemoteRefused => locked::end(&locked::all(&self.site.trunk)).unwrap_or_else(|| {
                let line = format!("the remote refuses the push of {branch}; the next lines are its words");
                End::new(exit::REFUSED, "remote_refused", line).more(self.said.clone())
            }),
            Why::Restless => End::new(
                exit::AGAIN,
                "trunk_restless",
                naming("{} was moved outside the queue again and again; nothing landed, try again", [trunk]),
            )
            .next(land),
            Why::Unknown => End::new(
                exit::UNKNOWN,
                "outcome_unknown",
                format!("{branch} was pushed, but what became of it cannot be read; settle it"),
            )
            .more(self.said.clone())
            .next("signalbox land --settle"),
            Why::Interrupted => End::new(
                self.interrupt.exit(),
                "interrupted",
                format!("stopped; {branch} did not land and left the queue"),
            )
            .next(land),
            Why::Unreachable => given.clone().unwrap_or_else(|| {
                let line = format!("the remote cannot be reached; {branch} did not land, try again");
                End::new(exit::AGAIN, "unreachable", line).more(self.said.clone())
            }),
            Why::Held
            | Why::Frozen
            | Why::Conflict
            | Why::Duplicate
            | Why::TooLong
            | Why::OtherBox
            | Why::Obstacle
            | Why::BadSettings
            | Why::Ran
            | Why::Broken => given.clone().unwrap_or_else(|| self.nameless(why, &branch)),
        };
        // Who opens the state again finds the id in use.
        let retired = end.code == "project_retired";
        let end = if retired { end.next(land_command(name, "")) } else { end };
        let end = match (why, given) {
            (Why::Unknown, Some(given)) => end.more(given.line).more(given.more.join("\n")),
            _ => end,
        };
        self.with_facts(end)
    }

    fn nameless(&self, why: Why, branch: &str) -> End {
        match why {
            Why::OtherBox => End::new(
                exit::SETUP,
                "other_box",
                "another clone keeps this trunk; share its state (--state DIR), or take over",
            )
            .more("To take over, where that state is lost: signalbox init --take-over"),
            _ => End::internal(format!("the passage of {branch} met something that it has no answer to")),
        }
    }

    fn with_facts(&self, mut end: End) -> End {
        end = end.fact("branch", self.options.branch.as_str()).fact("head", self.head.as_str());
        end = end.fact("ticket", self.ticket.as_str());
        if let Some(turn) = &self.turn {
            end = end.fact("turnNo", turn.no);
        }
        end.fact("phases", json!(self.phases))
    }

    fn landed(&self, branch: &str, trunk: &str) -> End {
        let commit = self.landing.as_ref().map(|landing| landing.commit.clone());
        let short_commit = commit.as_ref().map_or("", |commit| commit.short());
        let turn = self.turn.as_ref().map_or(0, |turn| turn.no);
        let end = End::new(
            exit::DONE,
            "landed",
            naming(&format!("{{}} landed on {{}} as {short_commit} (turn {turn})"), [branch, trunk]),
        );
        match commit {
            Some(commit) => end.fact("commit", commit.as_str()),
            None => end,
        }
    }

    /// Says whose fault a red check is: the trunk alone is checked once with the same command, after the
    /// turn was given back.
    fn red(&mut self, branch: &str, trunk: &str) -> End {
        let code = self.check_code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
        let log = self.site.state.join("logs").join(format!("{}.log", self.ticket.as_str()));
        let fault = self.fault();
        let line = match fault {
            Some("trunk") => {
                naming(&format!("the check fails ({code}), on {{}} alone too; mend the trunk first"), [trunk])
            }
            Some(_) => naming(
                &format!("the check of {{}} fails ({code}), {{}} alone passes; mend the branch"),
                [branch, trunk],
            ),
            None => naming(
                &format!("the check of {{}} with {{}} fails ({code}); mend the branch"),
                [branch, trunk],
            ),
        };
        let log = log.display().to_string();
        End::new(exit::RED, "check_red", line)
            .more(format!("Its output: {log}"))
            .fact("fault", fault.unwrap_or("unknown"))
            .fact("checkCode", self.check_code.map_or(Value::Null, Value::from))
            .fact("log", log.clone())
            .next(format!("cat {}", quoted(&log)))
    }

    fn fault(&self) -> Option<&'static str> {
        let landing = self.landing.as_ref()?;
        let trunk = landing.old.as_ref()?;
        let tree = self.site.repo.tree_of(trunk).ok()?;
        self.show.show(&Event::Step("checking the trunk alone"));
        self.show.show(&Event::Note("now the trunk alone is checked, to see whose fault it is"));
        let subject = check::Subject {
            commit: trunk,
            tree: &tree,
            settings: &landing.settings,
            ticket: &self.ticket,
            branch: &self.site.trunk.branch,
            turn_no: self.turn.as_ref().map_or(0, |turn| turn.no),
        };
        match check::of_trunk(self.site, &self.show, &self.interrupt, &self.live, &subject) {
            Ok(Checked::Green) => Some("branch"),
            Ok(Checked::Red(_)) => Some("trunk"),
            _ => None,
        }
    }
}

/// The turn's limit came before the check ended.
pub(super) fn too_long(ran: Millis, limit: Millis) -> End {
    let line = format!(
        "the check ran {} and the turn's limit of {} came; make it quicker, or raise the limit",
        span(ran),
        span(limit)
    );
    End::new(exit::TURN, "turn_limit", line)
        .more("The limit stands in the state: signalbox init --turn-ms N raises it for this box.")
        .fact("checkMs", ran)
        .fact("turnMs", limit)
        .next(format!("signalbox init --turn-ms {}", limit.saturating_mul(2)))
}
