//! What keeps a place in the queue from landing.

use super::Facts;
use crate::end::{End, exit, land_command, naming};
use crate::live::Owner;
use crate::renew;
use crate::times::span;
use client::{FreezeView, TicketView};

impl Facts<'_> {
    pub(super) fn standing(&self, causes: &mut Vec<End>, view: &TicketView, owner: Owner, kept: bool) {
        causes.extend(self.abandoned(view, owner, kept));
        if view.turn {
            if owner != Owner::Gone && !kept {
                causes.push(self.having_the_turn(view));
                causes.extend(self.near_the_limit(view));
            }
            causes.extend(self.frozen_out().map(|freeze| self.frozen_since(freeze)));
        } else if let Some(freeze) = &view.blocked {
            causes.push(self.frozen(freeze));
        } else {
            causes.push(self.behind(view));
            causes.extend(self.holder_is_silent(view));
        }
        causes.extend(self.held(true));
        causes.extend(self.ahead.clone());
    }

    /// Nobody goes on with the place.
    fn abandoned(&self, view: &TicketView, owner: Owner, kept: bool) -> Option<End> {
        let left = span(view.lease_until - self.now);
        let resume = land_command(&self.branch, &format!(" --resume {}", view.ticket));
        if owner == Owner::Gone {
            let line =
                naming("the process of {} is gone; land it again, which ends its old place", [&self.branch]);
            return Some(End::new(exit::TURN, "process_gone", line).next(self.land()));
        }
        if kept {
            let text =
                format!("nobody waits with {{}}: its place was kept and ends in {left}; go on with it");
            let line = naming(&text, [&self.branch]);
            return Some(End::new(exit::WAITING, "still_waiting", line).next(resume));
        }
        let silent = self.silent(view)?;
        let text =
            format!("{{}} was not heard of for {silent}; in {left} its place ends, unless it wakes up");
        let line = naming(&text, [&self.branch]);
        Some(End::new(exit::TURN, "silent", line).fact("leaseUntil", view.lease_until).next(resume))
    }

    /// How long a place was not heard of, where that is longer than its renewals are apart.
    fn silent(&self, view: &TicketView) -> Option<String> {
        let quiet = self.now - view.touched_at;
        (quiet >= 2 * renew::interval(view.lease_until - view.touched_at)).then(|| span(quiet))
    }

    fn having_the_turn(&self, view: &TicketView) -> End {
        let had = span(self.now - view.turn_at.unwrap_or(view.touched_at));
        let text = format!("{{}} has had the turn for {had} and goes on: {{}}");
        let step = if view.step.is_empty() { "it begins" } else { &view.step };
        End::new(exit::WAITING, "has_the_turn", naming(&text, [&self.branch, step]))
            .fact("turnNo", view.turn_no)
            .fact("step", view.step.as_str())
            .next("signalbox queue --watch")
    }

    fn near_the_limit(&self, view: &TicketView) -> Option<End> {
        let (began, until) = (view.turn_at?, view.turn_until?);
        let length = until - began;
        if self.now < began + length / 5 * 4 {
            return None;
        }
        let line = format!(
            "its turn ends in {} at the latest; make the check quicker, or raise the limit",
            span(until - self.now)
        );
        Some(
            End::new(exit::TURN, "turn_limit", line)
                .fact("turnUntil", until)
                .next(format!("signalbox init --turn-ms {}", length.saturating_mul(2))),
        )
    }

    fn behind(&self, view: &TicketView) -> End {
        let ahead = view.ahead.len();
        let holder = self.queue.iter().find(|other| other.turn);
        let end = match holder {
            Some(holder) => {
                let had = span(self.now - holder.turn_at.unwrap_or(holder.touched_at));
                let text = format!("{ahead} ahead; {{}} with {{}} has had the turn for {had}: {{}}");
                let step = if holder.step.is_empty() { "it begins" } else { &holder.step };
                let line = naming(&text, [&holder.label, &holder.branch, step]);
                End::new(exit::WAITING, "waiting", line)
                    .fact("holder", serde_json::json!({ "label": holder.label, "branch": holder.branch, "step": holder.step }))
            }
            None => {
                let line = naming("the turn of {} begins with the next look at the queue", [&self.branch]);
                End::new(exit::WAITING, "waiting", line)
            }
        };
        end.fact("ahead", ahead).next("signalbox queue --watch")
    }

    fn holder_is_silent(&self, view: &TicketView) -> Option<End> {
        let holder = self.queue.iter().find(|other| other.turn && other.ticket != view.ticket)?;
        let silent = self.silent(holder)?;
        let left = span(holder.lease_until - self.now);
        let text = format!("{{}} with {{}} was not heard of for {silent}; in {left} its turn passes on");
        let line = naming(&text, [&holder.label, &holder.branch]);
        Some(End::new(exit::WAITING, "holder_silent", line).next("signalbox queue --watch"))
    }

    /// A freeze that was opened while it had the turn, which is not taken away.
    fn frozen_since(&self, freeze: &FreezeView) -> End {
        let issues = freeze.issues.join(", ");
        let line = naming("frozen by {} since; {} will stop before its push", [&issues, &self.branch]);
        End { line, ..self.frozen(freeze) }
    }
}
