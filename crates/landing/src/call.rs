//! A call, parsed as far as it can be without the data.

use crate::members::{self, CALLS, CallSpec};
use crate::slice::{Mint, Outcome};
use kernel::{Code, Id, Limits, Millis, Refusal, json};
use serde_json::{Map, Value};

/// A call that names a project. Its other members may still be malformed: a retired project is answered
/// first, so that refusal waits in `verb`.
#[derive(Debug, Clone)]
pub struct Call {
    /// The project.
    pub project: Id,
    /// The call's row of the table.
    pub spec: &'static CallSpec,
    /// The request id and what it is tied to, where the call has a well-formed one.
    pub request: Option<Request>,
    /// What is asked, or why the members break their grammar.
    pub verb: Result<Verb, Refusal>,
    /// When the call arrived, on the clock passed in.
    pub arrived: Millis,
    /// Whether a rule has looked at the call before (a call that waits is asked again).
    pub asked: bool,
}

/// A request id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The id.
    pub id: Id,
    /// What it is tied to.
    pub fingerprint: String,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verb {
    /// Take a block of numbers.
    Mint(Mint),
    /// Take a place in the queue.
    Enter {
        /// The caller's name for its passage.
        ticket: Id,
        /// The branch.
        branch: String,
        /// The commit.
        head: String,
        /// Who.
        label: String,
        /// What it is doing.
        step: Option<String>,
    },
    /// Show that one lives; also asks how one stands.
    Renew {
        /// Which stay.
        stay: Stay,
        /// What it is doing.
        step: Option<String>,
    },
    /// Wait for the turn.
    Wait {
        /// Which stay.
        stay: Stay,
        /// How long, in milliseconds.
        timeout: Millis,
    },
    /// End the stay.
    Leave {
        /// Which stay.
        stay: Stay,
        /// How it ended.
        outcome: Outcome,
        /// What is to be kept of it.
        report: Option<Map<String, Value>>,
    },
    /// Show the queue, or wait until it changes.
    List {
        /// The mark that the caller has seen.
        after: Option<String>,
        /// How long to wait for another, in milliseconds.
        timeout: Millis,
    },
    /// Open a hold, or open it again.
    OpenHold {
        /// Its name.
        name: String,
        /// What it covers.
        paths: Vec<String>,
        /// Whose it is.
        owner: String,
        /// When it ends.
        until: Millis,
    },
    /// Close a hold.
    CloseHold {
        /// Its name.
        name: String,
        /// Whose it is.
        owner: String,
    },
    /// Show holds and freeze.
    Holds,
    /// Open a freeze, or add to the one that stands.
    OpenFreeze {
        /// The issue that it serves.
        issue: String,
        /// Who opens it.
        opener: String,
        /// What it admits.
        admissions: Vec<String>,
        /// Since when it is meant to stand.
        declared_at: Option<Millis>,
    },
    /// Close the freeze.
    CloseFreeze {
        /// Every issue that it serves.
        issues: Vec<String>,
    },
    /// Replace the project's id.
    Replace {
        /// The new id.
        replacement: Id,
    },
    /// Raise counters.
    Lift {
        /// At least this turn.
        turn_no: Option<i64>,
        /// At least these values.
        lines: Vec<(String, i64)>,
    },
}

/// One stay of one ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stay {
    /// The ticket.
    pub ticket: Id,
    /// The stay.
    pub entry: i64,
}

impl Call {
    /// Reads a call. `arrived` is now on the clock passed in.
    ///
    /// # Errors
    /// What needs no lock to be refused: an unknown call, a body that is too large or no strict JSON
    /// object, a project that is no UUID.
    pub fn parse(name: &str, body: &[u8], arrived: Millis, limits: &Limits) -> Result<Self, Refusal> {
        let Some(spec) = CALLS.iter().find(|spec| spec.name == name) else {
            return Err(Refusal::new(
                Code::UnknownCall,
                "there is no call of that name; see the table of calls in docs/calls.md",
            ));
        };
        if body.len() > limits.body_bytes_max {
            let max = limits.body_bytes_max;
            return Err(Refusal::new(
                Code::BodyTooLarge,
                format!("the body is larger than {max} bytes; send a smaller one"),
            ));
        }
        let members = json::object(body).map_err(|fault| {
            Refusal::invalid(match fault {
                json::BodyFault::NotJson => "the body is not one JSON value; send one JSON object".into(),
                json::BodyFault::NotAnObject => "the body is not an object; send one JSON object".into(),
                json::BodyFault::Repeated(name) => {
                    format!("{} is repeated; send each member once", name.as_deref().unwrap_or("a member"))
                }
            })
        })?;
        let project = members.get("project").and_then(id).ok_or_else(|| members::project_broken(limits))?;
        let request = spec.request.then(|| members.get("request").and_then(id)).flatten();
        let request = request.map(|id| Request { id, fingerprint: json::fingerprint(name, &members) });
        let verb = members::check(spec, &members, limits).and_then(|()| {
            Verb::read(spec, &project, &members, limits)
                .ok_or_else(|| Refusal::invalid("a member breaks its rule; see the table of calls"))
        });
        Ok(Self { project, spec, request, verb, arrived, asked: false })
    }
}

impl Verb {
    /// Reads members that the table has admitted; `None` only if the table and this function disagree,
    /// which a test rules out for every call.
    fn read(spec: &CallSpec, project: &Id, m: &Map<String, Value>, limits: &Limits) -> Option<Self> {
        let string = |name: &str| m.get(name).and_then(Value::as_str).map(String::from);
        let number = |name: &str| m.get(name).and_then(Value::as_i64);
        let strings = |name: &str| -> Option<Vec<String>> {
            m.get(name)?.as_array()?.iter().map(|item| item.as_str().map(String::from)).collect()
        };
        let stay = || Some(Stay { ticket: m.get("ticket").and_then(id)?, entry: number("entry")? });
        let timeout = number("timeoutMs");
        Some(match spec.name {
            "mint" => Self::Mint(Mint {
                project: project.clone(),
                scope: string("scope")?,
                floor: number("floor").unwrap_or(0),
                count: number("count").unwrap_or(1),
                lift_max: limits.floor_lift_max,
            }),
            "queue/enter" => Self::Enter {
                ticket: m.get("ticket").and_then(id)?,
                branch: string("branch")?,
                head: string("head")?,
                label: string("label")?,
                step: string("step"),
            },
            "queue/renew" => Self::Renew { stay: stay()?, step: string("step") },
            "queue/wait" => Self::Wait { stay: stay()?, timeout: timeout.unwrap_or(limits.wait_max_ms) },
            "queue/leave" => Self::Leave {
                stay: stay()?,
                outcome: m.get("outcome").and_then(Value::as_str).and_then(Outcome::parse)?,
                report: m.get("report").and_then(Value::as_object).cloned(),
            },
            "queue/list" => {
                Self::List { after: string("after"), timeout: timeout.unwrap_or(limits.wait_max_ms) }
            }
            "hold/open" => Self::OpenHold {
                name: string("name")?,
                paths: strings("paths")?,
                owner: string("owner")?,
                until: number("until")?,
            },
            "hold/close" => Self::CloseHold { name: string("name")?, owner: string("owner")? },
            "hold/list" => Self::Holds,
            "freeze/open" => Self::OpenFreeze {
                issue: string("issue")?,
                opener: string("opener")?,
                admissions: strings("admissions")?,
                declared_at: number("declaredAt"),
            },
            "freeze/close" => Self::CloseFreeze { issues: strings("issues")? },
            "project/replace" => Self::Replace { replacement: m.get("replacement").and_then(id)? },
            "project/lift" => {
                let lines = m.get("lines").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let lines = lines.iter().map(members::lift_line);
                Self::Lift {
                    turn_no: number("turnNo"),
                    lines: lines.map(|l| l.map(|(s, v)| (s.to_owned(), v))).collect::<Option<_>>()?,
                }
            }
            _ => return None,
        })
    }
}

fn id(value: &Value) -> Option<Id> {
    value.as_str()?.parse().ok()
}
