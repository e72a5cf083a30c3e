//! Showing a passage while it runs: for a terminal a line that lives, for a pipe a line on each change, for
//! a program JSON.

use crate::outcome::line;
use crate::times::span;
use indicatif::{ProgressBar, ProgressStyle};
use passage::end::printable;
use passage::estimate::Range;
use passage::{Event, Show};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The fitting screen for this process.
pub(crate) fn fitting(json: bool) -> Arc<dyn Show> {
    if json {
        Arc::new(Json)
    } else if std::io::stderr().is_terminal() {
        Arc::new(Terminal::new())
    } else {
        Arc::new(Plain::new())
    }
}

/// One JSON object for each event. The check's output is in its log.
struct Json;

impl Show for Json {
    fn show(&self, event: &Event<'_>) {
        let object = match event {
            Event::Settled { branch, landed } => {
                json!({ "event": "settled", "branch": branch, "landed": landed })
            }
            Event::Note(text) => json!({ "event": "note", "text": text }),
            Event::Warning(text) => json!({ "event": "warning", "text": text }),
            Event::Entered { ticket, position } => {
                json!({ "event": "entered", "ticket": ticket, "position": position })
            }
            Event::Waiting { position, holder, branch, step, wait } => json!({
                "event": "waiting", "position": position,
                "holder": { "label": holder, "branch": branch, "step": step },
                "waitMs": wait.map(|w| json!({ "low": w.low, "likely": w.likely, "high": w.high })),
            }),
            Event::Ahead { with, log } => json!({ "event": "ahead", "with": with, "log": log }),
            Event::AheadChecked { code, took, log } => {
                json!({ "event": "ahead_checked", "code": code, "tookMs": took, "log": log })
            }
            Event::WillConflict { with, files } => {
                json!({ "event": "will_conflict", "with": with, "files": files })
            }
            Event::Turn { turn_no, waited } => {
                json!({ "event": "turn", "turnNo": turn_no, "waitedMs": waited })
            }
            Event::Step(step) => json!({ "event": "step", "step": step }),
            Event::Check { command, log } => json!({ "event": "check", "command": command, "log": log }),
            Event::Checked { code, took } => json!({ "event": "checked", "code": code, "tookMs": took }),
            Event::AlreadyGreen => json!({ "event": "already_green" }),
            Event::Runs { command } => json!({ "event": "run", "command": command }),
            Event::Output(_) => Value::Null,
        };
        if !object.is_null() {
            line(&mut std::io::stdout(), &object.to_string());
        }
    }
}

/// What is worth a line, as a heading and a text.
fn told(event: &Event<'_>) -> Option<(&'static str, String)> {
    Some(match event {
        Event::Settled { branch, landed } => {
            let fate = if *landed { "has landed" } else { "did not land, and will not" };
            ("settled", format!("the earlier push of {branch} {fate}"))
        }
        Event::Note(text) => ("note", (*text).to_owned()),
        Event::Warning(text) => ("warning", (*text).to_owned()),
        Event::Waiting { position, holder, branch, step, wait } => {
            let doing = if step.is_empty() { String::new() } else { format!(" ({step})") };
            let long = wait.map_or_else(String::new, |w| format!("; {}", range(&w)));
            ("waiting", format!("{}; {holder} has the turn with {branch}{doing}{long}", ahead(*position)))
        }
        Event::Ahead { with, .. } => (
            "ahead",
            match with {
                0 => "checking what will land".to_owned(),
                1 => "checking what will land, with the one before it".to_owned(),
                n => format!("checking what will land, with the {n} before it"),
            },
        ),
        Event::AheadChecked { code: Some(0), took, .. } => {
            ("ahead", format!("passed in {}; its turn will only be a push", span(*took)))
        }
        Event::AheadChecked { code, took, log } => {
            let code = code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
            ("ahead", format!("failed with {code} after {}; its output: {log}", span(*took)))
        }
        Event::WillConflict { with, files } => {
            let files = match files {
                [] => String::new(),
                [file] => format!(" in {file}"),
                [file, more @ ..] => format!(" in {file} and {} more", more.len()),
            };
            ("warning", format!("will conflict with {with}{files}; merge that into the branch, or talk"))
        }
        Event::Turn { turn_no, waited } => ("turn", format!("{turn_no}, after {}", span(*waited))),
        Event::Check { command, .. } => ("check", (*command).to_owned()),
        Event::Checked { code: Some(0), took } => ("", format!("passed in {}", span(*took))),
        Event::Checked { code, took } => {
            let code = code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
            ("", format!("failed with {code} after {}", span(*took)))
        }
        Event::Runs { command } => ("run", (*command).to_owned()),
        Event::AlreadyGreen => ("check", "this very tree has passed before".to_owned()),
        Event::Entered { .. } | Event::Step(_) | Event::Output(_) => return None,
    })
}

/// A span with its range: `about 3:10 (1:40 to 5:00)`; where next to nothing is left of it, its end alone.
fn range(r: &Range) -> String {
    match r.likely {
        ..1_000 => format!("at most {} or so", span(r.high)),
        likely => format!("about {} ({} to {})", span(likely), span(r.low), span(r.high)),
    }
}

fn ahead(position: u64) -> String {
    match position {
        0 | 1 => "next in line".to_owned(),
        n => format!("{} before this one", n),
    }
}

fn heading(word: &str, colour: bool) -> String {
    let (on, off) = match word {
        _ if !colour => ("", ""),
        "warning" => ("\x1b[33m", "\x1b[0m"),
        "turn" => ("\x1b[32m", "\x1b[0m"),
        _ => ("\x1b[2m", "\x1b[0m"),
    };
    format!("{on}{word:<9}{off}")
}

/// A line on change, and one every minute.
struct Plain {
    state: Arc<Mutex<PlainState>>,
}

struct PlainState {
    last: String,
    standing: String,
    said: Instant,
    since: Instant,
    doing: String,
    /// A command of the user's has the outputs.
    hushed: bool,
}

/// How often a pipe hears that things go on.
const EVERY: Duration = Duration::from_secs(60);

impl Plain {
    fn new() -> Self {
        let now = Instant::now();
        let (last, doing) = (String::new(), "waiting".to_owned());
        let state = PlainState { last, standing: String::new(), said: now, since: now, doing, hushed: false };
        let state = Arc::new(Mutex::new(state));
        let ticking = Arc::downgrade(&state);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                let Some(state) = ticking.upgrade() else { return };
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                if state.said.elapsed() >= EVERY && !state.hushed {
                    let so_far = span(i64::try_from(state.since.elapsed().as_millis()).unwrap_or(i64::MAX));
                    let text = format!("still {}, {so_far} by now", state.doing);
                    state.say(&format!("{}{text}", heading("", false)));
                }
            }
        });
        Self { state }
    }
}

impl PlainState {
    fn say(&mut self, text: &str) {
        self.said = Instant::now();
        line(&mut std::io::stderr(), text);
    }
}

impl Show for Plain {
    fn show(&self, event: &Event<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Output(bytes) => {
                let _ = std::io::stderr().write_all(bytes);
                state.said = Instant::now();
            }
            Event::Step(step) => {
                (*step).clone_into(&mut state.doing);
                state.since = Instant::now();
            }
            _ => {
                let Some((word, text)) = told(event) else { return };
                let text = format!("{}{}", heading(word, false), printable(&text));
                // How it stands is told again only where that has changed, whatever was said in between.
                let waits = matches!(event, Event::Waiting { .. });
                let last = if waits { &mut state.standing } else { &mut state.last };
                if *last != text {
                    last.clone_from(&text);
                    state.say(&text);
                }
                state.hushed |= matches!(event, Event::Runs { .. });
            }
        }
    }
}

/// Lines that stay, and below them one that lives.
struct Terminal {
    bar: ProgressBar,
    colour: bool,
    last: Mutex<String>,
}

impl Terminal {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
            bar.set_style(style.tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ "));
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar, colour: std::env::var_os("NO_COLOR").is_none(), last: Mutex::default() }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Show for Terminal {
    fn show(&self, event: &Event<'_>) {
        match event {
            Event::Output(bytes) => self.bar.suspend(|| {
                let _ = std::io::stderr().write_all(bytes);
            }),
            Event::Step(step) => {
                self.bar.reset_elapsed();
                self.bar.set_message(printable(step));
            }
            Event::Waiting { .. } => {
                if let Some((_, text)) = told(event) {
                    self.bar.set_message(printable(&text));
                }
            }
            _ => {
                if let Event::Runs { .. } = event {
                    // Nothing may be drawn over what the command shows.
                    self.bar.finish_and_clear();
                }
                let Some((word, text)) = told(event) else { return };
                let text = format!("{}{}", heading(word, self.colour), printable(&text));
                let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                if *last != text {
                    self.bar.suspend(|| line(&mut std::io::stderr(), &text));
                    *last = text;
                }
            }
        }
    }
}
