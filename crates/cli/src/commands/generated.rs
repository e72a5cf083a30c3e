//! `signalbox completions` and `signalbox man`: what is made from the table of arguments.

use super::Context;
use crate::args::{self, Completions, Man};
use passage::end::{End, exit, naming};
use std::io::{self, Write};
use std::path::Path;

const NAME: &str = "signalbox";

pub(super) fn completions(context: &Context, args: &Completions) -> End {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), NAME, &mut script);
    printed(context, "completions", &script)
}

pub(super) fn man(context: &Context, args: &Man) -> Result<End, End> {
    let mut top = args::command();
    top.build();
    if let Some(dir) = &args.out {
        // A relative folder means: from where the command stands.
        let dir = context.cwd.join(dir);
        let pages = write_all(&top, &dir).map_err(|error| {
            let name = dir.display().to_string();
            End::new(exit::USAGE, "not_written", naming("the pages cannot be written to {}", [&name]))
                .more(error.to_string())
        })?;
        let line = naming(&format!("{pages} pages are in {{}}"), [&dir.display().to_string()]);
        return Ok(End::new(exit::DONE, "written", line).fact("pages", pages));
    }
    let mut of = &top;
    for name in &args.command {
        of = of.find_subcommand(name).ok_or_else(|| {
            let line = naming("there is no command {}; see signalbox --help", [name]);
            End::new(exit::USAGE, "no_command", line).next("signalbox --help")
        })?;
    }
    let page = page(of).map_err(End::internal)?;
    Ok(printed(context, "page", &page))
}

/// The page of one command; that of signalbox itself has the exit codes too.
fn page(of: &clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(of.clone()).render(&mut page)?;
    if of.get_name() == NAME {
        writeln!(page, ".SH \"EXIT STATUS\"\nOne table for all commands, by what the caller does next.")?;
        for (code, meaning) in exit::TABLE {
            writeln!(page, ".TP\n\\fB{code}\\fR\n{}", meaning.replace('\\', "\\e").replace('-', "\\-"))?;
        }
    }
    Ok(page)
}

fn write_all(of: &clap::Command, dir: &Path) -> io::Result<usize> {
    std::fs::create_dir_all(dir)?;
    let mut pages = 1;
    std::fs::write(dir.join(clap_mangen::Man::new(of.clone()).get_filename()), page(of)?)?;
    for command in of.get_subcommands() {
        pages += write_all(command, dir)?;
    }
    Ok(pages)
}

/// For a program the text is a part of the outcome.
fn printed(context: &Context, name: &str, text: &[u8]) -> End {
    let end = End::new(exit::DONE, "printed", "");
    if context.json {
        return end.fact(name, String::from_utf8_lossy(text).into_owned());
    }
    // A reader that went away is no fault of ours.
    let _ = io::stdout().write_all(text);
    end
}
