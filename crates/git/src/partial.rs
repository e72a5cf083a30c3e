//! Partial clones: the objects that one left out are fetched before they are read.
//!
//! Git would fetch each where it is missed, but under the configuration of the call that misses it. A call that
//! reads trees knows neither the user's URLs nor the user's keys.

use crate::process::Call;
use crate::repo::{fields, oid_line, reached};
use crate::{GitError, Oid, Repo, TrunkError};

/// What of some commits must be here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need<'a> {
    /// The names of all files.
    Trees,
    /// The names of all files, and the content of this one.
    File(&'a str),
    /// The content of all files.
    Files,
}

/// How deep a tree may be of which not even the names are here.
const ROUNDS: usize = 64;

impl Repo {
    /// Makes sure that what is needed of these commits is here. In a repository that is no partial clone it is.
    ///
    /// # Errors
    /// [`TrunkError::Unreachable`] if the remote that has it cannot be read.
    pub fn complete(&self, commits: &[&Oid], need: Need<'_>) -> Result<(), TrunkError> {
        let Some(promisor) = self.promisor()? else { return Ok(()) };
        self.complete_from(&promisor, || self.missing(commits, &["--filter=blob:none"], &[]))?;
        match need {
            Need::Trees => Ok(()),
            Need::File(path) => self.complete_from(&promisor, || self.missing(commits, &[], &["--", path])),
            Need::Files => self.complete_from(&promisor, || self.missing(commits, &[], &[])),
        }
    }

    fn complete_from(
        &self,
        promisor: &str,
        missing: impl Fn() -> Result<Vec<Oid>, GitError>,
    ) -> Result<(), TrunkError> {
        for _ in 0..ROUNDS {
            let missing = missing()?;
            if missing.is_empty() {
                return Ok(());
            }
            reached(self.fetch_objects(promisor, &missing))?;
        }
        Err(GitError::unreadable("fetch", "objects that are missing though they were fetched").into())
    }

    /// The objects that these commits' trees name and that are not here. Below a tree that is missing nothing is
    /// known yet.
    fn missing(&self, commits: &[&Oid], options: &[&str], paths: &[&str]) -> Result<Vec<Oid>, GitError> {
        let call = self.content().top("--literal-pathspecs");
        let call = call.args(["rev-list", "--objects", "--no-walk", "--missing=print"]).args(options);
        let out = call.args(commits.iter().map(|commit| commit.as_str())).args(paths).stdout()?;
        let lines = out.split(|b| *b == b'\n').filter_map(|line| line.strip_prefix(b"?"));
        lines.map(|line| oid_line(line, "rev-list")).collect()
    }

    fn fetch_objects(&self, promisor: &str, objects: &[Oid]) -> Call {
        let call = self.reading().config("fetch.negotiationAlgorithm=noop");
        let call =
            call.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]);
        let call = call.args(["--refmap=", "--no-recurse-submodules", "--filter=blob:none", "--stdin"]);
        let wanted: String = objects.iter().map(|oid| format!("{oid}\n")).collect();
        call.args(["--end-of-options", promisor]).stdin(wanted)
    }

    /// The remote that promised what this partial clone left out; none where all is here.
    ///
    /// # Errors
    /// If git cannot be run.
    pub fn promisor(&self) -> Result<Option<String>, GitError> {
        // One look at the file spares every other repository a call of git.
        let config = std::fs::read(self.common_dir().join("config")).unwrap_or_default();
        let config = config.to_ascii_lowercase();
        let says = |word: &[u8]| config.windows(word.len()).any(|part| part == word);
        if !says(b"promisor") && !says(b"partialclone") {
            return Ok(None);
        }
        let old = self.config("extensions.partialclone")?;
        let call = self.user(self.home()).args(["config", "-z", "--get-regexp", r"^remote\..*\.promisor$"]);
        let out = call.run()?.stdout;
        let named = fields(&out).find_map(|field| {
            let text = String::from_utf8_lossy(field);
            let (key, value) = text.split_once('\n').unwrap_or((&text, "true"));
            let name = key.strip_prefix("remote.")?.strip_suffix(".promisor")?;
            (!["false", "no", "off", "0"].contains(&value)).then(|| name.to_owned())
        });
        Ok(named.or(old))
    }
}
