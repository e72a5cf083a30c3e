//! A project's time never runs backwards. So one clock that was once ahead stops it until the other clocks have
//! caught up: no lease ends, and holds end at once. That cannot be undone in the project, only seen and left
//! behind.

use kernel::Millis;

/// How far a project's time may be ahead of this machine's clock without a word.
pub const AHEAD_MAX: Millis = 60_000;

/// What is said where the project's time is further ahead of this machine's clock than [`AHEAD_MAX`]. `now` is this
/// clock's, `seen` the latest time that an answer of the project carries.
#[must_use]
pub fn ahead(now: Millis, seen: Millis) -> Option<String> {
    let by = seen.saturating_sub(now);
    (by > AHEAD_MAX).then(|| {
        let minutes = by / 60_000;
        let by = if minutes < 120 { format!("{minutes} min") } else { format!("{} h", minutes / 60) };
        format!(
            "the project's time is {by} ahead of this clock, since some clock was: until then no lease ends and \
             holds end at once. If this clock is right: signalbox project replace"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_is_more_than_a_minute_ahead_is_told() {
        assert_eq!(ahead(5, 0), None);
        assert_eq!(ahead(0, AHEAD_MAX), None);
        assert!(ahead(0, AHEAD_MAX + 1).is_some_and(|text| text.contains(" 1 min ahead")));
        assert!(ahead(0, 36_000_000).is_some_and(|text| text.contains(" 10 h ahead")));
        assert!(ahead(Millis::MIN, Millis::MAX).is_some());
    }
}
