//! What `signalbox hook …` does when git has started it: reads what git says, looks, asks the box, and lets
//! [`gate`] judge.

pub mod install;
pub(crate) mod survey;

use crate::end::{End, exit, naming};
use crate::epoch::Epoch;
use crate::gate::{self, Asked, Before, Facts, Part, Refused, Update, Word, words};
use crate::settings::{self, Settings};
use crate::site;
use bstr::{BStr, BString, ByteSlice};
use client::{Local, Typed};
use git::{BOX_REF, GitError, Oid, Repo, epoch_ref, trunk_ref};
use kernel::Clock;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::{OpenError, Options, StateFile};

/// The trunks that a repository's own hooks guard, by their short names; may be given more than once.
pub(crate) const TRUNK_KEY: &str = "signalbox.trunk";
/// The folder of the box's state. A service's URL will have a key of its own beside it.
pub(crate) const STATE_KEY: &str = "signalbox.state";

/// How long the box is asked again while it is busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// How git was told that a turn is held: what `signalbox run` puts into its command's environment.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The ticket.
    pub ticket: Option<String>,
    /// The turn's number.
    pub no: Option<String>,
}

/// Where a hook runs.
#[derive(Clone)]
pub struct Here<'a> {
    /// Where git has started it.
    pub cwd: &'a Path,
    /// The state folder that the user names; a server's hooks obey only their own settings.
    pub state: Option<&'a Path>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The turn that its caller says to have.
    pub turn: Turn,
}

impl std::fmt::Debug for Here<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Here").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// What passes, without a word.
fn passes() -> End {
    End::new(exit::DONE, "passes", "")
}

/// A server's `pre-receive`: what a push may do to a guarded trunk, its epoch and its box. All other refs pass.
/// `input` is what git says.
///
/// # Errors
/// Why the push is refused, for whoever pushed.
pub fn pre_receive(here: &Here<'_>, input: &[u8]) -> Result<End, End> {
    let updates = read(input)?;
    let repo = Repo::of_hook(here.cwd).map_err(End::internal)?;
    let trunks = guarded_trunks(&repo)?;
    let names = updates.iter().map(|update| update.name.as_bstr());
    let symbolic = repo.symbolic(names).map_err(End::internal)?;
    let asked = gate::of_push(&updates, &trunks, &symbolic).map_err(|refused| refused.end())?;
    if asked.is_nothing() {
        return Ok(passes());
    }
    let first = asked.parts.first().map(|part| part.trunk);
    let [state] = &repo.own_config(STATE_KEY).map_err(End::internal)?[..] else { return Err(no_settings()) };
    let state = state.to_path().map_err(|_| no_settings())?;
    let word = ask(state, &here.clock).map_err(|reason| words::unreachable(first, &reason))?;
    judge_push(&repo, &asked, &word)?;
    Ok(passes())
}

fn judge_push(repo: &Repo, asked: &Asked<'_>, word: &Word) -> Result<(), End> {
    for part in &asked.parts {
        let facts = look(repo, part).map_err(End::internal)?;
        let refused = |why| Refused { trunk: Some(part.trunk), why };
        gate::judge(part, &facts, word).map_err(|why| refused(why).end())?;
    }
    let Some(claim) = &asked.claim else { return Ok(()) };
    let note = repo.note(claim).map_err(End::internal)?;
    let claimed = note.map(|note| site::box_in(note.message.as_bstr())).unwrap_or_default();
    gate::judge_claim(&claimed, word).map_err(|why| Refused { trunk: None, why }.end())
}

/// Reads what a push brings for one trunk, and what stands.
fn look(repo: &Repo, part: &Part<'_>) -> Result<Facts, GitError> {
    let pushed = part.epoch.as_ref().map(|moved| repo.note(&moved.new)).transpose()?.flatten();
    let old = part.epoch.as_ref().and_then(|moved| moved.old.as_ref());
    let forward = match &part.branch {
        Some(moved) => match &moved.old {
            // One that is not here cannot be contained.
            Some(old) => repo.is_ancestor(old, &moved.new).unwrap_or(false),
            None => true,
        },
        None => true,
    };
    Ok(Facts {
        epoch: pushed.as_ref().and_then(|note| Epoch::parse(&note.message.to_string())),
        parents: pushed.map(|note| note.parents).unwrap_or_default(),
        stands: old.map(|old| epoch_of(repo, old)).transpose()?.flatten(),
        trunk: repo.value_of(&trunk_ref(part.trunk))?,
        forward,
    })
}

fn epoch_of(repo: &Repo, commit: &Oid) -> Result<Option<Epoch>, GitError> {
    Ok(repo.note(commit)?.and_then(|note| Epoch::parse(&note.message.to_string())))
}

/// Which repository a `reference-transaction` hook guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A bare repository that people push to.
    Server,
    /// A repository that keeps its trunk itself.
    Here,
}

/// A `reference-transaction` hook in the state `prepared`: trunk and epoch move together or not at all. At a
/// server whose turn it is was asked before ([`pre_receive`]); here a trunk also moves inside a turn.
///
/// # Errors
/// Why the transaction is refused.
pub fn reference_transaction(here: &Here<'_>, place: Place, input: &[u8]) -> Result<End, End> {
    let updates = read(input)?;
    let repo = Repo::of_hook(here.cwd).map_err(End::internal)?;
    let trunks = guarded_trunks(&repo)?;
    let parts = gate::of_transaction(&updates, &trunks).map_err(|refused| refused.end())?;
    for part in &parts {
        let Err(why) = judge_transaction(&repo, part, &updates).map_err(End::internal)? else { continue };
        if place == Place::Server || part.branch.is_none() {
            return Err(Refused { trunk: Some(part.trunk), why }.end());
        }
        let state = state_here(&repo, here.state)?;
        inside(here, &state, part.trunk, || words::not_here(part.trunk))?;
    }
    Ok(passes())
}

fn judge_transaction(
    repo: &Repo,
    part: &Part<'_>,
    updates: &[Update],
) -> Result<Result<(), gate::Refusal>, GitError> {
    let before = Before {
        trunk: repo.value_of(&trunk_ref(part.trunk))?,
        epoch: repo.value_of(&epoch_ref(part.trunk))?,
    };
    let epoch = part.epoch.as_ref().map(|moved| epoch_of(repo, &moved.new)).transpose()?.flatten();
    Ok(gate::together(part, updates, &before, epoch.as_ref()))
}

/// A `pre-push` hook of a person's clone: the trunk, its epoch and its box are pushed to the trunk's remote only
/// inside a turn. `land` itself does not run it.
///
/// # Errors
/// Why the push is refused.
pub fn pre_push(here: &Here<'_>, remote: &BStr, url: &BStr, input: &[u8]) -> Result<End, End> {
    let repo = site::repository(here.cwd)?;
    let state = state_here(&repo, here.state)?;
    let Some(trunk) = trunk_here(&repo, &state)? else {
        let line =
            "this repository is no longer set up, so its pre-push hook guards nothing; set it up again";
        return Ok(End::new(exit::DONE, "not_set_up", line).next("signalbox init"));
    };
    let known = remote == trunk.remote || url == trunk.remote;
    if !known && !repo.push_urls(&trunk.remote).map_err(End::internal)?.iter().any(|u| u == url) {
        return Ok(passes());
    }
    let trunks = [trunk.branch];
    let names = input.lines().filter_map(|line| line.split_str(" ").nth(2));
    if names.filter_map(|name| gate::which(name.as_bstr(), &trunks)).next().is_none() {
        return Ok(passes());
    }
    let [branch] = &trunks;
    inside(here, &state, branch, || words::not_pushed(branch, &trunk.remote))?;
    Ok(passes())
}

/// Passes whoever has the turn now.
fn inside(here: &Here<'_>, state: &Path, trunk: &str, refused: impl FnOnce() -> End) -> Result<(), End> {
    let Some(ticket) = &here.turn.ticket else { return Err(refused()) };
    let word = ask(state, &here.clock).map_err(|reason| {
        let line = naming("the box cannot be asked whose turn it is, so {} does not move now", [trunk]);
        End::new(exit::AGAIN, "box_unreachable", line).more(format!("Why: {reason}"))
    })?;
    let has = |(holder, no): &(String, i64)| {
        holder == ticket && here.turn.no.as_ref().is_none_or(|said| *said == no.to_string())
    };
    if word.holder.as_ref().is_some_and(has) {
        return Ok(());
    }
    let line = naming("the turn in which this runs is over, so {} does not move; take a new one", [trunk]);
    Err(End::new(exit::TURN, "turn_lost", line).more("Nothing was sent or changed.").next("signalbox queue"))
}

/// Asks a state for the box's word. Nothing is made where no state is.
///
/// # Errors
/// Why it cannot be asked, without the folder's name, since who pushes may be far away.
fn ask(state: &Path, clock: &Arc<dyn Clock>) -> Result<Word, String> {
    let unusable = |error: OpenError| match error {
        OpenError::Missing => "there is no state where the hook's settings say that it is".to_owned(),
        other => other.to_string(),
    };
    let file = StateFile::open(state, &Options::default(), clock.as_ref()).map_err(unusable)?;
    let project = file.project().clone();
    let local = Local::start(file, Arc::clone(clock)).map_err(unusable)?;
    let queue = Typed::new(&local, &project).patience(PATIENCE).list(None).map_err(|e| e.to_string())?;
    let holder = queue.tickets.into_iter().find(|ticket| ticket.turn);
    Ok(Word {
        box_id: queue.box_id,
        holder: holder.and_then(|holder| Some((holder.ticket, holder.turn_no?))),
    })
}

fn read(input: &[u8]) -> Result<Vec<Update>, End> {
    gate::read(input).ok_or_else(|| End::internal("git gave its hook lines that this version cannot read"))
}

/// The trunks that the repository's own settings name.
fn guarded_trunks(repo: &Repo) -> Result<Vec<String>, End> {
    let names = repo.own_config(TRUNK_KEY).map_err(End::internal)?;
    let names: Option<Vec<String>> = names.iter().map(|n| n.to_str().ok().map(str::to_owned)).collect();
    names.filter(|names| !names.is_empty()).ok_or_else(no_settings)
}

fn no_settings() -> End {
    let line = "this repository's signalbox hook has lost its settings; install it again, or remove it";
    End::new(exit::SETUP, "hook_not_set_up", line)
        .more("They are signalbox.trunk and, at a server, signalbox.state in its git configuration.")
        .more("There: `signalbox hook install` (at a server with --server), or `signalbox hook remove`.")
}

/// The state that a server's hooks ask: none where this is no server.
///
/// # Errors
/// Git failed.
pub(crate) fn state_of_server(repo: &Repo) -> Result<Option<PathBuf>, GitError> {
    let state = if repo.is_bare()? { repo.own_config(STATE_KEY)?.pop() } else { None };
    Ok(state.and_then(|state| state.to_path().map(Path::to_path_buf).ok()))
}

/// The state that a person's own hooks ask: what is named, else what the hooks' settings say, else the
/// repository's own.
fn state_here(repo: &Repo, named: Option<&Path>) -> Result<PathBuf, End> {
    if let Some(named) = named {
        return Ok(named.to_path_buf());
    }
    let own: Option<BString> = repo.own_config(STATE_KEY).map_err(End::internal)?.pop();
    match own.as_ref().and_then(|own| own.to_path().ok()) {
        Some(own) => Ok(own.to_path_buf()),
        None => site::state_dir(repo, None),
    }
}

/// The trunk, as the worktree's settings or `init`'s copy name it; a file that cannot be read hides the other
/// one only where there is no other.
fn trunk_here(repo: &Repo, state: &Path) -> Result<Option<settings::TrunkAt>, End> {
    match site::local_settings(repo, state) {
        Ok(settings) => Ok(Some(settings.trunk)),
        Err(end) if end.code == "not_set_up" => Ok(None),
        Err(end) => {
            let copy = std::fs::read(state.join("settings.toml")).ok();
            let copy = copy.and_then(|copy| Settings::parse(&copy).ok());
            copy.map(|copy| Some(copy.trunk)).ok_or(end)
        }
    }
}

/// The box that stands at a repository.
///
/// # Errors
/// Git failed.
pub(crate) fn box_at(repo: &Repo) -> Result<Option<String>, GitError> {
    let Some(stands) = repo.value_of(BOX_REF)? else { return Ok(None) };
    Ok(repo.note(&stands)?.map(|note| site::box_in(note.message.as_bstr())))
}
