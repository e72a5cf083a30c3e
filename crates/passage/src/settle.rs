//! Fence, then ask: what became of a push that nobody has seen the end of.
//!
//! A killed client's push may still be under way at the server. So "the trunk does not have it" is believed
//! only after the epoch that the push expects is gone.

use crate::epoch::{Epoch, State};
use crate::event::{Event, Show};
use crate::files::Temporaries;
use crate::journal::{Intent, Journal};
use crate::live::{self, Owner};
use crate::site::{Site, remote};
use crate::{fault, files, locked, pool};
use client::Stay;
use git::{GitError, Oid, PushEnd, Remote, Repo, Trunk, TrunkError};
use kernel::Id;
use landing::Outcome;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What became of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The trunk has it.
    Landed,
    /// The trunk does not have it, and never will have it from that push.
    NotLanded,
}

/// How often the epoch is tried to be voided before the remote counts as unreachable.
const TRIES: usize = 10;

/// Voids the epoch that a push expects, if it still stands, then reads the trunk.
///
/// # Errors
/// The remote cannot be read or written; then the fate is not known.
pub fn fence(trunk: &Trunk, intent: &Intent) -> Result<Fate, TrunkError> {
    let begun = Oid::parse(&intent.begun)?;
    let landed = Oid::parse(&intent.landed)?;
    let landing = Oid::parse(&intent.landing)?;
    let mut text = String::from("the epoch at the remote cannot be moved");
    for _ in 0..TRIES {
        let seen = trunk.read()?;
        if seen.epoch.as_ref() == Some(&landed) {
            return Ok(Fate::Landed);
        }
        if seen.epoch.as_ref() != Some(&begun) {
            return read(&trunk.repo, seen.trunk.as_ref(), &landing);
        }
        let void = void_of(&trunk.repo, intent, &begun)?;
        let voided = trunk.create_or_move(&trunk.epoch_ref(), &void, Some(&begun))?;
        fault::point("fence:moved");
        match voided {
            PushEnd::Accepted => {}
            PushEnd::Refused { text: said } | PushEnd::NoAnswer { text: said } => text = said,
        }
    }
    Err(TrunkError::Unreachable { text })
}

fn void_of(repo: &Repo, intent: &Intent, begun: &Oid) -> Result<Oid, GitError> {
    let stands = repo.message_of(begun)?;
    let mut epoch = Epoch::parse(&stands.to_string())
        .ok_or_else(|| GitError::BadOid("the epoch of an intent is no epoch".to_owned()))?;
    epoch.state = State::Void;
    epoch.turn_no = intent.turn_no;
    repo.note_commit(epoch.message(Id::random().as_str()).as_bytes(), Some(begun))
}

fn read(repo: &Repo, trunk: Option<&Oid>, landing: &Oid) -> Result<Fate, TrunkError> {
    let Some(trunk) = trunk else { return Ok(Fate::NotLanded) };
    // The trunk was read with its history: a landing that is not here is not in it.
    if repo.resolve(landing.as_str())?.is_none() {
        return Ok(Fate::NotLanded);
    }
    Ok(if repo.is_ancestor(landing, trunk)? { Fate::Landed } else { Fate::NotLanded })
}

/// What became of each open intent whose owner is gone.
#[derive(Debug, Default)]
pub struct Report {
    /// Settled now.
    pub settled: Vec<(Intent, Fate)>,
    /// Their owners live.
    pub running: Vec<Intent>,
    /// The remote does not answer.
    pub unknown: Vec<(Intent, String)>,
    /// Paths of the trunk's worktree that a person must look at.
    pub left: Vec<String>,
    /// Locks of killed gits that keep some of the unknown ones from being settled.
    pub locks: Vec<PathBuf>,
    /// Those of the unknown ones whose trunk was in a repository that is not there any more.
    pub gone: Vec<Intent>,
    /// Intents that cannot be read.
    pub broken: Vec<String>,
}

/// How long one who settles waits for another.
const SETTLERS_WAIT: Duration = Duration::from_secs(2);

/// One settles at a time, and who waited finds nothing left to do. That only saves work: each step holds
/// against another who settles the same, so one that was stopped is not waited for.
fn settlers_turn(state: &Path) -> Option<File> {
    let file = files::for_lock(&state.join("settle.lock")).ok()?;
    let until = Instant::now() + SETTLERS_WAIT;
    while file.try_lock().is_err() {
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(file)
}

/// Settles every open intent of this state whose owner is gone: fence, ask, complete the record.
pub fn settle(site: &Site, show: &dyn Show) -> Report {
    let mut report = Report::default();
    let journal = site.journal();
    let (intents, broken) = journal.all();
    report.broken = broken.iter().map(|path| path.display().to_string()).collect();
    if intents.is_empty() {
        return report;
    }
    let _turn = settlers_turn(&site.state);
    for intent in intents {
        let Ok(ticket) = intent.ticket.parse::<Id>() else { continue };
        if journal.of_ticket(&ticket).is_none() {
            continue;
        }
        if live::owner(&site.live_dir(), &ticket) == Owner::Lives {
            report.running.push(intent);
            continue;
        }
        match settle_one(site, &ticket, &intent, &mut report) {
            Ok(fate) => {
                show.show(&Event::Settled { branch: &intent.branch, landed: fate == Fate::Landed });
                report.settled.push((intent, fate));
            }
            Err(text) => report.unknown.push((intent, text)),
        }
    }
    report
}

fn settle_one(site: &Site, ticket: &Id, intent: &Intent, report: &mut Report) -> Result<Fate, String> {
    // The clone that pushed has the objects; where it is gone, ours must do, unless its trunk is gone with it.
    let repo = match Repo::discover(&intent.repository) {
        Ok(repo) => repo,
        Err(error) if remote(&intent.remote) == Remote::Here => {
            if !intent.repository.try_exists().unwrap_or(true) {
                report.gone.push(intent.clone());
            }
            return Err(error.to_string());
        }
        Err(_) => site.repo.clone(),
    };
    let repo = repo.stopped_by(site.interrupt.cell());
    let trunk = Trunk::new(repo, remote(&intent.remote), intent.trunk.clone());
    let mut held_up = |locks: Vec<PathBuf>| {
        let text = format!("a killed git has left locks: {}", locked::removal(&locks));
        report
            .locks
            .extend(locks.into_iter().filter(|lock| !report.locks.contains(lock)).collect::<Vec<_>>());
        Err(text)
    };
    let locks = locked::refs(&trunk);
    if !locks.is_empty() {
        return held_up(locks);
    }
    fault::point("settle:before-fence");
    let fate = fence(&trunk, intent).map_err(|e| e.to_string())?;
    fault::point("settle:fenced");
    if site.journal().of_ticket(ticket).is_none() {
        // Another has settled it meanwhile, and the next landing may be under way in the trunk's worktree.
        return Ok(fate);
    }
    match repair(&trunk, intent).map_err(|e| e.to_string())? {
        Repaired::Locked(lock) => return held_up(vec![lock]),
        Repaired::Left(left) => report.left.extend(left),
    }
    complete(site, &trunk.repo, ticket, intent, fate);
    Ok(fate)
}

/// Gives up the intents whose repository is gone, trunk and all: nothing lands there any more. For a person who asked
/// to settle; a disk that is only away is looked for again until then.
pub fn give_up(site: &Site, report: &mut Report) -> Vec<Intent> {
    let gone = std::mem::take(&mut report.gone);
    for intent in &gone {
        let Ok(ticket) = intent.ticket.parse::<Id>() else { continue };
        let stay = Stay { ticket: ticket.clone(), entry: intent.entry };
        // A stay that ended meanwhile keeps its row.
        let _ = site.calls().leave(&stay, Outcome::Unknown.as_str(), None, None);
        if site.journal().close(intent, false).is_ok() {
            live::sweep(&site.live_dir(), &ticket);
            report.unknown.retain(|(unknown, _)| unknown.ticket != intent.ticket);
        }
    }
    gone
}

/// What came of putting the trunk's own worktree right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repaired {
    /// It is right, but for these paths, which a person must look at.
    Left(Vec<String>),
    /// Its index is locked: nothing could be done, and must be once that is over.
    Locked(PathBuf),
}

/// Puts the trunk's own worktree right after a landing in place was cut off.
///
/// # Errors
/// Git failed.
pub fn repair(trunk: &Trunk, intent: &Intent) -> Result<Repaired, GitError> {
    let old = match &intent.old_trunk {
        Some(old) => Oid::parse(old)?,
        None => trunk.repo.empty_tree()?,
    };
    let repair = trunk.repair_after_crash(&old, &Oid::parse(&intent.landing)?)?;
    let left: Vec<String> = repair.left.iter().map(ToString::to_string).collect();
    Ok(match repair.index_lock {
        Some(lock) if !left.is_empty() => Repaired::Locked(lock),
        _ => Repaired::Left(left),
    })
}

/// Completes the record of a push whose fate is known: leave, drop what kept its objects, close the intent.
pub fn complete(site: &Site, repo: &Repo, ticket: &Id, intent: &Intent, fate: Fate) {
    let stay = Stay { ticket: ticket.clone(), entry: intent.entry };
    let (outcome, report) = match fate {
        Fate::Landed => (Outcome::Landed, Some(json!({ "commit": intent.landing }))),
        Fate::NotLanded => (Outcome::Unknown, None),
    };
    // A stay that ended meanwhile keeps its row; the journal tells what became of the push.
    let _ = site.calls().leave(&stay, outcome.as_str(), report.as_ref(), None);
    fault::point("settle:left");
    // What cannot be dropped now is dropped by the next settling: the intent is closed last.
    if repo.drop_keep(ticket.as_str()).is_ok() {
        fault::point("settle:dropped");
        let _ = site.journal().close(intent, fate == Fate::Landed);
        live::sweep(&site.live_dir(), ticket);
    }
}

/// Ends the tickets of this machine whose processes are gone, so that nobody waits for their leases.
/// Settles their pushes first. A check that outlives its passage holds the ticket's lock: such a ticket is
/// not taken for dead.
pub fn reap(site: &Site, show: &dyn Show) {
    let dir = site.live_dir();
    let mut gone: Vec<Id> =
        live::tickets(&dir).into_iter().filter(|t| live::owner(&dir, t) == Owner::Gone).collect();
    if gone.is_empty() {
        fault::point("reap:none-gone");
        return;
    }
    let Ok(queue) = site.calls().list(None) else { return };
    // Whose place was ended, and whose push cannot be settled yet, keeps nobody waiting.
    gone.retain(|ticket| {
        let stands = queue.tickets.iter().any(|t| t.ticket == ticket.as_str());
        stands || site.journal().of_ticket(ticket).is_none()
    });
    if gone.is_empty() {
        return;
    }
    fault::point("reap:listed");
    let report = settle(site, show);
    for (intent, text) in &report.unknown {
        let branch = &intent.branch;
        show.show(&Event::Note(&format!("an earlier push of {branch} cannot be settled yet: {text}")));
    }
    for ticket in gone {
        // Somebody may go on with it by now; nobody does from here on.
        let Some(lock) = live::seize(&dir, &ticket) else { continue };
        let standing = queue.tickets.iter().find(|t| t.ticket == ticket.as_str());
        if let Some(view) = standing {
            let stay = Stay { ticket: ticket.clone(), entry: view.entry };
            if site.calls().leave(&stay, Outcome::Unknown.as_str(), None, None).is_ok() {
                fault::point("reap:left");
                let (label, branch) = (&view.label, &view.branch);
                let text = format!("{label} with {branch} is gone without a word; its place was ended");
                show.show(&Event::Note(&text));
            }
        }
        if site.journal().of_ticket(&ticket).is_none() {
            let _ = site.repo.drop_keep(ticket.as_str());
            lock.release();
        }
    }
}

/// Removes what processes that died have left and nobody else will: files that they had not put into place,
/// and refs that kept objects for passages which another clone with this state has ended.
pub fn tidy(site: &Site) {
    for (dir, temporaries) in files::STATE_TEMPORARIES {
        files::sweep(&site.state.join(dir), temporaries);
    }
    files::sweep(&pool::folder(&site.repo), Temporaries::ByNumber);
    for name in nobodys(&site.repo, &site.state) {
        let _ = site.repo.drop_keep(&name);
    }
}

/// The tickets for which objects are kept though nobody will come back for them.
pub(crate) fn nobodys(repo: &Repo, state: &Path) -> BTreeSet<String> {
    // The refs are listed first: a passage has its lock before it keeps anything.
    let kept = repo.kept().unwrap_or_default();
    let mut tickets: BTreeSet<String> = kept.into_iter().map(|kept| kept.ticket).collect();
    tickets.retain(|name| {
        let Ok(ticket) = name.parse::<Id>() else { return false };
        let nobodys = live::owner(&state.join("live"), &ticket) == Owner::Unknown;
        nobodys && Journal::of(state).of_ticket(&ticket).is_none()
    });
    tickets
}
