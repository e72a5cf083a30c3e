//! The template of a number line: which files carry its numbers, and what a new one is called.

use bstr::ByteSlice;
use std::collections::BTreeMap;

/// A template such as `docs/adr/{number:04}-{slug}.md`: one `{number}` (with an optional width), and
/// at most one `{slug}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
    width: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Number,
    Slug,
}

/// Why a template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadTemplate(&'static str);

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// It is no relative path, or has not exactly one `{number}`.
    pub fn parse(text: &str) -> Result<Self, BadTemplate> {
        let mut parts = Vec::new();
        let mut width = 0;
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let close =
                rest[open..].find('}').ok_or(BadTemplate("the template has a { without its }"))? + open;
            if open > 0 {
                parts.push(Part::Text(rest[..open].to_owned()));
            }
            match &rest[open + 1..close] {
                "number" => parts.push(Part::Number),
                "slug" => parts.push(Part::Slug),
                field => {
                    let digits = field
                        .strip_prefix("number:0")
                        .and_then(|w| w.parse().ok())
                        .filter(|w| (1..=18).contains(w))
                        .ok_or(BadTemplate("the template knows {number}, {number:04} and {slug}"))?;
                    width = digits;
                    parts.push(Part::Number);
                }
            }
            rest = &rest[close + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        if parts.iter().filter(|p| **p == Part::Number).count() != 1 {
            return Err(BadTemplate("the template needs {number} exactly once"));
        }
        if parts.iter().filter(|p| **p == Part::Slug).count() > 1 {
            return Err(BadTemplate("the template has {slug} more than once"));
        }
        let digit = |text: &str, end: bool| {
            let edge = if end { text.chars().next_back() } else { text.chars().next() };
            edge.is_some_and(|c| c.is_ascii_digit())
        };
        let ambiguous = parts.windows(2).any(|pair| match pair {
            [Part::Slug, Part::Number] | [Part::Number, Part::Slug] => true,
            [Part::Text(text), Part::Number] => digit(text, true),
            [Part::Number, Part::Text(text)] => digit(text, false),
            _ => false,
        });
        if ambiguous {
            return Err(BadTemplate(
                "the template's {number} touches a digit or {slug}; put a - between them",
            ));
        }
        let bad_part = |part: &str| part.is_empty() || part == "." || part == "..";
        if text.split('/').any(bad_part) || text.contains(['\\', '\0']) {
            return Err(BadTemplate("the template is no path inside the repository"));
        }
        Ok(Self { parts, width })
    }

    /// The path of a new file.
    #[must_use]
    pub fn path(&self, number: i64, title: &str) -> String {
        let mut path = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => path.push_str(text),
                Part::Number => path.push_str(&format!("{number:0width$}", width = self.width)),
                Part::Slug => path.push_str(&slug(title)),
            }
        }
        path
    }

    /// How many digits a number has at the least.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width.max(1)
    }

    /// What stands before the number in a path, and what behind it, if it is one of the line's files.
    #[must_use]
    pub fn around<'a>(&self, path: &'a str) -> Option<[&'a str; 2]> {
        let number = self.number_of(path.as_bytes())?;
        let mut digits = path.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at);
        digits.find_map(|at| {
            let end = path[at..].find(|c: char| !c.is_ascii_digit()).map_or(path.len(), |len| at + len);
            // Another number in its place is still one of the line's files, and the only thing that differs.
            let other = format!("{}{}{}", &path[..at], number.wrapping_add(1).max(0), &path[end..]);
            let whole = at == 0 || !path.as_bytes()[at - 1].is_ascii_digit();
            (whole && self.number_of(other.as_bytes()) == Some(number.wrapping_add(1).max(0)))
                .then(|| [&path[..at], &path[end..]])
        })
    }

    /// The number that a path carries, if it is one of the line's files. `{number}` stands for digits,
    /// `{slug}` for anything but a `/`.
    #[must_use]
    pub fn number_of(&self, path: &[u8]) -> Option<i64> {
        fn at(parts: &[Part], path: &[u8]) -> Option<Option<i64>> {
            let Some((part, parts)) = parts.split_first() else {
                return path.is_empty().then_some(None);
            };
            match part {
                Part::Text(text) => at(parts, path.strip_prefix(text.as_bytes())?),
                Part::Number => {
                    let digits = path.iter().take_while(|b| b.is_ascii_digit()).count();
                    (1..=digits).rev().find_map(|n| {
                        at(parts, &path[n..])?;
                        Some(path[..n].to_str().ok()?.parse().ok())
                    })
                }
                Part::Slug => {
                    let long = path.iter().take_while(|b| **b != b'/').count();
                    (0..=long).rev().find_map(|n| at(parts, &path[n..]))
                }
            }
        }
        at(&self.parts, path).flatten()
    }

    /// The line's files among `paths`, by number.
    pub fn numbered<'a, P: AsRef<[u8]> + 'a>(
        &self,
        paths: impl IntoIterator<Item = &'a P>,
    ) -> BTreeMap<i64, Vec<&'a [u8]>> {
        let mut files: BTreeMap<i64, Vec<&[u8]>> = BTreeMap::new();
        for path in paths {
            if let Some(number) = self.number_of(path.as_ref()) {
                files.entry(number).or_default().push(path.as_ref());
            }
        }
        files
    }
}

/// A title as a part of a file name: lower case, letters and digits, hyphens between.
fn slug(title: &str) -> String {
    let words: Vec<String> = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let mut slug = words.join("-");
    while slug.len() > 80 {
        slug.pop();
    }
    if slug.is_empty() { "untitled".into() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adr() -> Template {
        Template::parse("docs/adr/{number:04}-{slug}.md").unwrap()
    }

    #[test]
    fn a_new_file_is_called_after_number_and_title() {
        assert_eq!(adr().path(7, "Use SQLite, not files!"), "docs/adr/0007-use-sqlite-not-files.md");
        assert_eq!(adr().path(12_345, "…"), "docs/adr/12345-untitled.md");
    }

    #[test]
    fn a_file_of_the_line_gives_its_number() {
        assert_eq!(adr().number_of(b"docs/adr/0007-use-sqlite.md"), Some(7));
        assert_eq!(adr().number_of(b"docs/adr/7-\xff.md"), Some(7));
        for other in ["docs/adr/README.md", "docs/adr/x-7.md", "docs/adr/7-a/b.md", "adr/0007-x.md"] {
            assert_eq!(adr().number_of(other.as_bytes()), None, "{other}");
        }
        let bare = Template::parse("migrations/{number}.sql").unwrap();
        assert_eq!(bare.number_of(b"migrations/42.sql"), Some(42));
        assert_eq!(bare.number_of(b"migrations/99999999999999999999999.sql"), None);
    }

    #[test]
    fn a_number_can_be_replaced_in_its_path() {
        assert_eq!(adr().around("docs/adr/0007-use-7-bits.md"), Some(["docs/adr/", "-use-7-bits.md"]));
        assert_eq!(adr().around("docs/adr/README-7.md"), None);
        let late = Template::parse("v1/{slug}-{number}").unwrap();
        assert_eq!(late.around("v1/use-7-0042"), Some(["v1/use-7-", ""]));
    }

    #[test]
    fn a_template_that_cannot_be_meant_is_refused() {
        for bad in [
            "x.md",
            "{number}{number}",
            "{slug}",
            "/{number}",
            "../{number}",
            "a//{number}",
            "{numbr}",
            "{number",
            "{slug}{number}",
            "{number}{slug}",
            "v1{number}",
            "{number}0.txt",
        ] {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
    }
}
