//! Every case as a test of its own, for each implementation.

use crate::implementation::Implementation;
use crate::list::List;
use crate::{LIST, check, run};
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;
use std::sync::Arc;

/// Runs the list's check and every case on each of the implementations, as the test harness of a binary.
#[must_use]
pub fn main(implementations: Vec<Implementation>) -> ExitCode {
    let list = match List::read(LIST.as_bytes()) {
        Ok(list) => Arc::new(list),
        Err(error) => return one_failure(error),
    };
    let mut trials = Vec::new();
    let itself = Arc::clone(&list);
    trials.push(Trial::test("list::it holds together and leaves nothing out", move || {
        verdict(&check::list(&itself))
    }));
    for implementation in implementations {
        let implementation = Arc::new(implementation);
        let (name, with) = (implementation.name, implementation.transport);
        let left_out = list.cases.iter().filter(|case| case.needs_transport() && !with).count();
        let (asked, all) = (Arc::clone(&implementation), Arc::clone(&list));
        let title = match left_out {
            0 => format!("{name}::is what the list says"),
            n => format!("{name}::is what the list says ({n} cases need a transport and are ignored)"),
        };
        trials.push(Trial::test(title, move || verdict(&check::facts(&all, &asked.facts, asked.transport))));
        for number in 0..list.cases.len() {
            let (list, implementation) = (Arc::clone(&list), Arc::clone(&implementation));
            let case = &list.cases[number];
            let title = format!("{name}::{}", case.name);
            let ignored = case.needs_transport() && !with;
            let list = Arc::clone(&list);
            let trial = Trial::test(title, move || {
                run::run(&list, &list.cases[number], &implementation).map_err(Failed::from)
            });
            trials.push(trial.with_ignored_flag(ignored));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn verdict(found: &[String]) -> Result<(), Failed> {
    if found.is_empty() { Ok(()) } else { Err(found.join("\n").into()) }
}

fn one_failure(error: String) -> ExitCode {
    let trial = Trial::test("list::can be read", move || Err(Failed::from(error)));
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}
