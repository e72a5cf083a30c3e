//! Variables, and the user's cache folder.

use crate::doctor::code::Code;
use crate::doctor::finding::Finding;
use crate::end::{naming, short};

/// The variables that a person, a check or `run` may meet.
const KNOWN: &[&str] = &[
    "SIGNALBOX_STATE",
    "SIGNALBOX_LABEL",
    "SIGNALBOX_GIT",
    "SIGNALBOX_TICKET",
    "SIGNALBOX_ENTRY",
    "SIGNALBOX_TURN",
    "SIGNALBOX_TRUNK",
    "SIGNALBOX_BRANCH",
    "SIGNALBOX_AHEAD",
    "SIGNALBOX_DEMO_RUN",
    #[cfg(feature = "testing")]
    "SIGNALBOX_CLOCK",
    #[cfg(feature = "testing")]
    "SIGNALBOX_FAULT",
    #[cfg(feature = "testing")]
    "SIGNALBOX_FAULT_LOG",
];

/// What the environment says.
#[derive(Debug, Clone, Default)]
pub(in crate::doctor) struct Environment {
    /// The names of the variables that begin with `SIGNALBOX_` and are not empty.
    pub(in crate::doctor) set: Vec<String>,
    /// The user's cache folder for signalbox; none where the environment names none.
    pub(in crate::doctor) cache: Option<String>,
    /// Whether it can be used.
    pub(in crate::doctor) cache_usable: bool,
    /// Whether `XDG_CACHE_HOME` names it.
    pub(in crate::doctor) by_xdg: bool,
}

pub(in crate::doctor) fn judge(facts: &Environment) -> Vec<Finding> {
    let mut found = Vec::new();
    let (known, unknown): (Vec<&String>, Vec<&String>) =
        facts.set.iter().partition(|name| KNOWN.contains(&name.as_str()));
    for name in unknown {
        let line = naming("{} is no variable of signalbox, so it does nothing; correct or unset it", [name]);
        found.push(Finding::new(Code::VariableUnknown, line).next(format!("unset {name}")));
    }
    if !facts.cache_usable {
        found.push(cache(facts));
    }
    if !known.is_empty() {
        let names: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
        found.push(Finding::new(Code::Variables, naming("obeyed: {}", [&names.join(", ")])));
    }
    found
}

fn cache(facts: &Environment) -> Finding {
    let line = match &facts.cache {
        Some(cache) => naming("the cache folder {} cannot be used; checks run below .git", [cache]),
        None => "there is no cache folder, since HOME is not set; checks run below .git".to_owned(),
    };
    let finding = Finding::new(Code::CacheUnusable, line).more(
        "Below .git test runners find no tests, and tools that look upwards find your untracked files.",
    );
    match (&facts.cache, facts.by_xdg) {
        (Some(_), true) => finding.next("unset XDG_CACHE_HOME"),
        (Some(cache), false) => {
            finding.more(format!("Make it a folder that you can write: {}", short(cache, 200)))
        }
        (None, _) => finding.more("Set HOME, or XDG_CACHE_HOME, to a folder that you can write."),
    }
}
