//! The statements of the landing part: what a group of calls reads, and the slice from what comes back.
//! What it writes is in `writes.rs`.
//!
//! Every text serves SQLite and PostgreSQL: parameters are numbered, types are cast, and what the two
//! spell differently is not used.

mod writes;

use crate::fault::Fault;
use crate::port::{Mapped, Row, Rows, Stmt, Writes};
use kernel::{Id, Key, Limits, Millis};
use landing::{
    Call, Change, Ended, Freeze, Hold, Landing, Outcome, Past, Project, Remembered, Slice, Spans, State,
    Ticket, Turn, Verb,
};
use std::collections::BTreeSet;

/// One thing that a group reads. The order is the order of the statements.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Read {
    Box,
    Project(Id),
    Tickets(Id),
    Ended(Id),
    Holds(Id),
    Freeze(Id),
    /// How many holds of all projects are open at that time.
    OpenHolds(Millis),
    /// Whether the project has any row at all.
    Known(Id),
    Line(Id, String),
    Request(Id, Id),
}

pub(crate) const BOX: &str = "SELECT id, lease_ms, turn_ms, freeze_holds_turns FROM box";
pub(crate) const PROJECT: &str =
    "SELECT time, turn_no, entry, mark, retired_to FROM projects WHERE project = ?1";
pub(crate) const TICKETS: &str = "SELECT ticket, entry, branch, head, label, step, entered_at, touched_at, \
     turn_no, turn_at FROM tickets WHERE project = ?1 ORDER BY entry";
pub(crate) const ENDED: &str = "SELECT ticket, entry, branch, head, label, step, entered_at, touched_at, \
     turn_no, turn_at, ended_at, outcome, report FROM register WHERE project = ?1 ORDER BY seq DESC LIMIT ?2";
pub(crate) const HOLDS: &str =
    "SELECT name, paths, owner, opened_at, until_at FROM holds WHERE project = ?1 ORDER BY name";
pub(crate) const FREEZE: &str =
    "SELECT issues, opener, declared_at, opened_at, admissions FROM freezes WHERE project = ?1";
pub(crate) const OPEN_HOLDS: &str = "SELECT CAST(COUNT(until_at) AS BIGINT) FROM holds WHERE until_at > ?1";
/// Whatever a project has, it has a row of counters or a line.
pub(crate) const KNOWN: &str = "SELECT CAST(CASE WHEN EXISTS (SELECT project FROM projects WHERE project = ?1) \
     OR EXISTS (SELECT project FROM lines WHERE project = ?1) THEN 1 ELSE 0 END AS BIGINT)";
pub(crate) const LINE: &str = "SELECT value FROM lines WHERE project = ?1 AND scope = ?2";
pub(crate) const REQUEST: &str =
    "SELECT fingerprint, answer, last, at FROM requests WHERE project = ?1 AND request = ?2";
pub(crate) const MARK: &str = "SELECT mark FROM projects WHERE project = ?1";

/// What the calls read. A mint reads no line: its statement reads and writes in one.
fn plan(calls: &[&Call]) -> BTreeSet<Read> {
    let mut plan = BTreeSet::from([Read::Box]);
    for call in calls {
        let project = &call.project;
        plan.insert(Read::Project(project.clone()));
        if let Some(request) = &call.request {
            plan.insert(Read::Request(project.clone(), request.id.clone()));
        }
        match &call.verb {
            Err(_) | Ok(Verb::Mint(_)) => {}
            Ok(Verb::Lift { lines, .. }) => {
                plan.extend(lines.iter().map(|(scope, _)| Read::Line(project.clone(), scope.clone())));
            }
            Ok(verb) => {
                plan.extend([Read::Tickets(project.clone()), Read::Freeze(project.clone())]);
                match verb {
                    Verb::List { .. } => plan.extend([Read::Ended(project.clone())]),
                    Verb::Renew { .. } | Verb::CloseHold { .. } | Verb::Holds => {
                        plan.extend([Read::Holds(project.clone())]);
                    }
                    Verb::OpenHold { .. } => {
                        plan.extend([Read::Holds(project.clone()), Read::OpenHolds(call.arrived)]);
                    }
                    Verb::Replace { replacement } => plan.extend([
                        Read::Holds(project.clone()),
                        Read::Project(replacement.clone()),
                        Read::Known(replacement.clone()),
                    ]),
                    _ => {}
                }
            }
        }
    }
    plan
}

impl Read {
    fn stmt(&self, limits: &Limits) -> Stmt {
        match self {
            Read::Box => Stmt::new(BOX, Vec::new()),
            Read::Project(project) => Stmt::new(PROJECT, vec![project.into()]),
            Read::Tickets(project) => Stmt::new(TICKETS, vec![project.into()]),
            Read::Ended(project) => {
                let shown = i64::try_from(limits.ended_shown).unwrap_or(i64::MAX);
                Stmt::new(ENDED, vec![project.into(), shown.into()])
            }
            Read::Holds(project) => Stmt::new(HOLDS, vec![project.into()]),
            Read::Freeze(project) => Stmt::new(FREEZE, vec![project.into()]),
            Read::OpenHolds(now) => Stmt::new(OPEN_HOLDS, vec![(*now).into()]),
            Read::Known(project) => Stmt::new(KNOWN, vec![project.into()]),
            Read::Line(project, scope) => Stmt::new(LINE, vec![project.into(), scope.as_str().into()]),
            Read::Request(project, request) => Stmt::new(REQUEST, vec![project.into(), request.into()]),
        }
    }

    fn fill(self, slice: &mut Slice, rows: &[Row]) -> Result<(), Fault> {
        let first = rows.first();
        match self {
            Read::Box => {
                let row = first.ok_or(Fault::Corrupt)?;
                row.text(0)?.clone_into(&mut slice.box_id);
                slice.spans =
                    Spans { lease: row.int(1)?, turn: row.int(2)?, freeze_holds_turns: row.int(3)? != 0 };
            }
            Read::Project(id) => {
                let Some(row) = first else { return Ok(()) };
                let project = project(slice, id);
                project.state =
                    State { time: row.int(0)?, turn_no: row.int(1)?, entry: row.int(2)?, mark: row.int(3)? };
                project.retired = row.text_or_null(4)?.map(|_| row.id(4)).transpose()?;
            }
            Read::Tickets(id) => {
                project(slice, id).tickets = rows.iter().map(ticket).collect::<Result<_, _>>()?;
            }
            Read::Ended(id) => {
                project(slice, id).ended = rows.iter().map(ended).collect::<Result<_, _>>()?;
            }
            Read::Holds(id) => {
                let holds = rows.iter().map(|row| hold(row).map(|hold| (hold.name.clone(), hold)));
                project(slice, id).holds = holds.collect::<Result<_, _>>()?;
            }
            Read::Freeze(id) => project(slice, id).freeze = first.map(freeze).transpose()?,
            Read::OpenHolds(_) => {
                let open = first.ok_or(Fault::Corrupt)?.int(0)?;
                slice.open_holds = slice.open_holds.max(usize::try_from(open).map_err(|_| Fault::Corrupt)?);
            }
            Read::Known(id) => project(slice, id).known = first.ok_or(Fault::Corrupt)?.int(0)? != 0,
            Read::Line(id, scope) => {
                let Some(row) = first else { return Ok(()) };
                project(slice, id).lines.insert(scope, row.int(0)?);
            }
            Read::Request(id, request) => {
                let Some(row) = first else { return Ok(()) };
                let answer = match row.text_or_null(1)? {
                    Some(json) => Past::Json(json.as_bytes().to_vec()),
                    None => Past::Line(row.int(2)?),
                };
                let what = Remembered { fingerprint: row.text(0)?.to_owned(), answer, at: row.int(3)? };
                project(slice, id).requests.insert(request, what);
            }
        }
        Ok(())
    }
}

fn project(slice: &mut Slice, id: Id) -> &mut Project {
    slice.projects.entry(id).or_default()
}

fn ticket(row: &Row) -> Result<Ticket, Fault> {
    let turn = match (row.int_or_null(8)?, row.int_or_null(9)?) {
        (Some(no), Some(at)) => Some(Turn { no, at }),
        (None, None) => None,
        _ => return Err(Fault::Corrupt),
    };
    Ok(Ticket {
        ticket: row.id(0)?,
        entry: row.int(1)?,
        branch: row.text(2)?.to_owned(),
        head: row.text(3)?.to_owned(),
        label: row.text(4)?.to_owned(),
        step: row.text(5)?.to_owned(),
        entered_at: row.int(6)?,
        touched_at: row.int(7)?,
        turn,
    })
}

fn strings(row: &Row, column: usize) -> Result<Vec<String>, Fault> {
    serde_json::from_str(row.text(column)?).map_err(|_| Fault::Corrupt)
}

fn hold(row: &Row) -> Result<Hold, Fault> {
    Ok(Hold {
        name: row.text(0)?.to_owned(),
        paths: strings(row, 1)?,
        owner: row.text(2)?.to_owned(),
        opened_at: row.int(3)?,
        until: row.int(4)?,
    })
}

fn freeze(row: &Row) -> Result<Freeze, Fault> {
    Ok(Freeze {
        issues: strings(row, 0)?,
        opener: row.text(1)?.to_owned(),
        declared_at: row.int(2)?,
        opened_at: row.int(3)?,
        admissions: strings(row, 4)?,
    })
}

fn ended(row: &Row) -> Result<Ended, Fault> {
    let report = row.text_or_null(12)?.map(|json| serde_json::from_str(json).map_err(|_| Fault::Corrupt));
    Ok(Ended {
        ticket: ticket(row)?,
        at: row.int(10)?,
        outcome: Outcome::parse(row.text(11)?).ok_or(Fault::Corrupt)?,
        report: report.transpose()?,
    })
}

impl Mapped for Landing {
    fn reads(calls: &[&Call], limits: &Limits) -> Vec<Stmt> {
        plan(calls).iter().map(|read| read.stmt(limits)).collect()
    }

    fn slice(calls: &[&Call], _: &Limits, rows: &[Rows]) -> Result<Slice, Fault> {
        let plan = plan(calls);
        if plan.len() != rows.len() {
            return Err(Fault::Defect);
        }
        let mut slice = Slice::default();
        for (read, rows) in plan.into_iter().zip(rows) {
            read.fill(&mut slice, rows)?;
        }
        Ok(slice)
    }

    fn writes(changes: &[Change]) -> Writes {
        writes::writes(changes)
    }

    fn once(call: &Call) -> Option<String> {
        let request = call.request.as_ref()?;
        Some(format!("{}/{}", call.project.as_str(), request.id.as_str()))
    }

    fn mark(slice: &Slice, key: &Key) -> i64 {
        let id = key.name.parse::<Id>().ok();
        id.and_then(|id| slice.projects.get(&id)).map_or(0, |project| project.state.mark)
    }

    fn watch(key: &Key) -> Stmt {
        Stmt::new(MARK, vec![key.name.as_str().into()])
    }
}

#[cfg(test)]
mod tests;
