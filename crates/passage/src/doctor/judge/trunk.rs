//! Where the trunk is kept: whether it can be read and pushed to as a landing needs it.

use crate::doctor::code::Code;
use crate::doctor::finding::Finding;
use crate::end::{End, exit, naming, quoted};
use git::RefName;

/// What is known of the place where the trunk is kept.
#[derive(Debug, Clone, Default)]
pub(in crate::doctor) struct Trunk {
    /// The remote's name, or `.`.
    pub(in crate::doctor) remote: String,
    /// The trunk, for people.
    pub(in crate::doctor) name: String,
    /// There is no such remote.
    pub(in crate::doctor) no_remote: bool,
    /// What keeps it from being read or from being ours; other commands say the same.
    pub(in crate::doctor) refused: Vec<End>,
    /// The folder of the remote, where it is on this machine.
    pub(in crate::doctor) folder: Option<String>,
    /// The turn that stands at the trunk, and the last one that this state knows, where that is an earlier one.
    pub(in crate::doctor) behind: Option<(i64, i64)>,
    /// Which box stands there: none, or this one.
    pub(in crate::doctor) claimed: bool,
    /// What came of the trial; none where none was made.
    pub(in crate::doctor) trial: Option<Trial>,
    /// Trial refs that stand there and that no `doctor` uses any more.
    pub(in crate::doctor) left: Vec<RefName>,
}

/// What came of pushing two refs, reading them back and deleting them.
#[derive(Debug, Clone)]
pub(in crate::doctor) enum Trial {
    /// All went well; those that could not be deleted are among [`Trunk::left`].
    Passed,
    /// One alone is taken, two together are not.
    NotAtomic(String),
    /// The remote refused them.
    Refused(String),
    /// There was no answer.
    NoAnswer(String),
    /// They were taken, and are not shown where they were pushed.
    Hidden,
    /// What is wrong is known by another command's words: a mirror, split URLs.
    Known(Box<End>),
}

pub(in crate::doctor) fn judge(facts: &Trunk) -> Vec<Finding> {
    let mut found = Vec::new();
    if facts.no_remote {
        let line = "there is no remote {} here; add it, or name another as trunk.remote";
        found.push(
            Finding::new(Code::NoRemote, naming(line, [&facts.remote]))
                .more(format!("  git remote add {} URL", quoted(&facts.remote))),
        );
        return found;
    }
    found.extend(facts.refused.iter().cloned().map(Finding::of));
    if let Some((stands, known)) = facts.behind {
        let line = "{} has had turn {} and this state knows {}: an older state was put back; take over";
        found.push(
            Finding::new(
                Code::StateBehind,
                naming(line, [&facts.name, &stands.to_string(), &known.to_string()]),
            )
            .more(
                "Until then no landing gets past the fence. Numbers go on above what the trunk's files show.",
            )
            .next("signalbox init --take-over"),
        );
    }
    if found.is_empty() && !facts.name.is_empty() {
        let whose = if facts.claimed { "kept by this state" } else { "kept by nobody yet" };
        found.push(Finding::new(Code::TrunkSeen, naming("{}, {}", [&facts.name, whose])));
    }
    found.extend(facts.trial.as_ref().map(|trial| tried(facts, trial)));
    if !facts.left.is_empty() {
        found.push(left(facts));
    }
    found
}

fn tried(facts: &Trunk, trial: &Trial) -> Finding {
    let remote = facts.remote.as_str();
    let at =
        |config: &str| facts.folder.as_ref().map(|dir| format!("git -C {} config {config}", quoted(dir)));
    match trial {
        Trial::Passed => {
            if remote == "." {
                return Finding::new(Code::Tried, "two refs were set together here, read back and deleted");
            }
            let line = "two refs were set together at {}, read back and deleted";
            let finding = Finding::new(Code::Tried, naming(line, [remote]));
            finding
                .more("Whether it protects the trunk itself from being pushed to is seen by a landing only.")
        }
        Trial::NotAtomic(text) => {
            let line = "the remote {} takes no refs together, so nothing can land; allow atomic pushes there";
            let finding = Finding::new(Code::AtomicRefused, naming(line, [remote]))
                .exit(exit::REFUSED)
                .lines(text.lines().map(str::to_owned));
            let allow = "receive.advertiseAtomic true";
            match at(allow) {
                Some(command) => finding.next(command),
                None => finding.more(format!("At the remote: git config {allow}")),
            }
        }
        Trial::Refused(text) => {
            let line = "the remote {} refuses refs/signalbox/; do as its words say, or allow them there";
            Finding::new(Code::RefsRefused, naming(line, [remote]))
                .exit(exit::REFUSED)
                .lines(text.lines().map(str::to_owned))
        }
        Trial::NoAnswer(text) => {
            let line = "the remote {} can be read and does not answer a push; see where pushes go";
            Finding::new(Code::PushUnanswered, naming(line, [remote]))
                .exit(exit::AGAIN)
                .lines(text.lines().map(str::to_owned))
                .next(format!("git remote get-url --push {}", quoted(remote)))
        }
        Trial::Hidden => {
            let line = "the remote {} takes refs/signalbox/ and does not show it; stop hiding it there";
            let finding = Finding::new(Code::RefsHidden, naming(line, [remote]));
            let show = "--add uploadpack.hideRefs '!refs/signalbox'";
            match at(show) {
                Some(command) => finding.next(command),
                None => finding.more(format!("At the remote: git config {show} (or transfer.hideRefs)")),
            }
        }
        Trial::Known(end) => Finding::of((**end).clone()),
    }
}

fn left(facts: &Trunk) -> Finding {
    let n = facts.left.len();
    let refs = if n == 1 { "a trial ref".to_owned() } else { format!("{n} trial refs") };
    let text = format!("an earlier doctor left {refs} at {{}}: it was killed, or deleting is refused there");
    let finding =
        Finding::new(Code::TrialLeft, naming(&text, [&facts.remote])).lines(facts.left.iter().cloned());
    let names: Vec<String> = facts.left.iter().map(|name| quoted(name)).collect();
    finding.next(if facts.remote == "." {
        let gone: Vec<String> = names.iter().map(|name| format!("git update-ref -d {name}")).collect();
        gone.join(" && ")
    } else {
        format!("git push --no-verify {} --delete {}", quoted(&facts.remote), names.join(" "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(trial: Trial, folder: Option<&str>) -> Finding {
        let facts = Trunk {
            remote: "origin".into(),
            folder: folder.map(str::to_owned),
            trial: Some(trial),
            ..Trunk::default()
        };
        judge(&facts).remove(0)
    }

    #[test]
    fn what_is_to_be_set_at_a_remote_is_a_command_where_its_folder_is_here() {
        let atomic = || Trial::NotAtomic(String::new());
        let here = tried(atomic(), Some("/a b"));
        assert_eq!(here.end.next.as_deref(), Some("git -C '/a b' config receive.advertiseAtomic true"));
        let there = tried(atomic(), None);
        assert_eq!((there.end.exit, there.end.next), (exit::REFUSED, None));
        assert_eq!(there.end.more, ["At the remote: git config receive.advertiseAtomic true"]);
        assert_eq!(tried(Trial::Hidden, None).code, Code::RefsHidden);
    }

    #[test]
    fn refs_that_are_left_are_deleted_where_they_are() {
        let left = |remote: &str| {
            let facts = Trunk {
                remote: remote.into(),
                left: vec!["refs/x/a".into(), "refs/x/b".into()],
                ..Trunk::default()
            };
            judge(&facts).remove(0).end.next.unwrap()
        };
        assert_eq!(left("origin"), "git push --no-verify origin --delete refs/x/a refs/x/b");
        assert_eq!(left("."), "git update-ref -d refs/x/a && git update-ref -d refs/x/b");
    }
}
