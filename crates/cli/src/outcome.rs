//! Printing how a command ended.

use passage::End;
use passage::end::{COLUMNS, columns, printable};
use serde_json::{Map, Value};
use std::io::{IsTerminal, Write};

/// Prints the outcome: as the last JSON object, or for people. What went well goes to standard output, a
/// refusal to standard error.
pub(crate) fn print(end: &End, json: bool) {
    if json {
        return line(&mut std::io::stdout(), &object(end).to_string());
    }
    if end.exit == 0 {
        write_to(&mut std::io::stdout(), end, false);
    } else {
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        write_to(&mut std::io::stderr(), end, colour);
    }
}

/// Prints one of several answers, each of which is put as an outcome is.
pub(crate) fn print_event(event: &str, end: &End, json: bool) {
    let out = &mut std::io::stdout();
    if json {
        let mut object = object(end);
        object["event"] = event.into();
        line(out, &object.to_string());
    } else {
        write_to(out, end, false);
    }
}

fn write_to(out: &mut dyn Write, end: &End, colour: bool) {
    if end.line.is_empty() {
        return;
    }
    let name = "signalbox: ";
    if end.exit == 0 || columns(&end.line) + columns(name) > COLUMNS {
        line(out, &end.line);
    } else if colour {
        line(out, &format!("\x1b[31m{name}\x1b[0m{}", end.line));
    } else {
        line(out, &format!("{name}{}", end.line));
    }
    // What a remote, a file or a name says moves no cursor.
    for more in end.more.iter().flat_map(|more| more.lines()) {
        line(out, &format!("  {}", printable(more).trim_end()));
    }
    if let Some(next) = &end.next {
        line(out, &format!("  next: {}", printable(next)));
    }
}

/// The outcome for programs: what happened, its code, and the command to type (`do`).
fn object(end: &End) -> Value {
    let mut object = Map::new();
    object.insert("event".into(), "end".into());
    object.insert("exit".into(), end.exit.into());
    object.insert("code".into(), end.code.into());
    object.insert("detail".into(), end.line.clone().into());
    object.insert("do".into(), end.next.clone().map_or(Value::Null, Value::from));
    object.extend(end.facts.clone());
    if !end.more.is_empty() {
        object.insert("more".into(), end.more.clone().into());
    }
    Value::Object(object)
}

/// Writes a line. A reader that went away is no fault of ours.
pub(crate) fn line(out: &mut dyn Write, text: &str) {
    let _ = writeln!(out, "{text}");
}
