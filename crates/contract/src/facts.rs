//! What an implementation says of itself: its limits, its calls, its codes.

use kernel::{Code, Limits, Retry};
use landing::{branch, members};
use std::collections::BTreeMap;

/// What must be as the list says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Its limits by name.
    pub constants: BTreeMap<String, i64>,
    /// Its calls: whether they take a `request`, and their other members, of which they must have some.
    pub calls: BTreeMap<String, (bool, BTreeMap<String, bool>)>,
    /// Its codes: status, `retry` and `retryAfterMs`.
    pub codes: BTreeMap<String, (u16, String, Option<i64>)>,
}

impl Facts {
    /// What the rules of this workspace say, for everything that is built on them.
    #[must_use]
    pub fn of_the_rules() -> Self {
        let calls = members::CALLS.iter().map(|spec| {
            let members = spec.members.iter().map(|m| (m.name.to_owned(), m.required));
            (spec.name.to_owned(), (spec.request, members.collect()))
        });
        let codes = Code::ALL.iter().map(|code| {
            let (retry, ms) = match code.retry() {
                Retry::Never => ("never", None),
                Retry::Now => ("now", None),
                Retry::After(ms) => ("after", Some(ms)),
                Retry::AfterFix => ("after_fix", None),
            };
            (code.as_str().to_owned(), (code.status(), retry.to_owned(), ms))
        });
        Self { constants: constants(), calls: calls.collect(), codes: codes.collect() }
    }
}

fn constants() -> BTreeMap<String, i64> {
    // Taken apart, so that a new limit does not compile until it is in the list.
    let Limits {
        lease_ms,
        renew_ms,
        turn_ms,
        ticket_age_ms,
        mint_count_max,
        floor_lift_max,
        floor_max,
        live_tickets_max,
        hold_span_max_ms,
        hold_paths_max,
        hold_path_bytes_max,
        open_holds_max,
        open_holds_total_max,
        freeze_branches_max,
        rate_window_ms,
        project_rate_max,
        address_rate_max,
        request_ms,
        wait_max_ms,
        sweep_max,
        ended_shown,
        body_bytes_max,
        report_bytes_max,
    } = Limits::default();
    let times = [
        ("leaseMs", lease_ms),
        ("renewMs", renew_ms),
        ("turnMs", turn_ms),
        ("ticketAgeMs", ticket_age_ms),
        ("mintCountMax", mint_count_max),
        ("floorLiftMax", floor_lift_max),
        ("floorMax", floor_max),
        ("holdSpanMaxMs", hold_span_max_ms),
        ("rateWindowMs", rate_window_ms),
        ("requestMs", request_ms),
        ("waitMaxMs", wait_max_ms),
        ("counterMax", members::COUNTER_MAX),
    ];
    let sizes = [
        ("liveTicketsMax", live_tickets_max),
        ("holdPathsMax", hold_paths_max),
        ("holdPathBytesMax", hold_path_bytes_max),
        ("openHoldsMax", open_holds_max),
        ("openHoldsTotalMax", open_holds_total_max),
        ("freezeBranchesMax", freeze_branches_max),
        ("projectRateMax", project_rate_max),
        ("addressRateMax", address_rate_max),
        ("sweepMax", sweep_max),
        ("endedShown", ended_shown),
        ("bodyBytesMax", body_bytes_max),
        ("reportBytesMax", report_bytes_max),
        ("liftLinesMax", members::LIFT_LINES_MAX),
        ("issuesMax", members::ISSUES_MAX),
        ("scopeBytesMax", members::SCOPE_BYTES_MAX),
        ("branchBytesMax", branch::BRANCH_BYTES_MAX),
        ("textCharsMax", members::TEXT_CHARS_MAX),
        ("nameCharsMax", members::NAME_CHARS_MAX),
        ("issueCharsMax", members::ISSUE_CHARS_MAX),
        ("markBytesMax", members::MARK_BYTES_MAX),
    ];
    let sizes = sizes.into_iter().map(|(name, size)| (name, i64::try_from(size).unwrap_or(i64::MAX)));
    times.into_iter().chain(sizes).map(|(name, value)| (name.to_owned(), value)).collect()
}
