//! The bodies of the answers.

use crate::queue::Desk;
use crate::slice::{Ended, Freeze, Hold, Mint, Ticket};
use serde_json::{Value, json};

/// The answer to a mint whose block ends with `last`.
pub(crate) fn mint(mint: &Mint, last: i64) -> Value {
    json!({
        "project": mint.project.as_str(),
        "scope": mint.scope,
        "first": last - mint.count + 1,
        "last": last,
        "count": mint.count,
    })
}

/// A ticket as its caller sees it. Position 0 has the turn; who waits counts from 1.
pub(crate) fn ticket(desk: &Desk<'_>, t: &Ticket) -> Value {
    let has_turn = t.turn.is_some();
    let ahead: Vec<&Ticket> = if has_turn {
        Vec::new()
    } else {
        let waiting = desk.live().filter(|other| other.turn.is_none() && other.entry < t.entry);
        desk.holder().into_iter().chain(waiting).collect()
    };
    let waiting_ahead = ahead.iter().filter(|other| other.turn.is_none()).count();
    json!({
        "ticket": t.ticket.as_str(),
        "entry": t.entry,
        "turnNo": t.turn.map(|turn| turn.no),
        "branch": t.branch,
        "head": t.head,
        "label": t.label,
        "step": t.step,
        "position": if has_turn { 0 } else { 1 + waiting_ahead },
        "turn": has_turn,
        "enteredAt": t.entered_at,
        "touchedAt": t.touched_at,
        "turnAt": t.turn.map(|turn| turn.at),
        "leaseUntil": desk.lease_until(t),
        "turnUntil": t.turn.map(|turn| desk.turn_until(turn)),
        "ahead": ahead.iter().map(|other| json!({
            "ticket": other.ticket.as_str(),
            "branch": other.branch,
            "head": other.head,
            "label": other.label,
            "step": other.step,
        })).collect::<Vec<_>>(),
        "blocked": desk.blocks(t).map(freeze),
    })
}

/// A hold as callers see it.
pub(crate) fn hold(hold: &Hold) -> Value {
    json!({
        "name": hold.name,
        "paths": hold.paths,
        "owner": hold.owner,
        "openedAt": hold.opened_at,
        "until": hold.until,
    })
}

/// The open holds, by name.
pub(crate) fn holds(desk: &Desk<'_>) -> Vec<Value> {
    desk.open_holds().map(hold).collect()
}

/// A freeze as callers see it.
pub(crate) fn freeze(freeze: &Freeze) -> Value {
    json!({
        "issues": freeze.issues,
        "opener": freeze.opener,
        "declaredAt": freeze.declared_at,
        "openedAt": freeze.opened_at,
        "admissions": freeze.admissions,
    })
}

/// The queue as who follows it sees it.
pub(crate) fn list(desk: &Desk<'_>, ended: &[Ended], box_id: &str) -> Value {
    let waiting = desk.live().filter(|t| t.turn.is_none());
    let tickets: Vec<Value> = desk.holder().into_iter().chain(waiting).map(|t| ticket(desk, t)).collect();
    json!({
        "tickets": tickets,
        "freeze": desk.freeze.as_ref().map(freeze),
        "ended": ended.iter().map(register_row).collect::<Vec<_>>(),
        "box": box_id,
        "mark": mark(desk),
    })
}

/// The change mark. Between two changes the live tickets can only become fewer, by lapsing, so their
/// number makes a lapse visible that nobody has written down.
pub(crate) fn mark(desk: &Desk<'_>) -> String {
    format!("{}.{}", desk.state.mark, desk.live().count())
}

fn register_row(row: &Ended) -> Value {
    let t = &row.ticket;
    json!({
        "ticket": t.ticket.as_str(),
        "entry": t.entry,
        "turnNo": t.turn.map(|turn| turn.no),
        "branch": t.branch,
        "head": t.head,
        "label": t.label,
        "step": t.step,
        "enteredAt": t.entered_at,
        "turnAt": t.turn.map(|turn| turn.at),
        "endedAt": row.at,
        "outcome": row.outcome.as_str(),
        "report": row.report,
    })
}
