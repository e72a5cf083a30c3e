//! The queue and the freeze.

use crate::doctor::code::Code;
use crate::doctor::finding::Finding;
use crate::end::{naming, quoted, short};
use crate::times::span;
use client::{QueueView, TicketView};
use kernel::Millis;

/// What the box says, and what this machine knows of it.
#[derive(Debug, Clone)]
pub(in crate::doctor) struct Queue {
    pub(in crate::doctor) view: QueueView,
    /// The tickets of this machine whose processes are gone.
    pub(in crate::doctor) gone: Vec<String>,
    pub(in crate::doctor) now: Millis,
    /// The ticket in whose turn this process says to run.
    pub(in crate::doctor) inside: Option<String>,
}

/// How long a freeze may stand without a word.
const FREEZE_MAX: Millis = 86_400_000;

pub(in crate::doctor) fn judge(facts: &Queue) -> Vec<Finding> {
    let mut found = Vec::new();
    let tickets = &facts.view.tickets;
    let holder = tickets.iter().find(|ticket| ticket.turn);
    for ticket in tickets.iter().filter(|ticket| facts.gone.contains(&ticket.ticket)) {
        let line = "the process of {} is gone and its place stands; the next landing ends it, or you do";
        found.push(
            Finding::new(Code::ProcessGone, naming(line, [&ticket.branch])).next("signalbox land --settle"),
        );
    }
    let gone = |holder: &TicketView| facts.gone.contains(&holder.ticket);
    found.extend(holder.filter(|holder| !gone(holder)).and_then(|holder| silent(holder, facts.now)));
    if let Some(freeze) = &facts.view.freeze
        && facts.now - freeze.opened_at > FREEZE_MAX
    {
        let days = (facts.now - freeze.opened_at) / FREEZE_MAX;
        let days = if days == 1 { "a day".to_owned() } else { format!("{days} days") };
        let text = format!("the freeze for {{}} has stood for more than {days}; close it if it is over");
        let issues: Vec<String> = freeze.issues.iter().map(|issue| quoted(issue)).collect();
        found.push(
            Finding::new(Code::FreezeOld, naming(&text, [&freeze.issues.join(", ")]))
                .more(format!("{} opened it.", short(&freeze.opener, 60)))
                .next(format!("signalbox freeze close {}", issues.join(" "))),
        );
    }
    if found.is_empty() {
        let line = match holder {
            Some(holder) => {
                let text = format!("{{}} with {{}} has the turn; {} wait", tickets.len() - 1);
                naming(&text, [&holder.label, &holder.branch])
            }
            None if tickets.is_empty() => "nobody has the turn, and nobody waits".to_owned(),
            None => format!("nobody has the turn; {} wait", tickets.len()),
        };
        found.push(Finding::new(Code::Queue, line));
    }
    found
}

/// A variable that names a turn in which this process does not run.
pub(in crate::doctor) fn judge_inside(facts: &Queue) -> Option<Finding> {
    let inside = facts.inside.as_ref()?;
    if facts.view.tickets.iter().any(|ticket| ticket.turn && ticket.ticket == *inside) {
        return None;
    }
    let line = "SIGNALBOX_TICKET names a turn that is over, or another repository's; unset it";
    Some(Finding::new(Code::VariableStale, line).next("unset SIGNALBOX_TICKET SIGNALBOX_TURN"))
}

/// Who has the turn and was not heard of for more than half of its lease.
fn silent(holder: &TicketView, now: Millis) -> Option<Finding> {
    let lease = holder.lease_until - holder.touched_at;
    let quiet = now - holder.touched_at;
    if quiet * 2 <= lease {
        return None;
    }
    let (quiet, left) = (span(quiet), span(holder.lease_until - now));
    let text = format!("{{}} with {{}} was not heard of for {quiet}; in {left} its turn passes on by itself");
    let line = naming(&text, [&holder.label, &holder.branch]);
    Some(Finding::new(Code::HolderSilent, line).next("signalbox queue"))
}
