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
use std::ffi::OsString;
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
    let typed: Vec<OsString> = std::env::args_os().skip(1).take_while(|word| word != "--").collect();
    let json = typed.iter().any(|word| word == "--json");
    let incomplete = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !error.use_stderr() || incomplete && !json {
        // A reader that went away is no fault of ours.
        let _ = error.print();
        return if incomplete { ExitCode::from(exit::USAGE) } else { ExitCode::SUCCESS };
    }
    let mut end = if incomplete { without_subcommand() } else { not_understood(error) };
    if subcommand(&typed).is_some_and(|word| word == "run") {
        end = passage::land::command::refusal(end);
    }
    outcome::print(&end, json);
    ExitCode::from(end.exit)
}

fn without_subcommand() -> End {
    End::new(exit::USAGE, "usage", "this command has subcommands, and none was given; see --help")
}

fn not_understood(error: &clap::Error) -> End {
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).peekable();
    let first = lines.next().unwrap_or_default();
    let mut first = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    if first.ends_with(':') {
        // What is missing stands below, each on a line of its own.
        while let Some(missing) = lines.next_if(|line| line.starts_with("  ")) {
            first = format!("{first} {}", missing.trim());
        }
    }
    let mut end = End::new(exit::USAGE, "usage", naming("{}; see --help", [first.as_str()]));
    end.more = lines.map(str::to_owned).collect();
    end
}

/// The subcommand among the words that were typed.
fn subcommand(typed: &[OsString]) -> Option<&OsString> {
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        if word == "--state" {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            return Some(word);
        }
    }
    None
}
