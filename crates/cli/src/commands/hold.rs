//! `signalbox hold` and `signalbox freeze`.

use super::Context;
use crate::args::{FreezeCommand, HoldCommand};
use crate::outcome::line;
use crate::times::{point, span};
use client::{FreezeView, HoldView};
use passage::Site;
use passage::end::{End, exit, naming, printable, short};
use passage::{holds, project_time, refused};
use serde_json::json;

pub(super) fn hold(context: &Context, command: HoldCommand) -> Result<End, End> {
    let site = context.site()?;
    match command {
        HoldCommand::Open { name, paths, duration, owner } => {
            let owner = owner.map_or_else(|| Context::owner(&site), Ok)?;
            let ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
            let until = context.clock.now().saturating_add(ms);
            let opened = site
                .calls()
                .open_hold((&name, &owner), &paths, until, None)
                .map_err(|e| ahead(context, &site, refused::end(&e, None)))?;
            let text = format!("the hold {{}} is open until {}", point(opened.hold.until));
            let mut end =
                End::new(exit::DONE, "opened", naming(&text, [&name])).fact("until", opened.hold.until);
            if let Some(landing) = opened.landing {
                end = end
                    .more(format!(
                        "{} is landing {} now ({}); it looks at the holds once more before it pushes",
                        short(&landing.label, 60),
                        short(&landing.branch, 60),
                        short(&landing.step, 40)
                    ))
                    .fact("landing", json!({ "branch": landing.branch, "label": landing.label }));
            }
            Ok(end)
        }
        HoldCommand::Close { name, owner } => {
            let owner = owner.map_or_else(|| Context::owner(&site), Ok)?;
            site.calls().close_hold((&name, &owner), None).map_err(|e| {
                let end = refused::end(&e, None).next("signalbox hold list");
                let open = || site.calls().holds().map_or_else(|_| Vec::new(), |view| view.holds);
                let others = (end.code == "hold_gone").then(|| holds::not_yours(&name, &open())).flatten();
                others.unwrap_or(end)
            })?;
            Ok(End::new(exit::DONE, "closed", naming("the hold {} is closed", [&name])))
        }
        HoldCommand::List => list(context, &site),
    }
}

/// A hold that would have ended by the project's own time is refused for its end; then that time is the reason.
fn ahead(context: &Context, site: &Site, end: End) -> End {
    let queue = (end.code == "invalid_request").then(|| site.calls().list(None).ok()).flatten();
    let text = queue.and_then(|view| project_time::ahead(context.clock.now(), super::queue::latest(&view)));
    text.into_iter().fold(end, End::more)
}

fn list(context: &Context, site: &Site) -> Result<End, End> {
    let view = site.calls().holds().map_err(|e| refused::end(&e, None))?;
    let out = &mut std::io::stdout();
    let now = context.clock.now();
    if context.json {
        for hold in &view.holds {
            line(out, &hold_object(hold).to_string());
        }
        if let Some(freeze) = &view.freeze {
            line(out, &freeze_object(freeze).to_string());
        }
        return Ok(End::new(exit::DONE, "shown", ""));
    }
    if let Some(freeze) = &view.freeze {
        line(out, &freeze_row(freeze));
    }
    for hold in &view.holds {
        let paths = short(&hold.paths.join(" "), 50);
        let left = span(hold.until - now);
        line(
            out,
            &format!("{:<20} {:<24} {left:>8} left  {paths}", short(&hold.name, 20), short(&hold.owner, 24)),
        );
    }
    if view.holds.is_empty() && view.freeze.is_none() {
        line(out, "no hold is open and no freeze stands");
    }
    Ok(End::new(exit::DONE, "shown", ""))
}

fn freeze_row(freeze: &FreezeView) -> String {
    let admits = if freeze.admissions.is_empty() { "nothing".into() } else { freeze.admissions.join(", ") };
    let text = format!(
        "frozen by {} since {} ({}); admits {admits}",
        freeze.issues.join(", "),
        point(freeze.declared_at),
        freeze.opener
    );
    printable(&text)
}

fn list_freeze(context: &Context, site: &Site) -> Result<End, End> {
    let view = site.calls().holds().map_err(|e| refused::end(&e, None))?;
    let text = match &view.freeze {
        Some(freeze) if context.json => freeze_object(freeze).to_string(),
        Some(freeze) => freeze_row(freeze),
        None if context.json => return Ok(End::new(exit::DONE, "shown", "")),
        None => "no freeze stands".to_owned(),
    };
    line(&mut std::io::stdout(), &text);
    Ok(End::new(exit::DONE, "shown", ""))
}

pub(super) fn freeze(context: &Context, command: FreezeCommand) -> Result<End, End> {
    let site = context.site()?;
    match command {
        FreezeCommand::Open { issue, admit, opener } => {
            let opener = opener.map_or_else(|| Context::label(&site), Ok)?;
            let freeze = site
                .calls()
                .open_freeze((&issue, &opener), &admit, None)
                .map_err(|e| refused::end(&e, None))?;
            let admits = freeze.admissions.join(", ");
            let line = if admits.is_empty() {
                naming("frozen by {}; nothing is admitted", [&freeze.issues.join(", ")])
            } else {
                naming("frozen by {}; admitted: {}", [&freeze.issues.join(", "), &admits])
            };
            let end = End::new(exit::DONE, "frozen", line).fact("issues", freeze.issues.clone());
            Ok(end.fact("admissions", freeze.admissions))
        }
        FreezeCommand::Close { issues } => {
            site.calls()
                .close_freeze(&issues, None)
                .map_err(|e| refused::end(&e, None).next("signalbox freeze list"))?;
            Ok(End::new(exit::DONE, "closed", "the freeze is closed; turns go on in their order"))
        }
        FreezeCommand::List => list_freeze(context, &site),
    }
}

fn hold_object(hold: &HoldView) -> serde_json::Value {
    json!({
        "event": "hold", "name": hold.name, "paths": hold.paths, "owner": hold.owner,
        "openedAt": hold.opened_at, "until": hold.until,
    })
}

fn freeze_object(freeze: &FreezeView) -> serde_json::Value {
    json!({
        "event": "freeze", "issues": freeze.issues, "opener": freeze.opener,
        "declaredAt": freeze.declared_at, "openedAt": freeze.opened_at, "admissions": freeze.admissions,
    })
}
