//! The rules of landing: numbers that are never issued twice, and a queue in which one integration at a
//! time has the turn. Plain functions over plain data; no I/O.
//!
//! Start reading at [`Landing`], which decides a call, and at `queue.rs`, which says who has the turn.
//! The order of checks (source: *A queue call is a transaction under its project's lock*): remembered
//! request, retired project, members, the call's own rules.

mod answer;
mod apply;
pub mod branch;
pub mod call;
mod holds;
pub mod members;
mod queue;
mod replace;
pub mod slice;

pub use call::{Call, Stay, Verb};
pub use slice::{
    Change, Ended, Freeze, Hold, Mint, Outcome, Past, Project, Remembered, Slice, Spans, State, Ticket, Turn,
};

use kernel::{Code, Decision, Id, Key, Limits, Millis, Refusal, Subject};
use queue::Desk;
use serde_json::{Value, json};

/// The landing part, as the store sees it.
#[derive(Debug, Clone, Copy)]
pub struct Landing;

impl Subject for Landing {
    type Call = Call;
    type Slice = Slice;
    type Change = Change;

    fn keys(call: &Call) -> Vec<Key> {
        let key = |id: &Id| Key { kind: "project", name: id.as_str().to_owned(), mode: call.spec.mode };
        let mut keys = vec![key(&call.project)];
        if let Ok(Verb::Replace { replacement }) = &call.verb {
            keys.push(key(replacement));
            keys.sort();
            keys.dedup();
        }
        keys
    }

    fn decide(slice: &Slice, call: &Call, now: Millis, limits: &Limits) -> Result<Decision<Change>, Refusal> {
        let project = slice.projects.get(&call.project);
        if let Some(past) = remembered(project, call, now, limits) {
            return past.map(|json| Decision::Answer { json, changes: Vec::new() });
        }
        // `project/replace` has a rule of its own for a retired project.
        if call.spec.name != "project/replace" && project.is_some_and(|p| p.retired.is_some()) {
            return Err(Refusal::new(
                Code::ProjectRetired,
                "this project's id was replaced; fetch the trunk and merge it, it carries the id in use",
            ));
        }
        let verb = call.verb.as_ref().map_err(Clone::clone)?;
        if let Verb::Mint(mint) = verb {
            return Ok(mint_decided(call, mint, now, limits));
        }
        let mut desk = Desk::new(&call.project, project, slice.spans, now, limits);
        let answer = match decide_queue(&mut desk, verb, call, slice, now)? {
            Some(answer) => body(&answer),
            None => return Ok(parked(desk, verb, call)),
        };
        if let Some(request) = &call.request {
            let what = Remembered {
                fingerprint: request.fingerprint.clone(),
                answer: Past::Json(answer.clone()),
                at: now,
            };
            desk.push(Change::Remember { project: call.project.clone(), request: request.id.clone(), what });
            desk.push(forget(now, limits));
        }
        Ok(Decision::Answer { json: answer, changes: desk.into_changes() })
    }

    fn asked(call: &mut Call) {
        call.asked = true;
    }

    fn apply(slice: &mut Slice, change: &Change) -> Option<i64> {
        slice.apply(change)
    }

    fn finish(call: &Call, returned: Option<i64>) -> Result<Vec<u8>, Refusal> {
        match (&call.verb, returned) {
            (Ok(Verb::Mint(mint)), Some(last)) => Ok(body(&answer::mint(mint, last))),
            _ => Err(Refusal::new(
                Code::FloorTooFar,
                "this floor would lift the number line too far; if the project's numbers moved that far, \
                 give the project a fresh id",
            )),
        }
    }
}

fn body(answer: &Value) -> Vec<u8> {
    answer.to_string().into_bytes()
}

/// The answer to a request that was answered before, or the refusal of an id that was used for something
/// else. `None` where nothing is remembered.
fn remembered(
    project: Option<&Project>,
    call: &Call,
    now: Millis,
    limits: &Limits,
) -> Option<Result<Vec<u8>, Refusal>> {
    let request = call.request.as_ref()?;
    let past = project?.requests.get(&request.id).filter(|past| now - past.at < limits.request_ms)?;
    if past.fingerprint != request.fingerprint {
        return Some(Err(Refusal::new(
            Code::RequestReused,
            "this request id was used for another call or other members; send a fresh id",
        )));
    }
    Some(match &past.answer {
        Past::Json(json) => Ok(json.clone()),
        Past::Line(last) => Landing::finish(call, Some(*last)),
    })
}

/// A mint reads no counter: its change adds and returns in one (source: *The mint runs as one statement*).
fn mint_decided(call: &Call, mint: &Mint, now: Millis, limits: &Limits) -> Decision<Change> {
    let mut changes = vec![Change::Mint(mint.clone())];
    if let Some(request) = &call.request {
        changes.push(Change::RememberMint {
            mint: mint.clone(),
            request: request.id.clone(),
            fingerprint: request.fingerprint.clone(),
            at: now,
        });
        changes.push(forget(now, limits));
    }
    Decision::Returned { changes }
}

fn forget(now: Millis, limits: &Limits) -> Change {
    Change::Forget { before: now - limits.request_ms, most: limits.sweep_max }
}

/// What a call of the queue answers; `None` where it goes on waiting.
fn decide_queue(
    desk: &mut Desk<'_>,
    verb: &Verb,
    call: &Call,
    slice: &Slice,
    clock: Millis,
) -> Result<Option<Value>, Refusal> {
    match verb {
        Verb::Mint(_) => Ok(None),
        Verb::Enter { ticket, branch, head, label, step } => {
            enter(desk, ticket, branch, head, label, step.as_deref()).map(Some)
        }
        Verb::Renew { stay, step } => {
            touch(desk, stay, step.as_deref())?;
            desk.begin_turn();
            let t = current(desk, stay)?;
            let mut answer = answer::ticket(desk, t);
            if t.turn.is_some() {
                answer["holds"] = answer::holds(desk).into();
                answer["freeze"] = desk.freeze.as_ref().map_or(Value::Null, answer::freeze);
            }
            Ok(Some(answer))
        }
        Verb::Wait { stay, timeout } => {
            if call.asked {
                current(desk, stay)?;
            } else {
                touch(desk, stay, None)?;
            }
            desk.begin_turn();
            let t = current(desk, stay)?;
            let due = t.turn.is_some() || clock >= call.arrived.saturating_add(*timeout);
            Ok(due.then(|| answer::ticket(desk, t)))
        }
        Verb::Leave { stay, outcome, report } => {
            current(desk, stay)?;
            desk.end(&stay.ticket, *outcome, report.clone());
            desk.begin_turn();
            Ok(Some(json!({ "left": true, "outcome": outcome.as_str() })))
        }
        Verb::List { after, timeout } => {
            desk.begin_turn();
            let waits = after.as_deref().is_some_and(|after| after == answer::mark(desk));
            if waits && clock < call.arrived.saturating_add(*timeout) {
                return Ok(None);
            }
            Ok(Some(answer::list(desk, &ended(desk, slice, call), &slice.box_id)))
        }
        Verb::OpenHold { name, paths, owner, until } => {
            holds::open(desk, (name, owner), paths, *until, open_holds(slice, clock)).map(Some)
        }
        Verb::CloseHold { name, owner } => holds::close(desk, name, owner).map(Some),
        Verb::Holds => Ok(Some(holds::list(desk))),
        Verb::OpenFreeze { issue, opener, admissions, declared_at } => {
            holds::open_freeze(desk, issue, opener, admissions, *declared_at).map(Some)
        }
        Verb::CloseFreeze { issues } => holds::close_freeze(desk, issues).map(Some),
        Verb::Replace { replacement } => {
            replace::replace(desk, slice, &call.project, replacement, clock).map(Some)
        }
        Verb::Lift { turn_no, lines } => Ok(Some(lift(desk, slice, call, *turn_no, lines))),
    }
}

/// How many holds of all projects are open: what the store counted, or what the slice shows, where it shows
/// more.
fn open_holds(slice: &Slice, now: Millis) -> usize {
    let open = |p: &Project| p.holds.values().filter(|hold| now < hold.until).count();
    slice.projects.values().map(open).sum::<usize>().max(slice.open_holds)
}

/// What ended last, with what this very call has ended.
fn ended(desk: &Desk<'_>, slice: &Slice, call: &Call) -> Vec<Ended> {
    let before = slice.projects.get(&call.project).map_or(&[][..], |p| &p.ended);
    desk.just_ended().chain(before).take(desk.limits.ended_shown).cloned().collect()
}

fn parked(desk: Desk<'_>, verb: &Verb, call: &Call) -> Decision<Change> {
    let timeout = match verb {
        Verb::Wait { timeout, .. } | Verb::List { timeout, .. } => *timeout,
        _ => 0,
    };
    let until = call.arrived.saturating_add(timeout).min(desk.next_lapse().unwrap_or(Millis::MAX));
    Decision::Park { until, changes: desk.into_changes() }
}

fn enter(
    desk: &mut Desk<'_>,
    ticket: &Id,
    branch: &str,
    head: &str,
    label: &str,
    step: Option<&str>,
) -> Result<Value, Refusal> {
    desk.sweep();
    let live = desk.live().find(|t| t.ticket == *ticket).cloned();
    let entry = if let Some(mut t) = live {
        if t.branch != branch || t.head != head {
            return Err(Refusal::new(
                Code::TicketTaken,
                "this ticket is in the queue with another branch or head; leave with it first, or enter \
                 with a fresh ticket",
            ));
        }
        t.touched_at = desk.now;
        let before = (t.label.clone(), t.step.clone());
        label.clone_into(&mut t.label);
        if let Some(step) = step {
            step.clone_into(&mut t.step);
        }
        if before != (t.label.clone(), t.step.clone()) {
            desk.moved();
        }
        let entry = t.entry;
        desk.put(t);
        entry
    } else {
        if desk.live().count() >= desk.limits.live_tickets_max {
            return Err(Refusal::new(
                Code::QueueFull,
                "the queue has as many live tickets as it may; enter again when some have left",
            ));
        }
        desk.end(ticket, Outcome::Lapsed, None);
        desk.state.entry += 1;
        let (now, entry) = (desk.now, desk.state.entry);
        desk.put(Ticket {
            ticket: ticket.clone(),
            entry,
            branch: branch.to_owned(),
            head: head.to_owned(),
            label: label.to_owned(),
            step: step.unwrap_or_default().to_owned(),
            entered_at: now,
            touched_at: now,
            turn: None,
        });
        desk.moved();
        entry
    };
    desk.begin_turn();
    let stay = Stay { ticket: ticket.clone(), entry };
    Ok(answer::ticket(desk, current(desk, &stay)?))
}

fn current<'a>(desk: &'a Desk<'_>, stay: &Stay) -> Result<&'a Ticket, Refusal> {
    desk.stay(&stay.ticket, stay.entry).ok_or_else(|| {
        Refusal::new(
            Code::TicketGone,
            "this ticket or this entry no longer stands and nothing was changed; enter again for a fresh \
             place in the queue",
        )
    })
}

fn touch(desk: &mut Desk<'_>, stay: &Stay, step: Option<&str>) -> Result<(), Refusal> {
    let mut t = current(desk, stay)?.clone();
    t.touched_at = desk.now;
    if let Some(step) = step.filter(|step| *step != t.step) {
        step.clone_into(&mut t.step);
        desk.moved();
    }
    desk.put(t);
    Ok(())
}

/// Raises, never lowers, and answers what stands now: a lift to 0 only reads. A holder whose turn is no longer the latest has
/// lost it.
fn lift(
    desk: &mut Desk<'_>,
    slice: &Slice,
    call: &Call,
    turn_no: Option<i64>,
    lines: &[(String, i64)],
) -> Value {
    if turn_no.is_some_and(|no| no > desk.state.turn_no) {
        desk.state.turn_no = turn_no.unwrap_or_default();
        desk.moved();
    }
    let mut stand: std::collections::BTreeMap<&str, i64> = std::collections::BTreeMap::new();
    for (scope, value) in lines {
        let stored = slice.projects.get(&call.project).and_then(|p| p.lines.get(scope)).copied();
        let now = stand.get(scope.as_str()).copied().or(stored).unwrap_or(0).max(*value);
        stand.insert(scope, now);
    }
    for (scope, value) in &stand {
        let stored = slice.projects.get(&call.project).and_then(|p| p.lines.get(*scope)).copied();
        // A line that does not stand and is raised to nothing still takes any floor.
        if stored.unwrap_or(0) == *value {
            continue;
        }
        desk.push(Change::Line { project: call.project.clone(), scope: (*scope).to_owned(), value: *value });
    }
    json!({
        "turnNo": desk.state.turn_no,
        "lines": stand.iter().map(|(scope, value)| json!({ "scope": scope, "value": value })).collect::<Vec<_>>(),
    })
}
