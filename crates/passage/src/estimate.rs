//! How long a wait will be, told from how long the last turns were. Pure.

use client::EndedView;
use kernel::Millis;

/// A span that is expected, with a range in which it will be more often than not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// At the least, in milliseconds.
    pub low: Millis,
    /// What is most to be expected, in milliseconds.
    pub likely: Millis,
    /// At the most, in milliseconds.
    pub high: Millis,
}

/// How few turns are too few to tell anything from.
const TURNS_MIN: usize = 3;

/// How long the turn of a landing is: a tenth of them was shorter than `low`, a tenth longer than `high`.
#[must_use]
pub fn turn(ended: &[EndedView]) -> Option<Range> {
    spread(
        ended
            .iter()
            .filter(|stay| stay.outcome == "landed")
            .filter_map(|stay| Some(stay.ended_at - stay.turn_at?))
            .collect(),
    )
}

/// The middle of some spans, and the range in which eight of ten of them are.
#[must_use]
pub fn spread(mut spans: Vec<Millis>) -> Option<Range> {
    if spans.len() < TURNS_MIN {
        return None;
    }
    spans.sort_unstable();
    let last = spans.len() - 1;
    let at = |tenths: usize| spans[(last * tenths + 5) / 10].max(0);
    Some(Range { low: at(1), likely: at(5), high: at(9) })
}

/// How long somebody waits who has `before` others before it, the first of whom has had the turn for `elapsed`
/// milliseconds.
#[must_use]
pub fn wait(turn: Range, before: usize, elapsed: Millis) -> Range {
    let others = Millis::try_from(before.saturating_sub(1)).unwrap_or(Millis::MAX);
    let of = |one: Millis| match before {
        0 => 0,
        _ => (one - elapsed).max(0).saturating_add(one.saturating_mul(others)),
    };
    Range { low: of(turn.low), likely: of(turn.likely), high: of(turn.high) }
}

/// How good the estimates were: how many waits there were with one, and how many of them ended within its range.
#[must_use]
pub fn kept(ended: &[EndedView]) -> (usize, usize) {
    let told = ended.iter().filter_map(|stay| {
        let range = stay.report.as_ref()?.get("estimate")?.as_array()?;
        let [low, high] = range.as_slice() else { return None };
        let waited = stay.turn_at? - stay.entered_at;
        Some((low.as_i64()?..=high.as_i64()?).contains(&waited))
    });
    told.fold((0, 0), |(all, within), hit| (all + 1, within + usize::from(hit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn stay(entered: Millis, turn: Option<Millis>, ended: Millis, report: &Value) -> EndedView {
        serde_json::from_value(json!({
            "ticket": "t", "entry": 1, "turnNo": turn.map(|_| 1), "branch": "b", "head": "h", "label": "l", "step": "",
            "enteredAt": entered, "turnAt": turn, "endedAt": ended, "outcome": "landed", "report": report,
        }))
        .unwrap()
    }

    #[test]
    fn a_turn_is_as_long_as_the_last_ones_were_and_too_few_tell_nothing() {
        let ended: Vec<_> = (1..=10).map(|n| stay(0, Some(100), 100 + n * 10, &json!({}))).collect();
        assert_eq!(turn(&ended), Some(Range { low: 20, likely: 60, high: 90 }));
        assert_eq!(turn(&ended[..2]), None);
        let without: Vec<_> = (0..5).map(|_| stay(0, None, 100, &json!({}))).collect();
        assert_eq!(turn(&without), None, "who had no turn tells nothing of turns");
    }

    #[test]
    fn a_wait_is_the_rest_of_the_holders_turn_and_a_turn_for_each_other_one() {
        let turn = Range { low: 10, likely: 20, high: 40 };
        assert_eq!(wait(turn, 1, 15), Range { low: 0, likely: 5, high: 25 });
        assert_eq!(wait(turn, 3, 15), Range { low: 20, likely: 45, high: 105 });
        assert_eq!(wait(turn, 0, 15), Range { low: 0, likely: 0, high: 0 });
    }

    #[test]
    fn an_estimate_was_good_where_the_wait_ended_within_its_range() {
        let ended = [
            stay(0, Some(50), 60, &json!({ "estimate": [40, 60] })),
            stay(0, Some(70), 80, &json!({ "estimate": [40, 60] })),
            stay(0, Some(70), 80, &json!({})),
            stay(0, None, 80, &json!({ "estimate": [40, 60] })),
        ];
        assert_eq!(kept(&ended), (2, 1));
    }
}
