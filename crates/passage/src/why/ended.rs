//! How a stay ended, and what to do about it.

use super::{Facts, Place};
use crate::end::{End, exit, naming, quoted};
use crate::journal::Settled;
use client::EndedView;
use kernel::Millis;
use serde_json::Value;

impl Facts<'_> {
    pub(super) fn settled(&self, settled: &Settled) -> End {
        if settled.landed {
            return self.landed(&settled.commit, Some(settled.turn_no), None);
        }
        let line = naming("the push of {} did not land, and will not; land it again", [&self.branch]);
        End::new(exit::AGAIN, "not_landed", line).next(self.land())
    }

    pub(super) fn landed(&self, commit: &str, turn: Option<i64>, at: Option<Millis>) -> End {
        let short_commit = commit.get(..9).unwrap_or(commit);
        let turn = turn.map_or_else(String::new, |turn| format!(" (turn {turn})"));
        let at = at.map_or_else(String::new, |at| format!(", {}", (self.clock)(at)));
        let text = format!("{{}} landed on {{}} as {short_commit}{turn}{at}");
        End::new(exit::DONE, "landed", naming(&text, [&self.branch, &self.trunk])).fact("commit", commit)
    }

    /// Whether its last stay landed that very commit.
    pub(super) fn landed_last(&self) -> bool {
        match &self.place {
            Place::Ended { view, fate, moved_on: false, .. } => {
                fate.as_ref().map_or(view.outcome == "landed", |fate| fate.landed)
            }
            _ => false,
        }
    }

    /// Another commit of the branch was in the queue.
    pub(super) fn tried(&self, view: &EndedView) -> End {
        let at = (self.clock)(view.ended_at);
        self.never().more(format!("An earlier commit of it was there before ({at}): {}", view.outcome))
    }

    /// Why a stay ended that did not land, and what to do about it.
    pub(super) fn not_landed(&self, view: &EndedView, log: Option<&str>) -> End {
        let reason = view.report.as_ref().and_then(|report| report.get("reason")?.as_str());
        let at = (self.clock)(view.ended_at);
        let name = self.branch.as_str();
        let files: Vec<&str> = view
            .report
            .iter()
            .filter_map(|report| report.get("files")?.as_array())
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let file = files.first().copied().unwrap_or("a file");
        let foreseen = |code: &str| self.ahead.clone().filter(|end| end.code == code);
        let end = match view.outcome.as_str() {
            "failed" => {
                let code =
                    view.report.as_ref().and_then(|report| report.get("checkCode")).and_then(Value::as_i64);
                let code = code.map_or_else(|| "by a signal".to_owned(), |code| format!("with code {code}"));
                let text =
                    format!("the check of {{}} failed {code} ({at}); mend the branch, then land it again");
                let end = End::new(exit::RED, "check_red", naming(&text, [name]));
                match log {
                    Some(log) => end.more(format!("Its output: {log}")).next(format!("cat {}", quoted(log))),
                    None => end.next(self.land()),
                }
            }
            "conflict" => foreseen("conflict").unwrap_or_else(|| {
                let text = "{} was in conflict in {}, and would merge now; land it again";
                End::new(exit::AGAIN, "land_again", naming(text, [name, file])).next(self.land())
            }),
            "duplicate" => foreseen("duplicate_number").unwrap_or_else(|| {
                let text = "{} had the number of another file, which is free now; land {} again";
                End::new(exit::AGAIN, "land_again", naming(text, [file, name])).next(self.land())
            }),
            "held" => self.held(false).unwrap_or_else(|| {
                let text = format!("a hold kept {{}} out ({at}), and stands no longer; land it again");
                End::new(exit::AGAIN, "land_again", naming(&text, [name])).next(self.land())
            }),
            "frozen" => self.frozen_out().map(|freeze| self.frozen(freeze)).unwrap_or_else(|| {
                let text = format!("a freeze kept {{}} out ({at}), and does no longer; land it again");
                End::new(exit::AGAIN, "land_again", naming(&text, [name])).next(self.land())
            }),
            "moved" => {
                let why = reason.unwrap_or("the branch or the trunk moved");
                let text = format!("{{}} did not land ({at}): {{}}; land it again");
                End::new(exit::MEND, "moved", naming(&text, [name, why])).next(self.land())
            }
            "limit" => {
                let text =
                    format!("the turn's limit came before the check of {{}} ended ({at}); raise the limit");
                let turn = view.turn_at.map_or(1, |began| view.ended_at - began).max(1);
                End::new(exit::TURN, "turn_limit", naming(&text, [name]))
                    .next(format!("signalbox init --turn-ms {}", turn.saturating_mul(2)))
            }
            "refused" => {
                let text = format!("the remote refused {{}} ({at}): {{}}");
                let why = reason.unwrap_or("see what its hooks and rules demand");
                End::new(exit::REFUSED, "remote_refused", naming(&text, [name, why])).next(self.land())
            }
            "lapsed" => {
                let text = format!("{{}} was not heard of in time, so its place ended ({at}); land it again");
                End::new(exit::TURN, "turn_lost", naming(&text, [name])).next(self.land())
            }
            "unknown" => {
                let text =
                    format!("the process of {{}} was gone, so its place was ended ({at}); land it again");
                End::new(exit::AGAIN, "process_gone", naming(&text, [name])).next(self.land())
            }
            _ => {
                let why = reason.unwrap_or("it left the queue");
                let text = format!("{{}} did not land ({at}): {{}}; land it again");
                End::new(exit::AGAIN, "withdrawn", naming(&text, [name, why])).next(self.land())
            }
        };
        end.fact("outcome", view.outcome.as_str()).fact("endedAt", view.ended_at)
    }
}
