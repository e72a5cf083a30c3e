//! Where a command stands: the repository, its trunk, its settings, and the box that keeps them in order.

use crate::end::{End, exit, naming, quoted, short};
use crate::epoch::Epoch;
use crate::interrupt::Interrupt;
use crate::journal::Journal;
use crate::results::Results;
use crate::settings::{self, BadSettings, Settings};
use crate::{fault, files, split};
use bstr::{BStr, ByteSlice};
use client::{Local, Signals, Typed};
use git::{GitError, Need, Oid, PushEnd, Remote, Repo, Seen, Trunk, TrunkError};
use kernel::{Clock, Id};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{OpenError, Options, StateFile};

/// A repository that was set up.
#[derive(Clone)]
pub struct Site {
    /// The repository.
    pub repo: Repo,
    /// The state folder.
    pub state: PathBuf,
    /// What the worktree (or `init`'s copy) says; only its trunk counts.
    pub settings: Settings,
    /// The trunk.
    pub trunk: Trunk,
    /// The project.
    pub project: Id,
    /// The box.
    pub box_id: String,
    /// Where calls go.
    pub signals: Arc<dyn Signals>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ends what only reads from the remote: see [`Site::heeding`].
    pub interrupt: Interrupt,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site").field("state", &self.state).finish_non_exhaustive()
    }
}

/// The state folder of a repository, unless another one is named. Nothing is written yet.
///
/// # Errors
/// The folder that is named has no state, and holds what is not ours.
pub fn state_dir(repo: &Repo, named: Option<&Path>) -> Result<PathBuf, End> {
    let Some(named) = named else { return Ok(repo.common_dir().join("signalbox")) };
    // What cannot be listed is judged where the state is opened.
    let mut names = std::fs::read_dir(named).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let foreign = names.any(|name| !name.to_str().is_some_and(files::in_state));
    if foreign && named.join("state.db").symlink_metadata().is_err() {
        return Err(folder_in_use(named));
    }
    Ok(named.to_path_buf())
}

fn folder_in_use(dir: &Path) -> End {
    let own = dir.join("signalbox").display().to_string();
    let line = "{} holds other files; give the state a folder of its own: --state {}";
    let line = naming(line, [&dir.display().to_string(), &own]);
    End::new(exit::USAGE, "state_folder_in_use", line)
        .more(format!("Nothing was written. For example: --state {}", quoted(&own)))
}

/// The command by which git says that a repository of another user is allowed.
fn allow(text: &str) -> String {
    let said = text.lines().map(str::trim).find(|line| line.starts_with("git config --global --add safe."));
    said.unwrap_or("git config --global --add safe.directory \"$PWD\"").to_owned()
}

/// The repository around `cwd`.
///
/// # Errors
/// There is none, or git is missing or too old.
pub fn repository(cwd: &Path) -> Result<Repo, End> {
    Repo::discover(cwd).map_err(|e| match e {
        GitError::NotARepository { text, .. } if text.contains("dubious ownership") => End::new(
            exit::SETUP,
            "repository_not_yours",
            "git refuses this repository: it belongs to another user; the next lines say how to allow it",
        )
        .more(text.clone())
        .next(allow(&text)),
        GitError::NotARepository { .. } => End::new(
            exit::USAGE,
            "no_repository",
            "this is no git repository; go into one, or make one with `git init`",
        )
        .next("git init"),
        GitError::TooOld { found } => End::new(
            exit::SETUP,
            "git_too_old",
            format!("git {} is too old; install git 2.39 or later", short(&found, 20)),
        ),
        GitError::Start { .. } => End::new(
            exit::SETUP,
            "git_missing",
            "the git program cannot be started; install git 2.39 or later",
        )
        .more(e.to_string()),
        other => End::internal(other),
    })
}

impl Site {
    /// Opens the site around `cwd`. A repository that has settings but no state yet gets its state here:
    /// whether this trunk is kept elsewhere is seen when the trunk is read.
    ///
    /// # Errors
    /// It was not set up, or its settings or its state cannot be used.
    pub fn open(cwd: &Path, state: Option<&Path>, clock: Arc<dyn Clock>) -> Result<Self, End> {
        let repo = repository(cwd)?;
        let state = state_dir(&repo, state)?;
        let settings = local_settings(&repo, &state)?;
        let file = StateFile::create_or_open(&state, &Options::default(), clock.as_ref())
            .map_err(|e| unusable_state(&state, &e))?;
        Self::over(repo, state, settings, file, clock)
    }

    /// A site over a state file that is open already.
    ///
    /// # Errors
    /// As [`Site::open`].
    pub fn over(
        repo: Repo,
        state: PathBuf,
        settings: Settings,
        file: StateFile,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, End> {
        let project = file.project().clone();
        let box_id = file.box_id().as_str().to_owned();
        let local = Local::start(file, Arc::clone(&clock)).map_err(|e| unusable_state(&state, &e))?;
        let remote = remote(&settings.trunk.remote);
        let trunk = Trunk::new(repo.clone(), remote, settings.trunk.branch.clone());
        Ok(Self {
            repo,
            state,
            settings,
            trunk,
            project,
            box_id,
            signals: Arc::new(local),
            clock,
            interrupt: Interrupt::default(),
        })
    }

    /// The same site, where a person who asks to stop ends what only reads from the remote.
    #[must_use]
    pub fn heeding(mut self, interrupt: &Interrupt) -> Self {
        self.repo = self.repo.stopped_by(interrupt.cell());
        self.trunk.repo = self.repo.clone();
        self.interrupt = interrupt.clone();
        self
    }

    /// Typed calls to the box.
    #[must_use]
    pub fn calls(&self) -> Typed<'_> {
        Typed::new(self.signals.as_ref(), &self.project)
    }

    /// What this machine meant to push.
    #[must_use]
    pub fn journal(&self) -> Journal {
        Journal::of(&self.state)
    }

    /// The remembered results of checks.
    #[must_use]
    pub fn results(&self) -> Results {
        Results::of(&self.state)
    }

    /// Where the lock files of live tickets stand.
    #[must_use]
    pub fn live_dir(&self) -> PathBuf {
        self.state.join("live")
    }

    /// Where the trunk is kept, for people.
    #[must_use]
    pub fn trunk_name(&self) -> String {
        match &self.trunk.remote {
            Remote::Here => self.trunk.branch.clone(),
            Remote::Named(remote) => format!("{remote}/{}", self.trunk.branch),
        }
    }

    /// Reads the trunk with its objects, and makes sure that this box keeps it: it claims a trunk that
    /// nobody keeps.
    ///
    /// # Errors
    /// The remote cannot be read, or another box keeps this trunk.
    pub fn read_trunk(&self) -> Result<Seen, End> {
        let mut claimed = false;
        let mut look = 0;
        loop {
            let seen = self.trunk.read().map_err(|e| self.unreadable(e))?;
            if seen.box_id.is_some() {
                return match self.kept_elsewhere(&seen)? {
                    Some(end) => Err(end),
                    None => Ok(seen),
                };
            }
            if !claimed {
                self.claim(None)?;
                claimed = true;
            } else if split::look_again(look) {
                look += 1;
            } else {
                return Err(split::end(self));
            }
        }
    }

    /// What is said where another box keeps the trunk.
    ///
    /// # Errors
    /// Git cannot read the note of the box.
    pub(crate) fn kept_elsewhere(&self, seen: &Seen) -> Result<Option<End>, End> {
        let Some(stands) = &seen.box_id else { return Ok(None) };
        Ok((self.box_of(stands)? != self.box_id).then(other_box))
    }

    /// Whether the fence remembers a trunk: then one that is missing was deleted or renamed, and the next
    /// branch must not become a new one.
    pub(crate) fn had_a_trunk(&self, seen: &Seen) -> bool {
        let mut at = seen.epoch.clone();
        // Ours names what was read; the one before it names what stood.
        for _ in 0..3 {
            let Some(commit) = at else { return false };
            let Ok(message) = self.repo.message_of(&commit) else { return false };
            if Epoch::parse(&message.to_string()).is_some_and(|epoch| epoch.trunk != "none") {
                return true;
            }
            at = self.repo.parents_of(&commit).ok().and_then(|parents| parents.into_iter().next());
        }
        false
    }

    /// Sets the trunk's box to ours: only where none stands, or where the one that `stands` is replaced.
    ///
    /// # Errors
    /// The remote refuses or cannot be reached. That another box was faster is no error: read again.
    pub fn claim(&self, stands: Option<&Oid>) -> Result<(), End> {
        split::one_push_url(self)?;
        let nonce = Id::random();
        let message = format!("signalbox box\n\nbox: {}\nnonce: {}\n", self.box_id, nonce.as_str());
        let note = self.repo.note_commit(message.as_bytes(), stands).map_err(End::internal)?;
        fault::point("box:before-claim");
        let claimed = self.trunk.create_or_move(&self.trunk.box_ref(), &note, stands);
        fault::point("box:claimed");
        match claimed.map_err(|e| git_failed(&e))? {
            PushEnd::Accepted => Ok(()),
            PushEnd::Refused { text } => {
                let now = self.trunk.peek().map_err(|e| self.unreadable(e))?;
                if now.box_id.as_ref() != stands {
                    return Ok(());
                }
                let line = "the remote refuses refs/signalbox/box; do as its words say, or allow refs/signalbox/ there";
                let refused = End::new(exit::REFUSED, "box_refused", line).more(text);
                Err(if split::is_split(self) { split::end(self) } else { refused })
            }
            PushEnd::NoAnswer { text } => match self.trunk.peek() {
                Ok(now) if now.box_id.as_ref() != stands => Ok(()),
                Ok(_) => Err(self.unanswered(text)),
                Err(error) => Err(self.unreadable(error)),
            },
        }
    }

    /// A push of one ref ended without a report, and moved nothing, though the remote can be read: the line broke, or
    /// the remote takes no pushes of this kind, or none from here.
    pub(crate) fn unanswered(&self, text: String) -> End {
        let line = "the remote {} can be read but answers no push; nothing moved: signalbox doctor says why";
        End::new(exit::AGAIN, "push_unanswered", naming(line, [&self.settings.trunk.remote]))
            .more(text)
            .next("signalbox doctor")
    }

    /// The id of the box that a commit names.
    ///
    /// # Errors
    /// Git cannot read the commit.
    pub fn box_of(&self, commit: &Oid) -> Result<String, End> {
        let message = self.repo.message_of(commit).map_err(End::internal)?;
        Ok(box_in(message.as_bstr()))
    }

    /// The trunk could not be read.
    #[must_use]
    pub fn unreadable(&self, error: TrunkError) -> End {
        match error {
            TrunkError::Unreachable { text } => self.unreachable(&text),
            TrunkError::Git(GitError::Interrupted { .. }) => End::new(
                self.interrupt.exit(),
                "interrupted",
                "stopped while the remote was read; nothing was sent",
            ),
            TrunkError::Git(error) => End::internal(error),
            other => End::internal(other),
        }
    }

    fn unreachable(&self, text: &str) -> End {
        unreachable(&self.settings.trunk.remote, text)
    }

    /// What counts for check, strategy and lines: the trunk's own file; while it has none, what `init`
    /// wrote. Also tells whether the trunk has its own.
    ///
    /// # Errors
    /// A file cannot be used, or names another trunk.
    pub fn trunk_settings(&self, trunk: Option<&Oid>) -> Result<(Settings, bool), End> {
        let own = match trunk {
            Some(trunk) => {
                let need = Need::File(settings::FILE);
                self.repo.complete(&[trunk], need).map_err(|e| self.unreadable(e))?;
                match self.repo.read_file(trunk, settings::FILE.as_bytes()) {
                    Err(GitError::TooMuchOutput { .. }) => Some(vec![b' '; settings::BYTES_MAX + 1]),
                    read => read.map_err(End::internal)?,
                }
            }
            None => None,
        };
        let its_own = own.is_some();
        let (text, name) = match own {
            Some(text) => (text, "the trunk's .signalbox.toml"),
            None => {
                let name = "init's copy of the settings";
                let copy = settings::read(&self.state.join("settings.toml"));
                (copy.map_err(|e| bad_settings(name, &e))?.ok_or_else(not_set_up)?, name)
            }
        };
        let settings = Settings::parse(&text).map_err(|e| bad_settings(name, &e))?;
        if settings.trunk.branch != self.trunk.branch {
            let line = format!("{name} names {{}} as the trunk, not {{}}; make both files agree");
            let line = naming(&line, [&settings.trunk.branch, &self.trunk.branch]);
            let end = End::new(exit::SETUP, "other_trunk", line);
            return Err(if its_own { end } else { end.next("signalbox init") });
        }
        Ok((settings, its_own))
    }
}

/// Which way out is right a person must know: a program that took over would shut the other clone out, so
/// there is no command to type.
pub(crate) fn other_box() -> End {
    let line = "this trunk is kept by another clone or an earlier state; share its state, or take over";
    End::new(exit::SETUP, "other_box", line)
        .more(
            "Numbers and turns come from one state. To use the other clone's: --state DIR (or \
               SIGNALBOX_STATE), where DIR is the folder `signalbox` in that clone's git directory.",
        )
        .more(
            "If that state is lost: signalbox init --take-over. It starts above the trunk's highest turn \
             and above the numbers of its files; the other clone is refused from then on. A line without \
             files goes on a thousand above what the last landing recorded, or begins again where none did: \
             then mint it once with --floor N.",
        )
}

/// A remote that does not answer, as it says.
pub(crate) fn unreachable(remote: &str, text: &str) -> End {
    let line = "the remote {} cannot be reached; nothing was sent. Try again when it is back";
    End::new(exit::AGAIN, "unreachable", naming(line, [remote]))
        .more(text.to_owned())
        .next(format!("git ls-remote {}", quoted(remote)))
}

/// The id of the box that a commit's message names; empty if it names none.
#[must_use]
pub(crate) fn box_in(message: &BStr) -> String {
    let id = message.lines().find_map(|line| line.strip_prefix(b"box: "));
    id.unwrap_or_default().to_str_lossy().into_owned()
}

/// Git did not do what was asked. A mirror is a matter of set-up.
#[must_use]
pub(crate) fn git_failed(error: &GitError) -> End {
    let GitError::Mirror { remote } = error else { return End::internal(error) };
    let line = "the remote {} is a mirror, to which git pushes no single refs; unset remote.*.mirror";
    let unset = quoted(&format!("remote.{remote}.mirror"));
    End::new(exit::SETUP, "remote_mirror", naming(line, [remote])).next(format!("git config --unset {unset}"))
}

/// A remote as the settings write it.
#[must_use]
pub fn remote(name: &str) -> Remote {
    if name == "." { Remote::Here } else { Remote::Named(name.to_owned()) }
}

/// The worktree's settings, else `init`'s copy.
///
/// # Errors
/// There are none, or they cannot be used.
pub fn local_settings(repo: &Repo, state: &Path) -> Result<Settings, End> {
    let own = repo.worktree().map(|top| (top.join(settings::FILE), settings::FILE));
    for (path, name) in own.into_iter().chain([(state.join("settings.toml"), "init's copy")]) {
        let parsed =
            settings::read(&path).and_then(|text| text.map(|text| Settings::parse(&text)).transpose());
        if let Some(settings) = parsed.map_err(|e| bad_settings(name, &e))? {
            return Ok(settings);
        }
    }
    Err(not_set_up())
}

/// What sets a repository up, with all that it asks for.
const INIT: &str = "signalbox init --check 'make test'";

fn not_set_up() -> End {
    End::new(
        exit::SETUP,
        "not_set_up",
        "this repository is not set up for signalbox; run `signalbox init --check COMMAND`",
    )
    .next(INIT)
}

/// Settings that cannot be used.
pub(crate) fn bad_settings(file: &str, error: &BadSettings) -> End {
    let line = format!("{file} cannot be used; mend what the next lines name");
    End::new(exit::SETUP, "bad_settings", line).more(error.to_string())
}

/// A state that cannot be used.
#[must_use]
pub fn unusable_state(state: &Path, error: &OpenError) -> End {
    // A full disk shows in more ways than one: the memory that processes share has no place either.
    let error = if *error == OpenError::Io && full(state) { &OpenError::Full } else { error };
    let text = error.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    let (exit, code, next) = match error {
        OpenError::Missing => (exit::SETUP, "not_set_up", Some(INIT)),
        OpenError::Newer => (exit::SETUP, "state_newer", None),
        OpenError::Copied => (exit::SETUP, "state_copied", Some("signalbox init --take-over")),
        OpenError::Busy => (exit::AGAIN, "busy", None),
        OpenError::ReadOnly => (exit::SETUP, "state_read_only", None),
        OpenError::NetworkFileSystem(_) => (exit::SETUP, "state_on_network", None),
        OpenError::Full => (exit::AGAIN, "disk_full", Some("df -h")),
        _ => (exit::SETUP, "state_unusable", None),
    };
    let mut end = End::new(exit, code, first);
    end.more.extend(lines.map(str::to_owned));
    end.next = next.map(str::to_owned);
    end
}

/// Whether next to nothing can be written any more where that folder is.
pub(crate) fn full(dir: &Path) -> bool {
    const NEXT_TO_NOTHING: u64 = 64 << 10;
    rustix::fs::statvfs(dir).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < NEXT_TO_NOTHING)
}
