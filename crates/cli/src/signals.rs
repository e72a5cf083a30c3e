//! Ctrl-C and SIGTERM: the first asks the passage to stop, the second ends the process. While a command of the
//! user's runs, all of them are the command's.

use passage::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A signal that comes this soon after the first is the same request: a terminal and a parent process may
/// both have passed it on.
const SAME: Duration = Duration::from_millis(100);

/// Watches for signals from now on.
pub(crate) fn watch() -> Interrupt {
    watch_for(&[SIGINT, SIGTERM])
}

/// Watches for signals that may have to be passed on to a command.
pub(crate) fn watch_for_a_command() -> Interrupt {
    watch_for(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT])
}

fn watch_for(signals: &[i32]) -> Interrupt {
    let interrupt = Interrupt::default();
    let (cell, guarded) = (interrupt.cell(), interrupt.clone());
    // Where no handler can be set a signal ends the process, which is safe too.
    if let Ok(mut signals) = Signals::new(signals) {
        std::thread::spawn(move || {
            let mut asked: Option<Instant> = None;
            for signal in &mut signals {
                if guarded.relays() {
                    cell.store(signal, Ordering::Relaxed);
                    continue;
                }
                if asked.get_or_insert_with(Instant::now).elapsed() < SAME {
                    cell.store(signal, Ordering::Relaxed);
                    continue;
                }
                if cell.swap(signal, Ordering::Relaxed) != 0 {
                    // The second one: at once, as if there were no handler, and with the check.
                    guarded.kill_guarded();
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            }
        });
    }
    interrupt
}
