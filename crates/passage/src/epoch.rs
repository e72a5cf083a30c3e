//! The fence: what stands in `refs/signalbox/epoch/<trunk>`, and when it may be replaced.
//!
//! The epoch is a commit of the empty tree whose message names the turn; its parent is the epoch that it
//! replaced, and a random nonce makes each one different, since git passes an unchanged ref whatever its
//! lease says. A landing moves trunk and epoch together, so a push whose turn has passed is refused by
//! the remote itself.

use kernel::Id;
use std::fmt::Write;

/// Where a turn stands at the remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The turn has begun; a landing may be under way.
    Begun,
    /// The turn has landed, with this very push.
    Landed,
    /// The turn was fenced: nothing of it lands any more.
    Void,
}

/// One epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    /// The fencing token.
    pub turn_no: i64,
    /// The ticket whose turn it is.
    pub ticket: Id,
    /// The box that gave the turn.
    pub box_id: String,
    /// Where the turn stands.
    pub state: State,
    /// The trunk's commit: before the landing, or the landing itself.
    pub trunk: String,
}

impl Epoch {
    /// The commit message that carries it. `nonce` is random.
    #[must_use]
    pub fn message(&self, nonce: &str) -> String {
        let state = match self.state {
            State::Begun => "begun",
            State::Landed => "landed",
            State::Void => "void",
        };
        let mut text = String::from("signalbox epoch\n\n");
        let ticket = self.ticket.as_str();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "turn: {}\nticket: {ticket}\nbox: {}\nstate: {state}\ntrunk: {}\nnonce: {nonce}\n",
            self.turn_no, self.box_id, self.trunk
        );
        text
    }

    /// Reads a commit message. `None` if it is no epoch that this version understands.
    #[must_use]
    pub fn parse(message: &str) -> Option<Self> {
        let mut lines = message.lines();
        lines.next().filter(|first| *first == "signalbox epoch")?;
        let field = |name: &str| {
            message.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned)
        };
        Some(Self {
            turn_no: field("turn")?.parse().ok()?,
            ticket: field("ticket")?.parse().ok()?,
            box_id: field("box")?,
            state: match field("state")?.as_str() {
                "begun" => State::Begun,
                "landed" => State::Landed,
                "void" => State::Void,
                _ => return None,
            },
            trunk: field("trunk")?,
        })
    }
}

/// The message with the values that number lines had when the turn landed: those lines which no file shows, so that
/// whoever takes the trunk over after the state is lost does not issue their numbers again.
#[must_use]
pub fn with_lines(mut message: String, lines: &[(String, i64)]) -> String {
    for (line, value) in lines {
        // Writing to a String cannot fail.
        let _ = writeln!(message, "line: {line} {value}");
    }
    message
}

/// The number lines that a message carries.
#[must_use]
pub fn lines_of(message: &str) -> Vec<(String, i64)> {
    let lines = message.lines().filter_map(|line| line.strip_prefix("line: ")?.split_once(' '));
    let lines = lines.filter(|(name, _)| landing::members::is_scope(name));
    lines.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

/// Why an epoch that stands may not be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Another box gave that turn: this trunk is kept by another clone.
    OtherBox,
    /// A later turn has begun.
    LaterTurn,
    /// This very turn has landed.
    Landed,
}

/// Whether `mine` may replace what stands: never a greater turn, an equal one only of the same box and
/// ticket and never once it has landed, and never another box's.
///
/// # Errors
/// Why not.
pub fn may_replace(stands: Option<&Epoch>, mine: &Epoch) -> Result<(), Stop> {
    let Some(stands) = stands else { return Ok(()) };
    if stands.box_id != mine.box_id {
        return Err(Stop::OtherBox);
    }
    match stands.turn_no.cmp(&mine.turn_no) {
        std::cmp::Ordering::Less => Ok(()),
        std::cmp::Ordering::Greater => Err(Stop::LaterTurn),
        std::cmp::Ordering::Equal if stands.ticket != mine.ticket => Err(Stop::LaterTurn),
        std::cmp::Ordering::Equal if stands.state == State::Landed => Err(Stop::Landed),
        std::cmp::Ordering::Equal => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(turn_no: i64, ticket: &str, state: State) -> Epoch {
        let ticket = ticket.parse().unwrap();
        Epoch { turn_no, ticket, box_id: "b".into(), state, trunk: "0".repeat(40) }
    }
    const T: &str = "00000000-0000-4000-8000-000000000001";
    const U: &str = "00000000-0000-4000-8000-000000000002";

    #[test]
    fn an_epoch_reads_back_as_it_was_written() {
        for state in [State::Begun, State::Landed, State::Void] {
            let epoch = epoch(3, T, state);
            assert_eq!(Epoch::parse(&epoch.message("n")), Some(epoch));
        }
        assert_eq!(Epoch::parse("something else"), None);
    }

    #[test]
    fn an_epoch_may_carry_number_lines_and_reads_back_all_the_same() {
        let epoch = epoch(3, T, State::Landed);
        let lines = vec![("bare".to_owned(), 12), ("a/b".to_owned(), 1)];
        let message = with_lines(epoch.message("n"), &lines);
        assert_eq!(Epoch::parse(&message), Some(epoch));
        assert_eq!(lines_of(&message), lines);
        assert_eq!(lines_of("line: NO 1\nline: x\nline: y many\n"), []);
    }

    #[test]
    fn only_an_older_turn_or_ones_own_open_turn_is_replaced() {
        let mine = epoch(5, T, State::Begun);
        assert_eq!(may_replace(None, &mine), Ok(()));
        for state in [State::Begun, State::Landed, State::Void] {
            assert_eq!(may_replace(Some(&epoch(4, U, state)), &mine), Ok(()));
            assert_eq!(may_replace(Some(&epoch(6, T, state)), &mine), Err(Stop::LaterTurn));
            assert_eq!(may_replace(Some(&epoch(5, U, state)), &mine), Err(Stop::LaterTurn));
        }
        assert_eq!(may_replace(Some(&epoch(5, T, State::Begun)), &mine), Ok(()));
        assert_eq!(may_replace(Some(&epoch(5, T, State::Void)), &mine), Ok(()));
        assert_eq!(may_replace(Some(&epoch(5, T, State::Landed)), &mine), Err(Stop::Landed));
        let other = Epoch { box_id: "c".into(), ..epoch(1, T, State::Void) };
        assert_eq!(may_replace(Some(&other), &mine), Err(Stop::OtherBox));
    }
}
