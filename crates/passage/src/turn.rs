//! What may not outlive a turn, and when it is over.

use crate::renew::Renewer;
use kernel::Millis;

/// A turn, as what runs in it sees it.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// Renews it.
    pub renewer: &'a Renewer,
    /// When it ends at the latest.
    pub until: Millis,
    /// When it began.
    pub began: Millis,
    /// How long the lease is.
    pub lease: Millis,
}

/// Why a turn is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Its limit has come.
    Limit,
    /// It is lost.
    Lost,
}

impl Turn<'_> {
    fn length(&self) -> Millis {
        self.until - self.began
    }

    /// A little before the limit, so that the turn can still be given back.
    #[must_use]
    pub fn margin(&self) -> Millis {
        (self.length() / 100).min(1_000)
    }

    /// Whether the turn is over, or its limit is not further away than `margin`.
    #[must_use]
    pub fn over(&self, now: Millis, margin: Millis) -> Option<Over> {
        let lost = self.renewer.lost();
        let lived_to_the_limit = self.renewer.last() + self.lease >= self.until;
        if now >= self.until - margin && lived_to_the_limit {
            return Some(Over::Limit);
        }
        lost.then_some(Over::Lost)
    }

    /// Whether the lease may have ended, or ends within `margin`, since the box did not answer for so long.
    #[must_use]
    pub fn in_doubt(&self, now: Millis, margin: Millis) -> bool {
        now >= self.renewer.last() + self.lease - margin.min(self.lease / 5)
    }

    /// Whether four fifths of its limit are used.
    #[must_use]
    pub fn nearly_over(&self, now: Millis) -> bool {
        now >= self.began + self.length() / 5 * 4
    }
}
