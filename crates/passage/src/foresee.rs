//! A repository as the world of a forecast: merges that no ref or worktree sees.

use crate::check::Question;
use crate::forecast::{Onto, World};
use crate::merging::{Fit, fit};
use crate::results::Verdict;
use crate::settings::{Settings, Strategy};
use crate::site::Site;
use bstr::ByteSlice;
use git::{GitError, Oid};
use std::collections::HashMap;

/// See the module. What was merged once is not merged again.
pub(crate) struct Foresight<'a> {
    site: &'a Site,
    /// The trunk's, as they are now.
    settings: Settings,
    merges: HashMap<(String, String), Onto>,
}

impl<'a> Foresight<'a> {
    /// Merges as those settings say.
    pub(crate) fn new(site: &'a Site, settings: Settings) -> Self {
        Self { site, settings, merges: HashMap::new() }
    }

    /// Other settings: what was merged with other ones counts no more.
    pub(crate) fn settings(&mut self, settings: Settings) {
        if self.settings != settings {
            self.settings = settings;
            self.merges.clear();
        }
    }

    /// Forgets all merges: their objects may have been collected.
    pub(crate) fn forget(&mut self) {
        self.merges.clear();
    }

    fn fit(&self, base: &Oid, head: &Oid) -> Result<Onto, GitError> {
        let repo = &self.site.repo;
        if repo.resolve(head.as_str())?.is_none() {
            return Ok(Onto::Missing);
        }
        let squash = self.settings.land.strategy == Strategy::Squash;
        Ok(match fit(repo, base, head, squash)? {
            Fit::Tree(tree) if squash => Onto::Clean(repo.scratch_commit(&tree, &[base])?),
            Fit::Tree(tree) => Onto::Clean(repo.scratch_commit(&tree, &[base, head])?),
            Fit::Nothing => Onto::Nothing,
            Fit::Conflict { paths, .. } => {
                Onto::Conflict(paths.iter().map(|path| path.to_str_lossy().into_owned()).collect())
            }
            Fit::Unrelated => Onto::Conflict(Vec::new()),
        })
    }
}

impl World for Foresight<'_> {
    type Error = GitError;

    fn merge(&mut self, base: &Oid, head: &Oid) -> Result<Onto, GitError> {
        let key = (base.as_str().to_owned(), head.as_str().to_owned());
        if let Some(known) = self.merges.get(&key) {
            return Ok(known.clone());
        }
        let onto = self.fit(base, head)?;
        // An object that is missing may come.
        if onto != Onto::Missing {
            self.merges.insert(key, onto.clone());
        }
        Ok(onto)
    }

    fn verdict(&mut self, commit: &Oid) -> Result<Option<Verdict>, GitError> {
        let tree = self.site.repo.tree_of(commit)?;
        let question = Question::of(self.site, &self.settings, &tree);
        Ok(question.and_then(|question| self.site.results().get(&question.key)))
    }
}
