//! The environments in which git runs.

use std::ffi::{OsStr, OsString};

/// Whose configuration a call of git obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Env {
    /// Reading trees and writing objects: neither system nor user configuration.
    Content,
    /// Talking to a remote as the user would.
    Remote,
    /// The user's own worktrees and identity: the user's configuration, for its filters.
    User,
}

/// What stays of the inherited `GIT_*` variables, by prefix. All others (`GIT_DIR`, `GIT_INDEX_FILE`, traces,
/// what a hook or an alias leaves behind) would turn a call to another repository or change its output.
const KEPT_BY_ALL: &[&str] = &["GIT_EXEC_PATH"];
const KEPT_BY_USER: &[&str] = &[
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_KEY_",
    "GIT_CONFIG_VALUE_",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSH",
    "GIT_SSL_",
    "GIT_HTTP_",
    "GIT_PROXY_",
    "GIT_PROTOCOL",
    "GIT_ALLOW_PROTOCOL",
    "GIT_ASKPASS",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_LFS_",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
];

impl Env {
    /// Whether the inherited variable must not reach git.
    pub(crate) fn scrubs(self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        let kept = |list: &[&str]| list.iter().any(|p| name.starts_with(p));
        name == "LANGUAGE"
            || (name.starts_with("GIT_")
                && !kept(KEPT_BY_ALL)
                && (self == Self::Content || !kept(KEPT_BY_USER)))
    }

    /// The variables that are set.
    pub(crate) fn sets(self) -> Vec<(&'static str, OsString)> {
        let mut set = vec![
            ("LC_ALL", "C".into()),
            ("GIT_TERMINAL_PROMPT", "0".into()),
            ("GIT_OPTIONAL_LOCKS", "0".into()),
            ("GIT_NO_REPLACE_OBJECTS", "1".into()),
        ];
        match self {
            Self::Content => {
                set.push(("GIT_CONFIG_NOSYSTEM", "1".into()));
                set.push(("GIT_CONFIG_GLOBAL", "/dev/null".into()));
                set.push(("GIT_ATTR_NOSYSTEM", "1".into()));
            }
            // Git runs in a process group of its own: an ssh that asked at the terminal would be stopped by the
            // kernel and hang. It is made to ask the user's askpass program, or to fail at once.
            Self::Remote | Self::User => {
                set.push(("SSH_ASKPASS_REQUIRE", "force".into()));
                if std::env::var_os("SSH_ASKPASS").is_none() {
                    set.push(("SSH_ASKPASS", "false".into()));
                }
            }
        }
        set
    }

    /// Configuration that is set for every call.
    pub(crate) fn configures(self) -> &'static [&'static str] {
        match self {
            Self::Content => &[
                "core.hooksPath=/dev/null",
                "core.fsmonitor=false",
                "core.attributesFile=/dev/null",
                "submodule.recurse=false",
                "i18n.commitEncoding=UTF-8",
                "i18n.logOutputEncoding=UTF-8",
                "log.showSignature=false",
                "log.follow=false",
                "merge.renormalize=false",
                "gc.auto=0",
                "maintenance.auto=false",
            ],
            Self::Remote | Self::User => &[
                "core.hooksPath=/dev/null",
                "core.fsmonitor=false",
                "submodule.recurse=false",
                "gc.auto=0",
                "maintenance.auto=false",
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherited_repository_variables_reach_no_environment() {
        for env in [Env::Content, Env::Remote, Env::User] {
            for name in [
                "GIT_DIR",
                "GIT_INDEX_FILE",
                "GIT_WORK_TREE",
                "GIT_OBJECT_DIRECTORY",
                "GIT_TRACE",
                "GIT_PREFIX",
            ] {
                assert!(env.scrubs(OsStr::new(name)), "{env:?} {name}");
            }
            assert!(!env.scrubs(OsStr::new("HOME")));
        }
    }

    #[test]
    fn the_users_ssh_and_configuration_reach_the_remote_and_not_the_content() {
        for name in
            ["GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_SSL_CAINFO"]
        {
            assert!(!Env::Remote.scrubs(OsStr::new(name)), "{name}");
            assert!(Env::Content.scrubs(OsStr::new(name)), "{name}");
        }
    }
}
