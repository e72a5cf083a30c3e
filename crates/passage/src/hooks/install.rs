//! `hook install` and `hook remove`: hooks that call this program, and the settings that they read. A hook of the
//! user's own is never overwritten.

use super::{STATE_KEY, TRUNK_KEY, box_at};
use crate::end::{End, exit, naming, quoted};
use crate::settings::Settings;
use crate::site::{self, unusable_state};
use bstr::{BStr, ByteSlice};
use git::{Head, Repo};
use kernel::Clock;
use std::ffi::OsStr;
use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use store::{Options, StateFile};

/// The line by which a hook is known to be ours. A later version may write another hook below it.
const MARK: &str = "# signalbox hook. ";

/// A hook of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hook {
    PrePush,
    PreReceive,
    /// The words after `signalbox hook` differ by whose transactions they are.
    Transaction(&'static str),
}

impl Hook {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::PrePush => "pre-push",
            Self::PreReceive => "pre-receive",
            Self::Transaction(_) => "reference-transaction",
        }
    }

    /// The hooks of its name.
    pub(super) fn variants(self) -> Vec<Self> {
        match self {
            Self::Transaction(_) => vec![SERVERS_TRANSACTION, TRANSACTION],
            other => vec![other],
        }
    }

    /// When, and with which words, the program is called. `refs` has what git said.
    const fn call(self) -> (&'static str, &'static str) {
        match self {
            Self::PrePush => ("true", r#"pre-push -- "$@""#),
            Self::PreReceive => ("true", "pre-receive"),
            Self::Transaction(options) => (
                // Of tags and remote-tracking refs the program need not hear.
                "case $1:$refs in prepared:*refs/heads/*|prepared:*refs/signalbox/*) true ;; *) false ;; esac",
                options,
            ),
        }
    }

    /// The hook, which calls the program at that path, or where that is gone, the one that the search path finds.
    pub(super) fn script(self, program: &Path) -> Vec<u8> {
        let name = self.name();
        let (when, call) = self.call();
        let mut program_word = b"'".to_vec();
        program_word.extend(program.as_os_str().as_bytes().replace("'", r"'\''"));
        program_word.push(b'\'');
        let text = format!(
            r#"#!/bin/sh
{MARK}Made by `signalbox hook install`, taken away by `signalbox hook remove`.
# A hook of your own beside it: name it {name}.local, and it runs after this one, with the same input.
refs=$(cat)
if {when}; then
  program=@PROGRAM@
  [ -x "$program" ] || program=signalbox
  command -v "$program" >/dev/null 2>&1 || {{
    echo "signalbox: the program of this hook is gone; install signalbox again, or remove $0" >&2
    exit 1
  }}
  printf '%s\n' "$refs" | "$program" hook {call} >&2 || exit 1
fi
[ -x "$0.local" ] || exit 0
printf '%s\n' "$refs" | "$0.local" "$@"
"#
        );
        text.as_bytes().replace("@PROGRAM@", program_word)
    }
}

pub(super) const ALL: [Hook; 3] = [Hook::PrePush, Hook::PreReceive, Hook::Transaction("")];
const TRANSACTION: Hook = Hook::Transaction(r#"reference-transaction -- "$1""#);
const SERVERS_TRANSACTION: Hook = Hook::Transaction(r#"reference-transaction --server -- "$1""#);

/// Installs the hook of a person's repository: where the trunk is at a remote, one that stops direct pushes to
/// it; where it is kept in the repository itself, one that stops it from moving but by landings. `program` is this
/// program's own path.
///
/// # Errors
/// The repository is bare or was not set up, or another hook stands there.
pub fn here(cwd: &Path, state: Option<&Path>, program: &Path) -> Result<End, End> {
    let repo = site::repository(cwd)?;
    if repo.is_bare().map_err(End::internal)? {
        let line = "this is a bare repository, which people push to; its hooks come with --server";
        return Err(End::new(exit::USAGE, "bare", line).next("signalbox hook install --server"));
    }
    let folder = site::state_dir(&repo, state)?;
    let trunk = site::local_settings(&repo, &folder)?.trunk;
    let in_place = trunk.remote == ".";
    let hook = if in_place { TRANSACTION } else { Hook::PrePush };
    let dir = hooks_dir(&repo)?;
    free(&dir, &[hook])?;
    if let Some(state) = state {
        set(&repo, STATE_KEY, &[path_value(state)])?;
    }
    let paths = if in_place {
        set(&repo, TRUNK_KEY, &[trunk.branch.as_bytes().as_bstr()])?;
        put(&dir, &[hook], program)?
    } else {
        put(&dir, &[hook], program)?
    };
    let end = if in_place {
        let line = "here {} moves by landings only from now on: no commit, merge or reset moves it";
        End::new(exit::DONE, "installed", naming(line, [&trunk.branch])).more(
            "For whoever must: git -c core.hooksPath=/dev/null … passes it. Deleting it is not stopped.",
        )
    } else {
        let line = "direct pushes to {} of {} are stopped here, outside a turn";
        End::new(exit::DONE, "installed", naming(line, [&trunk.branch, &trunk.remote]))
            .more("It reminds whoever pushes from this clone; `git push --no-verify` passes it.")
            .more("To guard the remote itself, there: signalbox hook install --server")
    };
    Ok(told(end, &paths))
}

/// Installs the hooks of a bare repository that people push to. `trunks`: which branches they guard; none: the one
/// that the state's settings name, else the repository's own default.
///
/// # Errors
/// The repository is not bare, there is no state, another box keeps the repository, or another hook stands there.
pub fn server(
    cwd: &Path,
    state: Option<&Path>,
    clock: &dyn Clock,
    trunks: &[String],
    program: &Path,
) -> Result<End, End> {
    let repo = site::repository(cwd)?;
    if !repo.is_bare().map_err(End::internal)? {
        let line = "--server is for the bare repository that people push to; go there, or leave it out";
        return Err(End::new(exit::USAGE, "not_bare", line).next("signalbox hook install"));
    }
    let state = state.map_or_else(|| repo.common_dir().join("signalbox"), Path::to_path_buf);
    let state = std::fs::canonicalize(&state).unwrap_or(state);
    let file = StateFile::open(&state, &Options::default(), clock).map_err(|error| match error {
        store::OpenError::Missing => {
            let line = "the box's state is not in {}; name its folder: --state DIR";
            End::new(exit::USAGE, "no_state", naming(line, [&state.display().to_string()])).more(
                "It is the folder `signalbox` in the git directory of the clone in which `signalbox init` ran.",
            )
        }
        other => unusable_state(&state, &other),
    })?;
    let stands = box_at(&repo).map_err(End::internal)?;
    if stands.is_some_and(|stands| stands != file.box_id().as_str()) {
        let line = "another box keeps this repository than that state; name its own state, or take over";
        return Err(End::new(exit::SETUP, "other_box", line).more(
            "Its own state is that of the clone that lands here now. To take over: `signalbox init --take-over` \
             in the clone whose state this is, then this again.",
        ));
    }
    let trunks = match trunks {
        [] => vec![default_trunk(&repo, &state)?],
        named => named.to_vec(),
    };
    for trunk in &trunks {
        named_well(&repo, trunk)?;
    }
    let hooks = [SERVERS_TRANSACTION, Hook::PreReceive];
    let dir = hooks_dir(&repo)?;
    free(&dir, &hooks)?;
    let values: Vec<&BStr> = trunks.iter().map(|trunk| trunk.as_bytes().as_bstr()).collect();
    set(&repo, TRUNK_KEY, &values)?;
    set(&repo, STATE_KEY, &[path_value(&state)])?;
    let paths = put(&dir, &hooks, program)?;
    let line =
        naming("{} moves by landings only from now on; all other refs are as before", [&trunks.join(", ")]);
    let end = End::new(exit::DONE, "installed", line)
        .more(format!("The box is asked at each landing: {}", state.display()))
        .more("Whoever pushes here must be able to write that state: the hooks run as who pushes.");
    Ok(told(end.fact("trunks", trunks).fact("state", state.display().to_string()), &paths))
}

/// Takes our hooks away, and puts back what was set aside for them.
///
/// # Errors
/// They cannot be removed.
pub fn remove(cwd: &Path) -> Result<End, End> {
    let repo = site::repository(cwd)?;
    let dir = repo.hooks_dir().map_err(End::internal)?;
    let mut gone = Vec::new();
    for hook in ALL {
        let path = dir.join(hook.name());
        if standing(&path).map_err(|e| unwritable(&path, &e))? != Standing::Ours {
            continue;
        }
        let aside = aside(&path);
        let removed =
            if aside.exists() { std::fs::rename(&aside, &path) } else { std::fs::remove_file(&path) };
        removed.map_err(|e| unwritable(&path, &e))?;
        gone.push(path);
    }
    set(&repo, TRUNK_KEY, &[])?;
    set(&repo, STATE_KEY, &[])?;
    let line = match gone.len() {
        0 => "there is no hook of signalbox here",
        _ => "signalbox's hooks are gone from here; direct pushes and moves of the trunk pass again",
    };
    let mut end = End::new(exit::DONE, if gone.is_empty() { "nothing" } else { "removed" }, line);
    for path in gone {
        end = end.more(format!("removed: {}", path.display()));
    }
    Ok(end)
}

fn told(mut end: End, paths: &[PathBuf]) -> End {
    for path in paths {
        end = end.more(format!("hook: {}", path.display()));
    }
    end.fact("hooks", paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>())
}

/// The branch that is the trunk: as the state's settings say, else the repository's own default.
fn default_trunk(repo: &Repo, state: &Path) -> Result<String, End> {
    let copy = std::fs::read(state.join("settings.toml")).ok();
    if let Some(settings) = copy.and_then(|copy| Settings::parse(&copy).ok()) {
        return Ok(settings.trunk.branch);
    }
    match repo.head(repo.common_dir()) {
        Ok(Head::Branch(branch) | Head::Unborn(branch)) => Ok(branch),
        _ => {
            let line = "which branch shall be guarded cannot be told; name it: --trunk BRANCH";
            Err(End::new(exit::USAGE, "which_trunk", line))
        }
    }
}

fn named_well(repo: &Repo, trunk: &str) -> Result<(), End> {
    if !landing::branch::is_branch(trunk) {
        let line = naming("{} cannot be a branch's name; name the branch to guard", [trunk]);
        return Err(End::new(exit::USAGE, "bad_branch", line));
    }
    let name = git::trunk_ref(trunk);
    let symbolic = repo.symbolic([name.as_bytes().as_bstr()]).map_err(End::internal)?;
    match symbolic.first() {
        Some(symbolic) => {
            let target = symbolic.target.to_str_lossy();
            let line = "{} is a symbolic ref here and leads to {}; name that branch instead";
            Err(End::new(exit::USAGE, "symbolic_ref", naming(line, [trunk, &target])))
        }
        None => Ok(()),
    }
}

/// Whether a folder is the repository's own.
pub(super) fn inside(repo: &Repo, dir: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    // A folder that is not there yet stands where the one above it stands.
    let at = real(dir).or_else(|| Some(real(dir.parent()?)?.join(dir.file_name()?)));
    let homes = [Some(repo.common_dir()), repo.worktree()];
    let inside =
        |at: PathBuf| homes.iter().flatten().filter_map(|home| real(home)).any(|h| at.starts_with(h));
    at.is_some_and(inside)
}

/// The folder of the repository's hooks. One that other repositories may share is nothing to write to.
fn hooks_dir(repo: &Repo) -> Result<PathBuf, End> {
    let dir = repo.hooks_dir().map_err(End::internal)?;
    if inside(repo, &dir) {
        return Ok(dir);
    }
    let own = repo.common_dir().join("hooks").display().to_string();
    let line = naming(
        "git takes this repository's hooks from {}, outside of it; nothing was written",
        [&dir.display().to_string()],
    );
    Err(End::new(exit::SETUP, "hooks_elsewhere", line)
        .more(
            "Other repositories may use that folder. To give this one its own (those then do not run here):",
        )
        .next(format!("git config core.hooksPath {}", quoted(&own))))
}

/// What stands at a hook's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Nothing,
    Ours,
    Another,
}

pub(super) fn standing(path: &Path) -> io::Result<Standing> {
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Standing::Nothing),
        Err(e) => return Err(e),
        Ok(meta) if !meta.is_file() => return Ok(Standing::Another),
        Ok(_) => {}
    }
    let ours = std::fs::read(path)?.lines().nth(1).is_some_and(|line| line.starts_with_str(MARK));
    Ok(if ours { Standing::Ours } else { Standing::Another })
}

/// Where a hook of the user's own stands beside ours.
fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".local");
    name.into()
}

/// Refuses where another hook stands.
fn free(dir: &Path, hooks: &[Hook]) -> Result<(), End> {
    let mut moves = Vec::new();
    for hook in hooks {
        let path = dir.join(hook.name());
        if standing(&path).map_err(|e| unwritable(&path, &e))? == Standing::Another {
            let words = [&path, &aside(&path)].map(|path| quoted(&path.display().to_string()));
            moves.push(format!("mv -n {}", words.join(" ")));
        }
    }
    if moves.is_empty() {
        return Ok(());
    }
    let line = "a hook of your own stands there and was left as it is; set it aside, then run this again";
    Err(End::new(exit::USAGE, "hook_stands", line)
        .more("Set aside under that name it runs after signalbox's, with the same arguments and input.")
        .next(moves.join(" && ")))
}

/// Puts the hooks into their places, each whole and executable from its first moment.
fn put(dir: &Path, hooks: &[Hook], program: &Path) -> Result<Vec<PathBuf>, End> {
    std::fs::create_dir_all(dir).map_err(|e| unwritable(dir, &e))?;
    let mut paths = Vec::new();
    for hook in hooks {
        let path = dir.join(hook.name());
        put_one(&path, &hook.script(program)).map_err(|e| unwritable(&path, &e))?;
        paths.push(path);
    }
    Ok(paths)
}

fn put_one(path: &Path, script: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let written = (|| {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(&temporary)?;
        file.write_all(script)?;
        // Whoever pushes must be able to run it: git passes over a hook that cannot be run.
        file.set_permissions(Permissions::from_mode(0o755))?;
        file.sync_all()?;
        if standing(path)? == Standing::Ours {
            return std::fs::rename(&temporary, path);
        }
        // A link, unlike a rename, replaces nothing; not every file system has links.
        match std::fs::hard_link(&temporary, path) {
            Err(_) if standing(path)? == Standing::Nothing => std::fs::rename(&temporary, path),
            other => other,
        }
    })();
    // It has its place, or is not wanted.
    let _ = std::fs::remove_file(&temporary);
    written
}

fn unwritable(path: &Path, error: &io::Error) -> End {
    let line = naming(
        "the hook {} cannot be written or read; mend what the next line says",
        [&path.display().to_string()],
    );
    End::new(exit::SETUP, "hook_unwritable", line).more(error.to_string())
}

fn set(repo: &Repo, key: &str, values: &[&BStr]) -> Result<(), End> {
    repo.set_own_config(key, values).map_err(|e| {
        let line = "the repository's git configuration cannot be written; mend what the next line says";
        End::new(exit::SETUP, "config_unwritable", line).more(e.to_string())
    })
}

fn path_value(path: &Path) -> &BStr {
    let path: &OsStr = path.as_os_str();
    path.as_bytes().as_bstr()
}
