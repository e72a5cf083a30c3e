//! What every refusal must look like, for programs and for people.

use crate::harness::{Done, Tree, World};
use serde_json::Value;
use std::ffi::OsStr;

/// How wide the first line of a refusal may be.
const COLUMNS: usize = 100;

/// How many columns a terminal gives to a text: wide characters take two.
pub fn columns(text: &str) -> usize {
    let wide = |c: char| {
        matches!(u32::from(c), 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff
            | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x2_0000..=0x3_ffff)
    };
    text.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

/// A first line: it fits, is whole, and moves no cursor.
#[track_caller]
pub fn fits(line: &str) {
    assert!(columns(line) <= COLUMNS, "{} columns: {line}", columns(line));
    assert!(!line.ends_with('…'), "it is cut off: {line}");
    assert!(!line.chars().any(char::is_control), "it has control characters: {line:?}");
}

/// Every line is one object, and the last one is the outcome.
#[track_caller]
pub fn well_formed(done: &Done) {
    assert!(done.events.iter().all(Value::is_object), "{}", done.all());
    let ends = done.events.iter().filter(|event| event["event"] == "end").count();
    assert_eq!(ends, 1, "{}", done.all());
    let end = done.end();
    assert_eq!(end["event"], "end", "{}", done.all());
    assert_eq!(end["exit"].as_i64(), done.exit.map(i64::from), "{}", done.all());
    assert!(end["code"].is_string() && end["detail"].is_string(), "{}", done.all());
    let next = end.get("do");
    assert!(next.is_some_and(|next| next.is_string() || next.is_null()), "{}", done.all());
}

/// A refusal with that exit code and that code, said as refusals are.
#[track_caller]
pub fn refused<'a>(done: &'a Done, exit: i32, code: &str) -> &'a Value {
    assert_eq!((done.exit, done.code()), (Some(exit), code), "{}", done.all());
    well_formed(done);
    let detail = done.end()["detail"].as_str().unwrap();
    assert!(!detail.is_empty(), "{}", done.all());
    fits(detail);
    done.end()
}

/// A command that is refused whoever asks: run for a program and for a person.
#[track_caller]
pub fn refuses<S: AsRef<OsStr>>(tree: &Tree, args: &[S], exit: i32, code: &str) -> Value {
    let done = tree.run(args);
    let end = refused(&done, exit, code).clone();
    let (again, stdout, stderr) = tree.people(args);
    assert_eq!(again, exit, "{stdout}{stderr}");
    told(&stderr);
    end
}

/// What a person reads: the refusal's first line fits, nothing moves the cursor, nothing is coloured.
#[track_caller]
pub fn told(stderr: &str) {
    let controls = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!stderr.contains(controls), "{stderr:?}");
    // The refusal is the last block: its first line, then lines that are set in.
    let said = stderr.lines().rev().find(|line| !line.starts_with("  ")).unwrap_or_default();
    assert!(!said.is_empty(), "{stderr}");
    fits(said);
}

/// All further lines of an outcome.
pub fn more(end: &Value) -> String {
    let lines = end["more"].as_array().map_or(&[][..], Vec::as_slice);
    lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

/// How many events of that name there were.
pub fn count(done: &Done, event: &str) -> usize {
    done.events.iter().filter(|e| e["event"] == event).count()
}

/// A text in which what differs from run to run is replaced: the world's folder, ids and commits.
pub fn plain(world: &World, text: &str) -> String {
    let text = text.replace(world.path("").to_str().unwrap().trim_end_matches('/'), "[world]");
    let mut plain = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_alphanumeric() || c == '-' {
            word.push(c);
            continue;
        }
        let hex = |part: &str| part.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
        let digits = word.contains(|c: char| c.is_ascii_digit());
        if word.len() == 36 && word.split('-').count() == 5 && word.split('-').all(hex) {
            plain.push_str("[id]");
        } else if word.len() >= 9 && digits && hex(&word) {
            plain.push_str("[commit]");
        } else {
            plain.push_str(&word);
        }
        word.clear();
        plain.push(c);
    }
    plain.trim_end_matches('\0').to_owned()
}

/// What a person sees of a command: the exit code, and both outputs.
pub fn seen<S: AsRef<OsStr>>(world: &World, tree: &Tree, args: &[S]) -> String {
    let (exit, stdout, stderr) = tree.people(args);
    plain(world, &format!("exit {exit}\n-- standard output\n{stdout}-- standard error\n{stderr}"))
}
