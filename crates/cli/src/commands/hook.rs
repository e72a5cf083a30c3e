//! `signalbox hook`: installing hooks, and what they call.

use super::Context;
use crate::args::HookCommand;
use passage::end::{End, exit};
use passage::hooks::{self, Here, Place, Turn, install};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

pub(super) fn run(context: &Context, command: HookCommand) -> Result<End, End> {
    match command {
        HookCommand::Install { server: true, trunks } => {
            let state = context.state.as_deref();
            install::server(&context.cwd, state, context.clock.as_ref(), &trunks, &program())
        }
        HookCommand::Install { server: false, .. } => {
            install::here(&context.cwd, context.state.as_deref(), &program())
        }
        HookCommand::Remove => install::remove(&context.cwd),
        HookCommand::PrePush { remote, url } => {
            hooks::pre_push(&here(context), remote.as_bytes().into(), url.as_bytes().into(), &input()?)
        }
        HookCommand::PreReceive => hooks::pre_receive(&here(context), &input()?),
        HookCommand::ReferenceTransaction { phase, .. } if phase != "prepared" => {
            Ok(End::new(exit::DONE, "passes", ""))
        }
        HookCommand::ReferenceTransaction { server, .. } => {
            let place = if server { Place::Server } else { Place::Here };
            hooks::reference_transaction(&here(context), place, &input()?)
        }
    }
}

fn here(context: &Context) -> Here<'_> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    Here {
        cwd: &context.cwd,
        state: context.state.as_deref(),
        clock: context.clock.clone(),
        turn: Turn { ticket: variable("SIGNALBOX_TICKET"), no: variable("SIGNALBOX_TURN") },
    }
}

/// Where this program stands; a name for the search path where that cannot be told.
fn program() -> PathBuf {
    std::env::current_exe().ok().filter(|path| path.is_file()).unwrap_or_else(|| "signalbox".into())
}

/// What git says to a hook.
fn input() -> Result<Vec<u8>, End> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).map_err(End::internal)?;
    Ok(input)
}
