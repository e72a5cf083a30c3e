//! Gathers what `why` needs: from the box, from this machine, from git. Nothing is changed but git's own copies
//! of the remote's refs; a place that nobody holds up may get its turn, as with every look at the queue.

use super::{Facts, Place, Push, chain};
use crate::end::{End, exit, naming};
use crate::journal::{Intent, Settled};
use crate::land::enter;
use crate::live::{self, Owner};
use crate::merging::{self, Passenger};
use crate::site::Site;
use crate::{files, kept, locked, refused};
use bstr::BString;
use client::{EndedView, HoldsView, QueueView, TicketView};
use git::{Oid, Remote, Seen};
use kernel::{Id, Limits, Millis};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

/// What was found out about one branch or ticket.
#[derive(Debug)]
pub struct Answer {
    /// The branch; none where the question is about none.
    pub branch: Option<String>,
    /// The ticket, where it has or had one.
    pub ticket: Option<String>,
    /// The chain of causes, the nearest first.
    pub causes: Vec<End>,
}

/// What keeps everything from landing where the repository is not ready at all; other ends stay what they are.
///
/// # Errors
/// The end, where it is no matter of set-up.
pub fn unready(end: End) -> Result<Vec<Answer>, End> {
    if end.exit != exit::SETUP {
        return Err(end);
    }
    Ok(vec![Answer { branch: None, ticket: None, causes: vec![end] }])
}

/// What `why` is about.
#[derive(Debug, Clone)]
enum About {
    Standing(Box<TicketView>),
    Ended(Box<EndedView>),
    Settled(Settled),
    Branch(String),
}

/// The shortest fragment of a ticket that may stand for it, in characters.
const PREFIX_MIN: usize = 4;

/// Answers why a ticket, a branch, or (where none is named) the branch that is checked out here does not land;
/// on the trunk itself, why the tickets of this machine and of `label` do not. `clock` tells a point in time.
///
/// # Errors
/// Nothing of that name is known, or the box does not answer.
pub fn ask(
    site: &Site,
    named: Option<&str>,
    label: &str,
    clock: &dyn Fn(Millis) -> String,
) -> Result<Vec<Answer>, End> {
    let queue = match site.calls().list(None) {
        Ok(queue) => queue,
        Err(error) => return unready(refused::end(&error, None)),
    };
    let holds = site.calls().holds().map_err(|e| refused::end(&e, None))?;
    let inquiry = Inquiry { site, queue, holds, label, clock };
    let about = match named {
        Some(named) => inquiry.named(named)?,
        None => inquiry.here(),
    };
    if about.is_empty() {
        let line = "nothing of yours is in the queue; name a branch or a ticket: signalbox why NAME";
        let end = End::new(exit::DONE, "nothing_waits", line).next("signalbox queue");
        return Ok(vec![Answer { branch: None, ticket: None, causes: vec![end] }]);
    }
    let trunk = inquiry.trunk();
    about.into_iter().map(|about| inquiry.answer(about, &trunk)).collect()
}

struct Inquiry<'a> {
    site: &'a Site,
    queue: QueueView,
    holds: HoldsView,
    label: &'a str,
    clock: &'a dyn Fn(Millis) -> String,
}

/// The trunk as far as it could be read, and what keeps everything from landing on it.
struct Trunk {
    seen: Option<Seen>,
    setup: Option<End>,
}

impl Inquiry<'_> {
    fn here(&self) -> Vec<About> {
        match enter::current_branch(self.site) {
            Ok(branch) if branch != self.site.trunk.branch => self.of_branch(&branch),
            _ => {
                let mine = |t: &&TicketView| {
                    t.label == self.label || self.owner(&t.ticket) != Owner::Unknown || self.kept(&t.ticket)
                };
                self.queue.tickets.iter().filter(mine).map(|t| About::Standing(Box::new(t.clone()))).collect()
            }
        }
    }

    /// A branch of that name, else the one ticket that begins so.
    fn named(&self, name: &str) -> Result<Vec<About>, End> {
        let is_branch = landing::branch::is_branch(name)
            && self.site.repo.resolve(&format!("refs/heads/{name}")).map_err(End::internal)?.is_some();
        let known = self.queue.tickets.iter().any(|t| t.branch == name)
            || self.queue.ended.iter().any(|t| t.branch == name);
        if is_branch || known {
            return Ok(self.of_branch(name));
        }
        let hex = |c: char| matches!(c, '0'..='9' | 'a'..='f' | '-');
        if name.len() < PREFIX_MIN || !name.chars().all(hex) {
            return Ok(vec![About::Branch(name.to_owned())]);
        }
        let settled = self.site.journal().settled();
        let of_queue = self.queue.tickets.iter().map(|t| &t.ticket);
        let of_register = self.queue.ended.iter().map(|t| &t.ticket);
        let all = of_queue.chain(of_register).chain(settled.iter().map(|s| &s.ticket));
        let found: BTreeSet<&String> = all.filter(|ticket| ticket.starts_with(name)).collect();
        if found.len() > 1 {
            let line = naming("several tickets begin with {}; give more of it", [name]);
            return Err(End::new(exit::USAGE, "ambiguous_ticket", line).next("signalbox queue --json"));
        }
        let Some(ticket) = found.first() else {
            let line = naming("there is no branch and no ticket {} here; see the queue and the log", [name]);
            return Err(End::new(exit::USAGE, "no_ticket", line).next("signalbox log"));
        };
        let standing = self.queue.tickets.iter().find(|t| t.ticket == **ticket);
        let ended = self.queue.ended.iter().find(|t| t.ticket == **ticket);
        let settled = settled.iter().rev().find(|s| s.ticket == **ticket);
        Ok(match (standing, ended, settled) {
            (Some(view), ..) => vec![About::Standing(Box::new(view.clone()))],
            (_, Some(view), _) => vec![About::Ended(Box::new(view.clone()))],
            (_, _, Some(settled)) => vec![About::Settled(settled.clone())],
            _ => Vec::new(),
        })
    }

    /// Where the branch stands in the queue, or how it ended last.
    fn of_branch(&self, branch: &str) -> Vec<About> {
        let standing = self.queue.tickets.iter().filter(|t| t.branch == branch);
        let standing: Vec<About> = standing.map(|t| About::Standing(Box::new(t.clone()))).collect();
        if !standing.is_empty() {
            return standing;
        }
        let ended = self.queue.ended.iter().find(|t| t.branch == branch && !ran(t));
        vec![ended.map_or_else(|| About::Branch(branch.to_owned()), |t| About::Ended(Box::new(t.clone())))]
    }

    fn owner(&self, ticket: &str) -> Owner {
        ticket.parse().map_or(Owner::Unknown, |id: Id| live::owner(&self.site.live_dir(), &id))
    }

    fn kept(&self, ticket: &str) -> bool {
        ticket.parse().is_ok_and(|id: Id| kept::is(&self.site.state, &id))
    }

    fn trunk(&self) -> Trunk {
        let site = self.site;
        let seen = match site.trunk.read() {
            Ok(seen) => seen,
            Err(error) => return Trunk { seen: None, setup: Some(site.unreadable(error)) },
        };
        let setup = site.kept_elsewhere(&seen).unwrap_or_else(Some);
        let gone = || (seen.trunk.is_none() && site.had_a_trunk(&seen)).then(|| enter::trunk_gone(site));
        let settings = || match site.trunk_settings(seen.trunk.as_ref()) {
            Ok((settings, _)) => enter::unchecked(site, &settings),
            Err(end) => Some(end),
        };
        let setup = setup.or_else(gone).or_else(settings);
        Trunk { seen: Some(seen), setup }
    }

    fn answer(&self, about: About, trunk: &Trunk) -> Result<Answer, End> {
        let site = self.site;
        let (branch, ticket, head) = match &about {
            About::Standing(view) => {
                (view.branch.clone(), Some(view.ticket.clone()), Some(view.head.clone()))
            }
            About::Ended(view) => (view.branch.clone(), Some(view.ticket.clone()), Some(view.head.clone())),
            About::Settled(settled) => (settled.branch.clone(), Some(settled.ticket.clone()), None),
            About::Branch(branch) => (branch.clone(), None, None),
        };
        let now_at = match landing::branch::is_branch(&branch) {
            true => site.repo.resolve(&format!("refs/heads/{branch}")).map_err(End::internal)?,
            false => None,
        };
        let place = self.place(about, now_at.as_ref());
        // What is looked at: the commit in the queue, else the branch as it is now.
        let subject = match &place {
            Place::Standing { .. } => head.and_then(|head| Oid::parse(&head).ok()),
            _ => now_at,
        };
        let foreseen = self.foresee(&branch, ticket.as_deref(), subject.as_ref(), trunk);
        let stands = matches!(place, Place::Standing { .. });
        let owner = match &place {
            Place::Standing { view, .. } => view.label.clone(),
            _ => self.label.to_owned(),
        };
        let facts = Facts {
            before: if stands { None } else { self.before(&branch, trunk) },
            push: self.push(&branch, ticket.as_deref()),
            branch: branch.clone(),
            trunk: site.trunk_name(),
            now: site.clock.now(),
            clock: self.clock,
            head: subject.map(|head| head.as_str().to_owned()),
            place,
            queue: self.queue.tickets.clone(),
            full: self.queue.tickets.len() >= Limits::default().live_tickets_max,
            owner,
            holds: self.holds.holds.clone(),
            freeze: self.holds.freeze.clone(),
            changed: foreseen.changed,
            setup: trunk.setup.clone(),
            ahead: foreseen.trouble,
        };
        Ok(Answer { branch: Some(branch), ticket, causes: chain(&facts) })
    }

    fn place(&self, about: About, now_at: Option<&Oid>) -> Place {
        match about {
            About::Standing(view) => {
                let (owner, kept) = (self.owner(&view.ticket), self.kept(&view.ticket));
                Place::Standing { view, owner, kept }
            }
            About::Ended(view) => {
                let fates = self.site.journal().settled();
                let fate = fates
                    .into_iter()
                    .rev()
                    .find(|s| s.ticket == view.ticket && Some(s.turn_no) == view.turn_no);
                let log = view
                    .ticket
                    .parse()
                    .ok()
                    .map(|ticket: Id| self.site.state.join("logs").join(files::log_name(&ticket, true)));
                let log = log.filter(|log| log.exists()).map(|log| log.display().to_string());
                let moved_on = now_at.is_some_and(|now| now.as_str() != view.head);
                Place::Ended { view, fate, log, moved_on }
            }
            About::Settled(settled) => Place::Settled(settled),
            About::Branch(_) => Place::Never,
        }
    }

    fn push(&self, branch: &str, ticket: Option<&str>) -> Option<Push> {
        let of = |intent: &Intent| ticket.map_or(intent.branch == branch, |ticket| intent.ticket == ticket);
        let (intents, broken) = self.site.journal().all();
        let is_its = |path: &&PathBuf| path.file_stem().and_then(OsStr::to_str) == ticket;
        if let Some(path) = broken.iter().find(is_its) {
            return Some(Push::Unreadable(path.display().to_string()));
        }
        let intent = intents.into_iter().find(of)?;
        let lives = self.owner(&intent.ticket) == Owner::Lives;
        Some(if lives { Push::UnderWay } else { Push::CutOff })
    }

    /// What `land` would refuse before it enters.
    fn before(&self, branch: &str, trunk: &Trunk) -> Option<End> {
        let site = self.site;
        if !live::any_lives(&site.live_dir())
            && let Some(end) = locked::end(&locked::refs(&site.trunk))
        {
            return Some(end);
        }
        let head = match enter::pin_here(site, branch) {
            Ok(head) => head,
            Err(end) => return Some(end),
        };
        let seen = trunk.seen.as_ref()?;
        if let Some(stands) = &seen.trunk
            && site.repo.is_ancestor(&head, stands).unwrap_or(false)
        {
            return Some(enter::already_there(site, branch));
        }
        if site.trunk.remote != Remote::Here || live::any_lives(&site.live_dir()) {
            return None;
        }
        let obstacles = site.trunk.obstacles(seen.trunk.as_ref(), None).ok()?;
        enter::in_the_way(&obstacles)
    }

    fn foresee(&self, branch: &str, ticket: Option<&str>, head: Option<&Oid>, trunk: &Trunk) -> Foreseen {
        let nothing = Foreseen { changed: None, trouble: None };
        let (Some(head), Some(seen)) = (head, &trunk.seen) else { return nothing };
        let has_it = self.site.repo.resolve(head.as_str()).is_ok_and(|found| found.is_some());
        let Ok((settings, _)) = self.site.trunk_settings(seen.trunk.as_ref()) else { return nothing };
        let ticket = ticket.and_then(|ticket| ticket.parse().ok()).unwrap_or_else(Id::random);
        let who = Passenger { branch, head, ticket: &ticket, turn_no: 0 };
        if !has_it {
            return nothing;
        }
        match merging::foresee(self.site, seen.trunk.as_ref(), settings, &who) {
            Ok((changed, trouble)) => Foreseen { changed: Some(changed), trouble },
            Err(_) => nothing,
        }
    }
}

struct Foreseen {
    changed: Option<Vec<BString>>,
    trouble: Option<End>,
}

/// Whether a stay was no landing: a command of the user's ran in it.
fn ran(view: &EndedView) -> bool {
    let phases = view.report.as_ref().and_then(|report| report.get("phases"));
    phases.is_some_and(|phases| phases.get("run").is_some())
}
