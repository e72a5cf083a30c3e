//! The statements that write a group's changes.
//!
//! Numbers first: for each line, in key order, its upserts, each with the requests that remember what it
//! returned (so that a mint is one flight). Then everything else, where the last put of a row wins.

use crate::port::{Deal, Stmt, Value, Writes};
use kernel::{Id, Millis};
use landing::{Change, Ended, Freeze, Hold, Mint, Past, Remembered, State, Ticket};
use std::collections::BTreeMap;

/// The source's mint statement: reads and writes in one, returns the block's last number, and no row where
/// the floor would lift an existing line too far.
pub(crate) const MINT: &str = "INSERT INTO lines AS t (project, scope, value) \
     VALUES (?1, ?2, CAST(?3 AS BIGINT) + CAST(?4 AS BIGINT)) \
     ON CONFLICT (project, scope) DO UPDATE SET value = \
     CASE WHEN t.value > CAST(?3 AS BIGINT) THEN t.value ELSE CAST(?3 AS BIGINT) END + CAST(?4 AS BIGINT) \
     WHERE CAST(?3 AS BIGINT) - t.value <= CAST(?5 AS BIGINT) RETURNING value";
/// Remembers a mint from the line's value after its statement, if that wrote (`Mint::wrote`).
pub(crate) const REMEMBER_MINT: &str = "INSERT INTO requests (project, request, fingerprint, answer, last, at) \
     SELECT CAST(?1 AS TEXT), CAST(?2 AS TEXT), CAST(?3 AS TEXT), CAST(NULL AS TEXT), \
     value - CAST(?4 AS BIGINT), CAST(?5 AS BIGINT) FROM lines \
     WHERE project = CAST(?1 AS TEXT) AND scope = ?6 AND CAST(?7 AS BIGINT) - value <= CAST(?8 AS BIGINT) \
     ON CONFLICT (project, request) DO UPDATE SET fingerprint = excluded.fingerprint, \
     answer = excluded.answer, last = excluded.last, at = excluded.at";
/// Never lowers, so that no order of statements can issue a number twice.
pub(crate) const PUT_LINE: &str = "INSERT INTO lines AS t (project, scope, value) VALUES (?1, ?2, ?3) \
     ON CONFLICT (project, scope) DO UPDATE SET value = \
     CASE WHEN t.value > excluded.value THEN t.value ELSE excluded.value END";
pub(crate) const PUT_STATE: &str = "INSERT INTO projects (project, time, turn_no, entry, mark) \
     VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (project) DO UPDATE SET time = excluded.time, \
     turn_no = excluded.turn_no, entry = excluded.entry, mark = excluded.mark";
pub(crate) const PUT_TICKET: &str = "INSERT INTO tickets (project, ticket, entry, branch, head, label, step, \
     entered_at, touched_at, turn_no, turn_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
     ON CONFLICT (project, ticket) DO UPDATE SET entry = excluded.entry, branch = excluded.branch, \
     head = excluded.head, label = excluded.label, step = excluded.step, entered_at = excluded.entered_at, \
     touched_at = excluded.touched_at, turn_no = excluded.turn_no, turn_at = excluded.turn_at";
pub(crate) const DROP_TICKET: &str = "DELETE FROM tickets WHERE project = ?1 AND ticket = ?2";
pub(crate) const APPEND: &str = "INSERT INTO register (project, ticket, entry, branch, head, label, step, \
     entered_at, touched_at, turn_no, turn_at, ended_at, outcome, report) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
pub(crate) const REMEMBER: &str = "INSERT INTO requests (project, request, fingerprint, answer, last, at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (project, request) DO UPDATE SET \
     fingerprint = excluded.fingerprint, answer = excluded.answer, last = excluded.last, at = excluded.at";
pub(crate) const FORGET: &str = "DELETE FROM requests WHERE (project, request) IN \
     (SELECT project, request FROM requests WHERE at < ?1 ORDER BY at LIMIT ?2)";

pub(crate) const PUT_HOLD: &str = "INSERT INTO holds (project, name, paths, owner, opened_at, until_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (project, name) DO UPDATE SET paths = excluded.paths, \
     owner = excluded.owner, opened_at = excluded.opened_at, until_at = excluded.until_at";
pub(crate) const DROP_HOLD: &str = "DELETE FROM holds WHERE project = ?1 AND name = ?2";
pub(crate) const PUT_FREEZE: &str = "INSERT INTO freezes (project, issues, opener, declared_at, opened_at, \
     admissions) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (project) DO UPDATE SET issues = excluded.issues, \
     opener = excluded.opener, declared_at = excluded.declared_at, opened_at = excluded.opened_at, \
     admissions = excluded.admissions";
pub(crate) const DROP_FREEZE: &str = "DELETE FROM freezes WHERE project = ?1";
pub(crate) const COPY_LINES: &str = "INSERT INTO lines (project, scope, value) \
     SELECT CAST(?2 AS TEXT), scope, value FROM lines WHERE project = CAST(?1 AS TEXT)";
pub(crate) const RETIRE: &str = "UPDATE projects SET retired_to = ?2, retired_at = ?3 WHERE project = ?1";

/// One thing that happens to a line, in the order of the calls.
enum Op<'a> {
    /// A mint, the number of its change, and the request that remembers it.
    Mint {
        mint: &'a Mint,
        change: usize,
        request: Option<(&'a Id, &'a str, Millis)>,
    },
    Put(i64),
}

pub(super) fn writes(changes: &[Change]) -> Writes {
    let mut lines: BTreeMap<(&Id, &str), Vec<Op<'_>>> = BTreeMap::new();
    let mut requests: BTreeMap<(&Id, &Id), &Remembered> = BTreeMap::new();
    let mut states: BTreeMap<&Id, &State> = BTreeMap::new();
    let mut tickets: BTreeMap<(&Id, &Id), Option<&Ticket>> = BTreeMap::new();
    let mut register: Vec<(&Id, &Ended)> = Vec::new();
    let mut holds: BTreeMap<(&Id, &str), Option<&Hold>> = BTreeMap::new();
    let mut freezes: BTreeMap<&Id, Option<&Freeze>> = BTreeMap::new();
    let mut last: Vec<Stmt> = Vec::new();
    let mut forget: Option<(Millis, usize)> = None;
    for (number, change) in changes.iter().enumerate() {
        match change {
            Change::Mint(mint) => {
                let op = Op::Mint { mint, change: number, request: None };
                lines.entry((&mint.project, &mint.scope)).or_default().push(op);
            }
            Change::RememberMint { mint, request: id, fingerprint, at } => {
                let ops = lines.get_mut(&(&mint.project, mint.scope.as_str()));
                if let Some(Op::Mint { request, .. }) = ops.and_then(|ops| ops.last_mut()) {
                    *request = Some((id, fingerprint, *at));
                }
            }
            Change::Line { project, scope, value } => {
                lines.entry((project, scope)).or_default().push(Op::Put(*value));
            }
            Change::Remember { project, request, what } => {
                requests.insert((project, request), what);
            }
            Change::Forget { before, most } => {
                let (_, sum) = forget.unwrap_or_default();
                forget = Some((*before, sum + most));
            }
            Change::State { project, state } => {
                states.insert(project, state);
            }
            Change::Hold { project, hold } => {
                holds.insert((project, &hold.name), Some(hold));
            }
            Change::DropHold { project, name } => {
                holds.insert((project, name), None);
            }
            Change::Freeze { project, freeze } => {
                freezes.insert(project, freeze.as_ref());
            }
            Change::CopyLines { from, to } => {
                last.push(Stmt::new(COPY_LINES, vec![from.into(), to.into()]));
            }
            Change::Retire { project, replacement, at } => {
                last.push(Stmt::new(RETIRE, vec![project.into(), replacement.into(), (*at).into()]));
            }
            Change::Put { project, ticket } => {
                tickets.insert((project, &ticket.ticket), Some(ticket));
            }
            Change::End { project, ended } => {
                tickets.insert((project, &ended.ticket.ticket), None);
                register.push((project, ended));
            }
        }
    }
    let mut writes = Writes { stmts: Vec::new(), deals: vec![None; changes.len()] };
    for ((project, scope), ops) in lines {
        write_line(&mut writes, project, scope, ops);
    }
    let stmts = &mut writes.stmts;
    stmts.extend(states.into_iter().map(|(project, state)| put_state(project, state)));
    stmts.extend(tickets.into_iter().map(|((project, id), ticket)| match ticket {
        Some(ticket) => Stmt::new(PUT_TICKET, columns(project, ticket)),
        None => Stmt::new(DROP_TICKET, vec![project.into(), id.into()]),
    }));
    stmts.extend(holds.into_iter().map(|((project, name), hold)| match hold {
        Some(hold) => put_hold(project, hold),
        None => Stmt::new(DROP_HOLD, vec![project.into(), name.into()]),
    }));
    stmts.extend(freezes.into_iter().map(|(project, freeze)| match freeze {
        Some(freeze) => put_freeze(project, freeze),
        None => Stmt::new(DROP_FREEZE, vec![project.into()]),
    }));
    // After the lines that they copy and the counters that they mark.
    stmts.append(&mut last);
    stmts.extend(register.into_iter().map(|(project, ended)| append(project, ended)));
    stmts.extend(requests.into_iter().map(|((project, id), what)| remember(project, id, what)));
    if let Some((before, most)) = forget {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        stmts.push(Stmt::new(FORGET, vec![before.into(), most.into()]));
    }
    writes
}

/// One upsert for the mints without a floor, dealt out in the order of the calls; one for each mint with a
/// floor. Where the group also puts the line, its rule has read the line, so the order of the calls stands
/// and only neighbours are summed.
fn write_line(writes: &mut Writes, project: &Id, scope: &str, mut ops: Vec<Op<'_>>) {
    if !ops.iter().any(|op| matches!(op, Op::Put(_))) {
        ops.sort_by_key(|op| matches!(op, Op::Mint { mint, .. } if mint.floor != 0));
    }
    let summed = |op: &Op<'_>| matches!(op, Op::Mint { mint, .. } if mint.floor == 0);
    for run in ops.chunk_by(|a, b| summed(a) && summed(b)) {
        if let [Op::Put(value)] = run {
            let binds = vec![project.into(), scope.into(), (*value).into()];
            writes.stmts.push(Stmt::new(PUT_LINE, binds));
            continue;
        }
        let mints = || {
            run.iter().filter_map(|op| match op {
                Op::Mint { mint, change, request } => Some((*mint, *change, request)),
                Op::Put(_) => None,
            })
        };
        let Some((first, ..)) = mints().next() else { continue };
        let total: i64 = mints().map(|(mint, ..)| mint.count).sum();
        let stmt = writes.stmts.len();
        let binds =
            vec![project.into(), scope.into(), first.floor.into(), total.into(), first.lift_max.into()];
        writes.stmts.push(Stmt::new(MINT, binds));
        let mut minus = total;
        for (mint, change, request) in mints() {
            minus -= mint.count;
            if let Some(deal) = writes.deals.get_mut(change) {
                *deal = Some(Deal { stmt, minus });
            }
            if let Some((id, fingerprint, at)) = *request {
                writes.stmts.push(Stmt::new(
                    REMEMBER_MINT,
                    vec![
                        project.into(),
                        id.into(),
                        fingerprint.into(),
                        minus.into(),
                        at.into(),
                        scope.into(),
                        mint.floor.into(),
                        mint.lift_max.into(),
                    ],
                ));
            }
        }
    }
}

fn put_state(project: &Id, state: &State) -> Stmt {
    let State { time, turn_no, entry, mark } = *state;
    Stmt::new(PUT_STATE, vec![project.into(), time.into(), turn_no.into(), entry.into(), mark.into()])
}

fn list(items: &[String]) -> Value {
    serde_json::Value::from(items).to_string().into()
}

fn put_hold(project: &Id, hold: &Hold) -> Stmt {
    let binds = vec![
        project.into(),
        hold.name.as_str().into(),
        list(&hold.paths),
        hold.owner.as_str().into(),
        hold.opened_at.into(),
        hold.until.into(),
    ];
    Stmt::new(PUT_HOLD, binds)
}

fn put_freeze(project: &Id, freeze: &Freeze) -> Stmt {
    let binds = vec![
        project.into(),
        list(&freeze.issues),
        freeze.opener.as_str().into(),
        freeze.declared_at.into(),
        freeze.opened_at.into(),
        list(&freeze.admissions),
    ];
    Stmt::new(PUT_FREEZE, binds)
}

fn columns(project: &Id, t: &Ticket) -> Vec<Value> {
    vec![
        project.into(),
        (&t.ticket).into(),
        t.entry.into(),
        t.branch.as_str().into(),
        t.head.as_str().into(),
        t.label.as_str().into(),
        t.step.as_str().into(),
        t.entered_at.into(),
        t.touched_at.into(),
        t.turn.map(|turn| turn.no).into(),
        t.turn.map(|turn| turn.at).into(),
    ]
}

fn append(project: &Id, ended: &Ended) -> Stmt {
    let mut binds = columns(project, &ended.ticket);
    let report = ended.report.as_ref().map(|report| serde_json::Value::Object(report.clone()).to_string());
    binds.extend([ended.at.into(), ended.outcome.as_str().into(), report.into()]);
    Stmt::new(APPEND, binds)
}

fn remember(project: &Id, request: &Id, what: &Remembered) -> Stmt {
    let (answer, last) = match &what.answer {
        // A body is JSON text, so nothing is replaced.
        Past::Json(json) => (Some(String::from_utf8_lossy(json).into_owned()), None),
        Past::Line(last) => (None, Some(*last)),
    };
    let binds = vec![
        project.into(),
        request.into(),
        what.fingerprint.as_str().into(),
        answer.into(),
        last.into(),
        what.at.into(),
    ];
    Stmt::new(REMEMBER, binds)
}
