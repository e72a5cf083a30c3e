//! One finding, and what comes of all of them.

use super::code::{Code, Severity};
use crate::end::{End, exit};

/// Something that was found out: how it is, or what is wrong and the way out.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Which.
    pub code: Code,
    /// Its line, what helps further, the command to type. The exit code is the one with which a command ends that
    /// meets it.
    pub end: End,
}

impl Finding {
    /// A finding. Its exit code is that of a matter of set-up.
    pub(super) fn new(code: Code, line: impl AsRef<str>) -> Self {
        let exit = if code.severity() == Severity::Problem { exit::SETUP } else { exit::DONE };
        Self { code, end: End::new(exit, code.as_str(), line) }
    }

    /// What another command would be refused with. One that `doctor` does not know is something that could not be
    /// examined.
    pub(super) fn of(end: End) -> Self {
        match Code::named(end.code) {
            Some(code) => Self { code, end },
            None => Self { code: Code::NotExamined, end: End { code: Code::NotExamined.as_str(), ..end } },
        }
    }

    /// With the command to type.
    #[must_use]
    pub(super) fn next(mut self, command: impl Into<String>) -> Self {
        self.end = self.end.next(command);
        self
    }

    /// With a further line.
    #[must_use]
    pub(super) fn more(mut self, line: impl Into<String>) -> Self {
        self.end = self.end.more(line);
        self
    }

    /// With further lines.
    #[must_use]
    pub(super) fn lines(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.end.more.extend(lines);
        self
    }

    /// With the exit code of a command that meets it.
    #[must_use]
    pub(super) fn exit(mut self, exit: u8) -> Self {
        self.end.exit = exit;
        self
    }

    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

/// What comes of the findings: all is well, or the first problem with its exit code and its remedy.
#[must_use]
pub fn outcome(findings: &[Finding]) -> End {
    let count = |severity| findings.iter().filter(|finding| finding.severity() == severity).count();
    let (problems, warnings) = (count(Severity::Problem), count(Severity::Warning));
    let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let first = findings.iter().find(|finding| finding.severity() == Severity::Problem);
    let end = match first {
        None if warnings == 0 => End::new(exit::DONE, "healthy", "all is well"),
        None => {
            let line = format!("landings work; {}, each with its remedy above", counted(warnings, "warning"));
            End::new(exit::DONE, "healthy", line)
        }
        Some(first) => {
            let others =
                if warnings == 0 { String::new() } else { format!(", {}", counted(warnings, "warning")) };
            let line =
                format!("{}{others}; begin with the first: {}", counted(problems, "problem"), first.end.code);
            let end = End::new(first.end.exit.max(1), first.end.code, line);
            End { next: first.end.next.clone(), ..end }
        }
    };
    end.fact("problems", problems).fact("warnings", warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_alone_are_no_failure_and_the_first_problem_is_the_outcome() {
        let fine = Finding::new(Code::Git, "git 2.47");
        let warning = Finding::new(Code::FreezeOld, "x").next("a");
        let settle = Finding::new(Code::OpenIntent, "y").exit(exit::UNKNOWN).next("b");
        let last = Finding::new(Code::HookProgram, "z");
        assert_eq!(outcome(std::slice::from_ref(&fine)).line, "all is well");
        let end = outcome(&[fine.clone(), warning.clone()]);
        assert_eq!((end.exit, end.code, end.next), (0, "healthy", None));
        assert_eq!(end.line, "landings work; 1 warning, each with its remedy above");
        let end = outcome(&[fine, warning, settle, last]);
        assert_eq!((end.exit, end.code, end.next.as_deref()), (21, "outcome_unknown", Some("b")));
        assert_eq!(end.line, "2 problems, 1 warning; begin with the first: outcome_unknown");
    }

    #[test]
    fn what_doctor_does_not_know_was_not_examined() {
        assert_eq!(Finding::of(End::internal("x")).code, Code::NotExamined);
        assert_eq!(Finding::of(End::new(2, "trunk_dirty", "x")).code, Code::TrunkDirty);
    }
}
