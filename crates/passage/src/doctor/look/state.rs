//! Looks at the state's folder and file, and at clocks.

use crate::doctor::judge::state::{Clocks, State};
use crate::site::{Site, full, unusable_state};
use kernel::{Clock, Millis};
use rustix::fs::{Mode, OFlags, fstat, open, statvfs};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use store::{Options, Standing, StateFile};

/// Opens the state in that folder and checks all of it. Nothing is made where none is.
pub(in crate::doctor) fn look(
    dir: &Path,
    options: &Options,
    clock: &dyn Clock,
) -> (State, Option<StateFile>) {
    let opened = StateFile::open(dir, options, clock);
    let checked = opened.and_then(|file| file.check().map(|()| file));
    let (file, unusable) = match checked {
        Ok(file) => (Some(file), None),
        Err(error) => (None, Some(unusable_state(dir, &error))),
    };
    let meta = std::fs::metadata(dir).ok();
    let above = dir.ancestors().find(|above| above.exists()).unwrap_or(dir);
    let facts = State {
        dir: dir.to_path_buf(),
        unusable,
        files: ["state.db", "state.db-wal", "state.db-shm"]
            .map(|name| dir.join(name))
            .into_iter()
            .filter(|path| there(path))
            .collect(),
        aside: aside(dir),
        owner: meta.as_ref().map(|meta| (meta.uid(), rustix::process::geteuid().as_raw())),
        open: meta.is_some_and(|meta| meta.mode() & 0o001 != 0),
        free: statvfs(above).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
        full: full(above),
    };
    (facts, file)
}

fn there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A name for what is set aside: one that a state folder may hold, and that is free.
fn aside(dir: &Path) -> PathBuf {
    let name = |n: u32| {
        dir.join(if n == 0 { "state.db.damaged".to_owned() } else { format!("state.db.damaged-{n}") })
    };
    (0..1_000).map(name).find(|path| !there(path)).unwrap_or_else(|| name(1_000))
}

/// What the project has come to by now.
pub(in crate::doctor) fn standing(site: &Site) -> Option<Standing> {
    let file = StateFile::open(&site.state, &Options::default(), site.clock.as_ref()).ok()?;
    file.standing().ok()
}

/// Looks at the clocks.
pub(in crate::doctor) fn clocks(dir: &Path, standing: &Standing, clock: &dyn Clock) -> Clocks {
    let files = files_clock(dir);
    Clocks { now: clock.now(), project: standing.time, files }
}

/// What time the file system gives to a file that is made now. The file has no name, so that nothing of it stays.
fn files_clock(dir: &Path) -> Option<Millis> {
    let file = open(dir, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR).ok()?;
    let stat = fstat(&file).ok()?;
    let milliseconds = i64::try_from(stat.st_mtime_nsec / 1_000_000).ok()?;
    stat.st_mtime.checked_mul(1_000)?.checked_add(milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::code::Code;
    use crate::doctor::judge::state::judge;
    use kernel::SystemClock;
    use store::FileSystem;

    #[test]
    fn a_state_on_a_network_file_system_is_named_until_it_is_on_a_local_one() {
        let folder = tempfile::tempdir().unwrap();
        let dir = &folder.path().join("state");
        let clock = SystemClock;
        StateFile::create_or_open(dir, &Options::default(), &clock).unwrap();
        let nfs =
            Options { file_system: Some(FileSystem { magic: 0x6969, fuse: None }), ..Options::default() };
        let (facts, file) = look(dir, &nfs, &clock);
        let found = judge(&facts);
        assert!(file.is_none());
        assert_eq!(found[0].code, Code::StateOnNetwork);
        assert!(found[0].end.line.contains("point --state to a local disk"), "{}", found[0].end.line);
        let (facts, file) = look(dir, &Options::default(), &clock);
        assert!(
            file.is_some() && judge(&facts).iter().all(|f| f.code == Code::State || f.code == Code::DiskLow)
        );
    }

    #[test]
    fn the_clock_of_the_file_system_is_asked_without_a_trace() {
        let dir = tempfile::tempdir().unwrap();
        let Some(time) = files_clock(dir.path()) else { return };
        assert!(time > 1_700_000_000_000);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
