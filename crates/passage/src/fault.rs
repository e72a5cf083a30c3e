//! Named points at which a test may kill or stop this process. Without the `testing` feature a point is
//! nothing at all.
//!
//! `SIGNALBOX_FAULT=NAME:kill` (or `stop`, or `group` for the whole process group) acts when the point of
//! that name is reached, `NAME#2:kill` when it is reached the second time; `SIGNALBOX_FAULT_LOG=FILE` gets
//! the name of every point that was passed.

/// A point of that name.
#[cfg(not(feature = "testing"))]
pub(crate) fn point(_name: &str) {}

/// A point of that name.
#[cfg(feature = "testing")]
pub(crate) fn point(name: &str) {
    use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};
    use std::io::Write;

    if let Some(log) = std::env::var_os("SIGNALBOX_FAULT_LOG")
        && let Ok(mut log) = std::fs::OpenOptions::new().create(true).append(true).open(log)
    {
        let _ = log.write_all(format!("{name}\n").as_bytes());
    }
    let Ok(fault) = std::env::var("SIGNALBOX_FAULT") else { return };
    let Some((at, what)) = fault.rsplit_once(':') else { return };
    let (at, time) = at.split_once('#').map_or((at, 1), |(at, time)| (at, time.parse().unwrap_or(1)));
    if at != name || passed() != time {
        return;
    }
    let _ = match what {
        "kill" => kill_process(getpid(), Signal::KILL),
        "group" => kill_current_process_group(Signal::KILL),
        "stop" => kill_process(getpid(), Signal::STOP),
        _ => Ok(()),
    };
}

/// How often the point that the fault is for has been reached, this time included.
#[cfg(feature = "testing")]
fn passed() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSED: AtomicU32 = AtomicU32::new(0);
    PASSED.fetch_add(1, Ordering::Relaxed) + 1
}
