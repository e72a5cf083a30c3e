//! `.signalbox.toml`, on the trunk and here.

use crate::doctor::code::Code;
use crate::doctor::finding::Finding;
use crate::end::{End, naming, quoted};
use crate::settings::{FILE, Settings};

/// What is known of the settings.
#[derive(Debug, Clone, Default)]
pub(in crate::doctor) struct Facts {
    /// Why those here cannot be used.
    pub(in crate::doctor) here: Option<End>,
    /// Why the trunk's cannot be used; `land` says the same.
    pub(in crate::doctor) of_trunk: Option<End>,
    /// Those that count, and whether they are the trunk's own.
    pub(in crate::doctor) counting: Option<(Settings, bool)>,
    /// Those of `check.files` that are not here.
    pub(in crate::doctor) missing: Vec<String>,
    /// How many cores the machine has.
    pub(in crate::doctor) cores: usize,
    /// How the file in this worktree stands to the trunk; none where there is no worktree.
    pub(in crate::doctor) file: Option<InWorktree>,
    /// The trunk, for people.
    pub(in crate::doctor) trunk: String,
}

/// The file in the worktree, and what is checked out there.
#[derive(Debug, Clone, Default)]
pub(in crate::doctor) struct InWorktree {
    /// It is there.
    pub(in crate::doctor) there: bool,
    /// It says something else than the trunk's.
    pub(in crate::doctor) differs: bool,
    /// It says something else than what is committed here, or is not committed.
    pub(in crate::doctor) uncommitted: bool,
    /// The commit checked out has all that the trunk has.
    pub(in crate::doctor) has_trunk: bool,
    /// The trunk itself is checked out.
    pub(in crate::doctor) on_trunk: bool,
    /// What is committed here moves the trunk at once: it is checked out, and kept in this repository.
    pub(in crate::doctor) in_place: bool,
    /// The trunk's commit.
    pub(in crate::doctor) trunk: Option<String>,
}

pub(in crate::doctor) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut found: Vec<Finding> = facts.here.clone().map(Finding::of).into_iter().collect();
    let same = facts.here.as_ref().map(|end| &end.more);
    found.extend(facts.of_trunk.clone().filter(|end| Some(&end.more) != same).map(Finding::of));
    let Some((settings, its_own)) = &facts.counting else { return found };
    for file in &facts.missing {
        let line = "check.files names {}, which is not here: results count as if it were empty";
        found.push(
            Finding::new(Code::CheckFileMissing, naming(line, [file]))
                .more("Make the file, or take it out of the trunk's settings."),
        );
    }
    let parallel = settings.check.parallel;
    if usize::try_from(parallel).unwrap_or(usize::MAX) > facts.cores.max(2) {
        let cores = facts.cores;
        let line = format!(
            "check.parallel is {parallel} and this machine has {cores} cores; lower it, or land slower"
        );
        found.push(
            Finding::new(Code::ParallelHigh, line)
                .more(format!("In the trunk's {FILE}:  [check]  parallel = {cores}")),
        );
    }
    if !its_own {
        let text = "{} has no settings of its own; what init wrote counts, and only here. Land the file";
        let finding = Finding::new(Code::SettingsNotLanded, naming(text, [&facts.trunk]));
        found.push(match &facts.file {
            Some(file) => finding.next(land_it(file, "Land with signalbox")),
            None => finding.more(format!("Write {FILE} in a worktree, commit it and land it.")),
        });
    } else if let Some(file) = facts.file.as_ref().filter(|file| file.there && file.differs) {
        let text = "the settings here are not those of {}, which count for check, land and lines";
        found.push(Finding::new(Code::SettingsDiffer, naming(text, [&facts.trunk])).next(differing(file)));
    }
    let whose = if *its_own { "the trunk's own" } else { "init's copy" };
    let check = match &settings.check.command {
        Some(command) => format!("check: {command}"),
        None => "nothing is checked".to_owned(),
    };
    if facts.of_trunk.is_none() {
        found.push(Finding::new(Code::Settings, naming("{}; {}", [whose, &check])));
    }
    found
}

/// The commands that bring the file in this worktree to the trunk.
fn land_it(file: &InWorktree, message: &str) -> String {
    let mut steps = Vec::new();
    if !file.there {
        steps.push("signalbox init".to_owned());
    }
    if file.on_trunk && !file.in_place {
        steps.push("git switch -c signalbox-settings".to_owned());
    }
    if file.uncommitted || !file.there {
        steps.push(format!("git add -- {FILE}"));
        steps.push(format!("git commit -m {} -- {FILE}", quoted(message)));
    }
    if !file.in_place {
        steps.push("signalbox land".to_owned());
    }
    steps.join(" && ")
}

fn differing(file: &InWorktree) -> String {
    match &file.trunk {
        Some(trunk) if !file.has_trunk && !file.uncommitted => format!("git merge {trunk}"),
        _ => land_it(file, "Change the settings"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_the_trunk_is_the_one_from_where_one_stands() {
        let file = |there, uncommitted, on_trunk, in_place| InWorktree {
            there,
            uncommitted,
            on_trunk,
            in_place,
            ..InWorktree::default()
        };
        let add = "git add -- .signalbox.toml && git commit -m x -- .signalbox.toml";
        assert_eq!(land_it(&file(true, true, true, true), "x"), add);
        assert_eq!(land_it(&file(false, true, true, true), "x"), format!("signalbox init && {add}"));
        assert_eq!(land_it(&file(true, true, false, false), "x"), format!("{add} && signalbox land"));
        assert_eq!(land_it(&file(true, false, false, false), "x"), "signalbox land");
        assert_eq!(
            land_it(&file(true, true, true, false), "x"),
            format!("git switch -c signalbox-settings && {add} && signalbox land")
        );
    }

    #[test]
    fn a_branch_behind_the_trunk_merges_it_and_one_with_changes_lands_them() {
        let behind = InWorktree { there: true, trunk: Some("abc".into()), ..InWorktree::default() };
        assert_eq!(differing(&behind), "git merge abc");
        let ahead = InWorktree { has_trunk: true, ..behind };
        assert_eq!(differing(&ahead), "signalbox land");
    }
}
