//! Looking at a repository afterwards. The table says what is found here, not what a program said of itself.

use super::Trouble;
use super::ground::{BRANCHES, Ground};
use std::collections::BTreeMap;

/// How a worktree stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    head: String,
    status: String,
}

/// What the trunk has in the end.
pub(super) struct Final {
    /// How often the work of each branch stands in the trunk.
    pub(super) landed: BTreeMap<&'static str, usize>,
    /// The numbers that two decision records have.
    pub(super) doubles: Vec<String>,
    /// Whether its check fails.
    pub(super) red: bool,
    /// Whether the commit that was pushed by hand is in it.
    pub(super) by_hand: bool,
}

impl Final {
    /// How many branches landed once.
    pub(super) fn once(&self) -> usize {
        self.landed.values().filter(|times| **times == 1).count()
    }

    /// Whether all is as it should be.
    pub(super) fn sound(&self) -> bool {
        self.once() == BRANCHES.len() && self.doubles.is_empty() && !self.red && self.by_hand
    }
}

impl Ground<'_> {
    /// How often the work of a branch stands in the trunk: as a commit, or as a merge of it into the trunk.
    pub(super) fn landed(&self, branch: &str) -> Result<usize, Trouble> {
        let tips = self.programs.git(&self.remote(), &["log", "-g", "--format=%H", "main"])?;
        let log = self.programs.git(&self.remote(), &["log", "--format=%P%x09%s", "main"])?;
        self.landed_in(&tips, &log, branch)
    }

    /// The same, where the trunk's earlier commits and its log are at hand.
    fn landed_in(&self, tips: &str, log: &str, branch: &str) -> Result<usize, Trouble> {
        let head = self.programs.git(&self.worktree(branch), &["rev-parse", "HEAD"])?;
        let (mut commits, mut merges) = (0, 0);
        for (parents, subject) in log.lines().filter_map(|line| line.split_once('\t')) {
            match parents.split_once(' ') {
                // A merge of the trunk into a branch has them the other way round.
                Some((first, others)) if tips.contains(first) => {
                    merges += usize::from(others.contains(&head));
                }
                Some(_) => {}
                None => commits += usize::from(subject == branch),
            }
        }
        Ok(commits.max(merges))
    }

    /// The numbers that more than one decision record of the trunk has.
    pub(super) fn doubles(&self) -> Result<Vec<String>, Trouble> {
        let names = self.programs.git(&self.remote(), &["ls-tree", "--name-only", "main", "docs/adr/"])?;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for name in names.lines() {
            let number: String = name.trim_start_matches("docs/adr/").chars().take(4).collect();
            *counts.entry(number).or_default() += 1;
        }
        Ok(counts.into_iter().filter(|(_, count)| *count > 1).map(|(number, _)| number).collect())
    }

    /// Whether the trunk's check fails, in a clean checkout of it.
    pub(super) fn red(&self) -> Result<bool, Trouble> {
        let look = self.dir().join("look");
        let path = look.display().to_string();
        self.programs.git(&self.remote(), &["worktree", "add", "-q", "--detach", &path, "main"])?;
        let green = self.programs.run(&look, "env", &["CHECKED=/dev/null", "sh", "./check"])?.0;
        self.programs.git(&self.remote(), &["worktree", "remove", "--force", &path])?;
        Ok(!green)
    }

    /// Whether the trunk as it is now has been checked before it became the trunk.
    pub(super) fn was_checked(&self) -> Result<bool, Trouble> {
        let tree = self.programs.git(&self.remote(), &["rev-parse", "main^{tree}"])?;
        let checked = std::fs::read_to_string(self.programs.checked()).unwrap_or_default();
        Ok(checked.lines().any(|line| line == tree))
    }

    /// Whether the trunk has a commit.
    pub(super) fn has(&self, commit: &str) -> Result<bool, Trouble> {
        let args = ["merge-base", "--is-ancestor", commit, "main"];
        self.programs.run(&self.remote(), "git", &args).map(|(is, _)| is)
    }

    /// How a worktree stands: its commit, and what `git status` says of it.
    pub(super) fn standing(&self, branch: &str) -> Result<Standing, Trouble> {
        let tree = self.worktree(branch);
        let head = self.programs.git(&tree, &["rev-parse", "HEAD"])?;
        let status = self.programs.git(&tree, &["status", "--porcelain=v2", "--untracked-files=all"])?;
        Ok(Standing { head, status })
    }

    /// What the trunk has in the end.
    pub(super) fn finally(&self, by_hand: &str) -> Result<Final, Trouble> {
        let tips = self.programs.git(&self.remote(), &["log", "-g", "--format=%H", "main"])?;
        let log = self.programs.git(&self.remote(), &["log", "--format=%P%x09%s", "main"])?;
        let mut landed = BTreeMap::new();
        for branch in BRANCHES {
            landed.insert(branch, self.landed_in(&tips, &log, branch)?);
        }
        Ok(Final { landed, doubles: self.doubles()?, red: self.red()?, by_hand: self.has(by_hand)? })
    }
}
