//! How a command ends: an exit code by what the caller does next, a stable code, one line that fits a
//! terminal, and the command to type.

use serde_json::{Map, Value};

/// The exit codes: one table for all commands.
pub mod exit {
    /// Done, landed, or already in the trunk.
    pub const DONE: u8 = 0;
    /// Something that this version has no answer to.
    pub const INTERNAL: u8 = 1;
    /// The command cannot be run like this, or not from here.
    pub const USAGE: u8 = 2;
    /// Set-up: settings, another clone, a retired project.
    pub const SETUP: u8 = 3;
    /// The check failed.
    pub const RED: u8 = 10;
    /// Mend the branch.
    pub const MEND: u8 = 12;
    /// The turn is lost, or its limit was reached.
    pub const TURN: u8 = 17;
    /// The remote refused.
    pub const REFUSED: u8 = 19;
    /// Try again: nothing was sent or changed.
    pub const AGAIN: u8 = 20;
    /// The outcome is unknown; settle it.
    pub const UNKNOWN: u8 = 21;
    /// Still waiting.
    pub const WAITING: u8 = 22;
    /// Refused by another rule.
    pub const RULE: u8 = 24;

    /// Every code with its meaning, for the documentation.
    pub const TABLE: &[(u8, &str)] = &[
        (DONE, "done, landed, or already in the trunk"),
        (INTERNAL, "internal: something that this version has no answer to"),
        (USAGE, "usage: the command cannot be run like this, or not from here"),
        (
            SETUP,
            "set-up: settings are missing or broken, another clone keeps this trunk, the project id is retired",
        ),
        (RED, "the check failed (whose fault it is stands in the JSON)"),
        (MEND, "mend the branch: a conflict, a duplicate number, or the branch moved"),
        (TURN, "the turn is lost, or its limit was reached"),
        (REFUSED, "the remote refused the push"),
        (AGAIN, "try again: nothing was sent or changed"),
        (UNKNOWN, "the outcome is unknown: settle it, nothing else"),
        (WAITING, "still waiting: the place is kept until its lease ends"),
        (RULE, "refused by another rule; the code in the JSON says which"),
        (130, "stopped by Ctrl-C"),
        (143, "stopped by SIGTERM"),
    ];
}

/// How a command ends.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// See [`exit`].
    pub exit: u8,
    /// Which case of it, for programs.
    pub code: &'static str,
    /// What, why, and what to do, in at most [`COLUMNS`] columns.
    pub line: String,
    /// What helps a person further.
    pub more: Vec<String>,
    /// The command to type.
    pub next: Option<String>,
    /// What programs want to know.
    pub facts: Map<String, Value>,
}

/// How wide the first line may be.
pub const COLUMNS: usize = 100;

impl End {
    /// An end.
    pub fn new(exit: u8, code: &'static str, line: impl AsRef<str>) -> Self {
        let line = fit(line.as_ref());
        Self { exit, code, line, more: Vec::new(), next: None, facts: Map::new() }
    }

    /// With the command to type.
    #[must_use]
    pub fn next(mut self, command: impl Into<String>) -> Self {
        self.next = Some(command.into());
        self
    }

    /// With a further line.
    #[must_use]
    pub fn more(mut self, line: impl Into<String>) -> Self {
        self.more.push(line.into());
        self
    }

    /// With something that programs want to know.
    #[must_use]
    pub fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// Something that this version has no answer to.
    pub fn internal(what: impl std::fmt::Display) -> Self {
        Self::new(exit::INTERNAL, "internal", "something failed that should not; the next line says what")
            .more(printable(&what.to_string()))
    }
}

/// The text without control characters, so that no name can move a terminal's cursor. Line breaks stay.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// One line of at most [`COLUMNS`] characters.
fn fit(line: &str) -> String {
    let line = printable(line).replace(['\n', '\t'], " ");
    if line.chars().count() <= COLUMNS {
        return line;
    }
    let kept: String = line.chars().take(COLUMNS - 1).collect();
    format!("{kept}…")
}

/// A name in at most `most` characters, its middle left out, so that a line that has one still fits.
#[must_use]
pub fn short(name: &str, most: usize) -> String {
    let name = printable(name).replace(['\n', '\t'], "\u{fffd}");
    let count = name.chars().count();
    if count <= most {
        return name;
    }
    let head = most / 2;
    let tail = most - head - 1;
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(count - tail).collect();
    format!("{start}…{end}")
}

/// A word as a shell takes it.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./@:+=,%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_always_fits_and_moves_no_cursor() {
        let end = End::new(1, "x", format!("\x1b[2J{}\nmore", "a".repeat(300)));
        assert_eq!(end.line.chars().count(), COLUMNS);
        assert!(!end.line.contains(['\x1b', '\n']));
        assert_eq!(short("feature/a-very-long-name", 11), "featu…-name");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("feature/x"), "feature/x");
    }
}
