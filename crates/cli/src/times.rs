//! Points in time for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kernel::Millis;
pub(crate) use passage::times::span;

/// A point in time on this machine's calendar.
pub(crate) fn point(at: Millis) -> String {
    told(at, "%Y-%m-%d %H:%M:%S")
}

/// A time of that day on this machine's clock: `14:05`.
pub(crate) fn time_of_day(at: Millis) -> String {
    told(at, "%H:%M")
}

fn told(at: Millis, format: &str) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(at) => at.to_zoned_datetime(TimeZone::system()).strftime(format).to_string(),
        Err(_) => "-".to_owned(),
    }
}
