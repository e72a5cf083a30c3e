//! `project replace`: a new id for this repository's project, without losing a number.

use crate::end::{End, exit};
use crate::fault;
use crate::refused;
use crate::site::{Site, unusable_state};
use kernel::{Code, Id};
use store::{Options, StateFile};

/// Gives the project a new id: `to`, or a random one. Numbers, turn counter, open holds and the freeze come over;
/// the places in the queue end, and whoever still has the old id is told that it was retired.
///
/// The box's own transaction records the replacement with all that it carries over, and whoever opens the state
/// next goes on with the new id: a crash at any point leaves either project whole and in use. Repeating it with the
/// same id changes nothing.
///
/// # Errors
/// The id is in use or was retired, or another process has replaced the project meanwhile.
pub fn replace(site: &Site, to: Option<Id>) -> Result<End, End> {
    if to.as_ref() == Some(&site.project) {
        return Ok(replaced());
    }
    let new = to.unwrap_or_else(Id::random);
    fault::point("replace:before-call");
    let called = site.calls().replace(&new, None);
    fault::point("replace:called");
    let file = StateFile::open(&site.state, &Options::default(), site.clock.as_ref())
        .map_err(|e| unusable_state(&site.state, &e))?;
    fault::point("replace:opened");
    match called {
        // By now yet another process may have replaced the new one.
        Ok(_) => Ok(replaced()),
        Err(_) if *file.project() == new => Ok(replaced()),
        Err(error) if error.is(Code::ReplacementTaken) && *file.project() != site.project => Err(End::new(
            exit::RULE,
            "replaced_meanwhile",
            "another process has replaced the project in this moment; it has a new id, nothing more was done",
        )
        .next("signalbox queue")),
        Err(error) => Err(refused::end(&error, None)),
    }
}

fn replaced() -> End {
    End::new(exit::DONE, "replaced", "the project has a new id; numbers, holds and the freeze came over")
        .more("The places in the queue ended. Commands that still run are told so; run them again.")
        .more("The log begins anew.")
}
