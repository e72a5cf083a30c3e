//! Number lines whose files carry their numbers.

use crate::doctor::code::Code;
use crate::doctor::finding::Finding;
use crate::end::{exit, naming, quoted, short};
use crate::template::Template;
use bstr::{BString, ByteSlice};
use std::collections::BTreeMap;

/// A line, as the trunk has it.
#[derive(Debug, Clone)]
pub(in crate::doctor) struct Numbered {
    pub(in crate::doctor) name: String,
    pub(in crate::doctor) template: Template,
    /// Its files, by number.
    pub(in crate::doctor) files: BTreeMap<i64, Vec<BString>>,
    /// The last number that was issued; 0 where none was.
    pub(in crate::doctor) issued: i64,
}

/// `trunk`: the commit that has these files.
pub(in crate::doctor) fn judge(lines: &[Numbered], trunk: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for line in lines {
        found.extend(doubles(line, trunk));
        found.extend(never_issued(line));
    }
    if found.is_empty() && !lines.is_empty() {
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        let text = "the files of {} have one number each, and none that was not issued";
        found.push(Finding::new(Code::Numbers, naming(text, [&names.join(", ")])));
    }
    found
}

fn doubles(line: &Numbered, trunk: &str) -> Option<Finding> {
    let mut doubles = line.files.iter().filter(|(_, files)| files.len() > 1);
    let (number, files) = doubles.next()?;
    let more = doubles.count();
    let text =
        format!("{{}} {number} is used by {} files of the trunk; give all but one fresh ones", files.len());
    let mut finding = Finding::new(Code::Duplicates, naming(&text, [&line.name]));
    finding = finding.lines(files.iter().map(|file| short(&file.to_str_lossy(), 100)));
    if more > 0 {
        finding = finding.more(format!("{more} more of its numbers are used twice."));
    }
    let file = files.last()?.to_str().ok()?;
    let [before, after] = line.template.around(file)?;
    let part = |part: &str| if part.is_empty() { String::new() } else { quoted(part) };
    let width = line.template.width();
    let name = quoted(&line.name);
    let (before, after) = (part(before), part(after));
    let message = quoted(&format!("A fresh number for {}", short(file, 60)));
    Some(finding.next(format!(
        "git switch -c fresh-number-{number} {trunk} && n=$(printf %0{width}d \"$(signalbox mint {name})\") && \
         git mv -- {} {before}\"$n\"{after} && git commit -m {message} && signalbox land",
        quoted(file)
    )))
}

fn never_issued(line: &Numbered) -> Option<Finding> {
    let (number, files) = line.files.last_key_value()?;
    let (number, issued) = (*number, line.issued);
    // A line that was never minted begins above its files.
    if issued == 0 || number <= issued {
        return None;
    }
    let file = files.first()?.to_str_lossy();
    let far = number - issued > kernel::Limits::default().floor_lift_max;
    let (code, text) = if far {
        (
            Code::LineStuck,
            "{} has a number too far above {}'s for any further mint; lift the line, or rename it",
        )
    } else {
        (Code::LineBehind, "{} has a number that {} did not issue; lift the line above it, or rename it")
    };
    let finding = Finding::new(code, naming(text, [&file, &line.name]))
        .more(format!("The last one that was issued is {issued}."))
        .next("signalbox init --take-over");
    Some(if far { finding.exit(exit::RULE) } else { finding })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(files: &[(i64, &str)], issued: i64) -> Numbered {
        let template = Template::parse("adr/{number:04}-{slug}.md").unwrap();
        let mut by_number: BTreeMap<i64, Vec<BString>> = BTreeMap::new();
        for (number, file) in files {
            by_number.entry(*number).or_default().push((*file).into());
        }
        Numbered { name: "adr".into(), template, files: by_number, issued }
    }

    fn codes(line: &Numbered) -> Vec<Code> {
        judge(std::slice::from_ref(line), "abc").iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn a_number_above_the_line_is_told_at_its_edges() {
        let file = |number| line(&[(number, "adr/1-a.md")], 5);
        assert_eq!(codes(&file(5)), [Code::Numbers]);
        assert_eq!(codes(&file(6)), [Code::LineBehind]);
        assert_eq!(codes(&file(1_005)), [Code::LineBehind]);
        assert_eq!(codes(&file(1_006)), [Code::LineStuck]);
        assert_eq!(codes(&line(&[(9, "adr/9-a.md")], 0)), [Code::Numbers], "it begins above its files");
    }

    #[test]
    fn a_double_comes_with_the_commands_that_give_one_a_fresh_number() {
        let found = judge(&[line(&[(1, "adr/0001-a.md"), (1, "adr/0001-b b.md")], 1)], "abc");
        assert_eq!(
            found[0].end.next.as_deref(),
            Some(
                "git switch -c fresh-number-1 abc && n=$(printf %04d \"$(signalbox mint adr)\") && git mv -- \
                 'adr/0001-b b.md' adr/\"$n\"'-b b.md' && git commit -m 'A fresh number for adr/0001-b b.md' && \
                 signalbox land"
            )
        );
    }
}
