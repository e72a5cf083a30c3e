//! The check: run in a worktree of its own, in a process group of its own, while the turn is renewed
//! elsewhere.

use crate::event::{Event, Show};
use crate::interrupt::Interrupt;
use crate::live::Live;
use crate::pool::{self, NoBay};
use crate::process::{Group, Task};
use crate::renew::Renewer;
use crate::results::{self, Verdict};
use crate::settings::Settings;
use crate::site::Site;
use crate::{fault, files};
use git::Oid;
use kernel::{Id, Millis};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// It passed, or need not run.
    Green,
    /// It failed, with this code; none if a signal ended it.
    Red(Option<i32>),
    /// The turn was lost; the check was stopped.
    Lost,
    /// The turn's limit came; the check was stopped. It had run for this long.
    TooLong(Millis),
    /// A person asked to stop.
    Interrupted,
}

/// What is checked, for whom.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The commit to check out.
    pub commit: &'a Oid,
    /// Its tree: what the result is remembered by.
    pub tree: &'a Oid,
    /// The trunk's settings.
    pub settings: &'a Settings,
    /// The ticket.
    pub ticket: &'a Id,
    /// The branch.
    pub branch: &'a str,
    /// The turn.
    pub turn_no: i64,
}

/// What a check may not outlive.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// Renews it.
    pub renewer: &'a Renewer,
    /// When it ends at the latest.
    pub until: Millis,
    /// When it began.
    pub began: Millis,
    /// How long the lease is.
    pub lease: Millis,
}

/// Runs the check of `subject`, unless its tree was green before. Without a `turn` nothing but an
/// interruption stops it.
///
/// # Errors
/// There is no worktree to run it in, or it cannot be started.
pub fn run(
    site: &Site,
    show: &Arc<dyn Show>,
    interrupt: &Interrupt,
    live: &Live,
    subject: &Subject<'_>,
    turn: Option<&Turn<'_>>,
) -> Result<Checked, NoBay> {
    let check = &subject.settings.check;
    let Some(command) = check.command.as_deref().filter(|_| !check.none) else {
        return Ok(Checked::Green);
    };
    let top = site.repo.worktree().unwrap_or(site.repo.common_dir());
    let key = results::key(subject.tree.as_str(), command, check, top);
    let results = site.results();
    match results.get(&key) {
        Some(Verdict::Green) => {
            show.show(&Event::AlreadyGreen);
            return Ok(Checked::Green);
        }
        // The trunk alone is checked once; a branch's red check may have been an accident.
        Some(Verdict::Red) if turn.is_none() => return Ok(Checked::Red(None)),
        _ => {}
    }
    let bay = pool::take(&site.repo, &site.live_dir(), subject.commit)?;
    fault::point("check:bay-taken");
    bay.occupied(subject.ticket, None)?;
    let log = log_path(&site.state, subject.ticket, turn.is_some())?;
    fault::point("check:before-start");
    // What the check says is shown after the line that says that it runs.
    let said = Arc::new(Mutex::new(()));
    let saying = said.lock();
    let mut group = Group::start(Task {
        command,
        dir: &bay.dir,
        env: &[
            ("SIGNALBOX_BRANCH", subject.branch.to_owned()),
            ("SIGNALBOX_TRUNK", site.trunk.branch.clone()),
            ("SIGNALBOX_TURN", subject.turn_no.to_string()),
        ],
        guard: live.for_child()?,
        log: create(&log)?,
        sink: {
            let (show, said) = (Arc::clone(show), Arc::clone(&said));
            Arc::new(move |bytes: &[u8]| {
                drop(said.lock());
                show.show(&Event::Output(bytes));
            })
        },
    })?;
    fault::point("check:spawned");
    interrupt.guard(Some(group.number()));
    bay.occupied(subject.ticket, Some(group.number()))?;
    fault::point("check:started");
    show.show(&Event::Check { command, log: &log.display().to_string() });
    drop(saying);
    let began = site.clock.now();
    let checked = watch(site, show.as_ref(), interrupt, &mut group, began, turn)?;
    if let Checked::Green | Checked::Red(_) = checked {
        group.clear();
        let code = if let Checked::Red(code) = checked { code } else { Some(0) };
        show.show(&Event::Checked { code, took: site.clock.now() - began });
    } else {
        group.stop();
    }
    interrupt.guard(None);
    bay.vacated();
    fault::point("check:ended");
    match checked {
        Checked::Green => results.put(&key, Verdict::Green),
        Checked::Red(_) if turn.is_none() => results.put(&key, Verdict::Red),
        _ => {}
    }
    Ok(checked)
}

/// How often a running check is looked at.
const LOOK: Duration = Duration::from_millis(10);

fn watch(
    site: &Site,
    show: &dyn Show,
    interrupt: &Interrupt,
    group: &mut Group,
    began: Millis,
    turn: Option<&Turn<'_>>,
) -> std::io::Result<Checked> {
    let mut warned = false;
    loop {
        if let Some(status) = group.ended()? {
            let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
            return Ok(if status.success() { Checked::Green } else { Checked::Red(code) });
        }
        if interrupt.signal().is_some() {
            return Ok(Checked::Interrupted);
        }
        if let Some(turn) = turn {
            let now = site.clock.now();
            let length = turn.until - turn.began;
            // A little before the limit, so that the turn can still be given back.
            let margin = (length / 100).min(1_000);
            let lost = turn.renewer.lost();
            let lived_to_the_limit = turn.renewer.last() + turn.lease >= turn.until;
            if now >= turn.until - margin && lived_to_the_limit {
                return Ok(Checked::TooLong(now - began));
            }
            if lost {
                return Ok(Checked::Lost);
            }
            if !warned && now >= turn.began + length / 5 * 4 {
                warned = true;
                show.show(&Event::Warning(
                    "the turn has used four fifths of its limit; at the limit the check is stopped",
                ));
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// How many logs are kept.
const LOGS_KEPT: usize = 100;

fn log_path(state: &Path, ticket: &Id, in_turn: bool) -> std::io::Result<PathBuf> {
    let dir = state.join("logs");
    files::private_dir(&dir)?;
    let mut old: Vec<(std::time::SystemTime, PathBuf)> = std::fs::read_dir(&dir)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            entry.file_name().to_str().filter(|name| files::is_log(name))?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    old.sort();
    let surplus = old.len().saturating_sub(LOGS_KEPT - 1);
    for (_, path) in old.into_iter().take(surplus) {
        let _ = files::drop(&path);
    }
    Ok(dir.join(files::log_name(ticket, in_turn)))
}

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
