//! `signalbox project`.

use super::Context;
use crate::args::{Project, ProjectCommand};
use passage::end::{End, exit};
use passage::replace::replace;

pub(super) fn run(context: &Context, args: Project) -> Result<End, End> {
    let ProjectCommand::Replace { to } = args.command;
    // A project's id is not repeated in a refusal.
    let to = to.map(|to| to.parse()).transpose().map_err(|_| {
        let line = "--to is no id; give a UUID in lower-case letters, or leave --to out";
        End::new(exit::USAGE, "usage", line).next("signalbox project replace")
    })?;
    replace(&context.site()?, to)
}
