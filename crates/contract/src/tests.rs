//! That the checks bite: whatever is spoiled in the list is found, and a case fails on an implementation
//! that answers something else.

mod checks;
mod runner;

use crate::list::List;
use crate::{LIST, check};
use serde_json::Value;

/// What is wrong with the list after a change to it.
fn spoiled(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut list: Value = serde_json::from_str(LIST).unwrap();
    change(&mut list);
    match List::read(list.to_string().as_bytes()) {
        Ok(list) => check::list(&list),
        Err(error) => vec![error],
    }
}

/// That a change to the list is found, and what is said of it.
#[track_caller]
fn found(says: &str, change: impl FnOnce(&mut Value)) {
    let found = spoiled(change);
    assert!(found.iter().any(|error| error.contains(says)), "expected “{says}”, came {found:#?}");
}
