//! `signalbox land`.

use super::Context;
use crate::args::Land;
use crate::{screen, signals};
use passage::end::{End, exit};
use passage::land::{self, Options};
use passage::settle::{self, Fate};
use passage::{Interrupt, Show, Site, locked, user_file};
use std::sync::Arc;
use std::time::Duration;

pub(super) fn run(context: &Context, args: Land) -> Result<End, End> {
    let site = context.site()?;
    let show = screen::fitting(context.json);
    if args.settle {
        return Ok(settled(&site, show.as_ref()));
    }
    let branch = match args.branch {
        Some(branch) => branch,
        None => land::enter::current_branch(&site)?,
    };
    let interrupt: Interrupt = signals::watch();
    let site = site.heeding(&interrupt);
    let label = args.label.filter(|label| !label.trim().is_empty());
    let label = label.map_or_else(|| Context::label(&site), Ok)?;
    let named = args.owner.map_or_else(|| Ok(user_file::read()?.owner), |owner| Ok::<_, End>(Some(owner)))?;
    let owner = named.unwrap_or_else(|| label.clone());
    let options = Options {
        owner,
        label,
        wait_holds: args.wait_holds,
        branch,
        ticket: args.resume,
        dry_run: args.dry_run,
        wait: if args.no_wait { Some(Duration::ZERO) } else { args.wait },
        reenter: !args.no_reenter,
        inside: Context::inside(),
    };
    Ok(land::land(&site, Arc::clone(&show), &interrupt, options))
}

fn settled(site: &Site, show: &dyn Show) -> End {
    let mut report = settle::settle(site, show);
    let given_up = settle::give_up(site, &mut report);
    settle::reap(site, show);
    settle::tidy(site);
    let landed = report.settled.iter().filter(|(_, fate)| *fate == Fate::Landed).count();
    let not = report.settled.len() - landed + given_up.len();
    let end = if !report.locks.is_empty() {
        let line = "what became of a push cannot be read while a killed git's lock is there; remove it";
        End::new(exit::UNKNOWN, "outcome_unknown", line).next(locked::removal(&report.locks))
    } else if !report.unknown.is_empty() {
        let line =
            "what became of a push cannot be read, since the remote does not answer; settle again later";
        End::new(exit::UNKNOWN, "outcome_unknown", line).next("signalbox land --settle")
    } else if !report.broken.is_empty() {
        let line = "an intent cannot be read; look whether its branch landed, then remove the file";
        End::new(exit::INTERNAL, "broken_intent", line)
    } else if !report.left.is_empty() {
        let line =
            "settled; but files in the trunk's worktree are not the trunk's, and were left: look at them";
        End::new(exit::USAGE, "trunk_left_behind", line).next("git status")
    } else if report.settled.is_empty() && given_up.is_empty() {
        let running = report.running.len();
        let line = match running {
            0 => "nothing is open: every push of this machine is settled".to_owned(),
            n => format!("{n} still running, nothing to settle: each settles its own push"),
        };
        End::new(exit::DONE, "nothing_open", line)
    } else {
        End::new(exit::DONE, "settled", format!("settled: {landed} landed, {not} did not and will not"))
    };
    let mut end = end.fact("landed", landed).fact("notLanded", not).fact("running", report.running.len());
    end.more.extend(given_up.into_iter().map(|intent| {
        let repository = intent.repository.display();
        format!("{}: its repository {repository} is gone, and its trunk with it; given up", intent.branch)
    }));
    end.more.extend(report.unknown.into_iter().map(|(intent, text)| format!("{}: {text}", intent.branch)));
    end.more.extend(report.broken);
    end.more.extend(report.left);
    end
}
