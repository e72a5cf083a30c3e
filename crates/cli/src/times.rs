//! Times and spans for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kernel::Millis;

/// A span, as short as it can be told: `0.4 s`, `12 s`, `3:05`, `2:01:40`.
pub(crate) fn span(ms: Millis) -> String {
    let ms = ms.max(0);
    let seconds = ms / 1_000;
    match seconds {
        0..10 => format!("{seconds}.{} s", ms % 1_000 / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60),
    }
}

/// A point in time on this machine's calendar.
pub(crate) fn point(at: Millis) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(at) => at.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn a_span_is_told_as_short_as_it_can_be() {
        let told: Vec<String> = [400, 9_990, 12_000, 185_000, 7_300_000, -5].map(span).into();
        assert_eq!(told, ["0.4 s", "9.9 s", "12 s", "3:05", "2:01:40", "0.0 s"]);
    }
}
