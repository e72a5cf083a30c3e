//! Small durable files of the state folder, and the names of our own making: a folder may hold a person's
//! files too, and nothing but ours is ever removed from it.

use crate::fault;
use kernel::Id;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Makes a folder that only its owner may enter, and those above it.
///
/// # Errors
/// The folder cannot be made.
pub(crate) fn private_dir(dir: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Our part of the user's cache folder; none where the environment names no usable one. It is not made here.
pub(crate) fn cache_dir() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    cache.filter(|cache| cache.is_absolute()).map(|cache| cache.join("signalbox"))
}

/// Opens a file whose lock is what counts; makes it, empty, where there is none. It may be a child's standard input.
pub(crate) fn for_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Puts a file with that content in one step: it is there whole, and survives a power cut, once this
/// returns.
///
/// # Errors
/// The file cannot be written; what stood there still stands.
pub(crate) fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    private_dir(dir)?;
    let temporary = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    // Locked, it is nobody's leftover, even where this process cannot be seen (another container's).
    file.lock()?;
    file.write_all(content)?;
    file.sync_all()?;
    fault::point("put:written");
    std::fs::rename(&temporary, path)?;
    fault::point("put:renamed");
    File::open(dir)?.sync_all()
}

/// Opens a file that a person names. What is no file (a pipe would never end) is refused, and not waited for.
///
/// # Errors
/// There is none, it cannot be opened, or (`InvalidInput`) it is no file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let at_once = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(at_once).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::from(io::ErrorKind::InvalidInput)) }
}

/// Removes a file; that there is none is no fault.
///
/// # Errors
/// The file is there and cannot be removed.
pub(crate) fn drop(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Removes the temporary files in `dir` that processes left which died while they wrote, and nothing else.
pub(crate) fn sweep(dir: &Path, of: Temporaries) {
    for path in left(dir, of) {
        let _ = drop(&path);
    }
}

/// The temporary files in `dir` that processes left which died while they wrote.
pub(crate) fn left(dir: &Path, of: Temporaries) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let writer = entry.file_name().to_str().and_then(|name| of.writer(name));
        let gone = writer.is_some_and(|pid| rustix::process::test_kill_process(pid).is_err());
        // Its writer may be a process that cannot be seen from here (another container's), and holds its lock then.
        let free = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        gone && free()
    });
    left.map(|entry| entry.path()).collect()
}

/// Whether a folder is there and can be written, or could be made: looks, and makes nothing.
pub(crate) fn could_be(dir: &Path) -> bool {
    use rustix::fs::{Access, access};
    let there = dir.ancestors().find(|above| above.symlink_metadata().is_ok());
    there.is_some_and(|there| there.is_dir() && access(there, Access::WRITE_OK | Access::EXEC_OK).is_ok())
}

/// What temporary files a folder has of us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Temporaries {
    /// `NAME.PID.new`: of [`put`] of that one file.
    Named(&'static str),
    /// `<uuid>.PID.new`: of [`put`] of a file by ticket or request.
    ById,
    /// `<64 hexadecimal digits>.PID.new`: of [`put`] of a result.
    ByKey,
    /// `<number>.PID.new`: of [`put`] of a note about a check's worktree.
    ByNumber,
    /// `.<uuid>.PID`: a ticket's lock that is not in its place yet.
    Locks,
}

impl Temporaries {
    /// Who wrote the temporary file of that name, if it is one of these.
    fn writer(self, name: &str) -> Option<rustix::process::Pid> {
        let (stem, pid) = match self {
            Self::Locks => name.strip_prefix('.')?.rsplit_once('.')?,
            _ => name.strip_suffix(".new")?.rsplit_once('.')?,
        };
        let ours = match self {
            Self::Named(name) => stem == name,
            Self::ById | Self::Locks => is_id(stem),
            Self::ByKey => is_key(stem),
            Self::ByNumber => plain_number(stem).is_some(),
        };
        plain_number(pid).filter(|_| ours).and_then(rustix::process::Pid::from_raw)
    }
}

/// The temporaries of the state folder itself and of each folder in it.
pub(crate) const STATE_TEMPORARIES: [(&str, Temporaries); 6] = [
    ("", Temporaries::Named("settings")),
    ("intents", Temporaries::ById),
    ("live", Temporaries::Locks),
    ("kept", Temporaries::ById),
    ("mints", Temporaries::ById),
    ("results", Temporaries::ByKey),
];

/// A number as it is printed: no sign, no leading zero.
fn plain_number(text: &str) -> Option<i32> {
    text.parse().ok().filter(|n: &i32| *n >= 0 && n.to_string() == text)
}

/// Whether a name is a ticket's or a request's id.
pub(crate) fn is_id(name: &str) -> bool {
    name.parse::<Id>().is_ok()
}

/// Whether a name is a result's key: 64 hexadecimal digits.
pub(crate) fn is_key(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a name in `logs/` is a check's log, as [`log_name`] makes it.
pub(crate) fn is_log(name: &str) -> bool {
    name.strip_suffix(".log").is_some_and(|stem| is_id(stem.strip_suffix("-trunk").unwrap_or(stem)))
}

/// The name of a check's log: of the branch in its turn, or of the trunk alone.
pub(crate) fn log_name(ticket: &Id, in_turn: bool) -> String {
    format!("{}{}.log", ticket.as_str(), if in_turn { "" } else { "-trunk" })
}

/// Whether a name directly in a state folder is one that we give.
pub(crate) fn in_state(name: &str) -> bool {
    const FILES: [&str; 3] = ["state.bell", "settings.toml", "settle.lock"];
    const FOLDERS: [&str; 8] = ["intents", "live", "kept", "logs", "results", "mints", "checks", "slots"];
    // The database has files beside it, and a person may have set a damaged one aside under such a name.
    name.starts_with("state.db")
        || FILES.contains(&name)
        || FOLDERS.contains(&name)
        || Temporaries::Named("settings").writer(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        for path in [&*pipe, dir.path(), Path::new("/dev/zero")] {
            assert_eq!(open_regular(path).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{path:?}");
        }
        assert_eq!(open_regular(&dir.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        let file = dir.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert!(open_regular(&file).is_ok());
    }

    #[test]
    fn only_names_of_our_own_making_are_temporaries() {
        let id = Id::random();
        let (id, key) = (id.as_str(), "0af".repeat(21) + "0");
        let yes = [
            (Temporaries::Named("settings"), "settings.12.new".to_owned()),
            (Temporaries::Named(".signalbox.toml"), ".signalbox.toml.12.new".to_owned()),
            (Temporaries::ById, format!("{id}.12.new")),
            (Temporaries::ByKey, format!("{key}.12.new")),
            (Temporaries::ByNumber, "0.12.new".to_owned()),
            (Temporaries::Locks, format!(".{id}.12")),
        ];
        let of_ours = ["settings.toml", "12.new", "settings.x.new", "settings.+1.new", "settings.0.new"];
        let foreign = ["notes.12.new", ".notes.12", ".12", "a.settings.12.new", "0.012.new", ""];
        for (kind, _) in &yes {
            for (other, name) in &yes {
                assert_eq!(kind.writer(name).is_some(), kind == other, "{kind:?} {name}");
            }
            for name in of_ours.iter().chain(&foreign) {
                assert_eq!(kind.writer(name), None, "{kind:?} {name}");
            }
            for name in [id.to_owned(), format!("{id}.json"), format!("{id}.lock"), key.clone()] {
                assert_eq!(kind.writer(&name), None, "{kind:?} {name}");
            }
        }
        let ticket: Id = id.parse().unwrap();
        assert!(is_log(&log_name(&ticket, true)) && is_log(&log_name(&ticket, false)));
        assert!(!is_log("build.log") && !is_log("-trunk.log") && !is_log(id));
        assert!(in_state("state.db-wal") && in_state("settings.12.new") && !in_state("notes"));
    }
}
