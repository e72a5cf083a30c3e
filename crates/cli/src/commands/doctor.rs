//! `signalbox doctor`.

use super::Context;
use crate::args::Doctor;
use crate::outcome::line;
use crate::screen;
use passage::End;
use passage::doctor::{Finding, Patient, Severity, examine, outcome};
use passage::end::{COLUMNS, columns, printable};
use serde_json::json;
use std::io::IsTerminal;
use std::sync::Arc;

pub(super) fn run(context: &Context, args: &Doctor) -> Result<End, End> {
    let show = screen::fitting(context.json);
    let mut found = examine(&Patient {
        cwd: &context.cwd,
        state: context.state.as_deref(),
        clock: Arc::clone(&context.clock),
        show: show.as_ref(),
        trial: !args.no_trial,
    });
    // What lives in a terminal goes before anything is printed.
    drop(show);
    let end = outcome(&found);
    for finding in &mut found {
        finding.end = context.same.applied_to(finding.end.clone());
    }
    print(&found, context.json);
    Ok(end)
}

fn print(found: &[Finding], json: bool) {
    let out = &mut std::io::stdout();
    let colour = !json && out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut part = None;
    for finding in found {
        if json {
            line(out, &object(finding).to_string());
            continue;
        }
        if part != Some(finding.code.part()) {
            part = Some(finding.code.part());
            line(out, finding.code.part().as_str());
        }
        for text in told(finding, colour) {
            line(out, &text);
        }
    }
}

fn object(finding: &Finding) -> serde_json::Value {
    let end = &finding.end;
    json!({
        "event": "finding", "code": finding.code.as_str(), "part": finding.code.part().as_str(),
        "severity": finding.severity().as_str(), "detail": end.line, "more": end.more, "do": end.next,
    })
}

/// Where the words of a finding begin: behind its mark.
const INDENT: usize = 11;

/// The lines of a finding: its mark, its words below each other, then the command to type.
fn told(finding: &Finding, colour: bool) -> Vec<String> {
    let severity = finding.severity();
    let (on, off) = match severity {
        _ if !colour => ("", ""),
        Severity::Problem => ("\x1b[31m", "\x1b[0m"),
        Severity::Warning => ("\x1b[33m", "\x1b[0m"),
        Severity::Fine => ("\x1b[2m", "\x1b[0m"),
    };
    let mut lines = Vec::new();
    for words in folded(&finding.end.line, COLUMNS - INDENT) {
        let mark = if lines.is_empty() { severity.as_str() } else { "" };
        lines.push(format!("  {on}{mark:<7}{off}  {words}"));
    }
    let indent = " ".repeat(INDENT + 2);
    let more = finding.end.more.iter().flat_map(|more| more.lines());
    lines.extend(more.map(|more| format!("{indent}{}", printable(more).trim_end())));
    lines.extend(finding.end.next.iter().map(|next| format!("{indent}next: {}", printable(next))));
    lines
}

/// The words of a text in lines of at most so many columns; a longer word has a line of its own.
fn folded(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| columns(line));
        match lines.last_mut() {
            Some(line) if last == 0 => line.push_str(word),
            Some(line) if last + 1 + columns(word) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn words_are_folded_where_they_no_longer_fit() {
        assert_eq!(folded("a bb ccc", 4), ["a bb", "ccc"]);
        assert_eq!(folded("aaaaaa b", 4), ["aaaaaa", "b"]);
        assert_eq!(folded("all of it", 9), ["all of it"]);
    }
}
