//! Replacing a project's id: what is in use goes to the new id; the old one answers only that it is retired.

use crate::queue::Desk;
use crate::slice::{Change, Outcome, Project, Slice, State};
use kernel::{Code, Id, Millis, Refusal};
use serde_json::{Value, json};

/// Replaces the id. Numbers, counters, open holds and the freeze are carried over; the tickets end. The old
/// project's time is not: the new one's begins at `clock`, so that a clock that was once ahead is left behind.
pub(crate) fn replace(
    desk: &mut Desk<'_>,
    slice: &Slice,
    project: &Id,
    replacement: &Id,
    clock: Millis,
) -> Result<Value, Refusal> {
    let done = json!({ "replaced": true });
    let taken = |detail: &'static str| Refusal::new(Code::ReplacementTaken, detail);
    if let Some(standing) = slice.projects.get(project).and_then(|p| p.retired.as_ref()) {
        if standing == replacement {
            return Ok(done);
        }
        return Err(taken(
            "this project was replaced by another id; fetch the trunk and merge it, it carries that id",
        ));
    }
    let used = |p: &Project| p.known || p.retired.is_some();
    if project == replacement || slice.projects.get(replacement).is_some_and(used) {
        return Err(taken("the replacement is in use or was retired; choose a fresh id"));
    }
    for ticket in desk.tickets.iter().map(|t| t.ticket.clone()).collect::<Vec<_>>() {
        let lives = desk.live().any(|t| t.ticket == ticket);
        desk.end(&ticket, if lives { Outcome::Withdrawn } else { Outcome::Lapsed }, None);
    }
    desk.moved();
    let State { turn_no, entry, .. } = desk.state;
    let state = State { time: clock, turn_no, entry, mark: 1 };
    desk.push(Change::State { project: replacement.clone(), state });
    desk.push(Change::CopyLines { from: project.clone(), to: replacement.clone() });
    for hold in desk.open_holds().cloned().collect::<Vec<_>>() {
        desk.push(Change::Hold { project: replacement.clone(), hold });
    }
    if let Some(freeze) = desk.freeze.clone() {
        desk.push(Change::Freeze { project: replacement.clone(), freeze: Some(freeze) });
    }
    desk.push(Change::Retire { project: project.clone(), replacement: replacement.clone(), at: desk.now });
    Ok(done)
}
