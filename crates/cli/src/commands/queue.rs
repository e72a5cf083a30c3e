//! `signalbox queue`.

use super::Context;
use crate::args::Queue;
use crate::outcome::line;
use crate::screen;
use crate::signals;
use crate::times::span;
use client::{QueueView, TicketView};
use kernel::Millis;
use passage::end::{End, exit, printable, short};
use passage::{Event, Site, project_time, refused};
use serde_json::json;
use std::io::{IsTerminal, Write};

/// How long one call waits for a change, in milliseconds: short enough for Ctrl-C to be heard.
const WAIT_MS: Millis = 1_000;

pub(super) fn run(context: &Context, args: &Queue) -> Result<End, End> {
    let site = context.site()?;
    let interrupt = args.watch.then(signals::watch);
    let live = std::io::stdout().is_terminal() && !context.json;
    let mut seen: Option<QueueView> = None;
    let mut lines = 0;
    let mut warned = false;
    loop {
        let after = seen.as_ref().map(|view| (view.mark.as_str(), WAIT_MS));
        let view = site.calls().list(after).map_err(|e| refused::end(&e, None))?;
        let changed = seen.as_ref().is_none_or(|seen| seen.mark != view.mark);
        if !warned && let Some(text) = project_time::ahead(context.clock.now(), latest(&view)) {
            warned = true;
            screen::fitting(context.json).show(&Event::Warning(&text));
        }
        if changed || live {
            if live && lines > 0 {
                // Up over what was drawn before, and clear from there.
                let _ = write!(std::io::stdout(), "\x1b[{lines}A\x1b[J");
            }
            lines = show(context, &site, &view);
        }
        seen = Some(view);
        let Some(interrupt) = &interrupt else { break };
        if interrupt.signal().is_some() {
            break;
        }
    }
    Ok(End::new(exit::DONE, "shown", ""))
}

/// The latest time that the view shows: the project's is at least that.
pub(super) fn latest(view: &QueueView) -> Millis {
    let of_tickets = view.tickets.iter().map(|ticket| ticket.touched_at);
    of_tickets.chain(view.ended.iter().map(|ended| ended.ended_at)).max().unwrap_or(Millis::MIN)
}

fn show(context: &Context, site: &Site, view: &QueueView) -> usize {
    let out = &mut std::io::stdout();
    if context.json {
        let tickets: Vec<_> = view.tickets.iter().map(object).collect();
        line(out, &json!({ "event": "queue", "tickets": tickets, "mark": view.mark }).to_string());
        return 1;
    }
    let now = context.clock.now();
    if view.tickets.is_empty() {
        line(out, &format!("nobody is in the queue of {}", site.trunk_name()));
        return 1;
    }
    for ticket in &view.tickets {
        line(out, &row(ticket, now));
    }
    view.tickets.len()
}

fn row(t: &TicketView, now: Millis) -> String {
    let (place, since) = match t.turn_at {
        Some(at) => ("turn".to_owned(), now - at),
        None => (format!("{}.", t.position), now - t.entered_at),
    };
    let step = match (t.step.as_str(), t.turn) {
        ("waiting", true) => "its turn begins".to_owned(),
        ("", _) => "waiting".to_owned(),
        (step, _) => printable(step),
    };
    format!("{place:<5}{:<32} {:<26} {step}, {}", short(&t.branch, 32), short(&t.label, 26), span(since))
}

fn object(t: &TicketView) -> serde_json::Value {
    json!({
        "ticket": t.ticket, "position": t.position, "turn": t.turn, "turnNo": t.turn_no,
        "branch": t.branch, "head": t.head, "label": t.label, "step": t.step,
        "enteredAt": t.entered_at, "turnAt": t.turn_at, "leaseUntil": t.lease_until, "turnUntil": t.turn_until,
    })
}
