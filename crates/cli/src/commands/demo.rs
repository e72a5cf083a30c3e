//! `signalbox demo`.

use super::Context;
use crate::args::Demo;
use passage::End;

pub(super) fn run(_context: &Context, _args: &Demo) -> Result<End, End> {
    Ok(End::internal("the demo"))
}
