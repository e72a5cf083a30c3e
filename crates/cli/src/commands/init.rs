//! `signalbox init`.

use super::Context;
use crate::args;
use crate::screen;
use passage::End;
use passage::settings::{Line, Strategy};
use passage::setup::{self, Init};
use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

pub(super) fn run(context: &Context, args: args::Init) -> Result<End, End> {
    let init = Init {
        check: args.check,
        no_check: args.no_check,
        remote: args.remote,
        trunk: args.trunk,
        strategy: args.strategy.map(|strategy| match strategy {
            args::Strategy::Merge => Strategy::Merge,
            args::Strategy::Squash => Strategy::Squash,
        }),
        parallel: args.parallel,
        lines: args.lines.iter().map(|line| named(line)).collect(),
        lease_ms: args.lease_ms,
        turn_ms: args.turn_ms,
        freeze_holds_turns: args.freeze_holds_turns,
        take_over: args.take_over,
        moved: args.moved,
    };
    let may_ask = !context.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let ask = move |question: &str| may_ask.then(|| asked(question)).flatten();
    let show = screen::fitting(context.json);
    let clock = Arc::clone(&context.clock);
    setup::init(&context.cwd, context.state.as_deref(), clock, show.as_ref(), &init, &ask)
}

fn named(line: &str) -> Line {
    match line.split_once('=') {
        Some((name, template)) => Line { name: name.to_owned(), template: Some(template.to_owned()) },
        None => Line { name: line.to_owned(), template: None },
    }
}

fn asked(question: &str) -> Option<String> {
    let mut out = std::io::stderr();
    let _ = write!(out, "{question}\n> ");
    let _ = out.flush();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).ok().filter(|read| *read > 0)?;
    Some(answer)
}
