//! How every caller reaches a box: one trait, [`Signals`], which a local file ([`Local`]) and later a
//! service over HTTP implement, and typed calls on top of it ([`Typed`]).

mod local;
mod signals;
mod typed;
pub mod views;

pub use local::Local;
pub use signals::{Signals, Unreached};
pub use typed::{CallError, Enter, Mint, Stay, Typed};
pub use views::{
    Ahead, Closed, EndedView, FreezeView, HoldView, HoldsView, Left, Lifted, Line, Minted, OpenedView,
    QueueView, Replaced, TicketView,
};
