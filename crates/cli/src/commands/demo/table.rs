//! The table at the end.

use super::incident::Finding;
use super::tell::Paint;

/// How wide the columns are: together with what is between them 100.
const WIDTHS: [usize; 3] = [26, 35, 35];

/// One row: what happened, and what each of the two made of it; nothing where that half did not run.
pub(super) struct Row<'a> {
    pub(super) what: &'a str,
    pub(super) found: [Option<&'a Finding>; 2],
}

/// The table's lines. The last row stands apart.
pub(super) fn lines(heads: [&str; 3], rows: &[Row<'_>], paint: Paint) -> Vec<String> {
    let rule = |left: char| -> String { WIDTHS.map(|w| left.to_string().repeat(w)).join("  ") };
    let mut lines = vec![joined(&heads.map(str::to_owned), paint, [None; 3]), rule('─')];
    for (at, row) in rows.iter().enumerate() {
        if at + 1 == rows.len() {
            lines.push(rule('─'));
        } else if at > 0 {
            lines.push(String::new());
        }
        lines.extend(row_lines(row, paint));
    }
    lines
}

fn row_lines(row: &Row<'_>, paint: Paint) -> Vec<String> {
    let found = row.found.map(|found| match found {
        Some(finding) => (Some(finding.good), wrapped(&finding.text, WIDTHS[1] - 2)),
        None => (None, vec!["not run: flock is not installed".to_owned()]),
    });
    let what = wrapped(row.what, WIDTHS[0]);
    let [left, right] = found;
    let count = what.len().max(left.1.len()).max(right.1.len());
    (0..count)
        .map(|at| {
            let cell = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
            let mark = |good: Option<bool>| good.filter(|_| at == 0);
            let cells = [cell(&what), cell(&left.1), cell(&right.1)];
            joined(&cells, paint, [None, mark(left.0), mark(right.0)])
        })
        .collect()
}

/// One line of the table. A cell with a mark begins with it; a cell below one is indented alike.
fn joined(cells: &[String; 3], paint: Paint, marks: [Option<bool>; 3]) -> String {
    let mut line = String::new();
    for (at, cell) in cells.iter().enumerate() {
        let mut width = WIDTHS[at];
        if at > 0 {
            line.push_str("  ");
            line.push_str(&marks[at].map_or("  ".to_owned(), |good| format!("{} ", paint.mark(good))));
            width -= 2;
        }
        line.push_str(&format!("{cell:<width$}"));
    }
    line.trim_end().to_owned()
}

/// The text in lines of at most that many characters, broken between words.
pub(super) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut();
        match last {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_a_hundred_columns() {
        let long = Finding::new(false, "the next waited 3.0 s, until a person resumed the holder ".repeat(3));
        let rows = [
            Row { what: "a push past the queue, during the tests", found: [Some(&long), Some(&long)] },
            Row { what: "in the end", found: [None, Some(&long)] },
        ];
        let lines = lines(["incident", "with flock", "with signalbox"], &rows, Paint::plain());
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{lines:#?}");
        assert_eq!(lines.iter().filter(|line| line.contains('✗')).count(), 2);
    }

    #[test]
    fn a_text_breaks_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("unbreakable", 4), ["unbreakable"]);
    }
}
