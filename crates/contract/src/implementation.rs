//! What the runner asks of an implementation.

use crate::Clock;
use crate::facts::Facts;
use crate::list::Settings;
use client::Signals;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// One implementation of the contract.
pub struct Implementation {
    /// Its name, which stands before the name of each case.
    pub name: &'static str,
    /// What it says of itself, which must be what the list says.
    pub facts: Facts,
    /// Whether it has a transport: it runs the cases tagged `http`, and gives the codes of one.
    pub transport: bool,
    /// Opens a fresh box with nothing in it. Boxes of several cases may be open at once.
    pub open: Open,
}

impl fmt::Debug for Implementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Implementation").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Opens a fresh box, or says why it cannot.
pub type Open = Box<dyn Fn(&Fresh) -> Result<Opened, String> + Send + Sync>;

/// What a fresh box begins with.
#[derive(Debug)]
pub struct Fresh {
    /// The case's clock.
    pub clock: Arc<Clock>,
    /// The case's settings.
    pub settings: Settings,
}

/// A box that is open.
pub struct Opened {
    /// How it is called: bytes in, bytes out.
    pub signals: Arc<dyn Signals>,
    /// How many calls are parked in it: taken in, and waiting for something to happen.
    pub parked: Box<dyn Fn() -> usize + Send + Sync>,
    /// How its transport is reached, where it has one.
    pub http: Option<Transport>,
    /// What must live as long as the box: its folder, its server.
    pub keep: Box<dyn Any + Send>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").finish_non_exhaustive()
    }
}

/// Sends a request as it is and gives status, headers (names in lower case) and body.
pub type Transport = Box<dyn Fn(&Http) -> Result<(u16, BTreeMap<String, String>, Vec<u8>), String> + Send>;

/// A request to a transport.
#[derive(Debug, Clone)]
pub struct Http {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}
