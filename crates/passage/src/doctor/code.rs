//! Every finding that `doctor` knows, with what it means and what removes it. The page `docs/doctor.md` is made of
//! this.

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As it should be.
    Fine,
    /// Landings go on, and something should be seen to.
    Warning,
    /// Something does not work.
    Problem,
}

impl Severity {
    /// The word that marks it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The git program and the repository.
    Repository,
    /// Variables, the cache folder.
    Environment,
    /// The state's folder and file.
    State,
    /// `.signalbox.toml`, on the trunk and here.
    Settings,
    /// The clocks.
    Clock,
    /// Where the trunk is kept.
    Trunk,
    /// Locks that git left.
    Locks,
    /// What killed processes left.
    Leftovers,
    /// Git's hooks.
    Hooks,
    /// Number lines.
    Numbers,
    /// The queue and the freeze.
    Queue,
}

impl Part {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Repository => "repository",
            Self::Environment => "environment",
            Self::State => "state",
            Self::Settings => "settings",
            Self::Clock => "clock",
            Self::Trunk => "trunk",
            Self::Locks => "locks",
            Self::Leftovers => "leftovers",
            Self::Hooks => "hooks",
            Self::Numbers => "numbers",
            Self::Queue => "queue",
        }
    }
}

struct Row {
    code: &'static str,
    part: Part,
    severity: Severity,
    means: &'static str,
    remedy: &'static str,
}

macro_rules! register {
    ($($name:ident $code:literal $part:ident $severity:ident $means:literal $remedy:literal)*) => {
        /// A finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $means] $name,)*
        }

        impl Code {
            /// Every one, in the order in which they are told.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            const fn row(self) -> Row {
                match self {
                    $(Self::$name => Row {
                        code: $code,
                        part: Part::$part,
                        severity: Severity::$severity,
                        means: $means,
                        remedy: $remedy,
                    },)*
                }
            }
        }
    };
}

register! {
    NotExamined "not_examined" Repository Problem
        "something could not be looked at, since git or the system failed"
        "mend what the next lines name"
    GitMissing "git_missing" Repository Problem
        "the git program cannot be started"
        "install git 2.39 or later, or unset `SIGNALBOX_GIT`"
    GitTooOld "git_too_old" Repository Problem
        "git is older than 2.39"
        "install git 2.39 or later"
    NoRepository "no_repository" Repository Problem
        "there is no git repository here"
        "go into one, or `git init`"
    NotYours "repository_not_yours" Repository Problem
        "git refuses the repository, since it belongs to another user"
        "the command that git names: `git config --global --add safe.directory …`"
    Shallow "shallow" Repository Problem
        "the history is cut off here, so merges could be silently wrong"
        "`git fetch --unshallow`"
    LfsMissing "lfs_missing" Repository Warning
        "the trunk's attributes name the filter of git-lfs, which is not here: no branch with such files lands"
        "install git-lfs"
    Git "git" Repository Fine
        "which git it is"
        ""
    Partial "partial_clone" Repository Fine
        "this is a partial clone: what it left out is fetched when it is read"
        ""

    VariableUnknown "variable_unknown" Environment Warning
        "a variable that begins with `SIGNALBOX_` is none of signalbox's"
        "`unset NAME`"
    VariableStale "variable_stale" Environment Warning
        "`SIGNALBOX_TICKET` names a turn that is over or of another repository; hooks take it for a turn"
        "`unset SIGNALBOX_TICKET SIGNALBOX_TURN`"
    CacheUnusable "cache_unusable" Environment Warning
        "the user's cache folder cannot be used, so checks run below `.git`, where tools behave differently"
        "set `XDG_CACHE_HOME` to a folder that you can write, or unset it"
    Variables "variables" Environment Fine
        "which variables of signalbox are set, and obeyed"
        ""

    NotSetUp "not_set_up" State Problem
        "the repository is not set up"
        "`signalbox init --check COMMAND`"
    FolderInUse "state_folder_in_use" State Problem
        "the folder that `--state` names has other files"
        "name a folder of its own"
    StateUnusable "state_unusable" State Problem
        "the state is damaged, or is something else; it was left as it is"
        "set it aside by the command that is printed, which then takes the trunk over: numbers and turns go on above \
         what trunk and remote show"
    StateNewer "state_newer" State Problem
        "a newer signalbox wrote the state"
        "update signalbox"
    StateCopied "state_copied" State Problem
        "the state is a copy of another one, or was moved"
        "`signalbox init --take-over`, or `signalbox init --moved` if you moved it"
    StateReadOnly "state_read_only" State Problem
        "you may not write the state"
        "the command that is printed, as the folder's owner"
    StateOnNetwork "state_on_network" State Problem
        "the state is on a network file system, which may lose it"
        "point `--state` to a local disk"
    StateBusy "busy" State Problem
        "another process kept the state in use for two seconds"
        "run it again; if it stays, find who holds it: `fuser`, `lsof`"
    DiskFull "disk_full" State Problem
        "the disk of the state is full"
        "free space there"
    DiskLow "disk_low" State Warning
        "less than 64 MiB are free on the disk of the state"
        "free space there"
    StateOpen "state_open_to_others" State Warning
        "every user of this machine can enter the state's folder, and read the project's id"
        "`chmod -R o= FOLDER`"
    StateNotYours "state_not_yours" State Warning
        "the state belongs to another user; what you make there will not be theirs"
        "`chown -R`, as the system's administrator, or work as that user"
    State "state" State Fine
        "the state can be used and is whole"
        ""

    BadSettings "bad_settings" Settings Problem
        "settings cannot be read, or say what cannot be meant (an unknown key, a template, `check.files`)"
        "mend what the next lines name"
    OtherTrunk "other_trunk" Settings Problem
        "the trunk's settings name another trunk than those here"
        "make both files agree"
    NoCheck "no_check" Settings Problem
        "the trunk's settings say neither what is checked nor that nothing is"
        "set `check.command`, or `check.none = true`, and land that"
    SettingsNotLanded "settings_not_on_trunk" Settings Warning
        "the trunk has no settings of its own; what `init` wrote here counts, and only here"
        "commit `.signalbox.toml` and land it, by the command that is printed"
    SettingsDiffer "settings_differ" Settings Warning
        "the settings here are not the trunk's, and the trunk's count"
        "land them, or merge the trunk, by the command that is printed"
    CheckFileMissing "check_file_missing" Settings Warning
        "`check.files` names a file that is not here, so results count as if it were empty"
        "make the file, or take it out of the settings"
    ParallelHigh "parallel_over_cores" Settings Warning
        "`check.parallel` allows more checks at once than this machine has cores"
        "lower it in the trunk's settings"
    Settings "settings" Settings Fine
        "which settings count"
        ""

    ProjectAhead "project_time_ahead" Clock Warning
        "the project's time is ahead of this clock, since some clock was: no lease ends, holds end at once"
        "set this clock, or if it is right: `signalbox project replace`"
    FileClock "file_clock" Clock Warning
        "the clock of the state's file system is not this machine's"
        "set both by the same source"
    Clock "clock" Clock Fine
        "this clock, the project's time and the file system's agree"
        ""

    NoRemote "no_remote" Trunk Problem
        "the settings name a remote that this repository does not have"
        "`git remote add NAME URL`, or name another in the settings"
    Mirror "remote_mirror" Trunk Problem
        "the remote is a mirror, to which git pushes no single refs"
        "`git config --unset remote.NAME.mirror`"
    PushUrls "push_urls" Trunk Problem
        "the remote is pushed to several places"
        "a remote with one URL"
    Unreachable "unreachable" Trunk Problem
        "the remote cannot be read"
        "`git ls-remote NAME` says why"
    PushUnanswered "push_unanswered" Trunk Problem
        "the remote can be read, and a push to it gets no answer: no right to push, or another address"
        "`git remote get-url --push NAME` says where it goes"
    AtomicRefused "atomic_refused" Trunk Problem
        "the remote takes no refs together (`--atomic`), so nothing can land"
        "at the remote: `git config receive.advertiseAtomic true`"
    RefsRefused "refs_refused" Trunk Problem
        "the remote refuses refs below `refs/signalbox/`"
        "do as its words say, or allow them there"
    RefsHidden "refs_hidden" Trunk Problem
        "the remote takes refs below `refs/signalbox/` and does not show them"
        "at the remote: `git config --add uploadpack.hideRefs '!refs/signalbox'`"
    RemoteSplit "remote_split" Trunk Problem
        "what is pushed to the remote is not seen where it is read"
        "make its URLs agree"
    OtherBox "other_box" Trunk Problem
        "another clone, or an earlier state, keeps this trunk"
        "use that one's state, or if it is lost: `signalbox init --take-over`"
    StateBehind "state_behind" Trunk Problem
        "the trunk has had later turns than this state knows: an older state was put back"
        "`signalbox init --take-over`"
    TrunkGone "trunk_gone" Trunk Problem
        "the trunk was there and is not"
        "bring it back, or name another one"
    TrialLeft "trial_left" Trunk Warning
        "an earlier `doctor` left its trial refs: it was killed, or the remote deletes no refs"
        "the command that is printed"
    TrunkTwice "trunk_twice" Trunk Problem
        "two worktrees have the trunk checked out"
        "switch one of them to another branch"
    TrunkMissing "trunk_worktree_missing" Trunk Problem
        "the worktree that has the trunk cannot be reached"
        "bring it back, or unlock and remove it: `git worktree list`"
    TrunkBusy "trunk_busy" Trunk Problem
        "a merge, rebase or bisect of the trunk is under way"
        "finish or abort it"
    TrunkDirty "trunk_dirty" Trunk Problem
        "the trunk's worktree has changes that are not committed"
        "its owner commits or stashes them"
    InTheWay "trunk_file_in_the_way" Trunk Warning
        "a file in the trunk's worktree is where the branch that is checked out here adds one"
        "move it"
    TrunkSeen "trunk" Trunk Fine
        "where the trunk is kept, and by whom"
        ""
    Tried "tried" Trunk Fine
        "two refs were pushed together, read back and deleted"
        ""

    RefLocked "ref_locked" Locks Problem
        "a git that was killed left a lock on the trunk's refs; nothing lands while it stands"
        "if no git runs here: `rm` as printed"
    GitLocked "git_locked" Locks Warning
        "a lock of git stands in the trunk's worktree or on its packed refs: an editor, or a git that was killed"
        "if no git runs here: `rm` as printed"
    Locks "locks" Locks Fine
        "no lock of git stands in the way"
        ""

    OpenIntent "outcome_unknown" Leftovers Problem
        "a push was cut off, and what became of it is not known yet"
        "`signalbox land --settle`"
    BrokenIntent "broken_intent" Leftovers Problem
        "the note of a push cannot be read"
        "look whether its branch landed, then `rm` the note as printed"
    DeadLocks "dead_locks" Leftovers Warning
        "passages were killed and have left their locks; the next landing removes them, too"
        "`signalbox land --settle`"
    KeptRefs "kept_refs" Leftovers Warning
        "objects are kept for passages that nobody goes on with; the next landing lets go of them, too"
        "`signalbox land --settle`"
    Temporaries "temporary_files" Leftovers Warning
        "processes that died have left temporary files; the next landing removes them, too"
        "`signalbox land --settle`"
    KeptPlaces "kept_places" Leftovers Warning
        "places that were kept without a process have ended, and their notes stand"
        "`rm` as printed"
    Checkouts "checkouts_in_use" Leftovers Warning
        "checks have left processes running, which keep their checkouts from being used again"
        "`kill` as printed; a check should stop what it starts"
    WorktreesGone "worktrees_gone" Leftovers Warning
        "git has records of worktrees that are gone"
        "`git worktree prune`"
    Leftovers "leftovers" Leftovers Fine
        "nothing of killed processes is left"
        ""

    HookSettings "hook_not_set_up" Hooks Problem
        "a hook of signalbox stands, and the settings that it reads are gone: it refuses all it guards"
        "`signalbox hook install` (at a server with `--server`), or `signalbox hook remove`"
    HookState "hook_state_gone" Hooks Problem
        "the hooks of this server ask a state that is not where their settings say: they refuse all they guard"
        "bring it back, or `signalbox hook install --server --state FOLDER`"
    HookProgram "hook_program_gone" Hooks Problem
        "the program that a hook of signalbox calls is gone: it refuses all it guards"
        "`signalbox hook install`"
    HookOff "hook_not_executable" Hooks Warning
        "a hook of signalbox cannot be executed, so git passes over it and it guards nothing"
        "`chmod +x` as printed"
    HookOld "hook_old" Hooks Warning
        "a hook of signalbox is another version's, or was changed"
        "`signalbox hook install`"
    HooksElsewhere "hooks_elsewhere" Hooks Fine
        "git takes this repository's hooks from a folder outside of it, which signalbox does not write to"
        ""
    HookForeign "hook_beside" Hooks Fine
        "a hook of another kind stands; landings do not run it (`git push --no-verify`), direct pushes do"
        ""
    Hooks "hooks" Hooks Fine
        "which hooks of signalbox stand"
        ""

    Duplicates "duplicate_numbers" Numbers Warning
        "two files of the trunk have one number"
        "give one a fresh number, by the commands that are printed"
    LineStuck "line_stuck" Numbers Problem
        "a file of the trunk has a number so far above the line that no further one can be minted"
        "`signalbox init --take-over`, which lifts the line above it; or rename the file"
    LineBehind "line_behind" Numbers Warning
        "a file of the trunk has a number that was never issued; the next mint starts above it"
        "`signalbox init --take-over`, which lifts the line above it; or rename the file"
    Numbers "numbers" Numbers Fine
        "the files of the number lines are as they were issued"
        ""

    HolderSilent "holder_silent" Queue Warning
        "who has the turn has not been heard of for most of its lease"
        "wait: its turn passes on by itself when the lease ends"
    ProcessGone "process_gone" Queue Warning
        "a place in the queue is of a process of this machine that is gone"
        "`signalbox land --settle`"
    FreezeOld "freeze_old" Queue Warning
        "a freeze has stood for more than a day"
        "`signalbox freeze close ISSUES`, if it is over"
    Queue "queue" Queue Fine
        "who has the turn, and how many wait"
        ""
}

impl Code {
    /// Its name, for programs. It stays.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().code
    }

    /// What it is about.
    #[must_use]
    pub const fn part(self) -> Part {
        self.row().part
    }

    /// How bad it is.
    #[must_use]
    pub const fn severity(self) -> Severity {
        self.row().severity
    }

    /// What it means.
    #[must_use]
    pub const fn means(self) -> &'static str {
        self.row().means
    }

    /// What removes it; empty where nothing need be.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        self.row().remedy
    }

    /// The finding of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_finding_has_a_name_of_its_own_and_what_is_not_fine_has_a_remedy() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert_eq!(Code::named(code.as_str()), Some(*code));
            assert_eq!(code.remedy().is_empty(), code.severity() == Severity::Fine, "{code:?}");
        }
    }
}
