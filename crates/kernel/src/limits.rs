//! The limits in force, as data in one place (source: the constants of `blueprint-service`).

use crate::clock::Millis;

/// Every limit of the landing part. [`Limits::default`] is the source's table.
///
/// `lease_ms` and `turn_ms` decide who lives, so the values in force stand in the database and are read
/// with the slice; the others are the same in every process of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long a ticket lives after it was last touched.
    pub lease_ms: Millis,
    /// How often a caller renews; never a refusal.
    pub renew_ms: Millis,
    /// How long a turn may last.
    pub turn_ms: Millis,
    /// How old a ticket may become, from its entry.
    pub ticket_age_ms: Millis,
    /// The most numbers one mint may take.
    pub mint_count_max: i64,
    /// How far a floor may lift a line that exists.
    pub floor_lift_max: i64,
    /// The greatest floor.
    pub floor_max: i64,
    /// The most live tickets of a project.
    pub live_tickets_max: usize,
    /// The longest that a hold may last.
    pub hold_span_max_ms: Millis,
    /// The most paths of a hold.
    pub hold_paths_max: usize,
    /// The most bytes that all paths of a hold have together.
    pub hold_path_bytes_max: usize,
    /// The most open holds of a project.
    pub open_holds_max: usize,
    /// The most open holds of all projects together. Counted without a lock of its own, as in the source:
    /// openings at one instant in several projects may pass it by as many.
    pub open_holds_total_max: usize,
    /// The most branches and commits that a freeze admits.
    pub freeze_branches_max: usize,
    /// How long a window of the two rates below lasts. Rates are a service's, and each process counts its
    /// own; a local file has none.
    pub rate_window_ms: Millis,
    /// The most calls of a project in one window; `queue/wait` and `queue/renew` do not count.
    pub project_rate_max: usize,
    /// The most calls from an address in one window.
    pub address_rate_max: usize,
    /// How long a request id is remembered.
    pub request_ms: Millis,
    /// The longest `queue/wait` and `queue/list` may wait.
    pub wait_max_ms: Millis,
    /// How many dead rows one call removes at the most.
    pub sweep_max: usize,
    /// How many ended tickets `queue/list` shows.
    pub ended_shown: usize,
    /// The largest body of a call, in bytes.
    pub body_bytes_max: usize,
    /// The largest report of `queue/leave`, in bytes of its canonical JSON.
    pub report_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lease_ms: 300_000,
            renew_ms: 60_000,
            turn_ms: 5_400_000,
            ticket_age_ms: 604_800_000,
            mint_count_max: 100,
            floor_lift_max: 1_000,
            floor_max: 1_000_000_000,
            live_tickets_max: 200,
            hold_span_max_ms: 86_400_000,
            hold_paths_max: 64,
            hold_path_bytes_max: 4_096,
            open_holds_max: 20,
            open_holds_total_max: 2_000,
            freeze_branches_max: 32,
            rate_window_ms: 60_000,
            project_rate_max: 300,
            address_rate_max: 600,
            request_ms: 604_800_000,
            wait_max_ms: 55_000,
            sweep_max: 100,
            ended_shown: 20,
            body_bytes_max: 16_384,
            report_bytes_max: 2_048,
        }
    }
}
