//! The commands.

mod demo;
mod doctor;
mod generated;
mod hold;
mod hook;
mod init;
mod land;
mod limits;
mod log;
mod mint;
mod project;
mod queue;
mod run;
mod why;

use crate::args::{Args, Command};
use crate::same::Same;
use kernel::Clock;
use passage::end::short;
use passage::land::Inside;
use passage::{End, Site, user_file};
use std::path::PathBuf;
use std::sync::Arc;

/// Where and how a command runs.
pub(crate) struct Context {
    cwd: PathBuf,
    state: Option<PathBuf>,
    json: bool,
    clock: Arc<dyn Clock>,
    /// Commands to type mean the same as the one that was typed.
    same: Same,
}

impl Context {
    fn site(&self) -> Result<Site, End> {
        Site::open(&self.cwd, self.state.as_deref(), Arc::clone(&self.clock))
    }

    /// What this process was started by.
    fn inside() -> Inside {
        let ticket = |name| std::env::var(name).ok().and_then(|ticket| ticket.parse().ok());
        Inside { run: ticket("SIGNALBOX_TICKET"), check: ticket("SIGNALBOX_CHECK") }
    }

    /// Who acts, where nobody says: `SIGNALBOX_LABEL`, else what the user's file says, else the name that git knows
    /// and the folder that the worktree is in.
    fn label(site: &Site) -> Result<String, End> {
        let said = std::env::var("SIGNALBOX_LABEL").ok().filter(|label| !label.trim().is_empty());
        if let Some(label) = said.map_or_else(|| Ok(user_file::read()?.label), |label| Ok(Some(label)))? {
            return Ok(short(&label, 200));
        }
        let user = site.repo.identity(None).map_or_else(|_| "somebody".to_owned(), |us| us.author.name);
        let top = site.repo.worktree().unwrap_or(site.repo.common_dir());
        let folder = top.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(short(&format!("{user} in {folder}"), 200))
    }

    /// Whom it acts for, where nobody says: whom the user's file names, else who acts.
    fn owner(site: &Site) -> Result<String, End> {
        user_file::read()?.owner.map_or_else(|| Self::label(site), |owner| Ok(short(&owner, 200)))
    }
}

/// Runs a command to its end.
pub(crate) fn run(args: Args) -> End {
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(_) => {
            return End::new(2, "no_folder", "the folder where this runs is gone; go into another one");
        }
    };
    let same = Same::of(&args);
    // A relative folder means: from where the command stands.
    let state = args.state.map(|state| cwd.join(state));
    let context = Context { cwd, state, json: args.json, clock: passage::clock(), same };
    let end = match args.command {
        Command::Init(args) => init::run(&context, args),
        Command::Land(args) => land::run(&context, args),
        Command::Mint(args) => mint::mint(&context, &args),
        Command::New(args) => mint::new(&context, &args),
        Command::Queue(args) => queue::run(&context, &args),
        Command::Run(args) => run::run(&context, args),
        Command::Doctor(args) => doctor::run(&context, &args),
        Command::Why(args) => why::run(&context, &args),
        Command::Log(args) => log::run(&context, &args),
        Command::Hold(args) => hold::hold(&context, args.command),
        Command::Freeze(args) => hold::freeze(&context, args.command),
        Command::Hook(args) => hook::run(&context, args.command),
        Command::Limits => limits::run(&context),
        Command::Completions(args) => Ok(generated::completions(&context, &args)),
        Command::Man(args) => generated::man(&context, &args),
        Command::Project(args) => project::run(&context, args),
        Command::Demo(args) => demo::run(&context, &args),
    };
    end.unwrap_or_else(|end| end)
}
