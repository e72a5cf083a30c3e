//! Which hooks stand, and whether those of ours do what they are for.

use super::install::{self, ALL, Hook};
use super::{STATE_KEY, TRUNK_KEY};
use bstr::ByteSlice;
use git::{GitError, Repo};
use rustix::fs::{Access, access};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The hooks of a repository.
#[derive(Debug, Clone)]
pub(crate) struct Survey {
    /// The folder that git takes them from.
    pub(crate) dir: PathBuf,
    /// It is outside of the repository.
    pub(crate) elsewhere: bool,
    /// The repository is bare.
    pub(crate) bare: bool,
    /// Those that stand in the places of ours.
    pub(crate) hooks: Vec<Stands>,
    /// A hook of ours stands whose settings are gone.
    pub(crate) settings_gone: bool,
}

/// A hook that stands.
#[derive(Debug, Clone)]
pub(crate) struct Stands {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its file.
    pub(crate) path: PathBuf,
    /// What it is.
    pub(crate) standing: Standing,
}

/// What stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A hook of another kind.
    Another,
    /// One of ours.
    Ours {
        /// Git runs it.
        executable: bool,
        /// The program that it calls, or one of that name on the search path, can be run.
        program_there: bool,
        /// It is what this version writes.
        current: bool,
    },
}

/// Looks at the hooks of a repository.
///
/// # Errors
/// Git failed.
pub(crate) fn survey(repo: &Repo) -> Result<Survey, GitError> {
    let dir = repo.hooks_dir()?;
    let bare = repo.is_bare()?;
    let (trunks, states) = (repo.own_config(TRUNK_KEY)?, repo.own_config(STATE_KEY)?);
    let mut hooks = Vec::new();
    let mut settings_gone = false;
    for hook in ALL {
        let path = dir.join(hook.name());
        // What cannot be read is judged by whoever installs.
        let standing = match install::standing(&path) {
            Ok(install::Standing::Another) => Standing::Another,
            Ok(install::Standing::Ours) => ours(hook, &path),
            _ => continue,
        };
        let guards = standing != Standing::Another && hook != Hook::PrePush;
        settings_gone |= guards && (trunks.is_empty() || bare && states.is_empty());
        hooks.push(Stands { name: hook.name(), path, standing });
    }
    Ok(Survey { elsewhere: !install::inside(repo, &dir), dir, bare, hooks, settings_gone })
}

fn ours(hook: Hook, path: &Path) -> Standing {
    let text = std::fs::read(path).unwrap_or_default();
    let program = program_of(&text);
    let runs = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    let found = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|dir| runs(&dir.join("signalbox")))
    };
    let wanted = |program: &Path| hook.variants().iter().any(|hook| hook.script(program) == text);
    Standing::Ours {
        executable: runs(path),
        program_there: program.as_deref().is_some_and(runs) || found(),
        current: program.as_deref().is_some_and(wanted),
    }
}

/// The program that the hook calls, as [`Hook::script`] writes it.
fn program_of(text: &[u8]) -> Option<PathBuf> {
    let word = text.lines().find_map(|line| line.strip_prefix(b"  program='")?.strip_suffix(b"'"))?;
    Some(OsStr::from_bytes(&word.replace(r"'\''", "'")).into())
}
