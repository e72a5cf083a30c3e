//! Refs of this repository: compare-and-swap, and the refs that keep objects from `gc`.

use bstr::ByteSlice;

use crate::push::PushEnd;
use crate::repo::oid;
use crate::{GitError, Oid, RefName, Repo};

/// A ref that keeps an object: `refs/signalbox/keep/<ticket>/<name>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The ticket.
    pub ticket: String,
    /// What the object is for that ticket.
    pub name: String,
    /// The object.
    pub oid: Oid,
}

const KEEP: &str = "refs/signalbox/keep/";

/// How long git waits for a ref that is locked, instead of 100 ms.
pub(crate) const LOCK_WAIT: &str = "core.filesRefLockTimeout=2000";
pub(crate) const PACKED_LOCK_WAIT: &str = "core.packedRefsTimeout=2000";

/// One line of `update-ref --stdin`: from `old` (none: the ref does not exist) to `new`.
pub(crate) fn move_line(refname: &str, new: &Oid, old: Option<&Oid>) -> String {
    match old {
        Some(old) => format!("update {refname} {new} {old}\n"),
        None => format!("create {refname} {new}\n"),
    }
}

/// Refuses what could be read as something else than one full ref name.
pub(crate) fn checked(refname: &str) -> Result<&str, GitError> {
    let odd = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, ':' | '^' | '~' | '?' | '*' | '[' | '\\')
    };
    let good = refname.starts_with("refs/")
        && !refname.contains(odd)
        && !refname.contains("..")
        && !refname.contains("@{")
        && !refname.contains("//")
        && !refname.ends_with(['/', '.'])
        && !refname.split('/').any(|part| part.starts_with('.') || part.ends_with(".lock"));
    if good { Ok(refname) } else { Err(GitError::BadRefName(refname.to_owned())) }
}

impl Repo {
    /// The objects that local refs name, each found by its full name. Two looks must agree, so that a
    /// transaction of another process is not seen half done.
    pub(crate) fn local_refs<const N: usize>(&self, names: [&str; N]) -> Result<[Option<Oid>; N], GitError> {
        let mut seen = self.look(names)?;
        for _ in 0..20 {
            let again = self.look(names)?;
            if again == seen {
                break;
            }
            seen = again;
        }
        Ok(seen)
    }

    fn look<const N: usize>(&self, names: [&str; N]) -> Result<[Option<Oid>; N], GitError> {
        let call =
            self.content().args(["for-each-ref", "--format=%(objectname) %(refname)", "--end-of-options"]);
        named(&call.args(names).stdout()?, names, "for-each-ref")
    }

    /// Moves one local ref if it still is at `old` (none: does not exist).
    pub(crate) fn swap(&self, refname: &str, new: &Oid, old: Option<&Oid>) -> Result<PushEnd, GitError> {
        let call = self.user(self.home()).durable().config(LOCK_WAIT).config(PACKED_LOCK_WAIT);
        let call = call.args(["update-ref", "-m", "signalbox", "--stdin"]);
        match call.stdin(move_line(checked(refname)?, new, old)).run() {
            Ok(out) if out.success() => Ok(PushEnd::Accepted),
            Ok(out) => Ok(PushEnd::Refused { text: out.text() }),
            Err(error @ GitError::TimedOut { .. }) => Ok(PushEnd::NoAnswer { text: error.to_string() }),
            Err(error) => Err(error),
        }
    }

    /// Keeps an object (and all it reaches) from the user's `gc` until [`Repo::drop_keep`]. The ref is on the disk
    /// when this returns. A ref of the same ticket and name is moved.
    ///
    /// # Errors
    /// [`GitError::BadRefName`] if ticket or name cannot stand in a ref; or if the object is not here.
    pub fn keep(&self, ticket: &str, name: &str, oid: &Oid) -> Result<(), GitError> {
        let refname = format!("{KEEP}{ticket}/{name}");
        let call = self.content().durable().config(LOCK_WAIT).config(PACKED_LOCK_WAIT);
        let call =
            call.args(["update-ref", "--no-deref", "--end-of-options", checked(&refname)?, oid.as_str()]);
        call.stdout().map(drop)
    }

    /// Lets go of all that is kept for a ticket. That nothing is kept is no error.
    ///
    /// # Errors
    /// If git fails.
    pub fn drop_keep(&self, ticket: &str) -> Result<(), GitError> {
        let gone: String = self
            .kept()?
            .iter()
            .filter(|kept| kept.ticket == ticket)
            .map(|kept| format!("delete {KEEP}{}/{}\n", kept.ticket, kept.name))
            .collect();
        let call = self.content().config(LOCK_WAIT).config(PACKED_LOCK_WAIT);
        call.args(["update-ref", "--stdin"]).stdin(gone).stdout().map(drop)
    }

    /// All that is kept, for any ticket.
    ///
    /// # Errors
    /// If git fails.
    pub fn kept(&self) -> Result<Vec<Kept>, GitError> {
        let call =
            self.content().args(["for-each-ref", "--format=%(objectname) %(refname)", "--end-of-options"]);
        let out = call.arg(KEEP).stdout()?;
        let mut kept = Vec::new();
        for line in out.lines() {
            let Some((id, name)) = line.split_once_str(" ") else { continue };
            let name = name.to_str_lossy();
            let Some((ticket, name)) = name.strip_prefix(KEEP).and_then(|rest| rest.split_once('/')) else {
                continue;
            };
            kept.push(Kept {
                ticket: ticket.to_owned(),
                name: name.to_owned(),
                oid: oid(id, "for-each-ref")?,
            });
        }
        Ok(kept)
    }

    /// Whether all these objects are here.
    pub(crate) fn has_all<'a>(&self, oids: impl IntoIterator<Item = &'a Oid>) -> Result<bool, GitError> {
        let asked: String = oids.into_iter().map(|oid| format!("{oid}\n")).collect();
        let out = self.content().args(["cat-file", "--batch-check=%(objecttype)"]).stdin(asked).stdout()?;
        Ok(!out.lines().any(|line| line.ends_with(b" missing")))
    }

    pub(crate) fn refs_under(&self, prefix: &str) -> Result<Vec<RefName>, GitError> {
        let call = self.content().args(["for-each-ref", "--format=%(refname)", "--end-of-options", prefix]);
        Ok(call.stdout()?.lines().map(|name| name.to_str_lossy().into_owned()).collect())
    }
}

/// Picks refs by their full names from lines of `<object> <name>` (blank or tab between them).
pub(crate) fn named<const N: usize>(
    listing: &[u8],
    names: [&str; N],
    command: &str,
) -> Result<[Option<Oid>; N], GitError> {
    let mut found = [const { None }; N];
    for line in listing.lines() {
        let Some((id, name)) = line.split_once_str("\t").or_else(|| line.split_once_str(" ")) else {
            continue;
        };
        if let Some(at) = names.iter().position(|wanted| wanted.as_bytes() == name) {
            found[at] = Some(oid(id, command)?);
        }
    }
    Ok(found)
}
