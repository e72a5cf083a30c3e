//! Named points at which a test may kill or stop this process. Without the `testing` feature a point is
//! nothing at all.
//!
//! `SIGNALBOX_FAULT=NAME:kill` (or `stop`, or `group` for the whole process group) acts when the point of
//! that name is reached; `SIGNALBOX_FAULT_LOG=FILE` gets the name of every point that was passed.

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
    match fault.split_once(':') {
        Some((at, "kill")) if at == name => {
            let _ = kill_process(getpid(), Signal::KILL);
        }
        Some((at, "group")) if at == name => {
            let _ = kill_current_process_group(Signal::KILL);
        }
        Some((at, "stop")) if at == name => {
            let _ = kill_process(getpid(), Signal::STOP);
        }
        _ => {}
    }
}
