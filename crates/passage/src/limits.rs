//! The limits in force, for people and programs.

use crate::end::End;
use crate::site::{repository, state_dir, unusable_state};
use crate::times::span;
use kernel::{Clock, Limits, Millis};
use std::path::Path;
use store::{OpenError, Options, StateFile};

/// Whose a limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The box's own, in its state; `init` sets it.
    Box,
    /// The same wherever this version runs.
    Version,
    /// A service's; a local state has none such.
    Service,
}

/// What a limit is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A span, in milliseconds.
    Span(Millis),
    /// Bytes.
    Bytes(usize),
    /// A number of things.
    Count(i64),
    /// A setting that is on or off.
    Switch(bool),
}

/// One limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Its name.
    pub name: &'static str,
    /// How much.
    pub amount: Amount,
    /// Of what.
    pub what: &'static str,
    /// Whose.
    pub of: Of,
}

/// Every limit in force.
#[derive(Debug)]
pub struct InForce {
    /// The limits, the box's own first.
    pub limits: Vec<Limit>,
    /// There is no box here: its own limits are what a fresh one begins with.
    pub defaults: bool,
}

/// The limits in force where `cwd` is. Nothing is made.
///
/// # Errors
/// There is a state, and it cannot be used.
pub fn in_force(cwd: &Path, state: Option<&Path>, clock: &dyn Clock) -> Result<InForce, End> {
    let file = match repository(cwd).and_then(|repo| state_dir(&repo, state)) {
        Ok(dir) => match StateFile::open(&dir, &Options::default(), clock) {
            Ok(file) => Some(file),
            Err(OpenError::Missing) => None,
            Err(error) => return Err(unusable_state(&dir, &error)),
        },
        Err(end) if end.code == "no_repository" && state.is_none() => None,
        Err(end) => return Err(end),
    };
    let default = Limits::default();
    let (lease, turn, freeze) = file.as_ref().map_or((default.lease_ms, default.turn_ms, true), |file| {
        (file.lease_ms(), file.turn_ms(), file.freeze_holds_turns())
    });
    let limits = all(&Limits { lease_ms: lease, turn_ms: turn, ..default }, freeze);
    Ok(InForce { limits, defaults: file.is_none() })
}

fn all(limits: &Limits, freeze_holds_turns: bool) -> Vec<Limit> {
    // Taken apart, so that a new limit does not compile until it is shown.
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
    } = limits.clone();
    let count = |n: usize| Amount::Count(i64::try_from(n).unwrap_or(i64::MAX));
    let limit = |of, name, amount, what| Limit { name, amount, what, of };
    let (own, version, service) = (Of::Box, Of::Version, Of::Service);
    let (span, bytes) = (Amount::Span, Amount::Bytes);
    vec![
        limit(own, "leaseMs", span(lease_ms), "how long a place lives that is not heard of"),
        limit(own, "turnMs", span(turn_ms), "how long a turn may last"),
        limit(
            own,
            "freezeHoldsTurns",
            Amount::Switch(freeze_holds_turns),
            "whether a freeze keeps turns from beginning",
        ),
        limit(version, "renewMs", span(renew_ms), "how often a place is renewed, at the least"),
        limit(version, "ticketAgeMs", span(ticket_age_ms), "how old a place may become"),
        limit(version, "liveTicketsMax", count(live_tickets_max), "places in the queue"),
        limit(version, "waitMaxMs", span(wait_max_ms), "how long one call waits"),
        limit(version, "endedShown", count(ended_shown), "ended places at hand, as in the log"),
        limit(version, "reportBytesMax", bytes(report_bytes_max), "what is kept of how a place ended"),
        limit(version, "mintCountMax", Amount::Count(mint_count_max), "numbers of one mint"),
        limit(
            version,
            "floorLiftMax",
            Amount::Count(floor_lift_max),
            "how far a floor lifts a line that exists",
        ),
        limit(version, "floorMax", Amount::Count(floor_max), "the highest floor"),
        limit(version, "holdSpanMaxMs", span(hold_span_max_ms), "how long a hold may last"),
        limit(version, "holdPathsMax", count(hold_paths_max), "paths of one hold"),
        limit(version, "holdPathBytesMax", bytes(hold_path_bytes_max), "all paths of one hold together"),
        limit(version, "openHoldsMax", count(open_holds_max), "open holds"),
        limit(version, "freezeBranchesMax", count(freeze_branches_max), "branches that a freeze admits"),
        limit(
            version,
            "requestMs",
            span(request_ms),
            "how long a request is remembered, so that it may be repeated",
        ),
        limit(version, "sweepMax", count(sweep_max), "dead rows that one call removes"),
        limit(service, "bodyBytesMax", bytes(body_bytes_max), "the body of one call"),
        limit(service, "openHoldsTotalMax", count(open_holds_total_max), "open holds of all projects"),
        limit(
            service,
            "rateWindowMs",
            span(rate_window_ms),
            "the window of the two rates, which each process counts for itself",
        ),
        limit(service, "projectRateMax", count(project_rate_max), "calls of a project in one window"),
        limit(service, "addressRateMax", count(address_rate_max), "calls from an address in one window"),
    ]
}

impl Amount {
    /// The amount with its unit, for people.
    #[must_use]
    pub fn told(self) -> String {
        const DAY: Millis = 86_400_000;
        match self {
            Self::Span(ms) if ms >= 2 * DAY && ms % DAY == 0 => format!("{} days", ms / DAY),
            Self::Span(ms) => span(ms),
            Self::Bytes(bytes) if bytes % 1_024 == 0 => format!("{} KiB", bytes / 1_024),
            Self::Bytes(bytes) => format!("{bytes} B"),
            Self::Count(count) => count.to_string(),
            Self::Switch(on) => if on { "yes" } else { "no" }.to_owned(),
        }
    }
}
