//! What the demo says while it runs.

use super::by_flock::SCRIPT;
use super::incident::{Finding, Incident};
use super::table::wrapped;
use crate::outcome::line;
use std::io::IsTerminal;

/// How wide a line may be.
const COLUMNS: usize = 100;

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint(bool);

impl Paint {
    /// As standard output and the user want it.
    pub(super) fn fitting() -> Self {
        Self(std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()))
    }

    #[cfg(test)]
    pub(super) fn plain() -> Self {
        Self(false)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// The mark of what went well, or did not.
    pub(super) fn mark(self, good: bool) -> String {
        if good { self.with("32", "✓") } else { self.with("31", "✗") }
    }
}

/// Says what happens: to a person, or to nobody where a program reads.
#[derive(Clone, Copy)]
pub(super) struct Tell {
    pub(super) paint: Paint,
    /// Whether a program reads.
    pub(super) json: bool,
}

impl Tell {
    fn out(self, text: &str) {
        if !self.json {
            line(&mut std::io::stdout(), text);
        }
    }

    /// What this is.
    pub(super) fn opening(self) {
        self.out(&self.paint.with("1", "Eight branches, one trunk, six incidents"));
        self.out("");
        self.out("A small repository with a remote, and eight worktrees with a branch each. All of them are");
        self.out("landed while things happen that happen where many work at once: first by a script with a");
        self.out(
            "lock file, then by signalbox. Everything is real: git, processes, signals. About 20 seconds.",
        );
        self.out("");
    }

    /// The script, with its line numbers.
    pub(super) fn script(self) {
        self.part("First with a lock file: land, twelve lines of shell");
        for (at, text) in SCRIPT.lines().enumerate() {
            self.out(&format!("{} {text}", self.paint.with("2", &format!("  {:>2} ", at + 1))));
        }
    }

    /// A part begins.
    pub(super) fn part(self, title: &str) {
        let rule = "─".repeat(COLUMNS.saturating_sub(title.chars().count() + 4));
        self.out(&format!("── {} {}", self.paint.with("1", title), self.paint.with("2", &rule)));
        self.out("");
    }

    /// An incident begins.
    pub(super) fn incident(self, number: usize, incident: &Incident) {
        self.out(&format!("  {number}  {}", self.paint.with("1", incident.title)));
    }

    /// What happens now.
    pub(super) fn step(self, text: &str) {
        for text in wrapped_as_it_is(text, COLUMNS - 5) {
            self.out(&format!("     {}", self.paint.with("2", &text)));
        }
    }

    /// What was found.
    pub(super) fn finding(self, finding: &Finding) {
        self.out(&format!("   {} {}", self.paint.mark(finding.good), finding.text));
    }

    /// A text as it stands.
    pub(super) fn text(self, text: &str) {
        self.out(text);
    }
}

/// Like [`wrapped`], with the text's own indentation.
fn wrapped_as_it_is(text: &str, most: usize) -> Vec<String> {
    let indent = text.len() - text.trim_start().len();
    let pad = " ".repeat(indent);
    wrapped(text, most - indent).into_iter().map(|line| format!("{pad}{line}")).collect()
}
