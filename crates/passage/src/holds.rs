//! Step 5: which holds and which freeze keep a landing out. The box records them; which paths a landing
//! changes only its client knows.

use crate::end::{End, exit, land_command, naming, quoted, short};
use bstr::{BString, ByteSlice};
use client::{FreezeView, HoldView};
use kernel::Millis;

/// Whether a path of a hold covers a path of the repository: one that ends in `/` covers all below it,
/// another covers itself and, if it is a folder, all below it.
#[must_use]
pub fn covers(held: &str, path: &[u8]) -> bool {
    let folder = held.strip_suffix('/');
    let Some(rest) = path.strip_prefix(folder.unwrap_or(held).as_bytes()) else { return false };
    rest.first() == Some(&b'/') || (rest.is_empty() && folder.is_none())
}

/// The first hold of another owner that covers a changed path, with that path.
#[must_use]
pub fn held<'a>(
    holds: &'a [HoldView],
    owner: &str,
    changed: &'a [BString],
    now: Millis,
) -> Option<(&'a HoldView, &'a BString)> {
    let others = holds.iter().filter(|hold| hold.owner != owner && now < hold.until);
    others
        .flat_map(|hold| changed.iter().map(move |path| (hold, path)))
        .find(|(hold, path)| hold.paths.iter().any(|held| covers(held, path)))
}

/// Whether a freeze keeps that commit of that branch out.
#[must_use]
pub fn keeps_out(freeze: &FreezeView, branch: &str, head: &str) -> bool {
    !landing::slice::admits(&freeze.admissions, branch, head)
}

/// What is said to who waits for the end of a freeze.
#[must_use]
pub fn waiting_for(freeze: &FreezeView) -> String {
    let admits = match freeze.admissions.as_slice() {
        [] => "nothing".to_owned(),
        admissions => admissions.join(", "),
    };
    format!("waiting: frozen by {}, which admits {admits}", freeze.issues.join(", "))
}

/// What is said of a hold. `left` is how long it lasts, for people.
#[must_use]
pub fn held_end(branch: &str, hold: &HoldView, path: &BString, left: &str) -> End {
    let name = path.to_str_lossy();
    let text = format!("{{}} is under the hold {{}} for {left}; land when it ends, or with --wait-holds");
    End::new(exit::LATER, "held", naming(&text, [&name, &hold.name]))
        .more(format!("{} holds {}", short(&hold.owner, 60), short(&hold.paths.join(", "), 200)))
        .fact("hold", hold.name.as_str())
        .fact("owner", hold.owner.as_str())
        .fact("path", name.as_ref())
        .fact("until", hold.until)
        .next(land_command(branch, " --wait-holds"))
}

/// The same to who has waited for its end for as long as it wanted to.
#[must_use]
pub fn still_held(end: End, branch: &str) -> End {
    let path = end.facts.get("path").and_then(|path| path.as_str()).unwrap_or_default();
    let hold = end.facts.get("hold").and_then(|hold| hold.as_str()).unwrap_or_default();
    let text = "{} is still under the hold {}, and the wait is over; land again to wait on";
    let line = End::new(end.exit, end.code, naming(text, [path, hold])).line;
    End { line, ..end }.next(land_command(branch, " --wait-holds"))
}

/// What is said to who would close a hold of somebody else.
#[must_use]
pub fn not_yours(name: &str, holds: &[HoldView]) -> Option<End> {
    let hold = holds.iter().find(|hold| hold.name == name)?;
    let line = naming("the hold {} is of {}; close it as its owner: --owner", [name, &hold.owner]);
    let command = format!("signalbox hold close {} --owner {}", quoted(name), quoted(&hold.owner));
    Some(End::new(exit::RULE, "hold_gone", line).more("Ask them first.").next(command))
}

/// What is said of a freeze.
#[must_use]
pub fn frozen_end(branch: &str, freeze: &FreezeView) -> End {
    let issues = freeze.issues.join(", ");
    let line = naming("frozen by {}, which does not admit {}; land when it is closed", [&issues, branch]);
    End::new(exit::LATER, "frozen", line)
        .more(format!(
            "{} opened it; it admits: {}",
            short(&freeze.opener, 60),
            if freeze.admissions.is_empty() {
                "nothing".into()
            } else {
                short(&freeze.admissions.join(", "), 200)
            }
        ))
        .fact("issues", freeze.issues.clone())
        .fact("admissions", freeze.admissions.clone())
        .next("signalbox freeze list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_covers_a_file_itself_and_a_folder_with_all_below_it() {
        for (held, path, wanted) in [
            ("api/", "api/a.rs", true),
            ("api/", "api/b/c", true),
            ("api/", "api", false),
            ("api/", "apis/a", false),
            ("api", "api", true),
            ("api", "api/a.rs", true),
            ("api", "api.rs", false),
            ("a/b.rs", "a/b.rs", true),
            ("a/b.rs", "a/b.rs2", false),
            ("a/b.rs", "a", false),
            ("ü", "ü/x", true),
        ] {
            assert_eq!(covers(held, path.as_bytes()), wanted, "{held} {path}");
        }
        assert!(covers("api/", b"api/\xff"));
    }

    #[test]
    fn ones_own_hold_and_one_that_has_ended_keep_nobody_out() {
        let hold = |owner: &str, until| HoldView {
            name: "h".into(),
            paths: vec!["api/".into()],
            owner: owner.into(),
            opened_at: 0,
            until,
        };
        let changed = [BString::from("README"), BString::from("api/x")];
        assert!(held(&[hold("me", 10)], "me", &changed, 5).is_none());
        assert!(held(&[hold("you", 10)], "me", &changed, 10).is_none());
        assert_eq!(held(&[hold("you", 10)], "me", &changed, 9).unwrap().1, "api/x");
        assert!(held(&[hold("you", 10)], "me", &changed[..1], 5).is_none());
    }
}
