//! How a command ends: an exit code by what the caller does next, a stable code, one line that fits a
//! terminal, and the command to type.

use serde_json::{Map, Value};
use unicode_width::UnicodeWidthChar;

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
    /// Come back later: frozen, or held.
    pub const LATER: u8 = 14;
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
    /// `run` itself refused, or stopped the command; any other code is the command's own.
    pub const RUN: u8 = 125;

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
        (LATER, "come back later: a hold covers what the branch changes, or a freeze keeps it out"),
        (TURN, "the turn is lost, or its limit was reached"),
        (REFUSED, "the remote refused the push"),
        (AGAIN, "try again: nothing was sent or changed"),
        (UNKNOWN, "the outcome is unknown: settle it, nothing else"),
        (WAITING, "still waiting: the place is kept until its lease ends"),
        (RULE, "refused by another rule; the code in the JSON says which"),
        (RUN, "`run` itself refused, or stopped the command; any other code of `run` is the command's own"),
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

/// The text without control characters, so that no name can move a terminal's cursor, and without those that
/// change the direction of writing, so that none can read as another. Line breaks stay.
#[must_use]
pub fn printable(text: &str) -> String {
    let moves = |c: char| c.is_control() && c != '\n' && c != '\t';
    text.chars().map(|c| if moves(c) || turns(c) { '\u{fffd}' } else { c }).collect()
}

/// Whether a character changes the direction in which a terminal writes what follows.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// How many columns a terminal gives to a text.
#[must_use]
pub fn columns(text: &str) -> usize {
    text.chars().map(wide).sum()
}

fn wide(c: char) -> usize {
    c.width().unwrap_or(1)
}

/// The beginning of a text (or of its characters backwards) that takes at most so many columns.
fn begin(chars: impl Iterator<Item = char>, most: usize) -> Vec<char> {
    let mut left = most;
    let fits = |c: &char| {
        let fits = wide(*c) <= left;
        left = left.saturating_sub(wide(*c));
        fits
    };
    chars.take_while(fits).collect()
}

/// One line of at most [`COLUMNS`] columns.
fn fit(line: &str) -> String {
    let line = printable(line).replace(['\n', '\t'], " ");
    if columns(&line) <= COLUMNS {
        return line;
    }
    let kept: String = begin(line.chars(), COLUMNS - 1).into_iter().collect();
    format!("{kept}…")
}

/// A name in at most `most` columns, its middle left out, so that a line that has one still fits.
#[must_use]
pub fn short(name: &str, most: usize) -> String {
    let name = printable(name).replace(['\n', '\t'], "\u{fffd}");
    if columns(&name) <= most {
        return name;
    }
    let head = most / 2;
    let start: String = begin(name.chars(), head).into_iter().collect();
    let end: String = begin(name.chars().rev(), most.saturating_sub(head + 1)).into_iter().rev().collect();
    format!("{start}…{end}")
}

/// The text with a name for each `{}`. The names share the room that the line's own words leave them, and
/// each is shortened only as far as it must be.
#[must_use]
pub fn naming<const N: usize>(text: &str, names: [&str; N]) -> String {
    let mut room = COLUMNS.saturating_sub(columns(&text.replace("{}", "")));
    let mut order: [usize; N] = std::array::from_fn(|at| at);
    order.sort_by_key(|at| columns(names[*at]));
    let mut shown = names.map(str::to_owned);
    for (done, at) in order.into_iter().enumerate() {
        shown[at] = short(names[at], room / (N - done));
        room = room.saturating_sub(columns(&shown[at]));
    }
    let mut words = text.split("{}");
    let first = words.next().unwrap_or_default().to_owned();
    shown.iter().zip(words).fold(first, |line, (name, words)| line + name + words)
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

/// The command that lands a branch, whatever its name is. `options` begin with a blank.
#[must_use]
pub fn land_command(branch: &str, options: &str) -> String {
    if branch.starts_with('-') {
        format!("signalbox land{options} -- {}", quoted(branch))
    } else {
        format!("signalbox land {}{options}", quoted(branch))
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
        for turning in "\u{202a}\u{202e}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}".chars() {
            assert_eq!(printable(&format!("main{turning}")), "main\u{fffd}");
            assert_eq!(short(&format!("a{turning}b"), 9), "a\u{fffd}b");
        }
        assert_eq!(short("feature/a-very-long-name", 11), "featu…-name");
        assert_eq!(short("日本語の長い名前です", 11), "日本…です");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("feature/x"), "feature/x");
        assert_eq!(land_command("feature/x", ""), "signalbox land feature/x");
        assert_eq!(land_command("-x", " --dry-run"), "signalbox land --dry-run -- -x");
    }

    #[test]
    fn names_share_the_room_of_a_line_and_are_shortened_only_if_they_must_be() {
        let text = "{} is already in {}; nothing to land";
        let room = COLUMNS - columns("is already in ; nothing to land") - 2;
        assert_eq!(naming(text, ["a", "origin/main"]), "a is already in origin/main; nothing to land");
        let long = "x".repeat(room - 1);
        assert_eq!(naming(text, ["a", &long]), format!("a is already in {long}; nothing to land"));
        for names in [[&*"y".repeat(300), "a"], [&*"y".repeat(300), &*"日本".repeat(99)]] {
            let line = naming(text, names);
            assert!(columns(&line) <= COLUMNS && columns(&line) > COLUMNS - 4, "{line}");
            assert!(line.ends_with("nothing to land"), "{line}");
        }
    }
}
