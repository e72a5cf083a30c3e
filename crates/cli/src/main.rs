//! The command line. It reads arguments, asks the other crates, and shows what they say; it knows no rule.

mod args;
mod commands;
mod outcome;
mod screen;
mod signals;
mod times;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let json = args.json;
    let end = commands::run(args);
    outcome::print(&end, json);
    ExitCode::from(end.exit)
}
