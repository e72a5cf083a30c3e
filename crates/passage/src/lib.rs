//! The passage of a branch: `land` as nine steps, and what `init` and `mint` need besides.
//!
//! [`machine`] says what is done next and knows every way out; it does nothing itself. [`land`](mod@land) carries
//! its words out. The fence that keeps a stale passage from landing is in [`epoch`], and what became of a
//! push that nobody saw the end of in [`settle`].

pub mod check;
#[cfg(feature = "testing")]
pub mod clock_file;
pub mod doctor;
pub mod end;
pub mod epoch;
pub mod estimate;
pub mod event;
mod fault;
mod files;
pub mod forecast;
mod foresee;
pub mod gate;
pub mod holds;
pub mod hooks;
mod interrupt;
pub mod journal;
mod kept;
pub mod land;
mod lfs;
pub mod limits;
pub mod live;
pub mod locked;
mod lookout;
pub mod machine;
pub mod merging;
pub mod numbers;
pub mod pool;
pub mod process;
pub mod procs;
pub mod project_time;
pub mod refused;
pub mod renew;
pub mod replace;
mod requests;
pub mod results;
pub mod settings;
pub mod settle;
pub mod setup;
pub mod site;
mod slots;
pub mod split;
pub mod template;
pub mod times;
pub mod turn;
pub mod user_file;
pub mod why;

pub use end::End;
pub use event::{Event, Show};
pub use interrupt::Interrupt;
pub use site::Site;

/// The clock that a command is given: the machine's own.
#[cfg(not(feature = "testing"))]
#[must_use]
pub fn clock() -> std::sync::Arc<dyn kernel::Clock> {
    std::sync::Arc::new(kernel::SystemClock)
}

/// The clock that a command is given: the file that `SIGNALBOX_CLOCK` names, else the machine's own.
#[cfg(feature = "testing")]
#[must_use]
pub fn clock() -> std::sync::Arc<dyn kernel::Clock> {
    match std::env::var_os("SIGNALBOX_CLOCK") {
        Some(file) => std::sync::Arc::new(clock_file::ClockFile::new(file.into())),
        None => std::sync::Arc::new(kernel::SystemClock),
    }
}
