//! Git's hooks.

use crate::doctor::code::Code;
use crate::doctor::finding::Finding;
use crate::end::{naming, quoted};
use crate::hooks::survey::{Standing, Survey};
use std::path::Path;

/// The state that a server's hooks ask is not there.
pub(in crate::doctor) fn state_gone(dir: &Path) -> Finding {
    let line = "the hooks here ask the state in {}, which has none, so they refuse all; bring it back";
    Finding::new(Code::HookState, naming(line, [&dir.display().to_string()]))
        .more("If it is elsewhere now: signalbox hook install --server --state FOLDER")
}

pub(in crate::doctor) fn judge(facts: &Survey) -> Vec<Finding> {
    let mut found = Vec::new();
    let install = if facts.bare { "signalbox hook install --server" } else { "signalbox hook install" };
    let mut ours = Vec::new();
    for hook in &facts.hooks {
        let path = hook.path.display().to_string();
        match &hook.standing {
            Standing::Another => {
                let line = "a {} hook of another kind stands: landings do not run it, direct pushes do";
                found.push(Finding::new(Code::HookForeign, naming(line, [hook.name])).more(path));
            }
            Standing::Ours { executable, program_there, current } => {
                ours.push(hook.name);
                if !executable {
                    let line = "the hook {} cannot be executed, so git passes over it; make it executable";
                    found.push(
                        Finding::new(Code::HookOff, naming(line, [hook.name]))
                            .next(format!("chmod +x {}", quoted(&path))),
                    );
                }
                if !program_there {
                    let line =
                        "the program that the hook {} calls is gone, so it refuses all; install it again";
                    found.push(
                        Finding::new(Code::HookProgram, naming(line, [hook.name])).more(path).next(install),
                    );
                } else if !current {
                    let line = "the hook {} is of another version, or was changed; install it again";
                    found.push(
                        Finding::new(Code::HookOld, naming(line, [hook.name])).more(path).next(install),
                    );
                }
            }
        }
    }
    if facts.settings_gone {
        let line = "the hook here has lost its settings and refuses all it guards; install it again";
        found.push(
            Finding::new(Code::HookSettings, line)
                .next(install)
                .more("Or take it away: signalbox hook remove"),
        );
    }
    if facts.elsewhere {
        let line = naming(
            "git takes the hooks from {}, outside of this repository",
            [&facts.dir.display().to_string()],
        );
        found.push(Finding::new(Code::HooksElsewhere, line));
    }
    let line = match ours.as_slice() {
        [] => "none of signalbox; a push past the queue is taken in and checked again".to_owned(),
        names => naming("{} of signalbox", [&names.join(", ")]),
    };
    found.push(Finding::new(Code::Hooks, line));
    found
}
