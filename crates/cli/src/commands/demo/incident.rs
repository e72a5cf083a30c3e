//! The six incidents, and what was found of each.

use super::Trouble;
use super::audit::Final;

/// What was found after an incident, or in the end.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    /// Whether it went as it should.
    pub(super) good: bool,
    /// What was seen, in plain words.
    pub(super) text: String,
}

impl Finding {
    pub(super) fn new(good: bool, text: impl Into<String>) -> Self {
        Self { good, text: text.into() }
    }
}

/// Something that happens where many work at once.
pub(super) struct Incident {
    /// For programs.
    pub(super) name: &'static str,
    /// For people, in the running text.
    pub(super) title: &'static str,
    /// The same, for the table.
    pub(super) short: &'static str,
}

/// All of them, in the order in which they happen.
pub(super) const INCIDENTS: [Incident; 6] = [
    Incident {
        name: "number",
        title: "Two agents take a number at the same instant",
        short: "two take a number at once",
    },
    Incident {
        name: "stopped",
        title: "The one that has the turn is stopped (SIGSTOP) while another one waits",
        short: "the holder is stopped",
    },
    Incident {
        name: "killed",
        title: "The one that has the turn is killed (SIGKILL) in the middle of its push",
        short: "the holder is killed",
    },
    Incident {
        name: "red",
        title: "Two branches land that pass their tests alone and fail together",
        short: "green alone, red together",
    },
    Incident {
        name: "outside",
        title: "While the tests of a branch run, somebody pushes to main by hand",
        short: "a push by hand meanwhile",
    },
    Incident {
        name: "conflict",
        title: "A branch changes the line that was changed by hand",
        short: "a conflict",
    },
];

/// One way to land the eight branches, through all incidents.
pub(super) trait Half {
    /// What happens in that incident, and what is found then.
    fn incident(&mut self, name: &str, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble>;
    /// What the trunk has in the end.
    fn finally(&mut self) -> Result<Final, Trouble>;
}
