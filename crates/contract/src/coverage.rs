//! What the list leaves out: a call, a member, a code, the edge of a constant.

use crate::list::{Body, By, CallStep, Case, Expect, List, Piece, Step, Then};
use crate::value::{Sum, sums};
use serde_json::Value;
use std::collections::BTreeSet;

/// What no case covers.
pub(crate) fn gaps(list: &List) -> Vec<String> {
    let mut seen = Seen::default();
    for case in &list.cases {
        seen.steps(&case.steps, case.needs_transport());
    }
    let mut found = Vec::new();
    for (call, row) in &list.calls {
        if !seen.answered.contains(call) {
            found.push(format!("no case has the call {call} answered"));
        }
        let request = row.request.then_some("request");
        for member in row.members.keys().map(String::as_str).chain(request).chain(["project"]) {
            if !seen.broken.contains(&(call.clone(), member.to_owned())) {
                found.push(format!("no case has {call} refused for its {member}"));
            }
        }
    }
    for (code, row) in &list.codes {
        let covered = match row.by {
            By::Rules => seen.codes.contains(code),
            By::Transport => seen.http_codes.contains(code),
            By::Engine => !seen.codes.contains(code) && !seen.http_codes.contains(code),
        };
        if !covered {
            found.push(match row.by {
                By::Engine => format!("a case expects {code}, which only an engine in trouble gives"),
                By::Rules | By::Transport => format!("no case expects the code {code}"),
            });
        }
    }
    for constant in list.constants.keys() {
        let at_edge: Vec<&Case> = list.cases.iter().filter(|case| case.edges.contains(constant)).collect();
        match (list.no_edge.contains_key(constant), at_edge.is_empty()) {
            (true, false) => found.push(format!("{constant} is said to have no edge, and a case is at it")),
            (false, true) => found.push(format!("no case is at the edge of {constant}")),
            _ => {}
        }
        for case in at_edge.iter().filter(|case| !both_sides(case, constant)) {
            found.push(format!("“{}” is not on both sides of {constant}", case.name));
        }
    }
    for name in list.no_edge.keys().filter(|name| !list.constants.contains_key(*name)) {
        found.push(format!("there is no constant {name}"));
    }
    found
}

/// Whether the case sends the constant and its neighbour, or does something exactly so often.
fn both_sides(case: &Case, constant: &str) -> bool {
    let mut sent = Sent::default();
    sent.steps(&case.steps);
    let has = |sum: &&Sum| sum.names.contains(constant);
    let offsets: BTreeSet<i64> = sent.sums.iter().filter(has).map(|sum| sum.offset).collect();
    sent.loops.iter().any(|sum| sum.names.contains(constant))
        || offsets.iter().any(|offset| offsets.contains(&(offset + 1)))
}

#[derive(Default)]
struct Seen {
    answered: BTreeSet<String>,
    broken: BTreeSet<(String, String)>,
    codes: BTreeSet<String>,
    http_codes: BTreeSet<String>,
}

impl Seen {
    fn steps(&mut self, steps: &[Step], http: bool) {
        for step in steps {
            match step {
                Step::Call(CallStep { call, then: Then::Answers(expect), .. }) => {
                    self.expect(expect, http);
                    if expect.code.is_none() {
                        self.answered.insert(call.clone());
                    }
                    if expect.code.as_deref() == Some("invalid_request")
                        && let Some(member) = &expect.member
                    {
                        self.broken.insert((call.clone(), member.clone()));
                    }
                }
                Step::Times { steps, .. } => self.steps(steps, http),
                Step::Repeat { expect: Some(expect), .. } | Step::Answers { expect, .. } => {
                    self.expect(expect, http);
                }
                Step::Http(step) => self.expect(&step.expect, http),
                Step::Call(_) | Step::Repeat { .. } | Step::Waiting(_) | Step::Advance(_) => {}
            }
        }
    }

    fn expect(&mut self, expect: &Expect, http: bool) {
        let codes = if http { &mut self.http_codes } else { &mut self.codes };
        codes.extend(expect.code.clone());
    }
}

/// What a case sends and waits for.
#[derive(Default)]
struct Sent {
    sums: Vec<Sum>,
    loops: Vec<Sum>,
}

impl Sent {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Call(step) => {
                    match &step.body {
                        Body::With(with) => with.values().for_each(|value| self.template(value)),
                        Body::Whole(whole) => self.template(whole),
                        Body::Raw(pieces) => {
                            for piece in pieces {
                                if let Piece::Text(text) = piece {
                                    self.template(text);
                                }
                            }
                        }
                    }
                    step.pad_to.iter().for_each(|length| self.template(length));
                }
                Step::Advance(by) => self.template(by),
                Step::Times { count, steps, .. } => {
                    self.loops.extend(sums(count).unwrap_or_default());
                    self.steps(steps);
                }
                Step::Http(step) => step.body.iter().for_each(|body| self.template(body)),
                Step::Repeat { .. } | Step::Answers { .. } | Step::Waiting(_) => {}
            }
        }
    }

    fn template(&mut self, template: &Value) {
        self.sums.extend(sums(template).unwrap_or_default());
    }
}
