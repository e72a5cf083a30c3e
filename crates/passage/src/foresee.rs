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

/// How many landings back a trunk is looked for that was met before.
const LANDINGS_MAX: usize = 16;

/// See the module. What was merged once is not merged again, also when it has landed meanwhile.
pub(crate) struct Foresight<'a> {
    site: &'a Site,
    /// The trunk's, as they are now.
    settings: Settings,
    merges: HashMap<(Oid, Oid), Onto>,
    trees: HashMap<Oid, Oid>,
    /// For each trunk that was met the commit that stands for it.
    stands_for: HashMap<Oid, Oid>,
}

impl<'a> Foresight<'a> {
    /// Merges as those settings say.
    pub(crate) fn new(site: &'a Site, settings: Settings) -> Self {
        let (merges, trees, stands_for) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { site, settings, merges, trees, stands_for }
    }

    /// Other settings: what was merged with other ones counts no more.
    pub(crate) fn settings(&mut self, settings: Settings) {
        if self.settings != settings {
            self.settings = settings;
            self.forget();
        }
    }

    /// How many checks may run at once.
    pub(crate) fn parallel(&self) -> u32 {
        self.settings.check.parallel
    }

    /// Forgets all merges: their objects may have been collected.
    pub(crate) fn forget(&mut self) {
        self.merges.clear();
        self.trees.clear();
        self.stands_for.clear();
    }

    /// The commit that stands for a trunk: where one ahead has landed as it was foreseen, the commit that was made for
    /// that, which differs only in author, time and message. So what was merged onto it counts.
    ///
    /// # Errors
    /// Git failed.
    pub(crate) fn trunk(&mut self, trunk: &Oid) -> Result<Oid, GitError> {
        let repo = &self.site.repo;
        // Back to a trunk that was met: each step is a landing that was not looked at.
        let mut steps: Vec<(Oid, Vec<Oid>)> = Vec::new();
        let mut at = trunk.clone();
        let mut stand_in = loop {
            if let Some(stand_in) = self.stands_for.get(&at) {
                break stand_in.clone();
            }
            let parents = repo.parents_of(&at)?;
            let before = parents.first().cloned();
            steps.push((at, parents));
            match before.filter(|_| steps.len() <= LANDINGS_MAX && !self.stands_for.is_empty()) {
                Some(before) => at = before,
                None => {
                    self.stands_for.insert(trunk.clone(), trunk.clone());
                    return Ok(trunk.clone());
                }
            }
        };
        for (commit, parents) in steps.into_iter().rev() {
            let parents: Vec<&Oid> = std::iter::once(&stand_in).chain(parents.iter().skip(1)).collect();
            stand_in = repo.scratch_commit(&repo.tree_of(&commit)?, &parents)?;
            self.stands_for.insert(commit, stand_in.clone());
        }
        Ok(stand_in)
    }

    /// A commit's tree.
    ///
    /// # Errors
    /// Git failed.
    pub(crate) fn tree(&mut self, commit: &Oid) -> Result<Oid, GitError> {
        if let Some(tree) = self.trees.get(commit) {
            return Ok(tree.clone());
        }
        let tree = self.site.repo.tree_of(commit)?;
        self.trees.insert(commit.clone(), tree.clone());
        Ok(tree)
    }

    fn fit(&mut self, base: &Oid, head: &Oid) -> Result<Onto, GitError> {
        let repo = &self.site.repo;
        let squash = self.settings.land.strategy == Strategy::Squash;
        Ok(match fit(repo, base, head, squash) {
            Ok(Fit::Tree(tree)) => {
                let parents: &[&Oid] = if squash { &[base] } else { &[base, head] };
                let commit = repo.scratch_commit(&tree, parents)?;
                self.trees.insert(commit.clone(), tree);
                Onto::Clean(commit)
            }
            Ok(Fit::Nothing) => Onto::Nothing,
            Ok(Fit::Conflict { paths, .. }) => {
                Onto::Conflict(paths.iter().map(|path| path.to_str_lossy().into_owned()).collect())
            }
            Ok(Fit::Unrelated) => Onto::Conflict(Vec::new()),
            Err(_) if repo.resolve(head.as_str())?.is_none() => Onto::Missing,
            Err(error) => return Err(error),
        })
    }
}

impl World for Foresight<'_> {
    type Error = GitError;

    fn merge(&mut self, base: &Oid, head: &Oid) -> Result<Onto, GitError> {
        let key = (base.clone(), head.clone());
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
        let tree = self.tree(commit)?;
        let question = Question::of(self.site, &self.settings, &tree);
        Ok(question.and_then(|question| self.site.results().get(&question.key)))
    }
}
