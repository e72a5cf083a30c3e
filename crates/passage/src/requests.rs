//! Which floor a mint was sent with, by its request id: a repeat must be the same call, though the trunk
//! may use higher numbers by now.

use crate::files;
use crate::numbers::Floor;
use kernel::Id;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a floor is remembered: a day longer than the box remembers the request.
const KEPT: Duration = Duration::from_secs(8 * 24 * 60 * 60);

/// The requests of a state folder.
#[derive(Debug)]
pub(crate) struct Requests {
    dir: PathBuf,
}

impl Requests {
    /// The requests in that state folder.
    pub(crate) fn of(state: &Path) -> Self {
        Self { dir: state.join("mints") }
    }

    fn path(&self, request: &Id) -> PathBuf {
        self.dir.join(request.as_str())
    }

    /// The floor that was sent with a request in which the caller asked for `asked`.
    pub(crate) fn sent(&self, request: &Id, asked: &Floor) -> Option<i64> {
        let text = std::fs::read_to_string(self.path(request)).ok()?;
        let (sent, stood) = text.split_once('\n')?;
        (stood == format!("{asked:?}")).then(|| sent.parse().ok()).flatten()
    }

    /// Remembers the floor that is about to be sent.
    pub(crate) fn remember(&self, request: &Id, asked: &Floor, sent: i64) -> io::Result<()> {
        self.forget_old();
        files::put(&self.path(request), format!("{sent}\n{asked:?}").as_bytes())
    }

    fn forget_old(&self) {
        for entry in std::fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if !entry.file_name().to_str().is_some_and(files::is_id) {
                continue;
            }
            let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
            if age.is_some_and(|age| age > KEPT) {
                // One that stays is dropped the next time.
                let _ = files::drop(&entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_remembered_for_the_same_question_only() {
        let dir = tempfile::tempdir().unwrap();
        let requests = Requests::of(dir.path());
        let (id, asked) = (Id::random(), Floor { number: None, glob: Some("a\nb".into()) });
        assert_eq!(requests.sent(&id, &asked), None);
        requests.remember(&id, &asked, 41).unwrap();
        assert_eq!(requests.sent(&id, &asked), Some(41));
        assert_eq!(requests.sent(&id, &Floor { number: Some(3), glob: None }), None);
        assert_eq!(requests.sent(&Id::random(), &asked), None);
    }
}
