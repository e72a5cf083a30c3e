//! Points in time for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kernel::Millis;
pub(crate) use passage::times::span;

/// A point in time on this machine's calendar.
pub(crate) fn point(at: Millis) -> String {
    told(at, "%Y-%m-%d %H:%M:%S")
}

/// A point in time as briefly as it can be told on this machine's calendar: `14:05` where it is within half a
/// day of `now`.
pub(crate) fn time_of_day(at: Millis, now: Millis) -> String {
    const HALF_A_DAY: Millis = 12 * 3_600_000;
    told(at, if (at - now).abs() < HALF_A_DAY { "%H:%M" } else { "%Y-%m-%d %H:%M" })
}

fn told(at: Millis, format: &str) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(at) => at.to_zoned_datetime(TimeZone::system()).strftime(format).to_string(),
        Err(_) => "-".to_owned(),
    }
}
