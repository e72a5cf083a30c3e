//! signalbox.
fn main() {}
