//! Ids: UUIDs in lower-case canonical form.

use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

/// A project's, ticket's or request's id. Parses only from the lower-case canonical form
/// (`8-4-4-4-12` hexadecimal digits), so that one id has one spelling.
///
/// A project's id is a capability: whoever has it may act. `Debug` therefore never shows an id's value;
/// [`Id::as_str`] does, for whoever must send or store it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(String);

/// The text is not a UUID in lower-case canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnId;

impl Id {
    /// A fresh random id (version 4, 122 random bits from the system).
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4().hyphenated().to_string())
    }

    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Id {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let id = Uuid::try_parse(text).map_err(|_| NotAnId)?.hyphenated().to_string();
        if id == text { Ok(Self(id)) } else { Err(NotAnId) }
    }
}

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a UUID in lower-case canonical form")
    }
}

impl std::error::Error for NotAnId {}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Id(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lower_case_canonical_form_is_an_id() {
        let good = "0f8fad5b-d9cb-469f-a165-70867728950e";
        assert_eq!(good.parse::<Id>().unwrap().as_str(), good);
        for bad in [
            "0F8FAD5B-d9cb-469f-a165-70867728950e",
            "0f8fad5bd9cb469fa16570867728950e",
            "{0f8fad5b-d9cb-469f-a165-70867728950e}",
            "urn:uuid:0f8fad5b-d9cb-469f-a165-70867728950e",
            "0f8fad5b-d9cb-469f-a165-70867728950",
            "0f8fad5b-d9cb-469f-a165-70867728950e ",
            "",
        ] {
            assert_eq!(bad.parse::<Id>(), Err(NotAnId), "{bad}");
        }
    }

    #[test]
    fn debug_does_not_show_a_capability() {
        let id = Id::random();
        assert!(!format!("{id:?}").contains(id.as_str()));
    }
}
