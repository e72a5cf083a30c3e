//! Numbers in file names: two files with one number are refused, and a mint starts above what the trunk
//! uses.

use crate::end::{End, exit, land_command, naming, quoted, short};
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

/// Why the numbers of the merged files keep it from landing: two files with one number, or a number so far above
/// the ones that were issued that no further one could be minted.
///
/// # Errors
/// Git failed.
pub fn refusal(site: &Site, landing: &Landing, who: &Passenger<'_>) -> Result<Option<End>, GitError> {
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
    for (name, template) in &lines {
        let stood = template.numbered(&before);
        let line = Numbered { name, template };
        for (number, files) in template.numbered(&merged) {
            let stood = stood.get(&number).map_or(&[][..], Vec::as_slice);
            let Some(added) = files.iter().find(|file| !stood.contains(file)) else { continue };
            let Some(other) = files.iter().find(|file| *file != added) else { continue };
            let other_stood = stood.contains(other);
            return Ok(Some(duplicate(site, landing, who, line, number, added, (other, other_stood))?));
        }
    }
    for (name, template) in &lines {
        let highest = template.numbered(&before).keys().next_back().copied().unwrap_or(0);
        let merged = template.numbered(&merged);
        let Some((number, files)) = merged.last_key_value().filter(|(number, _)| **number > highest) else {
            continue;
        };
        if let Some(end) = never_issued(site, who, Numbered { name, template }, *number, files[0]) {
            return Ok(Some(end));
        }
    }
    Ok(None)
}

/// A line whose files carry its numbers.
#[derive(Debug, Clone, Copy)]
struct Numbered<'a> {
    name: &'a str,
    template: &'a Template,
}

impl Numbered<'_> {
    /// What to type so that a file of the branch gets a fresh number.
    fn mend(self, end: End, branch: &str, file: &[u8]) -> End {
        let mint = format!("signalbox mint {}", quoted(self.name));
        let to = file.to_str().ok().and_then(|file| Some((file, self.template.around(file)?)));
        let Some((file, [before, after])) = to else {
            return end.more("Mint a number, rename the file on the branch, commit, and land again.");
        };
        let part = |part: &str| if part.is_empty() { String::new() } else { quoted(part) };
        let to = format!("{}\"$n\"{}", part(before), part(after));
        let steps = [
            format!("git switch {}", quoted(branch)),
            format!("n=$(printf %0{}d \"$({mint})\")", self.template.width()),
            format!("git mv -- {} {to}", quoted(file)),
            format!("git commit -m {}", quoted(&format!("A fresh number for {}", short(file, 60)))),
            land_command(branch, ""),
        ];
        // One command: whoever does only what is to be done next must not mint a number and stop there.
        let end = end.more("On the branch:").next(steps.join(" && "));
        steps.into_iter().fold(end, |end, step| end.more(format!("  {step}")))
    }
}

fn duplicate(
    site: &Site,
    landing: &Landing,
    who: &Passenger<'_>,
    line: Numbered<'_>,
    number: i64,
    added: &[u8],
    (other, other_stood): (&[u8], bool),
) -> Result<End, GitError> {
    let text = format!("{{}} {number} is used by two files; give {{}} a fresh one");
    let text = naming(&text, [line.name, &added.to_str_lossy()]);
    let from = match (&landing.old, other_stood) {
        (Some(old), true) => site.repo.last_change(None, old, other)?.map_or_else(
            || "in the trunk".to_owned(),
            |(commit, subject)| format!("in the trunk since {} {}", commit.short(), short(&subject, 50)),
        ),
        _ => format!("from {}", short(who.branch, 40)),
    };
    let file = |path: &[u8]| short(&path.to_str_lossy(), 80);
    let end = End::new(exit::MEND, "duplicate_number", text)
        .more(format!("{}: from {}", file(added), short(who.branch, 40)))
        .more(format!("{}: {from}", file(other)))
        .fact("files", vec![added.to_str_lossy().into_owned(), other.to_str_lossy().into_owned()])
        .fact("line", line.name)
        .fact("number", number);
    Ok(line.mend(end, who.branch, added))
}

/// A mint starts above the trunk's files, and lifts a line by so much at the most: a file with a higher number
/// would keep its line from every further mint. A line that was never minted takes any floor, up to the greatest.
fn never_issued(
    site: &Site,
    who: &Passenger<'_>,
    line: Numbered<'_>,
    number: i64,
    file: &[u8],
) -> Option<End> {
    let limits = kernel::Limits::default();
    if number <= limits.floor_lift_max {
        return None;
    }
    // Where the box does not tell, a file that may do harm is no reason to keep a branch out.
    let stands = site.calls().lift(None, &[(line.name.to_owned(), 0)], None).ok()?;
    let issued = stands.lines.first()?.value;
    let room_left = limits.floor_max - limits.floor_lift_max;
    let most = if issued == 0 { room_left } else { room_left.min(issued + limits.floor_lift_max) };
    if number <= most {
        return None;
    }
    let text = format!("{{}} {number} was never issued (the highest is {issued}); give {{}} a fresh number");
    let end = End::new(exit::MEND, "number_not_issued", naming(&text, [line.name, &file.to_str_lossy()]))
        .more(format!("{}: from {}", short(&file.to_str_lossy(), 80), short(who.branch, 40)))
        .more(format!(
            "With it in the trunk the line would be stuck: a mint starts above the trunk's files, and at most {} \
             above the line.",
            limits.floor_lift_max
        ))
        .fact("files", vec![file.to_str_lossy().into_owned()])
        .fact("line", line.name)
        .fact("number", number)
        .fact("issued", issued);
    Some(line.mend(end, who.branch, file))
}

/// The highest number of a line that the trunk's files use, with the file; none where no file has one.
///
/// # Errors
/// Git failed.
pub fn highest(
    site: &Site,
    trunk: Option<&Oid>,
    template: &Template,
) -> Result<Option<(i64, BString)>, GitError> {
    let paths = trunk.map_or(Ok(Vec::new()), |trunk| site.repo.tree_paths(trunk))?;
    let numbered = template.numbered(&paths);
    Ok(numbered.last_key_value().and_then(|(number, files)| Some((*number, BString::from(*files.first()?)))))
}

/// The highest number in the names of the trunk's files that a glob matches, with the file: the first run of digits
/// of the file's own name.
///
/// # Errors
/// The glob cannot be meant, or git failed.
pub fn highest_by_glob(site: &Site, trunk: Option<&Oid>, glob: &str) -> Result<Option<(i64, BString)>, End> {
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
    Ok(paths.iter().filter_map(|path| Some((number(path)?, path.clone()))).max())
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
    // Reading the settings has brought the names of all files here.
    let mut floors: Vec<(i64, Option<BString>)> =
        floor.number.map(|number| (number, None)).into_iter().collect();
    let used = |(number, file)| (number, Some(file));
    if let Some(glob) = &floor.glob {
        floors.extend(highest_by_glob(site, seen.trunk.as_ref(), glob)?.map(used));
    }
    if let Some(template) = settings.template(line) {
        floors.extend(highest(site, seen.trunk.as_ref(), &template).map_err(End::internal)?.map(used));
    }
    let highest = floors.into_iter().max();
    let mut sent = highest.as_ref().map_or(0, |(number, _)| *number);
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
        match &highest {
            Some((number, Some(file)))
                if *number == sent && (e.is(Code::FloorTooFar) || e.is(Code::InvalidRequest)) =>
            {
                end = stuck(site, end, line, *number, file);
            }
            _ if e.is(Code::FloorTooFar) => {
                end = end.more(
                    "A line that exists is lifted by at most 1000 at a time, so that a slip of the pen \
                     does not burn a million numbers. Raise it in steps with --floor.",
                );
            }
            _ => {}
        }
        end
    })?;
    Ok(Block { first: minted.first, last: minted.last, settings })
}

/// What the trunk's own file keeps from being minted. An end that is about something else stays as it is.
fn stuck(site: &Site, end: End, line: &str, number: i64, file: &BString) -> End {
    let limits = kernel::Limits::default();
    if end.code == "invalid_request" && number <= limits.floor_max {
        return end;
    }
    let text = "{} has a number too far above {}'s; rename it on a branch and land that";
    End::new(exit::RULE, "floor_too_far", naming(text, [&file.to_str_lossy(), line]))
        .more(format!(
            "A mint starts above the highest number that files of {} use, and lifts a line that exists by at most {}.",
            site.trunk_name(),
            limits.floor_lift_max
        ))
        .fact("file", file.to_str_lossy().as_ref())
        .fact("number", number)
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
            let highest = highest(site, trunk, &template)?;
            highest_of.insert(line.name.clone(), highest.map_or(0, |(number, _)| number));
        }
    }
    Ok(highest_of)
}

/// The lines of the settings that no file shows, with the last number that was issued of each. What the box does not
/// tell is left out.
pub(crate) fn without_files(site: &Site, settings: &Settings) -> Vec<(String, i64)> {
    let bare = settings.lines.iter().filter(|line| line.template.is_none());
    let asked: Vec<(String, i64)> = bare.map(|line| (line.name.clone(), 0)).collect();
    let mut lines = Vec::new();
    for asked in asked.chunks(landing::members::LIFT_LINES_MAX) {
        let Ok(stands) = site.calls().lift(None, asked, None) else { continue };
        lines.extend(stands.lines.into_iter().map(|line| (line.scope, line.value)).filter(|(_, v)| *v > 0));
    }
    lines
}

/// A path for people.
#[must_use]
pub fn lossy(path: &BStr) -> String {
    path.to_str_lossy().into_owned()
}
