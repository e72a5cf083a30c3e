//! `signalbox run`.

use super::Context;
use crate::args::Run;
use crate::{screen, signals};
use passage::End;
use passage::land::Options;
use passage::land::command::{self, Errand, refusal};

pub(super) fn run(context: &Context, args: Run) -> Result<End, End> {
    let site = context.site().map_err(refusal)?;
    let show = screen::fitting(context.json);
    let label = args.label.filter(|label| !label.trim().is_empty());
    let label = label.map_or_else(|| Context::label(&site), Ok)?;
    let options = Options {
        branch: command::branch_here(&site).map_err(refusal)?,
        owner: label.clone(),
        label,
        ticket: None,
        dry_run: false,
        wait: args.wait,
        reenter: true,
        wait_holds: false,
        inside: Context::inside(),
    };
    let interrupt = signals::watch_for_a_command();
    let errand = Errand::new(args.command, context.json);
    let mut end = command::run(&site, show, &interrupt, options, errand);
    if end.code == "ran" && end.exit == 0 && !context.json {
        // Standard output is the command's.
        end.line.clear();
    }
    Ok(end)
}
