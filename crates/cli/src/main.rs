//! The command line. It reads arguments, asks the other crates, and shows what they say; it knows no rule.

mod args;
mod commands;
mod outcome;
mod same;
mod screen;
mod signals;
mod times;

use clap::error::ErrorKind;
use passage::end::{End, exit, naming};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::parse() {
        Ok(args) => args,
        Err(error) => return mistyped(&error),
    };
    let (json, same) = (args.json, same::Same::of(&args));
    let end = same.applied_to(commands::run(args));
    outcome::print(&end, json);
    ExitCode::from(end.exit)
}

/// Help and version are printed as they are; what cannot be understood is a refusal like any other.
fn mistyped(error: &clap::Error) -> ExitCode {
    let help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if help || !error.use_stderr() {
        // A reader that went away is no fault of ours.
        let _ = error.print();
        return if help { ExitCode::from(exit::USAGE) } else { ExitCode::SUCCESS };
    }
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let mut end = End::new(exit::USAGE, "usage", naming("{}; see --help", [first]));
    end.more = lines.map(str::to_owned).collect();
    let words = || std::env::args_os().skip(1).take_while(|word| word != "--");
    if words().find(|word| !word.as_encoded_bytes().starts_with(b"-")).is_some_and(|word| word == "run") {
        end = passage::land::command::refusal(end);
    }
    let json = words().any(|word| word == "--json");
    outcome::print(&end, json);
    ExitCode::from(end.exit)
}
