//! `signalbox log`.

mod stats;

use super::Context;
use crate::args::Log;
use crate::outcome::line;
use crate::times::{point, span};
use client::EndedView;
use passage::end::{End, exit, short};
use passage::journal::Settled;
use passage::refused;
use serde_json::{Value, json};

pub(super) fn run(context: &Context, args: &Log) -> Result<End, End> {
    let site = context.site()?;
    let view = site.calls().list(None).map_err(|e| refused::end(&e, None))?;
    let settled = site.journal().settled();
    let out = &mut std::io::stdout();
    if args.stats {
        stats::show(context, out, &view.ended);
        return Ok(End::new(exit::DONE, "shown", ""));
    }
    for stay in view.ended.iter().take(args.count) {
        let fate = settled.iter().rev().find(|s| s.ticket == stay.ticket && Some(s.turn_no) == stay.turn_no);
        if context.json {
            line(out, &object(stay, fate).to_string());
        } else {
            line(out, &row(stay, fate));
        }
    }
    if view.ended.is_empty() && !context.json {
        line(out, "nothing has ended yet: no branch landed, none was refused");
    }
    Ok(End::new(exit::DONE, "shown", ""))
}

/// How a stay ended. The register keeps what the box knew; what became of a push that its client did not
/// live to report was found out later, and is told here.
fn outcome<'a>(stay: &'a EndedView, fate: Option<&Settled>) -> &'a str {
    match fate {
        Some(fate) if fate.landed => "landed",
        // The turn was for a command, which did well.
        _ if stay.outcome == "withdrawn" && command(stay).is_some() => "ran",
        _ => &stay.outcome,
    }
}

fn row(stay: &EndedView, fate: Option<&Settled>) -> String {
    let outcome = outcome(stay, fate);
    let waited = stay.turn_at.unwrap_or(stay.ended_at) - stay.entered_at;
    let mut parts = vec![format!("waited {}", span(waited))];
    let ahead = stay.report.as_ref().and_then(|report| report.get("ahead")).is_some();
    match phase(stay, "check") {
        Some(check) if ahead && check < 1_000 => parts.push("checked ahead".to_owned()),
        Some(check) if ahead => parts.push(format!("check {} more after it began ahead", span(check))),
        Some(check) => parts.push(format!("check {}", span(check))),
        None => {}
    }
    if let Some(run) = phase(stay, "run") {
        parts.push(format!("run {}", span(run)));
    }
    if let Some(push) = phase(stay, "push") {
        parts.push(format!("push {}", span(push)));
    }
    let why = why(stay, fate);
    if !why.is_empty() {
        parts.insert(0, why);
    }
    format!("{}  {outcome:<10}{:<32} {}", point(stay.ended_at), short(&stay.branch, 32), parts.join(", "))
}

fn why(stay: &EndedView, fate: Option<&Settled>) -> String {
    let report = stay.report.as_ref();
    let text = |name: &str| report.and_then(|report| report.get(name)).and_then(Value::as_str);
    let reason = || text("reason").map(|reason| short(reason, 60));
    match (outcome(stay, fate), fate) {
        ("landed", Some(fate)) => commit(&fate.commit),
        ("landed", None) => text("commit").map_or_else(String::new, commit),
        (outcome @ ("ran" | "failed" | "limit"), _) if command(stay).is_some() => {
            let command = short(command(stay).unwrap_or_default(), 60);
            match report.and_then(|report| report.get("checkCode")) {
                _ if outcome == "ran" => command,
                Some(code) => format!("{command} ended with {code}"),
                None => format!("{command} was stopped"),
            }
        }
        ("failed", _) => report
            .and_then(|report| report.get("checkCode"))
            .map_or_else(String::new, |code| format!("the check ended with {code}")),
        ("conflict" | "duplicate", _) => report
            .and_then(|report| report.get("files"))
            .and_then(Value::as_array)
            .and_then(|files| files.first())
            .and_then(Value::as_str)
            .map_or_else(String::new, |file| format!("in {}", short(file, 40))),
        ("moved", _) => reason().unwrap_or_else(|| "the branch or the trunk moved".to_owned()),
        ("limit", _) => "the turn's limit came".to_owned(),
        ("refused", _) => reason().unwrap_or_else(|| "the remote refused".to_owned()),
        ("lapsed", _) => "not heard of in time".to_owned(),
        ("unknown", _) => "its process was gone".to_owned(),
        _ => reason().unwrap_or_default(),
    }
}

/// The command that ran in the turn, where it was for one.
fn command(stay: &EndedView) -> Option<&str> {
    phase(stay, "run")?;
    stay.report.as_ref()?.get("reason")?.as_str()?.strip_prefix("ran ")
}

fn commit(id: &str) -> String {
    format!("as {}", id.get(..9).unwrap_or(id))
}

fn phase(stay: &EndedView, name: &str) -> Option<i64> {
    stay.report.as_ref()?.get("phases")?.get(name)?.as_i64()
}

fn object(stay: &EndedView, fate: Option<&Settled>) -> Value {
    json!({
        "event": "ended", "ticket": stay.ticket, "turnNo": stay.turn_no, "branch": stay.branch,
        "head": stay.head, "label": stay.label, "outcome": outcome(stay, fate), "registered": stay.outcome,
        "enteredAt": stay.entered_at, "turnAt": stay.turn_at, "endedAt": stay.ended_at, "report": stay.report,
    })
}
