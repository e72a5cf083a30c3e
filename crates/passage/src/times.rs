//! Spans for people: one spelling wherever one is told.

use kernel::Millis;

/// A span, as short as it can be told: `0.4 s`, `12 s`, `3:05`, `2:01:40`.
#[must_use]
pub fn span(ms: Millis) -> String {
    let ms = ms.max(0);
    let seconds = ms / 1_000;
    match seconds {
        0..10 => format!("{seconds}.{} s", ms % 1_000 / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn a_span_is_told_as_short_as_it_can_be() {
        let told: Vec<String> = [400, 9_990, 12_000, 185_000, 7_199_000, -5].map(span).into();
        assert_eq!(told, ["0.4 s", "9.9 s", "12 s", "3:05", "1:59:59", "0.0 s"]);
    }
}
