//! What the demo stands on: a bare remote, a repository, and eight worktrees with a branch each. And the two
//! places where it can make time stand still: a check, and a push that has arrived at the remote.

use super::Trouble;
use super::programs::{Programs, Running};
use passage::end::quoted;
use std::path::{Path, PathBuf};

/// The two that each add a decision record.
pub(super) const CACHE: &str = "adr-cache";
pub(super) const RETRIES: &str = "adr-retries";
/// The one whose holder is stopped, and the one that waits behind it.
pub(super) const GIFT_CARDS: &str = "gift-cards";
pub(super) const STOCK: &str = "stock";
/// The one that is killed, and comes again while somebody pushes past the queue.
pub(super) const REFUNDS: &str = "refunds";
/// The two that are green alone and red together.
pub(super) const RENAME: &str = "rename-total";
pub(super) const DISCOUNT: &str = "add-discount";
/// The one that changes the line that was changed by hand.
pub(super) const VAT: &str = "vat-20";

/// The eight branches.
pub(super) const BRANCHES: [&str; 8] = [CACHE, RETRIES, GIFT_CARDS, STOCK, REFUNDS, RENAME, DISCOUNT, VAT];

/// The project's check. A test run in a real project takes longer; the demo can hold this one.
const CHECK: &str = "\
# The tests: every feature must run.
sleep 0.1
while [ -e \"${HOLD:-/none}\" ]; do : > \"$HOLD.here\"; sleep 0.02; done
for feature in features/*.sh; do sh -eu \"$feature\" > /dev/null || exit 1; done
git rev-parse 'HEAD^{tree}' >> \"${CHECKED:-/dev/null}\"
";

/// One half of the demo.
pub(super) struct Ground<'a> {
    pub(super) programs: &'a Programs,
    dir: PathBuf,
}

impl<'a> Ground<'a> {
    /// Makes it, in a folder that does not exist yet.
    pub(super) fn make(programs: &'a Programs, dir: PathBuf) -> Result<Self, Trouble> {
        std::fs::create_dir(&dir)?;
        let ground = Self { programs, dir };
        ground.make_remote()?;
        ground.make_repository()?;
        for branch in BRANCHES {
            ground.make_branch(branch)?;
        }
        Ok(ground)
    }

    fn make_remote(&self) -> Result<(), Trouble> {
        let remote = self.remote();
        self.programs.git(&self.dir, &["init", "-q", "--bare", "-b", "main", "trunk.git"])?;
        // Its register of every move of the trunk is read afterwards.
        self.programs.git(&remote, &["config", "core.logAllRefUpdates", "always"])?;
        let file = |name: &str| quoted(&self.dir.join(name).display().to_string());
        let hook = format!(
            "#!/bin/sh\n# Stands in for a network: a push takes a moment, or as long as the demo wants.\n\
             cat > /dev/null\n: > {arrived}\nsleep 0.02\nwhile [ -e {slow} ]; do sleep 0.02; done\n",
            arrived = file("arrived"),
            slow = file("slow"),
        );
        executable(&remote.join("hooks/pre-receive"), &hook)
    }

    fn make_repository(&self) -> Result<(), Trouble> {
        let shop = self.shop();
        self.programs.git(&self.dir, &["init", "-q", "-b", "main", "shop"])?;
        self.programs.git(&shop, &["config", "user.name", "Demo"])?;
        self.programs.git(&shop, &["config", "user.email", "demo@localhost"])?;
        for (file, text) in [
            ("check", CHECK),
            ("lib/price.sh", "total() { echo $(( $1 * $2 )); }\n"),
            ("lib/vat.sh", "vat=19\n"),
            ("features/cart.sh", ". lib/price.sh\ntotal 2 3\n"),
            ("docs/adr/0001-shell.md", "# 1 Write it in shell\n"),
            ("docs/adr/0002-one-trunk.md", "# 2 One trunk\n"),
        ] {
            write(&shop.join(file), text)?;
        }
        self.commit(&shop, "a small shop")?;
        self.programs.git(&shop, &["remote", "add", "origin", &self.remote().display().to_string()])?;
        self.programs.git(&shop, &["push", "-q", "-u", "origin", "main"])?;
        Ok(())
    }

    fn make_branch(&self, branch: &str) -> Result<(), Trouble> {
        let tree = self.worktree(branch);
        let path = tree.display().to_string();
        self.programs.git(&self.shop(), &["worktree", "add", "-q", "-b", branch, &path])?;
        let files: &[(&str, &str)] = match branch {
            GIFT_CARDS => &[("features/gift-cards.sh", "echo a gift card\n")],
            STOCK => &[("features/stock.sh", "echo in stock\n")],
            REFUNDS => &[("features/refunds.sh", "echo a refund\n")],
            RENAME => &[
                ("lib/price.sh", "sum() { echo $(( $1 * $2 )); }\n"),
                ("features/cart.sh", ". lib/price.sh\nsum 2 3\n"),
            ],
            DISCOUNT => &[("features/discount.sh", ". lib/price.sh\ntotal 2 2\n")],
            VAT => &[("lib/vat.sh", "vat=20\n")],
            // A decision record gets its number first.
            _ => return Ok(()),
        };
        for (file, text) in files {
            write(&tree.join(file), text)?;
        }
        self.commit(&tree, branch)
    }

    /// Commits all that is in a worktree.
    pub(super) fn commit(&self, tree: &Path, subject: &str) -> Result<(), Trouble> {
        self.programs.git(tree, &["add", "-A"])?;
        self.programs.git(tree, &["commit", "-q", "-m", subject]).map(drop)
    }

    /// The folder of this half.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The remote.
    pub(super) fn remote(&self) -> PathBuf {
        self.dir.join("trunk.git")
    }

    /// The repository.
    pub(super) fn shop(&self) -> PathBuf {
        self.dir.join("shop")
    }

    /// The worktree of a branch.
    pub(super) fn worktree(&self, branch: &str) -> PathBuf {
        self.dir.join(branch)
    }

    /// From now on a push that has arrived at the remote gets no answer.
    pub(super) fn slow_remote(&self) -> Result<(), Trouble> {
        let _ = std::fs::remove_file(self.dir.join("arrived"));
        write(&self.dir.join("slow"), "")
    }

    /// Waits until a push has arrived.
    pub(super) fn push_arrived(&self) -> Result<(), Trouble> {
        let arrived = self.dir.join("arrived");
        self.programs.until("a push", || Ok(arrived.exists()))
    }

    /// The remote answers again.
    pub(super) fn quick_remote(&self) -> Result<(), Trouble> {
        std::fs::remove_file(self.dir.join("slow")).map_err(Trouble::from)
    }

    /// A file that holds a check for as long as it is there.
    pub(super) fn hold(&self) -> Result<Hold<'_>, Trouble> {
        let path = self.dir.join("hold");
        let _ = std::fs::remove_file(path.with_extension("here"));
        write(&path, "")?;
        Ok(Hold { ground: self, path })
    }

    /// Somebody who knows nothing of a queue changes a line and pushes it. Gives the commit.
    pub(super) fn push_past(&self) -> Result<String, Trouble> {
        let elsewhere = self.dir.join("elsewhere");
        let remote = self.remote().display().to_string();
        self.programs.git(&self.dir, &["clone", "-q", &remote, "elsewhere"])?;
        write(&elsewhere.join("lib/vat.sh"), "vat=21\n")?;
        self.commit(&elsewhere, "vat is 21 now (pushed by hand)")?;
        self.programs.git(&elsewhere, &["push", "-q", "origin", "main"])?;
        self.programs.git(&elsewhere, &["rev-parse", "HEAD"])
    }

    /// Merges the trunk into a branch as a person would, with the conflict in that file solved so, and
    /// commits.
    pub(super) fn mend(&self, branch: &str, file: &str, text: &str) -> Result<(), Trouble> {
        let tree = self.worktree(branch);
        self.programs.git(&tree, &["fetch", "-q", "origin"])?;
        self.programs.run(&tree, "git", &["merge", "-q", "--no-commit", "--no-ff", "origin/main"])?;
        write(&tree.join(file), text)?;
        self.commit(&tree, &format!("{branch}: take in the trunk"))
    }
}

/// Holds a check.
pub(super) struct Hold<'a> {
    ground: &'a Ground<'a>,
    path: PathBuf,
}

impl Hold<'_> {
    /// Where it is, for the environment.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until a check stands here.
    pub(super) fn reached(&self, by: &mut Running<'_>) -> Result<(), Trouble> {
        let here = self.path.with_extension("here");
        self.ground.programs.until("a check", || {
            if here.exists() {
                return Ok(true);
            }
            if by.ended()? {
                return Err(Trouble::Failed(format!("it ended before its check: {:?}", by.lines().last())));
            }
            Ok(false)
        })
    }

    /// Lets the check go on.
    pub(super) fn open(self) -> Result<(), Trouble> {
        std::fs::remove_file(&self.path).map_err(Trouble::from)
    }
}

/// Writes a file, and the folders that it is in.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Trouble> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(path, text).map_err(Trouble::from)
}

/// Writes a file that can be run.
pub(super) fn executable(path: &Path, text: &str) -> Result<(), Trouble> {
    use std::os::unix::fs::PermissionsExt;
    write(path, text)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(Trouble::from)
}
