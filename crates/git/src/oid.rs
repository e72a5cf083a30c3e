//! Names of objects and refs.

use std::fmt;
use std::str::FromStr;

use crate::GitError;

/// A full ref name, such as `refs/heads/main`.
pub type RefName = String;

/// The name of an object: 40 (SHA-1) or 64 (SHA-256) lowercase hexadecimal digits, never all zeros.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(String);

impl Oid {
    /// Reads a full object name.
    ///
    /// # Errors
    /// [`GitError::BadOid`] if the text is not 40 or 64 lowercase hexadecimal digits, or is all zeros (git's way
    /// to write "no object").
    pub fn parse(text: &str) -> Result<Self, GitError> {
        let hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if hex && matches!(text.len(), 40 | 64) && text.bytes().any(|b| b != b'0') {
            Ok(Self(text.to_owned()))
        } else {
            Err(GitError::BadOid(text.chars().take(80).collect()))
        }
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Oid {
    type Err = GitError;

    fn from_str(text: &str) -> Result<Self, GitError> {
        Self::parse(text)
    }
}

impl AsRef<str> for Oid {
    fn as_ref(&self) -> &str {
        &self.0
    }
}
