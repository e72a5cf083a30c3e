//! Numbers in file names: two files with one number are refused, and a mint starts above what the trunk
//! uses.

use crate::end::{End, exit, naming, short};
use crate::merging::{Landing, Passenger};
use crate::requests::Requests;
use crate::settings::Settings;
use crate::site::Site;
use crate::template::Template;
use bstr::{BStr, BString, ByteSlice};
use client::Mint;
use git::{GitError, Oid};
use kernel::{Code, Id};
use std::collections::BTreeMap;

/// Two files with one number that the merge would bring together.
///
/// # Errors
/// Git failed.
pub fn duplicate(site: &Site, landing: &Landing, who: &Passenger<'_>) -> Result<Option<End>, GitError> {
    let lines: Vec<(&str, Template)> = landing
        .settings
        .lines
        .iter()
        .filter_map(|line| Some((line.name.as_str(), landing.settings.template(&line.name)?)))
        .collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let merged = site.repo.tree_paths(&landing.tree)?;
    let before = landing.old.as_ref().map_or(Ok(Vec::new()), |old| site.repo.tree_paths(old))?;
    for (name, template) in lines {
        let stood = template.numbered(&before);
        for (number, files) in template.numbered(&merged) {
            let stood = stood.get(&number).map_or(&[][..], Vec::as_slice);
            let Some(added) = files.iter().find(|file| !stood.contains(file)) else { continue };
            let Some(other) = files.iter().find(|file| *file != added) else { continue };
            let other_stood = stood.contains(other);
            return Ok(Some(refusal(site, landing, who, (name, number), added, (other, other_stood))?));
        }
    }
    Ok(None)
}

fn refusal(
    site: &Site,
    landing: &Landing,
    who: &Passenger<'_>,
    (line, number): (&str, i64),
    added: &[u8],
    (other, other_stood): (&[u8], bool),
) -> Result<End, GitError> {
    let text = format!("{{}} {number} is used by two files; give {{}} a fresh one");
    let text = naming(&text, [line, &added.to_str_lossy()]);
    let from = match (&landing.old, other_stood) {
        (Some(old), true) => site.repo.last_change(None, old, other)?.map_or_else(
            || "in the trunk".to_owned(),
            |(commit, subject)| format!("in the trunk since {} {}", commit.short(), short(&subject, 50)),
        ),
        _ => format!("from {}", short(who.branch, 40)),
    };
    let file = |path: &[u8]| short(&path.to_str_lossy(), 80);
    Ok(End::new(exit::MEND, "duplicate_number", text)
        .more(format!("{}: from {}", file(added), short(who.branch, 40)))
        .more(format!("{}: {from}", file(other)))
        .more("Mint a number, rename the file on the branch, commit, and land again.")
        .next(format!("signalbox mint {line}"))
        .fact("files", vec![added.to_str_lossy().into_owned(), other.to_str_lossy().into_owned()])
        .fact("line", line)
        .fact("number", number))
}

/// The highest number of a line that the trunk's files use; 0 where none does.
///
/// # Errors
/// Git failed.
pub fn highest(site: &Site, trunk: Option<&Oid>, template: &Template) -> Result<i64, GitError> {
    let paths = trunk.map_or(Ok(Vec::new()), |trunk| site.repo.tree_paths(trunk))?;
    Ok(template.numbered(&paths).keys().next_back().copied().unwrap_or(0))
}

/// The highest number in the names of the trunk's files that a glob matches: the first run of digits of
/// the file's own name.
///
/// # Errors
/// The glob cannot be meant, or git failed.
pub fn highest_by_glob(site: &Site, trunk: Option<&Oid>, glob: &str) -> Result<i64, End> {
    let pattern = glob::Pattern::new(glob).map_err(|e| {
        End::new(exit::USAGE, "bad_glob", format!("--floor-from is no pattern: {}", short(e.msg, 60)))
    })?;
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
    let paths: Vec<BString> =
        trunk.map_or(Ok(Vec::new()), |trunk| site.repo.tree_paths(trunk)).map_err(End::internal)?;
    let number = |path: &BString| -> Option<i64> {
        let path = path.to_str().ok().filter(|path| pattern.matches_with(path, options))?;
        let name = path.rsplit('/').next()?;
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    Ok(paths.iter().filter_map(number).max().unwrap_or(0))
}

/// Where a mint starts.
#[derive(Debug, Clone, Default)]
pub struct Floor {
    /// A number that the caller names.
    pub number: Option<i64>,
    /// A glob over the trunk's files.
    pub glob: Option<String>,
}

/// A block of numbers, and the settings of the trunk that it was minted for.
#[derive(Debug, Clone)]
pub struct Block {
    /// The first number.
    pub first: i64,
    /// The last one.
    pub last: i64,
    /// The trunk's settings.
    pub settings: Settings,
}

/// Mints numbers. For a line with a template the trunk's highest number is always sent as the floor.
///
/// # Errors
/// The line's name cannot be one, another box keeps the trunk, or the box refused.
pub fn mint(
    site: &Site,
    line: &str,
    count: Option<i64>,
    floor: &Floor,
    request: Option<&Id>,
) -> Result<Block, End> {
    let seen = site.read_trunk()?;
    let (settings, _) = site.trunk_settings(seen.trunk.as_ref())?;
    let mut floors: Vec<i64> = floor.number.into_iter().collect();
    if let Some(glob) = &floor.glob {
        floors.push(highest_by_glob(site, seen.trunk.as_ref(), glob)?);
    }
    if let Some(template) = settings.template(line) {
        floors.push(highest(site, seen.trunk.as_ref(), &template).map_err(End::internal)?);
    }
    let mut sent = floors.into_iter().max().unwrap_or(0);
    let requests = Requests::of(&site.state);
    if let Some(request) = request {
        match requests.sent(request, floor) {
            Some(before) => sent = before,
            None => requests.remember(request, floor, sent).map_err(|e| not_noted(&e))?,
        }
    }
    let mint = Mint { scope: line.to_owned(), floor: Some(sent).filter(|f| *f != 0), count };
    let request = request.cloned().unwrap_or_else(Id::random);
    let minted = site.calls().mint(&mint, Some(&request)).map_err(|e| {
        if e.is_unknown() {
            // Only a repeat with higher numbers in the trunk would miss it.
            let _ = requests.remember(&request, floor, sent);
        }
        let mut end = crate::refused::end(&e, Some(&request));
        if e.is(Code::FloorTooFar) {
            end = end.more(
                "A line that exists is lifted by at most 1000 at a time, so that a slip of the pen \
                            does not burn a million numbers. Raise it in steps with --floor.",
            );
        }
        end
    })?;
    Ok(Block { first: minted.first, last: minted.last, settings })
}

fn not_noted(error: &std::io::Error) -> End {
    End::new(
        exit::AGAIN,
        "state_unwritable",
        "the request cannot be noted in the state folder, so nothing was minted; mend that, then again",
    )
    .more(error.to_string())
}

/// The lines of the settings with the highest number that the trunk's files use.
///
/// # Errors
/// Git failed.
pub fn all_highest(
    site: &Site,
    trunk: Option<&Oid>,
    settings: &Settings,
) -> Result<BTreeMap<String, i64>, GitError> {
    let mut highest_of = BTreeMap::new();
    for line in &settings.lines {
        if let Some(template) = settings.template(&line.name) {
            highest_of.insert(line.name.clone(), highest(site, trunk, &template)?);
        }
    }
    Ok(highest_of)
}

/// A path for people.
#[must_use]
pub fn lossy(path: &BStr) -> String {
    path.to_str_lossy().into_owned()
}
