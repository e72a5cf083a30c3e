//! The command to type means the same as the one that was typed: the same state, the same kind of output, the same
//! person and the same wishes.

use crate::args::{Args, Command};
use passage::End;
use passage::end::quoted;

/// What was typed and must be typed again.
#[derive(Debug, Default)]
pub(crate) struct Same {
    /// `--state`, ready to be typed.
    state: String,
    json: bool,
    /// Options of `land`, ready to be typed.
    land: Vec<String>,
    /// The label of `run`, ready to be typed.
    run: String,
    /// Whether the landing was only tried.
    dry_run: bool,
}

impl Same {
    /// Reads what was typed.
    pub(crate) fn of(args: &Args) -> Self {
        let state =
            args.state.as_ref().map(|state| format!("--state {} ", quoted(&state.display().to_string())));
        let mut same = Self { state: state.unwrap_or_default(), json: args.json, ..Self::default() };
        // A label of the environment is there the next time, too.
        let from_environment = std::env::var("SIGNALBOX_LABEL").ok();
        if let Command::Land(land) = &args.command {
            let label = land.label.as_ref().filter(|label| Some(*label) != from_environment.as_ref());
            let named = [("--label", label), ("--owner", land.owner.as_ref())];
            for (option, value) in named.into_iter().filter_map(|(o, value)| Some((o, value?))) {
                same.land.push(format!("{option} {}", quoted(value)));
            }
            let wishes = [("--wait-holds", land.wait_holds), ("--no-reenter", land.no_reenter)];
            same.land
                .extend(wishes.into_iter().filter(|(_, wish)| *wish).map(|(option, _)| option.to_owned()));
            same.dry_run = land.dry_run;
        }
        if let Command::Run(run) = &args.command {
            let label = run.label.as_ref().filter(|label| Some(*label) != from_environment.as_ref());
            same.run = label.map_or_else(String::new, |label| format!("--label {} ", quoted(label)));
        }
        same
    }

    /// The end, whose commands mean the same.
    pub(crate) fn applied_to(&self, mut end: End) -> End {
        // Where all went well the next step is another one: what was only tried is done.
        let dry_run = self.dry_run && end.exit != 0;
        end.next = end.next.map(|next| self.command(&next, self.json, dry_run));
        for line in &mut end.more {
            if let Some(command) = line.strip_prefix("  ") {
                *line = format!("  {}", self.command(command, false, dry_run));
            }
        }
        end
    }

    /// Several commands, one after the other, each as it is typed.
    fn command(&self, command: &str, json: bool, dry_run: bool) -> String {
        let steps: Vec<String> = command.split(" && ").map(|step| self.step(step, json, dry_run)).collect();
        steps.join(" && ").replace("$(signalbox ", &format!("$(signalbox {}", self.state))
    }

    fn step(&self, command: &str, json: bool, dry_run: bool) -> String {
        let Some(rest) = command.strip_prefix("signalbox ") else { return command.to_owned() };
        let json = if json { "--json " } else { "" };
        let begin = format!("signalbox {}{json}", self.state);
        if let Some(words) = rest.strip_prefix("run -- ") {
            return format!("{begin}run {}-- {words}", self.run);
        }
        let land = rest.strip_prefix("land").filter(|options| {
            (options.is_empty() || options.starts_with(' ')) && !options.contains("--settle")
        });
        let Some(options) = land else { return format!("{begin}{rest}") };
        let dry_run = dry_run.then(|| "--dry-run".to_owned());
        let again = self.land.iter().chain(&dry_run).filter(|option| !options.contains(option.as_str()));
        let again: String = again.map(|option| format!(" {option}")).collect();
        format!("{begin}land{again}{options}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn said(typed: &str, exit: u8, next: &str) -> String {
        let words = typed.split(' ').map(|word| word.replace('_', " "));
        let args = Args::try_parse_from(words).unwrap();
        Same::of(&args).applied_to(End::new(exit, "x", "y").next(next)).next.unwrap()
    }

    #[test]
    fn a_command_to_type_means_the_same() {
        assert_eq!(said("signalbox land x", 12, "signalbox land x"), "signalbox land x");
        assert_eq!(said("signalbox land x", 2, "git status"), "git status");
        assert_eq!(
            said("signalbox --json --state /s_t land x --label a_b --owner o", 12, "signalbox land x"),
            "signalbox --state '/s t' --json land --label 'a b' --owner o x"
        );
        assert_eq!(
            said("signalbox land x --wait-holds --no-reenter", 14, "signalbox land x --wait-holds"),
            "signalbox land --no-reenter x --wait-holds"
        );
        assert_eq!(said("signalbox land x --dry-run", 130, "signalbox land x"), "signalbox land --dry-run x");
        assert_eq!(said("signalbox land x --dry-run", 0, "signalbox land x"), "signalbox land x");
        assert_eq!(
            said("signalbox land x --owner o", 21, "signalbox land --settle"),
            "signalbox land --settle"
        );
        assert_eq!(
            said("signalbox --state /s doctor", 3, "mkdir a && signalbox init && n=$(signalbox mint x)"),
            "mkdir a && signalbox --state /s init && n=$(signalbox --state /s mint x)"
        );
        assert_eq!(
            said("signalbox run --label a_b -- make x", 125, "signalbox run -- make x"),
            "signalbox run --label 'a b' -- make x"
        );
        assert_eq!(said("signalbox --json mint adr", 3, "signalbox init"), "signalbox --json init");
    }

    #[test]
    fn commands_in_the_text_mean_the_same_state() {
        let args = Args::try_parse_from(["signalbox", "--state", "/s", "--json", "land", "x"]).unwrap();
        let end = End::new(12, "x", "y")
            .more("signalbox is a word here")
            .more("  n=$(printf %04d \"$(signalbox mint adr)\")")
            .more("  signalbox land x");
        let said = [
            "signalbox is a word here",
            "  n=$(printf %04d \"$(signalbox --state /s mint adr)\")",
            "  signalbox --state /s land x",
        ];
        assert_eq!(Same::of(&args).applied_to(end).more, said);
    }
}
