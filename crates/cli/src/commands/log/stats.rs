//! `signalbox log --stats`: how the last stays went, how long each part took, how good the estimates were.

use super::{Context, line, phase, span};
use client::EndedView;
use kernel::Millis;
use passage::estimate::{self, Range};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

pub(super) fn show(context: &Context, out: &mut impl Write, ended: &[EndedView]) {
    let stats = Stats::of(ended);
    if context.json {
        return line(out, &stats.object().to_string());
    }
    for text in stats.lines() {
        line(out, &text);
    }
}

struct Stats<'a> {
    stays: usize,
    outcomes: BTreeMap<&'a str, usize>,
    parts: [(&'static str, Option<Range>); 4],
    ahead: usize,
    estimates: (usize, usize),
}

impl<'a> Stats<'a> {
    fn of(ended: &'a [EndedView]) -> Self {
        let mut outcomes = BTreeMap::new();
        for stay in ended {
            *outcomes.entry(stay.outcome.as_str()).or_default() += 1;
        }
        let spread = |of: &dyn Fn(&EndedView) -> Option<Millis>| {
            estimate::spread(ended.iter().filter_map(of).collect())
        };
        let parts = [
            ("wait", spread(&|stay| Some(stay.turn_at? - stay.entered_at))),
            ("turn", spread(&|stay| Some(stay.ended_at - stay.turn_at?))),
            ("check", spread(&|stay| phase(stay, "check"))),
            ("push", spread(&|stay| phase(stay, "push"))),
        ];
        let ahead =
            |stay: &&EndedView| stay.report.as_ref().is_some_and(|report| report.contains_key("ahead"));
        Self {
            stays: ended.len(),
            outcomes,
            parts,
            ahead: ended.iter().filter(ahead).count(),
            estimates: estimate::kept(ended),
        }
    }

    fn lines(&self) -> Vec<String> {
        if self.stays == 0 {
            return vec!["nothing has ended yet, so there is nothing to tell".to_owned()];
        }
        let outcomes: Vec<String> =
            self.outcomes.iter().map(|(outcome, n)| format!("{n} {outcome}")).collect();
        let mut lines = vec![format!("{:<10}{}: {}", "ended", self.stays, outcomes.join(", "))];
        for (part, range) in &self.parts {
            let Some(r) = range else { continue };
            let range =
                format!("{:>8}   eight of ten between {} and {}", span(r.likely), span(r.low), span(r.high));
            lines.push(format!("{part:<10}{range}"));
        }
        lines.push(format!("{:<10}{} had their check begun ahead of their turn", "ahead", self.ahead));
        let (told, within) = self.estimates;
        lines.push(match told {
            0 => format!("{:<10}none yet: they are told once three branches have landed", "estimates"),
            _ => format!("{:<10}{within} of {told} waits ended within the range that was told", "estimates"),
        });
        lines
    }

    fn object(&self) -> Value {
        let parts: BTreeMap<_, _> = self
            .parts
            .iter()
            .map(|(part, range)| {
                (*part, range.map(|r| json!({ "low": r.low, "likely": r.likely, "high": r.high })))
            })
            .collect();
        json!({
            "event": "stats", "ended": self.stays, "outcomes": self.outcomes, "ms": parts, "ahead": self.ahead,
            "estimates": { "told": self.estimates.0, "within": self.estimates.1 },
        })
    }
}
