//! The queue: who lives, who has the turn, whose turn begins.
//!
//! Liveness is derived from the time passed in and never stored; no background job has to run for an
//! answer to be right.

use crate::slice::{Change, Ended, Freeze, Hold, Outcome, Project, Spans, State, Ticket, Turn};
use kernel::{Id, Limits, Millis};
use std::collections::BTreeMap;

/// One project as one call sees it: a working copy, the time, and the changes so far.
#[derive(Debug)]
pub(crate) struct Desk<'a> {
    id: &'a Id,
    /// The working copy of the counters.
    pub(crate) state: State,
    /// The working copy of the tickets that have not ended, in the order of their entry.
    pub(crate) tickets: Vec<Ticket>,
    /// The working copy of the holds that were not closed.
    pub(crate) holds: BTreeMap<String, Hold>,
    /// The working copy of the freeze.
    pub(crate) freeze: Option<Freeze>,
    /// The project's time: never behind what an exclusive call has written.
    pub(crate) now: Millis,
    spans: Spans,
    pub(crate) limits: &'a Limits,
    before: State,
    changes: Vec<Change>,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(
        id: &'a Id,
        project: Option<&Project>,
        spans: Spans,
        clock: Millis,
        limits: &'a Limits,
    ) -> Self {
        let state = project.map_or_else(State::default, |p| p.state);
        let tickets = project.map_or_else(Vec::new, |p| p.tickets.clone());
        let holds = project.map_or_else(BTreeMap::new, |p| p.holds.clone());
        let freeze = project.and_then(|p| p.freeze.clone());
        Self {
            id,
            state,
            tickets,
            holds,
            freeze,
            now: clock.max(state.time),
            spans,
            limits,
            before: state,
            changes: Vec::new(),
        }
    }

    /// When the ticket stops living, unless it is touched before: the first of the ends of its lease, its
    /// turn and its age.
    pub(crate) fn lapse(&self, t: &Ticket) -> Millis {
        let lease = t.touched_at + self.spans.lease;
        let age = t.entered_at + self.limits.ticket_age_ms;
        let turn = t.turn.map_or(Millis::MAX, |turn| turn.at + self.spans.turn);
        lease.min(age).min(turn)
    }

    pub(crate) fn lives(&self, t: &Ticket) -> bool {
        self.now < self.lapse(t) && t.turn.is_none_or(|turn| turn.no == self.state.turn_no)
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = &Ticket> {
        self.tickets.iter().filter(|t| self.lives(t))
    }

    /// The live ticket that has the turn.
    pub(crate) fn holder(&self) -> Option<&Ticket> {
        self.live().find(|t| t.turn.is_some())
    }

    /// The live ticket of this stay.
    pub(crate) fn stay(&self, ticket: &Id, entry: i64) -> Option<&Ticket> {
        self.live().find(|t| t.ticket == *ticket && t.entry == entry)
    }

    /// The first time at which some live ticket lapses, unless it is touched before.
    pub(crate) fn next_lapse(&self) -> Option<Millis> {
        self.live().map(|t| self.lapse(t)).min()
    }

    /// When a turn that began then ends at the latest.
    pub(crate) fn turn_until(&self, turn: Turn) -> Millis {
        turn.at + self.spans.turn
    }

    /// When the lease ends, unless the ticket is touched before.
    pub(crate) fn lease_until(&self, t: &Ticket) -> Millis {
        t.touched_at + self.spans.lease
    }

    /// Puts a ticket, new or changed.
    pub(crate) fn put(&mut self, ticket: Ticket) {
        self.changes.push(Change::Put { project: self.id.clone(), ticket: ticket.clone() });
        match self.tickets.iter_mut().find(|t| t.ticket == ticket.ticket) {
            Some(old) => *old = ticket,
            None => self.tickets.push(ticket),
        }
        self.tickets.sort_by_key(|t| t.entry);
    }

    /// Ends a stay: the ticket leaves the queue and its row goes to the register.
    pub(crate) fn end(
        &mut self,
        ticket: &Id,
        outcome: Outcome,
        report: Option<serde_json::Map<String, serde_json::Value>>,
    ) {
        let Some(at) = self.tickets.iter().position(|t| t.ticket == *ticket) else { return };
        let ended = Ended { ticket: self.tickets.remove(at), at: self.now, outcome, report };
        self.changes.push(Change::End { project: self.id.clone(), ended });
        self.moved();
    }

    /// Somebody who follows the queue would see a difference.
    pub(crate) fn moved(&mut self) {
        self.state.mark += 1;
    }

    /// Removes what entered longer ago than a ticket may live, the oldest first.
    pub(crate) fn sweep(&mut self) {
        let old = |t: &&Ticket| self.now - t.entered_at >= self.limits.ticket_age_ms;
        let old: Vec<Id> =
            self.tickets.iter().filter(old).take(self.limits.sweep_max).map(|t| t.ticket.clone()).collect();
        for ticket in &old {
            self.end(ticket, Outcome::Lapsed, None);
        }
    }

    /// The freeze that keeps a ticket's turn from beginning.
    pub(crate) fn blocks(&self, t: &Ticket) -> Option<&Freeze> {
        let holds_turns = self.spans.freeze_holds_turns && t.turn.is_none();
        self.freeze.as_ref().filter(|freeze| holds_turns && !freeze.admits(&t.branch, &t.head))
    }

    /// The holds that are open now.
    pub(crate) fn open_holds(&self) -> impl Iterator<Item = &Hold> {
        self.holds.values().filter(|hold| self.now < hold.until)
    }

    /// Puts a hold, new or changed.
    pub(crate) fn put_hold(&mut self, hold: Hold) {
        self.changes.push(Change::Hold { project: self.id.clone(), hold: hold.clone() });
        self.holds.insert(hold.name.clone(), hold);
        self.moved();
    }

    /// Drops a hold.
    pub(crate) fn drop_hold(&mut self, name: &str) {
        if self.holds.remove(name).is_some() {
            self.changes.push(Change::DropHold { project: self.id.clone(), name: name.to_owned() });
            self.moved();
        }
    }

    /// Puts the freeze, or drops it.
    pub(crate) fn put_freeze(&mut self, freeze: Option<Freeze>) {
        self.changes.push(Change::Freeze { project: self.id.clone(), freeze: freeze.clone() });
        self.freeze = freeze;
        self.moved();
    }

    /// The first read under the lock that finds no holder begins the turn of the first live ticket (under a
    /// freeze: of the first that it admits), and ends every lapsed one with it.
    pub(crate) fn begin_turn(&mut self) {
        if self.holder().is_some() {
            return;
        }
        let Some(mut next) = self.live().find(|t| self.blocks(t).is_none()).cloned() else { return };
        let lapsed: Vec<Id> =
            self.tickets.iter().filter(|t| !self.lives(t)).map(|t| t.ticket.clone()).collect();
        for ticket in &lapsed {
            self.end(ticket, Outcome::Lapsed, None);
        }
        self.state.turn_no += 1;
        next.turn = Some(Turn { no: self.state.turn_no, at: self.now });
        self.put(next);
        self.moved();
    }

    pub(crate) fn push(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// The stays that this call has ended, the latest first.
    pub(crate) fn just_ended(&self) -> impl Iterator<Item = &Ended> {
        self.changes.iter().rev().filter_map(|change| match change {
            Change::End { ended, .. } => Some(ended),
            _ => None,
        })
    }

    /// The changes; where there are any, the project's counters and its time are written with them.
    pub(crate) fn into_changes(mut self) -> Vec<Change> {
        if !self.changes.is_empty() || self.state != self.before {
            self.state.time = self.now;
            self.changes.push(Change::State { project: self.id.clone(), state: self.state });
        }
        self.changes
    }
}
