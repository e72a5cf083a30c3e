//! The calls and their members: one table that drives parsing (and the reference page).
//!
//! A member that breaks its grammar is refused with its name and the rule, never with its value.

use crate::branch::{BRANCH_BYTES_MAX, is_branch};
use crate::slice::Outcome;
use kernel::{Id, Limits, Mode, Refusal};
use serde_json::{Map, Value};

/// The grammar of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// A UUID in lower-case canonical form.
    Uuid,
    /// The name of a number line.
    Scope,
    /// How many numbers a mint takes.
    Count,
    /// A floor of a mint.
    Floor,
    /// An integer from 1.
    Entry,
    /// An integer from 0: a turn's number or a line's value.
    Counter,
    /// A time limit of a wait, in milliseconds.
    Timeout,
    /// A branch name.
    Branch,
    /// A commit id.
    Head,
    /// 1 to 200 characters without control characters.
    Text,
    /// 0 to 200 characters without control characters.
    Step,
    /// A change mark of `queue/list`.
    Mark,
    /// How a stay ended.
    Outcome,
    /// What a caller reports at its end.
    Report,
    /// Number lines with their values.
    Lines,
    /// The name of a hold.
    Name,
    /// The paths of a hold.
    Paths,
    /// A point in time.
    Time,
    /// The name of an issue.
    Issue,
    /// The issues that a freeze serves.
    Issues,
    /// What a freeze admits.
    Admissions,
}

/// One member of a call.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// Its grammar.
    pub grammar: Grammar,
    /// Whether the call must have it.
    pub required: bool,
}

/// One call.
#[derive(Debug, Clone, Copy)]
pub struct CallSpec {
    /// Its name, which is also its route.
    pub name: &'static str,
    /// Its members besides `project` (which every call has) and `request`.
    pub members: &'static [Member],
    /// Whether it takes a `request`: the changing calls do, save those that are harmless to repeat.
    pub request: bool,
    /// How it holds its project's lock.
    pub mode: Mode,
}

const fn must(name: &'static str, grammar: Grammar) -> Member {
    Member { name, grammar, required: true }
}

const fn may(name: &'static str, grammar: Grammar) -> Member {
    Member { name, grammar, required: false }
}

/// Every call of the landing part.
pub const CALLS: &[CallSpec] = &[
    CallSpec {
        name: "mint",
        members: &[must("scope", Grammar::Scope), may("floor", Grammar::Floor), may("count", Grammar::Count)],
        request: true,
        mode: Mode::Shared,
    },
    CallSpec {
        name: "queue/enter",
        members: &[
            must("ticket", Grammar::Uuid),
            must("branch", Grammar::Branch),
            must("head", Grammar::Head),
            must("label", Grammar::Text),
            may("step", Grammar::Step),
        ],
        request: true,
        mode: Mode::Exclusive,
    },
    CallSpec {
        name: "queue/renew",
        members: &[must("ticket", Grammar::Uuid), must("entry", Grammar::Entry), may("step", Grammar::Step)],
        request: false,
        mode: Mode::Exclusive,
    },
    CallSpec {
        name: "queue/wait",
        members: &[
            must("ticket", Grammar::Uuid),
            must("entry", Grammar::Entry),
            may("timeoutMs", Grammar::Timeout),
        ],
        request: false,
        mode: Mode::Exclusive,
    },
    CallSpec {
        name: "queue/leave",
        members: &[
            must("ticket", Grammar::Uuid),
            must("entry", Grammar::Entry),
            must("outcome", Grammar::Outcome),
            may("report", Grammar::Report),
        ],
        request: true,
        mode: Mode::Exclusive,
    },
    CallSpec {
        name: "queue/list",
        members: &[may("after", Grammar::Mark), may("timeoutMs", Grammar::Timeout)],
        request: false,
        mode: Mode::Exclusive,
    },
    CallSpec {
        name: "hold/open",
        members: &[
            must("name", Grammar::Name),
            must("paths", Grammar::Paths),
            must("owner", Grammar::Text),
            must("until", Grammar::Time),
        ],
        request: true,
        mode: Mode::Exclusive,
    },
    CallSpec {
        name: "hold/close",
        members: &[must("name", Grammar::Name), must("owner", Grammar::Text)],
        request: true,
        mode: Mode::Exclusive,
    },
    CallSpec { name: "hold/list", members: &[], request: false, mode: Mode::Exclusive },
    CallSpec {
        name: "freeze/open",
        members: &[
            must("issue", Grammar::Issue),
            must("opener", Grammar::Text),
            must("admissions", Grammar::Admissions),
            may("declaredAt", Grammar::Time),
        ],
        request: true,
        mode: Mode::Exclusive,
    },
    CallSpec {
        name: "freeze/close",
        members: &[must("issues", Grammar::Issues)],
        request: true,
        mode: Mode::Exclusive,
    },
    CallSpec {
        name: "project/replace",
        members: &[must("replacement", Grammar::Uuid)],
        request: true,
        mode: Mode::Exclusive,
    },
    CallSpec {
        name: "project/lift",
        members: &[may("turnNo", Grammar::Counter), may("lines", Grammar::Lines)],
        request: true,
        mode: Mode::Exclusive,
    },
];

/// The longest name of a number line, in bytes.
pub const SCOPE_BYTES_MAX: usize = 64;

/// The longest text (label, step, owner, opener), in characters.
pub const TEXT_CHARS_MAX: usize = 200;

/// The longest name of a hold, in characters.
pub const NAME_CHARS_MAX: usize = 100;

/// The longest name of an issue, in characters.
pub const ISSUE_CHARS_MAX: usize = 100;

/// The longest change mark, in bytes.
pub const MARK_BYTES_MAX: usize = 64;

/// The most lines that one `project/lift` names.
pub const LIFT_LINES_MAX: usize = 64;

impl Grammar {
    /// The rule, as a refusal and the reference say it.
    #[must_use]
    pub fn rule(self, limits: &Limits) -> String {
        match self {
            Grammar::Uuid => "a UUID in lower-case canonical form".into(),
            Grammar::Scope => format!("1 to {SCOPE_BYTES_MAX} of a-z 0-9 . _ / -, first a letter or digit"),
            Grammar::Count => format!("an integer from 1 to {}", limits.mint_count_max),
            Grammar::Floor => format!("an integer from 0 to {}", limits.floor_max),
            Grammar::Entry => "an integer from 1".into(),
            Grammar::Counter => format!("an integer from 0 to {COUNTER_MAX}"),
            Grammar::Timeout => format!("an integer from 0 to {}, in milliseconds", limits.wait_max_ms),
            Grammar::Branch => {
                format!("a branch name as git takes it, of at most {BRANCH_BYTES_MAX} bytes")
            }
            Grammar::Head => "a commit id of 40 or 64 lower-case hexadecimal digits".into(),
            Grammar::Text => format!("1 to {TEXT_CHARS_MAX} characters without control characters"),
            Grammar::Step => format!("at most {TEXT_CHARS_MAX} characters without control characters"),
            Grammar::Mark => "the mark of an earlier answer".into(),
            Grammar::Outcome => {
                let names: Vec<_> =
                    Outcome::ALL.iter().filter(|o| **o != Outcome::Lapsed).map(|o| o.as_str()).collect();
                format!("one of {}", names.join(", "))
            }
            Grammar::Report => format!(
                "an object with commit, phases, checkCode, files, reason, ahead or estimate, of at most {} bytes",
                limits.report_bytes_max
            ),
            Grammar::Lines => format!("at most {LIFT_LINES_MAX} objects of scope and value"),
            Grammar::Name => format!("1 to {NAME_CHARS_MAX} characters without control characters"),
            Grammar::Paths => format!(
                "1 to {} paths from the repository's top, separated by /, without empty, . or .. parts, \
                 backslashes or control characters, together at most {} bytes",
                limits.hold_paths_max, limits.hold_path_bytes_max
            ),
            Grammar::Time => format!("an integer from 0 to {COUNTER_MAX}, in milliseconds since 1970"),
            Grammar::Issue => {
                format!("1 to {ISSUE_CHARS_MAX} characters without comma, white space or control characters")
            }
            Grammar::Issues => format!("1 to {ISSUES_MAX} issues"),
            Grammar::Admissions => {
                format!("at most {} branches, or branch@<head> for one commit", limits.freeze_branches_max)
            }
        }
    }

    /// Whether the value obeys the rule.
    #[must_use]
    pub fn admits(self, value: &Value, limits: &Limits) -> bool {
        match self {
            Grammar::Uuid => text(value).is_some_and(|t| t.parse::<Id>().is_ok()),
            Grammar::Scope => text(value).is_some_and(is_scope),
            Grammar::Count => integer(value, 1, limits.mint_count_max),
            Grammar::Floor => integer(value, 0, limits.floor_max),
            Grammar::Entry => integer(value, 1, i64::MAX),
            Grammar::Counter => integer(value, 0, COUNTER_MAX),
            Grammar::Timeout => integer(value, 0, limits.wait_max_ms),
            Grammar::Branch => text(value).is_some_and(is_branch),
            Grammar::Head => text(value).is_some_and(is_head),
            Grammar::Text => text(value).is_some_and(|t| is_text(t, 1)),
            Grammar::Step => text(value).is_some_and(|t| is_text(t, 0)),
            Grammar::Mark => {
                text(value).is_some_and(|t| (1..=MARK_BYTES_MAX).contains(&t.len()) && t.is_ascii())
            }
            Grammar::Outcome => {
                text(value).and_then(Outcome::parse).is_some_and(|outcome| outcome != Outcome::Lapsed)
            }
            Grammar::Report => value.as_object().is_some_and(|report| is_report(report, limits)),
            Grammar::Lines => value.as_array().is_some_and(|lines| {
                lines.len() <= LIFT_LINES_MAX && lines.iter().all(|line| lift_line(line).is_some())
            }),
            Grammar::Name => {
                text(value).is_some_and(|t| is_text(t, 1) && t.chars().count() <= NAME_CHARS_MAX)
            }
            Grammar::Paths => strings(value).is_some_and(|paths| {
                (1..=limits.hold_paths_max).contains(&paths.len())
                    && paths.iter().map(|path| path.len()).sum::<usize>() <= limits.hold_path_bytes_max
                    && paths.iter().all(|path| is_path(path))
            }),
            Grammar::Time => integer(value, 0, COUNTER_MAX),
            Grammar::Issue => text(value).is_some_and(is_issue),
            Grammar::Issues => strings(value).is_some_and(|issues| {
                (1..=ISSUES_MAX).contains(&issues.len()) && issues.iter().all(|issue| is_issue(issue))
            }),
            Grammar::Admissions => strings(value).is_some_and(|admissions| {
                admissions.len() <= limits.freeze_branches_max
                    && admissions.iter().all(|admission| is_admission(admission))
            }),
        }
    }
}

/// The most issues that a `freeze/close` names.
pub const ISSUES_MAX: usize = 100;

/// The greatest counter that `project/lift` raises to: far above what mints and turns reach, far below
/// where adding to it could overflow.
pub const COUNTER_MAX: i64 = 1 << 53;

/// Checks the members against the table: first for an unknown one, then each in the table's order.
///
/// # Errors
/// `invalid_request`, naming the member and the rule.
pub fn check(spec: &CallSpec, body: &Map<String, Value>, limits: &Limits) -> Result<(), Refusal> {
    let known = |name: &str| {
        name == "project"
            || (name == "request" && spec.request)
            || spec.members.iter().any(|m| m.name == name)
    };
    if let Some(unknown) = body.keys().find(|name| !known(name)) {
        let names: Vec<_> = spec.members.iter().map(|m| m.name).collect();
        return Err(Refusal::invalid(format!(
            "{} is no member of {}; send only project{}{}{}",
            kernel::json::shown(unknown).unwrap_or("something"),
            spec.name,
            if names.is_empty() { "" } else { ", " },
            names.join(", "),
            if spec.request { ", request" } else { "" },
        )));
    }
    let request = may("request", Grammar::Uuid);
    for member in spec.members.iter().chain(spec.request.then_some(&request)) {
        match body.get(member.name) {
            None if member.required => return Err(broken(member, "is missing", limits)),
            Some(Value::Null) => return Err(broken(member, "is null", limits)),
            Some(value) if !member.grammar.admits(value, limits) => {
                return Err(broken(member, "breaks its rule", limits));
            }
            _ => {}
        }
    }
    Ok(())
}

fn broken(member: &Member, what: &str, limits: &Limits) -> Refusal {
    let omit = if member.required { "" } else { ", or leave it out" };
    Refusal::invalid(format!("{} {what}; send {}{omit}", member.name, member.grammar.rule(limits)))
}

/// The refusal of a `project` that is missing or no UUID; it needs no lock.
#[must_use]
pub fn project_broken(limits: &Limits) -> Refusal {
    broken(&must("project", Grammar::Uuid), "is missing or breaks its rule", limits)
}

/// Scope and value of one line of a `project/lift`.
#[must_use]
pub fn lift_line(line: &Value) -> Option<(&str, i64)> {
    let line = line.as_object().filter(|line| line.len() == 2)?;
    let scope = line.get("scope").and_then(Value::as_str).filter(|scope| is_scope(scope))?;
    let value = line.get("value").filter(|value| integer(value, 0, COUNTER_MAX))?.as_i64()?;
    Some((scope, value))
}

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

fn integer(value: &Value, min: i64, max: i64) -> bool {
    value.as_i64().is_some_and(|n| (min..=max).contains(&n))
}

/// Whether the text names a number line.
#[must_use]
pub fn is_scope(text: &str) -> bool {
    (1..=SCOPE_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._/-".contains(&b))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// The strings of an array that holds nothing else.
fn strings(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// Whether a hold may cover the path: inside the repository, `/`-separated; a last `/` names a folder.
fn is_path(path: &str) -> bool {
    let parts = path.strip_suffix('/').unwrap_or(path);
    !parts.is_empty()
        && !path.chars().any(|c| c.is_control() || c == '\\')
        && parts.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

fn is_issue(text: &str) -> bool {
    (1..=ISSUE_CHARS_MAX).contains(&text.chars().count())
        && !text.chars().any(|c| c == ',' || c.is_whitespace() || c.is_control())
}

fn is_admission(text: &str) -> bool {
    is_branch(text) || text.rsplit_once('@').is_some_and(|(branch, head)| is_branch(branch) && is_head(head))
}

pub(crate) fn is_head(text: &str) -> bool {
    (text.len() == 40 || text.len() == 64)
        && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn is_text(text: &str, min: usize) -> bool {
    (min..=TEXT_CHARS_MAX).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

fn is_report(report: &Map<String, Value>, limits: &Limits) -> bool {
    let member = |(name, value): (&String, &Value)| match name.as_str() {
        "commit" => text(value).is_some_and(is_head),
        "phases" => value.as_object().is_some_and(|phases| {
            phases.iter().all(|(name, ms)| is_text(name, 1) && integer(ms, 0, COUNTER_MAX))
        }),
        "checkCode" => integer(value, i64::from(i32::MIN), i64::from(i32::MAX)),
        "files" => value
            .as_array()
            .is_some_and(|files| files.iter().all(|file| text(file).is_some_and(|file| !file.is_empty()))),
        "ahead" => text(value).is_some_and(|word| ["running", "passed", "failed"].contains(&word)),
        "estimate" => value
            .as_array()
            .is_some_and(|range| range.len() == 2 && range.iter().all(|ms| integer(ms, 0, COUNTER_MAX))),
        "reason" => text(value).is_some_and(|reason| is_text(reason, 1)),
        _ => false,
    };
    report.iter().all(member)
        && kernel::json::canonical(&Value::Object(report.clone())).len() <= limits.report_bytes_max
}
