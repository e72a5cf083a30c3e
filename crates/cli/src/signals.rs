//! Ctrl-C and SIGTERM: the first asks the passage to stop, the second ends the process.

use passage::Interrupt;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::atomic::Ordering;

/// Watches for signals from now on.
pub(crate) fn watch() -> Interrupt {
    let interrupt = Interrupt::default();
    let (cell, guarded) = (interrupt.cell(), interrupt.clone());
    // Where no handler can be set a signal ends the process, which is safe too.
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) {
        std::thread::spawn(move || {
            for signal in &mut signals {
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
