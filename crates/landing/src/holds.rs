//! Holds on files, and the freeze: claims that `land` obeys. The service records and answers them; which
//! paths a landing touches only its client knows.

use crate::answer;
use crate::queue::Desk;
use crate::slice::{Freeze, Hold};
use kernel::{Code, Millis, Refusal};
use serde_json::{Value, json};

/// Opens a hold, or replaces the paths and the end of one that its owner has open. `total` is how many holds
/// of all projects are open.
pub(crate) fn open(
    desk: &mut Desk<'_>,
    (name, owner): (&str, &str),
    paths: &[String],
    until: Millis,
    total: usize,
) -> Result<Value, Refusal> {
    let (now, span) = (desk.now, desk.limits.hold_span_max_ms);
    if until <= now || until - now > span {
        return Err(Refusal::invalid(format!(
            "until breaks its rule; send a time after now and at most {span} milliseconds after it"
        )));
    }
    sweep(desk);
    let standing = desk.open_holds().find(|hold| hold.name == name).cloned();
    match &standing {
        Some(hold) if hold.owner != owner => {
            return Err(Refusal::new(
                Code::HoldTaken,
                "an open hold of this name has another owner; choose another name, or wait for its end",
            ));
        }
        Some(_) => {}
        None => room(desk, total)?,
    }
    let hold = Hold {
        name: name.to_owned(),
        paths: paths.to_vec(),
        owner: owner.to_owned(),
        opened_at: standing.map_or(now, |hold| hold.opened_at),
        until,
    };
    let mut answer = answer::hold(&hold);
    desk.put_hold(hold);
    desk.begin_turn();
    answer["landing"] = desk.holder().map_or(Value::Null, |holder| answer::ticket(desk, holder));
    Ok(answer)
}

fn room(desk: &Desk<'_>, total: usize) -> Result<(), Refusal> {
    if desk.open_holds().count() >= desk.limits.open_holds_max {
        return Err(Refusal::new(
            Code::HoldsFull,
            "the project has as many open holds as it may; close one, or widen one that is yours",
        ));
    }
    if total >= desk.limits.open_holds_total_max {
        return Err(Refusal::new(
            Code::HoldsFull,
            "there are as many open holds in all projects as there may be; try again when some have ended",
        ));
    }
    Ok(())
}

/// Drops holds of the project that have ended, the earliest end first.
fn sweep(desk: &mut Desk<'_>) {
    let now = desk.now;
    let ended = desk.holds.values().filter(|hold| now >= hold.until);
    let mut ended: Vec<(Millis, String)> = ended.map(|hold| (hold.until, hold.name.clone())).collect();
    ended.sort();
    for (_, name) in ended.iter().take(desk.limits.sweep_max) {
        desk.drop_hold(name);
    }
}

/// Closes a hold of its owner.
pub(crate) fn close(desk: &mut Desk<'_>, name: &str, owner: &str) -> Result<Value, Refusal> {
    let standing = desk.open_holds().any(|hold| hold.name == name && hold.owner == owner);
    if !standing {
        return Err(Refusal::new(
            Code::HoldGone,
            "no open hold of this name and owner stands; list the holds to see what does",
        ));
    }
    desk.drop_hold(name);
    desk.begin_turn();
    Ok(json!({ "closed": true }))
}

/// The open holds and the freeze.
pub(crate) fn list(desk: &mut Desk<'_>) -> Value {
    desk.begin_turn();
    json!({ "holds": answer::holds(desk), "freeze": desk.freeze.as_ref().map(answer::freeze) })
}

/// Opens a freeze, or adds the issue and the admissions to the one that stands. It has no end of its own.
pub(crate) fn open_freeze(
    desk: &mut Desk<'_>,
    issue: &str,
    opener: &str,
    admissions: &[String],
    declared_at: Option<Millis>,
) -> Result<Value, Refusal> {
    let mut freeze = desk.freeze.clone().unwrap_or_else(|| Freeze {
        issues: Vec::new(),
        opener: opener.to_owned(),
        declared_at: declared_at.unwrap_or(desk.now),
        opened_at: desk.now,
        admissions: Vec::new(),
    });
    add(&mut freeze.issues, issue);
    for admission in admissions {
        add(&mut freeze.admissions, admission);
    }
    let (most, issues_most) = (desk.limits.freeze_branches_max, crate::members::ISSUES_MAX);
    if freeze.admissions.len() > most || freeze.issues.len() > issues_most {
        return Err(Refusal::new(
            Code::FreezeFull,
            format!(
                "the freeze would admit more than {most} branches or serve more than {issues_most} issues; \
                 close it first"
            ),
        ));
    }
    let answer = answer::freeze(&freeze);
    desk.put_freeze(Some(freeze));
    desk.begin_turn();
    Ok(answer)
}

fn add(list: &mut Vec<String>, item: &str) {
    if !list.iter().any(|standing| standing == item) {
        list.push(item.to_owned());
    }
}

/// Closes the freeze if the call names every issue that it serves.
pub(crate) fn close_freeze(desk: &mut Desk<'_>, issues: &[String]) -> Result<Value, Refusal> {
    let Some(freeze) = &desk.freeze else {
        return Err(Refusal::new(Code::FreezeGone, "no freeze stands; there is nothing to close"));
    };
    if !freeze.issues.iter().all(|served| issues.contains(served)) {
        return Err(Refusal::new(
            Code::FreezeServesMore,
            "the freeze serves an issue that the call does not name; list the holds to see which, then name \
             all",
        ));
    }
    desk.put_freeze(None);
    desk.begin_turn();
    Ok(json!({ "closed": true }))
}
