//! `.signalbox.toml`: what a repository says about its trunk, its check and its number lines.

use crate::files;
use crate::template::Template;
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The file's name, at the top of the worktree and of the trunk.
pub const FILE: &str = ".signalbox.toml";

/// One settings file.
///
/// Which remote and branch is the trunk comes from the worktree's file (or from the copy that `init`
/// keeps). All else is read from the trunk's own file, so that a branch cannot switch off its own check.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Which branch is the trunk, and where.
    pub trunk: TrunkAt,
    /// How a branch lands.
    #[serde(skip_serializing_if = "is_default")]
    pub land: Land,
    /// What must pass before a branch lands.
    pub check: Check,
    /// The number lines.
    #[serde(rename = "line", skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
}

/// Which branch is the trunk, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrunkAt {
    /// A remote's name, or `.` for this repository itself.
    pub remote: String,
    /// The branch.
    pub branch: String,
}

impl Default for TrunkAt {
    fn default() -> Self {
        Self { remote: ".".into(), branch: "main".into() }
    }
}

/// How a branch lands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Land {
    /// `merge` (a merge commit for each branch) or `squash` (one new commit for each branch).
    pub strategy: Strategy,
}

/// How a branch becomes commits of the trunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// One merge commit.
    #[default]
    Merge,
    /// One new commit with the branch's changes.
    Squash,
}

/// What must pass before a branch lands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Check {
    /// The command, run by `sh -c` at the top of a clean checkout of the merged tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Nothing is checked, said out loud.
    #[serde(skip_serializing_if = "is_default")]
    pub none: bool,
    /// Environment variables whose values the result depends on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Files outside the tree whose contents the result depends on; relative to the repository's top.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// How many checks may run at once on a machine: the one in its turn, which never waits, and those of who
    /// waits, ahead of their turns. With 1 nothing is checked ahead.
    #[serde(skip_serializing_if = "is_two")]
    pub parallel: u32,
    /// Whether who waits checks ahead of its turn.
    #[serde(skip_serializing_if = "is_true")]
    pub ahead: bool,
}

/// The most checks that run at once on a machine.
pub const PARALLEL_MAX: u32 = 64;

impl Default for Check {
    fn default() -> Self {
        let (env, files) = (Vec::new(), Vec::new());
        Self { command: None, none: false, env, files, parallel: 2, ahead: true }
    }
}

fn is_two(n: &u32) -> bool {
    *n == 2
}

fn is_true(b: &bool) -> bool {
    *b
}

/// A number line that names files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The line's name.
    pub name: String,
    /// The files that carry its numbers, for example `docs/adr/{number:04}-{slug}.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Why a settings file cannot be used. The text names the place and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSettings(pub String);

/// The largest settings file, in bytes.
pub const BYTES_MAX: usize = 1 << 20;

/// Reads the text of a settings file; none where there is no file.
///
/// # Errors
/// It is no file, too large, or cannot be read.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, BadSettings> {
    let file = match files::open_regular(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            return Err(BadSettings(
                "it is no file but a pipe, a device or a folder; put a file there".into(),
            ));
        }
        Err(error) => return Err(BadSettings(format!("it cannot be read: {error}"))),
    };
    let mut text = Vec::new();
    let most = u64::try_from(BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut text).map_err(|e| BadSettings(format!("it cannot be read: {e}")))?;
    Ok(Some(text))
}

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// The text is no TOML, has a key that is not known, or a value that cannot be meant.
    pub fn parse(text: &[u8]) -> Result<Self, BadSettings> {
        if text.len() > BYTES_MAX {
            return Err(BadSettings("it is larger than 1 MiB; put its settings alone into it".to_owned()));
        }
        let text = std::str::from_utf8(text)
            .map_err(|_| BadSettings("it is no UTF-8 text; save it as UTF-8".to_owned()))?;
        let settings: Self =
            toml::from_str(text).map_err(|e| BadSettings(e.to_string().trim_end().to_owned()))?;
        settings.sound()?;
        Ok(settings)
    }

    fn sound(&self) -> Result<(), BadSettings> {
        let no = |text: String| Err(BadSettings(text));
        if !landing::branch::is_branch(&self.trunk.branch) {
            return no("trunk.branch is no branch name; name the branch without refs/heads/".into());
        }
        if self.trunk.remote.is_empty() || self.trunk.remote.starts_with('-') {
            return no("trunk.remote is no remote's name; write \".\" where there is none".into());
        }
        if self.check.none && self.check.command.is_some() {
            return no("check.none stands beside check.command; keep one of them".into());
        }
        if self.check.command.as_ref().is_some_and(|c| c.trim().is_empty()) {
            return no("check.command is empty; write check.none = true if nothing is to be checked".into());
        }
        if !(1..=PARALLEL_MAX).contains(&self.check.parallel) {
            return no(format!(
                "check.parallel is not in 1 to {PARALLEL_MAX}; write how many checks may run at once"
            ));
        }
        for (at, line) in self.lines.iter().enumerate() {
            if !landing::members::is_scope(&line.name) {
                return no(format!("line {} has a name that no line can have; use a-z 0-9 . _ / -", at + 1));
            }
            if self.lines[..at].iter().any(|other| other.name == line.name) {
                return no(format!("line {} stands twice; keep one of them", line.name));
            }
            if let Some(template) = &line.template {
                Template::parse(template).map_err(|e| BadSettings(format!("line {}: {e}", line.name)))?;
            }
        }
        Ok(())
    }

    /// The text of a settings file with a word on each part.
    ///
    /// # Errors
    /// The settings cannot be written as TOML.
    pub fn render(&self) -> Result<String, BadSettings> {
        let text = toml::to_string(self).map_err(|e| BadSettings(e.to_string()))?;
        Ok(format!(
            "# How branches land here; see `signalbox land --help`.\n\
             # Only what stands in the trunk's copy of this file counts for check, land and lines.\n\n{text}"
        ))
    }

    /// The line of that name, where it has a template.
    #[must_use]
    pub fn template(&self, line: &str) -> Option<Template> {
        let line = self.lines.iter().find(|l| l.name == line)?;
        Template::parse(line.template.as_deref()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_reads_back_as_it_was_written() {
        let settings = Settings {
            check: Check { command: Some("make test".into()), ..Check::default() },
            lines: vec![Line { name: "adr".into(), template: Some("docs/{number:04}-{slug}.md".into()) }],
            ..Settings::default()
        };
        assert_eq!(Settings::parse(settings.render().unwrap().as_bytes()), Ok(settings));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        for (text, word) in [
            ("[check]\ncommand = 'x'\nnone = true", "check.none"),
            ("[check]\ncommand = ' '", "check.command"),
            ("[check]\nparallel = 0", "check.parallel"),
            ("[check]\nparallel = 65", "check.parallel"),
            ("[chekc]\n", "chekc"),
            ("[trunk]\nbranch = 'a..b'", "trunk.branch"),
            ("[trunk]\nremote = '--upload-pack=x'", "trunk.remote"),
            ("[land]\nstrategy = 'rebase'", "rebase"),
            ("[[line]]\nname = 'A'", "line 1"),
            ("[[line]]\nname = 'a'\n[[line]]\nname = 'a'", "twice"),
            ("[[line]]\nname = 'a'\ntemplate = 'x.md'", "{number}"),
        ] {
            let error = Settings::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
