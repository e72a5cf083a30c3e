//! What can be typed.

use clap::{Args as ClapArgs, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use kernel::Id;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Lands branches on one trunk, exactly once and one at a time.
#[derive(Debug, Parser)]
#[command(
    name = "signalbox",
    version,
    propagate_version = false,
    disable_help_subcommand = true,
    after_help = "Example:\n  signalbox init --check 'make test'; then, on a branch: signalbox land"
)]
pub(crate) struct Args {
    /// The state's folder (or SIGNALBOX_STATE; default: in .git)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Print one JSON object per line, the last one the outcome
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the first screen only names.
const MORE: &[&str] = &["freeze", "new", "hook", "project", "limits", "completions", "man", "demo"];

/// Every command with its help.
pub(crate) fn command() -> clap::Command {
    Args::command()
}

/// The arguments of this process.
///
/// # Errors
/// They cannot be understood, or help or the version is asked for.
pub(crate) fn parse() -> Result<Args, clap::Error> {
    let mut args = Args::from_arg_matches(&first_screen().try_get_matches()?)?;
    // An empty variable is one that is not set.
    let named = || std::env::var_os("SIGNALBOX_STATE").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    args.state = args.state.or_else(named);
    Ok(args)
}

/// The commands, with a help that fits a screen of 24 lines: those of every day have lines of their own.
fn first_screen() -> clap::Command {
    let more = MORE.join(", ");
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\nCommands:\n{{subcommands}}\n  more    {more}\n\n\
         Options:\n{{options}}{{after-help}}"
    );
    let command = command().help_template(template);
    MORE.iter().fold(command, |command, name| command.mut_subcommand(name, |more| more.hide(true)))
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set this repository up
    Init(Init),
    /// Land a branch: wait for the turn, merge, check, push, leave
    Land(Land),
    /// Tell what keeps a branch from landing, and the way out
    Why(Why),
    /// Find what is wrong here, or may be soon, each with its remedy
    Doctor(Doctor),
    /// Show who has the turn and who waits
    Queue(Queue),
    /// Show what landed, what did not and why, and how long each part took
    Log(Log),
    /// Hold the turn while a command runs: a deploy, a migration
    Run(Run),
    /// Print a fresh number, or a block of them
    Mint(Mint),
    /// Mint a number and create the line's file for it
    New(New),
    /// Keep other landings off some files for a while
    Hold(Hold),
    /// Let only some branches land while a hotfix stands
    Freeze(Freeze),
    /// Stop pushes that go past the queue
    Hook(Hook),
    /// Give the project a new id
    Project(Project),
    /// Show every limit in force
    #[command(after_help = "Example:\n  signalbox limits")]
    Limits,
    /// Print what makes a shell complete commands
    Completions(Completions),
    /// Print the manual, or write its pages
    Man(Man),
    /// Show what goes wrong with a lock file, and that it does not here
    Demo(Demo),
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  signalbox completions bash > ~/.local/share/bash-completion/completions/signalbox"
)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  signalbox man land | man -l -\n  signalbox man --out ~/.local/share/man/man1"
)]
pub(crate) struct Man {
    /// The command that the page is of (default: signalbox itself)
    #[arg(conflicts_with = "out")]
    pub(crate) command: Vec<String>,
    /// Write every page into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  signalbox init --check 'cargo test' --line 'adr=docs/adr/{number:04}-{slug}.md'"
)]
pub(crate) struct Init {
    /// The command that must pass before a branch lands
    #[arg(long, value_name = "COMMAND", conflicts_with = "no_check")]
    pub(crate) check: Option<String>,
    /// Check nothing, and say so
    #[arg(long)]
    pub(crate) no_check: bool,
    /// The trunk's branch (default: found out)
    #[arg(long, value_name = "BRANCH")]
    pub(crate) trunk: Option<String>,
    /// The trunk's remote, or "." for this repository itself (default: found out)
    #[arg(long, value_name = "NAME")]
    pub(crate) remote: Option<String>,
    /// How a branch becomes commits of the trunk
    #[arg(long, value_enum)]
    pub(crate) strategy: Option<Strategy>,
    /// How many checks may run at once on this machine (default: 2); 1: none ahead of its turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) parallel: Option<u32>,
    /// A number line: NAME, or NAME=TEMPLATE (may be repeated)
    #[arg(long = "line", value_name = "NAME[=TEMPLATE]")]
    pub(crate) lines: Vec<String>,
    /// How long a silent ticket lives in this box, in milliseconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(100..=86_400_000))]
    pub(crate) lease_ms: Option<i64>,
    /// How long a turn may last in this box, in milliseconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(100..=604_800_000))]
    pub(crate) turn_ms: Option<i64>,
    /// Whether a freeze keeps turns from beginning; if not, a landing is only stopped before its push
    #[arg(long, value_name = "BOOL")]
    pub(crate) freeze_holds_turns: Option<bool>,
    /// Keep this trunk from here on: its earlier state is lost, or was another clone's
    #[arg(long)]
    pub(crate) take_over: bool,
    /// The state's folder was moved here; it is no copy
    #[arg(long, conflicts_with = "take_over")]
    pub(crate) moved: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Strategy {
    Merge,
    Squash,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  signalbox land            land the branch that is checked out here\n  signalbox land --json     the same for a program: on a non-zero exit do what `do` says"
)]
pub(crate) struct Land {
    /// The branch (default: the one that is checked out here)
    pub(crate) branch: Option<String>,
    /// Merge and check, but push nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Wait at most this long for the turn (90s, 5m, 1h)
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "no_wait")]
    pub(crate) wait: Option<Duration>,
    /// Do not wait: take a place, print the ticket
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Go on with a ticket that was taken before
    #[arg(long, value_name = "TICKET", value_parser = id)]
    pub(crate) resume: Option<Id>,
    /// Who lands, as others see it (default: you and this folder)
    #[arg(long, env = "SIGNALBOX_LABEL", value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Whom it acts for: holds of this owner are no obstacle (default: the label)
    #[arg(long, value_name = "TEXT")]
    pub(crate) owner: Option<String>,
    /// Wait for a hold that is in the way, outside the queue
    #[arg(long)]
    pub(crate) wait_holds: bool,
    /// A lost turn ends the command instead of being waited for again
    #[arg(long)]
    pub(crate) no_reenter: bool,
    /// Only find out what became of pushes that were cut off
    #[arg(long, conflicts_with_all = ["branch", "dry_run", "wait", "no_wait", "resume"])]
    pub(crate) settle: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  signalbox mint adr --floor-from 'docs/adr/*.md'")]
pub(crate) struct Mint {
    /// The number line
    pub(crate) line: String,
    /// How many numbers, one after the other
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) count: Option<i64>,
    /// Start above this number
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) floor: Option<i64>,
    /// Start above the highest number in the names of the trunk's files
    #[arg(long, value_name = "GLOB")]
    pub(crate) floor_from: Option<String>,
    /// Repeat an earlier mint whose answer was lost: the same id gets the same numbers
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) request: Option<Id>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  signalbox new adr 'Use SQLite, not files'")]
pub(crate) struct New {
    /// The number line; it needs a template
    pub(crate) line: String,
    /// The title, from which the file's name is made
    pub(crate) title: String,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  signalbox queue --watch")]
pub(crate) struct Queue {
    /// Go on showing it as it changes
    #[arg(long, short)]
    pub(crate) watch: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  signalbox why feature/login")]
pub(crate) struct Why {
    /// A branch, a ticket, or the first characters of one (default: the branch that is checked out here)
    pub(crate) name: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "It mends nothing. Where the trunk is kept it sets two refs below refs/signalbox/doctor/, reads them back\nand deletes them, and says so.\n\nExample:\n  signalbox doctor"
)]
pub(crate) struct Doctor {
    /// Set no refs where the trunk is kept: only look
    #[arg(long)]
    pub(crate) no_trial: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "signalbox run [OPTIONS] [--] <COMMAND>...",
    after_help = "It ends with the command's own exit code (128+N for a signal); 125 is a refusal of `run` itself.\n\nExample:\n  signalbox run --wait 10m -- make deploy"
)]
pub(crate) struct Run {
    /// Wait at most this long for the turn (90s, 5m, 1h); 0s: not at all
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) wait: Option<Duration>,
    /// Who runs it, as others see it (default: you and this folder)
    #[arg(long, env = "SIGNALBOX_LABEL", value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// The command and its arguments; others see them
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  signalbox log -n 5")]
pub(crate) struct Log {
    /// How many entries (at most 20 are kept at hand)
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub(crate) count: usize,
    /// Instead: how often each outcome was, how long each part took, how good the estimates were
    #[arg(long, conflicts_with = "count")]
    pub(crate) stats: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  signalbox demo")]
pub(crate) struct Demo {
    /// Leave the repositories there to look at
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Hold {
    #[command(subcommand)]
    pub(crate) command: HoldCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HoldCommand {
    /// Open a hold, or open one of yours again with other paths or another end
    #[command(after_help = "Example:\n  signalbox hold open release-3 api/ docs/api.md --for 2h")]
    Open {
        /// Its name
        name: String,
        /// What it covers, from the repository's top; a last / means all below
        #[arg(required = true)]
        paths: Vec<String>,
        /// How long it stands, at most 24h
        #[arg(long = "for", value_name = "DURATION", value_parser = duration, default_value = "1h")]
        duration: Duration,
        /// Whose it is (default: SIGNALBOX_LABEL, or you and this folder)
        #[arg(long, value_name = "TEXT")]
        owner: Option<String>,
    },
    /// Close a hold
    Close {
        /// Its name
        name: String,
        /// Whose it is (default: SIGNALBOX_LABEL, or you and this folder)
        #[arg(long, value_name = "TEXT")]
        owner: Option<String>,
    },
    /// Show the open holds and the freeze
    List,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Freeze {
    #[command(subcommand)]
    pub(crate) command: FreezeCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FreezeCommand {
    /// Open a freeze, or add an issue and branches to the one that stands
    #[command(after_help = "Example:\n  signalbox freeze open BUG-12 --admit hotfix-12")]
    Open {
        /// The issue that it serves
        issue: String,
        /// A branch that may land, or BRANCH@COMMIT for that commit alone (may be repeated)
        #[arg(long, value_name = "BRANCH[@COMMIT]")]
        admit: Vec<String>,
        /// Who opens it (default: SIGNALBOX_LABEL, or you and this folder)
        #[arg(long, value_name = "TEXT")]
        opener: Option<String>,
    },
    /// Close the freeze, naming every issue that it serves
    Close {
        /// The issues
        #[arg(required = true)]
        issues: Vec<String>,
    },
    /// Show the freeze that stands
    List,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Hook {
    #[command(subcommand)]
    pub(crate) command: HookCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Stop direct pushes to the trunk: from here, or with --server at the repository that people push to
    #[command(
        after_help = "Example:\n  signalbox hook install                                         in a clone\n  signalbox hook install --server --state /srv/x/.git/signalbox  in the bare repository"
    )]
    Install {
        /// Guard this bare repository: only landings pass
        #[arg(long)]
        server: bool,
        /// The branch to guard there (default: the state's trunk; may be repeated)
        #[arg(long = "trunk", value_name = "BRANCH", requires = "server")]
        trunks: Vec<String>,
    },
    /// Take signalbox's hooks out of this repository
    Remove,
    /// What the hook pre-push calls
    #[command(hide = true)]
    PrePush {
        /// The remote's name
        remote: OsString,
        /// Its URL
        url: OsString,
    },
    /// What the hook pre-receive calls
    #[command(hide = true)]
    PreReceive,
    /// What the hook reference-transaction calls
    #[command(hide = true)]
    ReferenceTransaction {
        /// At a server
        #[arg(long)]
        server: bool,
        /// How far the transaction is
        phase: String,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Project {
    #[command(subcommand)]
    pub(crate) command: ProjectCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProjectCommand {
    /// Give the project a new id: numbers, holds and the freeze come over, places in the queue end
    #[command(after_help = "Example:\n  signalbox project replace")]
    Replace {
        /// The new id, a UUID that nobody uses (default: a random one)
        #[arg(long, value_name = "ID")]
        to: Option<String>,
    },
}

fn id(text: &str) -> Result<Id, String> {
    text.parse().map_err(|_| "it is no id; copy it as it was printed".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 =
        number.parse().map_err(|_| "write a number with a unit, such as 90s or 5m".to_owned())?;
    let seconds = match unit {
        "s" | "" => number,
        "m" => number.saturating_mul(60),
        "h" => number.saturating_mul(3_600),
        _ => return Err("the units are s, m and h".to_owned()),
    };
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_sound() {
        first_screen().debug_assert();
    }

    #[test]
    fn the_first_screen_names_every_command() {
        let help = first_screen().render_help().to_string();
        for command in command().get_subcommands() {
            assert!(help.contains(command.get_name()), "{}: {help}", command.get_name());
        }
    }

    #[test]
    fn a_duration_is_a_number_with_a_unit() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert!(duration("soon").is_err());
        assert!(duration("5d").is_err());
    }
}
