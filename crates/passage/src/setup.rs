//! `init`: finds the trunk, writes the settings, makes the state, claims the trunk; and takes over a trunk
//! whose state is lost.

use crate::end::{End, exit, naming, short};
use crate::epoch::{self, Epoch, State};
use crate::event::{Event, Show};
use crate::files::Temporaries;
use crate::numbers;
use crate::settings::{self, Check, Line, Settings, Strategy, TrunkAt};
use crate::site::{Site, bad_settings, repository, state_dir, unusable_state};
use crate::{fault, files, refused};
use git::{GitError, Head, Oid, PushEnd, Remote, Repo, Seen};
use kernel::{Clock, Id, Millis};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{OpenError, Options, StateFile};

/// What `init` is asked for. What is not named is found out, or kept as it stands.
#[derive(Debug, Clone, Default)]
pub struct Init {
    /// The check command.
    pub check: Option<String>,
    /// Nothing is checked, said out loud.
    pub no_check: bool,
    /// The remote, or `.`.
    pub remote: Option<String>,
    /// The trunk's branch.
    pub trunk: Option<String>,
    /// The strategy.
    pub strategy: Option<Strategy>,
    /// How many checks may run at once on a machine.
    pub parallel: Option<u32>,
    /// Number lines.
    pub lines: Vec<Line>,
    /// How long a lease lasts in this box.
    pub lease_ms: Option<Millis>,
    /// How long a turn lasts in this box.
    pub turn_ms: Option<Millis>,
    /// Whether a freeze keeps turns from beginning.
    pub freeze_holds_turns: Option<bool>,
    /// Take the trunk over from a state that is lost.
    pub take_over: bool,
    /// The folder was moved; it is no copy.
    pub moved: bool,
}

/// Asks a person; `None` where there is nobody to ask.
pub type Ask<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Sets a repository up. Repeating it changes nothing.
///
/// # Errors
/// What a person must decide or mend first.
pub fn init(
    cwd: &Path,
    state: Option<&Path>,
    clock: Arc<dyn Clock>,
    show: &dyn Show,
    init: &Init,
    ask: Ask<'_>,
) -> Result<End, End> {
    let repo = repository(cwd)?;
    let state = state_dir(&repo, state)?;
    let (settings, file) = wanted(&repo, &state, init, ask)?;
    let state_file = open_state(&state, init, clock.as_ref())?;
    write(&settings, file.as_deref(), &state)?;
    let site = Site::over(repo, state, settings.clone(), state_file, clock)?;
    match site.read_trunk() {
        Ok(_) if !init.take_over => {}
        Ok(seen) => drop(take_over(&site, &seen)?),
        Err(end) if end.code == "other_box" && init.take_over => {
            let seen = site.trunk.read().map_err(|e| site.unreadable(e))?;
            let lines = take_over(&site, &seen)?;
            show.show(&Event::Warning(&go_on(&lines)));
        }
        Err(end) if end.code == "unreachable" && !init.take_over => {
            show.show(&Event::Note(
                "the remote does not answer now; the trunk is claimed by the first landing",
            ));
        }
        Err(end) => return Err(end),
    }
    Ok(ready(&site, &settings, file.as_deref()))
}

fn ready(site: &Site, settings: &Settings, file: Option<&Path>) -> End {
    let here = site.repo.worktree().and_then(|worktree| site.repo.head(worktree).ok());
    let on_a_branch = matches!(here, Some(Head::Branch(branch)) if branch != site.trunk.branch);
    let (then, next) = if on_a_branch {
        ("commit, then run: signalbox land", "signalbox land")
    } else {
        ("make one, commit, then run: signalbox land", "git switch -c my-change")
    };
    let line = format!("ready: branches land on {}; {then}", short(&site.trunk_name(), 40));
    let check =
        settings.check.command.as_deref().map_or("nothing is checked".to_owned(), |c| format!("check: {c}"));
    let mut end = End::new(exit::DONE, "ready", line).more(check);
    if let Some(file) = file {
        end = end.more(format!(
            "settings: {} (commit it when you like; until the trunk has it, a copy in the state counts)",
            file.display()
        ));
    }
    end.fact("trunk", site.trunk_name()).fact("state", site.state.display().to_string()).next(next)
}

/// The settings that shall stand, and where the worktree's file is.
fn wanted(repo: &Repo, state: &Path, init: &Init, ask: Ask<'_>) -> Result<(Settings, Option<PathBuf>), End> {
    let file = repo.worktree().map(|top| top.join(settings::FILE));
    let bad = |e: settings::BadSettings| bad_settings(settings::FILE, &e);
    let written = file.as_deref().map_or(Ok(None), settings::read).map_err(bad)?;
    let copy = settings::read(&state.join("settings.toml")).map_err(bad)?;
    let standing =
        written.as_ref().or(copy.as_ref()).map(|text| Settings::parse(text).map_err(bad)).transpose()?;
    let mut settings = standing.clone().unwrap_or_default();
    if standing.is_none() {
        settings.trunk = find_trunk(repo, init)?;
    }
    overlay(&mut settings, init);
    if settings.check.command.is_none() && !settings.check.none {
        settings.check.command = Some(ask_check(ask)?);
    }
    if written.is_some() && standing.as_ref() != Some(&settings) {
        let line = format!("{} says otherwise already; change it there, then run init again", settings::FILE);
        return Err(End::new(exit::USAGE, "settings_stand", line).next("signalbox init"));
    }
    // What was just put together must read back, whoever typed it.
    let text = settings.render().and_then(|text| Settings::parse(text.as_bytes()));
    text.map_err(|e| {
        End::new(exit::USAGE, "bad_settings", "these settings cannot be used; the next line says why")
            .more(e.to_string())
    })?;
    Ok((settings, file))
}

fn overlay(settings: &mut Settings, init: &Init) {
    if let Some(remote) = &init.remote {
        settings.trunk.remote.clone_from(remote);
    }
    if let Some(branch) = &init.trunk {
        settings.trunk.branch.clone_from(branch);
    }
    if let Some(command) = &init.check {
        settings.check.command = Some(command.clone());
        settings.check.none = false;
    }
    if init.no_check {
        settings.check = Check { none: true, ..Check::default() };
    }
    if let Some(parallel) = init.parallel {
        settings.check.parallel = parallel;
    }
    if let Some(strategy) = init.strategy {
        settings.land.strategy = strategy;
    }
    for line in &init.lines {
        settings.lines.retain(|other| other.name != line.name);
        settings.lines.push(line.clone());
    }
}

fn ask_check(ask: Ask<'_>) -> Result<String, End> {
    let missing = || {
        End::new(
            exit::USAGE,
            "no_check",
            "say what must pass before a branch lands: --check COMMAND, or --no-check out loud",
        )
        .next("signalbox init --check 'make test'")
    };
    let question = "Which command must pass before a branch lands (for example: make test)?";
    let answer = ask(question).ok_or_else(missing)?;
    let command = answer.trim();
    if command.is_empty() {
        return Err(missing());
    }
    Ok(command.to_owned())
}

/// Which branch, where: the remote's own head where there is a remote, else the main worktree's branch.
fn find_trunk(repo: &Repo, init: &Init) -> Result<TrunkAt, End> {
    let remotes = repo.remotes().map_err(End::internal)?;
    let remote = match (&init.remote, remotes.as_slice()) {
        (Some(remote), _) => remote.clone(),
        (None, []) => ".".to_owned(),
        (None, [only]) => only.clone(),
        (None, many) if many.iter().any(|r| r == "origin") => "origin".to_owned(),
        (None, _) => {
            let line = "there are several remotes and none is origin; name the trunk's: --remote NAME";
            return Err(End::new(exit::USAGE, "which_remote", line).next("git remote -v"));
        }
    };
    if remote != "." && !remotes.contains(&remote) {
        let line = naming("there is no remote {}; see `git remote`, or give --remote .", [&remote]);
        return Err(End::new(exit::USAGE, "no_remote", line).next("git remote -v"));
    }
    let branch = match &init.trunk {
        Some(branch) => branch.clone(),
        None => find_branch(repo, &remote)?,
    };
    Ok(TrunkAt { remote, branch })
}

fn find_branch(repo: &Repo, remote: &str) -> Result<String, End> {
    if remote != "." {
        let known = repo.remembered_head_branch(remote).map_err(End::internal)?;
        if let Some(branch) = known.or_else(|| repo.remote_head_branch(remote).ok().flatten()) {
            return Ok(branch);
        }
    }
    for usual in ["main", "master", "trunk"] {
        if repo.resolve(&format!("refs/heads/{usual}")).map_err(End::internal)?.is_some() {
            return Ok(usual.to_owned());
        }
    }
    let main = repo.worktrees().map_err(End::internal)?.into_iter().next();
    match main.map(|worktree| repo.head(&worktree.path)) {
        Some(Ok(Head::Branch(branch) | Head::Unborn(branch))) => Ok(branch),
        _ => Ok("main".to_owned()),
    }
}

fn open_state(state: &Path, init: &Init, clock: &dyn Clock) -> Result<StateFile, End> {
    let options = Options { lease_ms: init.lease_ms, turn_ms: init.turn_ms, ..Options::default() };
    let opened = if init.moved {
        StateFile::moved(state, &options, clock)
    } else {
        StateFile::create_or_open(state, &options, clock)
    };
    let opened = match opened {
        Err(OpenError::Copied) if init.take_over => StateFile::take_over(state, &options, clock),
        other => other,
    };
    // A file that stands keeps its spans unless they are named.
    opened
        .and_then(|file| file.set_policy(init.lease_ms, init.turn_ms, init.freeze_holds_turns).map(|()| file))
        .map_err(|e| unusable_state(state, &e))
}

fn write(settings: &Settings, file: Option<&Path>, state: &Path) -> Result<(), End> {
    let text = settings.render().map_err(End::internal)?;
    files::put(&state.join("settings.toml"), text.as_bytes())
        .map_err(|e| End::internal(format!("the copy of the settings cannot be written: {e}")))?;
    if let Some(worktree) = file.and_then(Path::parent) {
        files::sweep(worktree, Temporaries::Named(settings::FILE));
    }
    if let Some(file) = file.filter(|file| !file.exists()) {
        create_whole(file, &text)
            .map_err(|e| End::internal(format!("{} cannot be written: {e}", settings::FILE)))?;
    }
    Ok(())
}

/// Creates a file that appears with all its text, so that another `init` never reads half of it. One that is
/// there by now stays as it is.
fn create_whole(file: &Path, text: &str) -> std::io::Result<()> {
    let temporary = file.with_extension(format!("toml.{}.new", std::process::id()));
    let mut written = File::create(&temporary)?;
    // Locked, it is nobody's leftover, even where this process cannot be seen (another container's).
    written.lock()?;
    written.write_all(text.as_bytes())?;
    fault::point("init:written");
    match std::fs::hard_link(&temporary, file) {
        // Not every file system has links.
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => std::fs::rename(&temporary, file),
        _ => std::fs::remove_file(&temporary),
    }
}

/// Takes the trunk over: counters above what the remote and the trunk's files show, then the fence (which
/// also stops what the other box has under way), then the box.
///
/// Gives the lines that no file shows and that an epoch carries, with what they were lifted to.
fn take_over(site: &Site, seen: &Seen) -> Result<Vec<(String, i64)>, End> {
    let stands = match &seen.epoch {
        Some(epoch) => Epoch::parse(&site.repo.message_of(epoch).map_err(End::internal)?.to_string()),
        None => None,
    };
    let (settings, _) = site.trunk_settings(seen.trunk.as_ref())?;
    let shown = numbers::all_highest(site, seen.trunk.as_ref(), &settings).map_err(End::internal)?;
    let mut carried = carried_lines(site, seen.epoch.clone()).map_err(End::internal)?;
    carried.retain(|(line, _)| !shown.contains_key(line));
    let lines: Vec<(String, i64)> = shown.into_iter().chain(carried.clone()).collect();
    let turn_no = stands.as_ref().map(|epoch| epoch.turn_no);
    for lines in lines.chunks(landing::members::LIFT_LINES_MAX) {
        site.calls().lift(turn_no, lines, None).map_err(|e| refused::end(&e, None))?;
    }
    if lines.is_empty() {
        site.calls().lift(turn_no, &[], None).map_err(|e| refused::end(&e, None))?;
    }
    if let Some(epoch) = &stands
        && epoch.box_id != site.box_id
    {
        fence_off(site, seen, epoch)?;
    }
    if let Some(box_id) = &seen.box_id
        && site.box_of(box_id)? != site.box_id
    {
        site.claim(Some(box_id))?;
    }
    Ok(carried)
}

/// How many epochs are looked through for one that carries number lines.
const EPOCHS_MAX: usize = 200;

/// The number lines of the last epoch that carries any, lifted by as much as may have been minted since.
fn carried_lines(site: &Site, mut epoch: Option<Oid>) -> Result<Vec<(String, i64)>, GitError> {
    for _ in 0..EPOCHS_MAX {
        let Some(commit) = epoch else { break };
        let lines = epoch::lines_of(&site.repo.message_of(&commit)?.to_string());
        if !lines.is_empty() {
            let margin = kernel::Limits::default().floor_lift_max;
            return Ok(lines.into_iter().map(|(line, value)| (line, value.saturating_add(margin))).collect());
        }
        epoch = site.repo.parents_of(&commit)?.into_iter().next();
    }
    Ok(Vec::new())
}

/// What is said of the lines that only the earlier state knew.
fn go_on(lines: &[(String, i64)]) -> String {
    let others = "number lines without files may begin again, since only the earlier state knew them; mint each once \
                  with --floor N";
    if lines.is_empty() {
        return others.to_owned();
    }
    let lines: Vec<String> = lines.iter().map(|(line, value)| format!("{line} above {value}")).collect();
    let lines = short(&lines.join(", "), 200);
    format!("{lines}: a thousand above what the last landing recorded. Other {others}")
}

fn fence_off(site: &Site, seen: &Seen, stands: &Epoch) -> Result<(), End> {
    let mine =
        Epoch { ticket: Id::random(), box_id: site.box_id.clone(), state: State::Void, ..stands.clone() };
    let message = mine.message(Id::random().as_str());
    let note = site.repo.note_commit(message.as_bytes(), seen.epoch.as_ref()).map_err(End::internal)?;
    let trunk = &site.trunk;
    match trunk.create_or_move(&trunk.epoch_ref(), &note, seen.epoch.as_ref()).map_err(End::internal)? {
        PushEnd::Accepted => Ok(()),
        PushEnd::Refused { text } if trunk.peek().is_ok_and(|now| now.epoch == seen.epoch) => Err(End::new(
            exit::REFUSED,
            "take_over_refused",
            "the remote refuses the take-over of its trunk; the next lines are its words",
        )
        .more(text)),
        PushEnd::Refused { text } | PushEnd::NoAnswer { text } => Err(End::new(
            exit::AGAIN,
            "take_over_raced",
            "the trunk moved while it was taken over; run `signalbox init --take-over` again",
        )
        .more(text)
        .next("signalbox init --take-over")),
    }
}

/// Whether the trunk is in this repository itself.
#[must_use]
pub fn is_here(site: &Site) -> bool {
    site.trunk.remote == Remote::Here
}
