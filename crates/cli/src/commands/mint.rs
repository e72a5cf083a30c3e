//! `signalbox mint` and `signalbox new`.

use super::Context;
use crate::args;
use crate::outcome::line;
use passage::end::{End, exit, naming, quoted};
use passage::numbers::{self, Floor};
use std::io::ErrorKind;

/// What a command that has printed its result itself ends with.
fn printed(code: &'static str) -> End {
    End::new(exit::DONE, code, "")
}

pub(super) fn mint(context: &Context, args: &args::Mint) -> Result<End, End> {
    let site = context.site()?;
    let floor = Floor { number: args.floor, glob: args.floor_from.clone() };
    let block = numbers::mint(&site, &args.line, args.count, &floor, args.request.as_ref())?;
    if !context.json {
        for number in block.first..=block.last {
            line(&mut std::io::stdout(), &number.to_string());
        }
    }
    Ok(printed("minted").fact("line", args.line.as_str()).fact("first", block.first).fact("last", block.last))
}

pub(super) fn new(context: &Context, args: &args::New) -> Result<End, End> {
    let site = context.site()?;
    let worktree = site.repo.worktree().ok_or_else(|| {
        End::new(exit::USAGE, "no_worktree", "there is no worktree here to put a file in; go into one")
    })?;
    let seen = site.read_trunk()?;
    let (settings, _) = site.trunk_settings(seen.trunk.as_ref())?;
    if settings.template(&args.line).is_none() {
        let text = "the line {} has no template on the trunk; mint a bare number instead";
        let end = End::new(exit::USAGE, "no_template", naming(text, [&args.line]));
        return Err(end.next(format!("signalbox mint {}", quoted(&args.line))));
    }
    let block = numbers::mint(&site, &args.line, None, &Floor::default(), None)?;
    // The settings that the number was minted for name the file.
    let template =
        block.settings.template(&args.line).ok_or_else(|| End::internal("the template is gone"))?;
    let path = template.path(block.first, &args.title);
    let file = worktree.join(&path);
    let text = format!("# {} {}\n", block.first, args.title);
    let written = file
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::OpenOptions::new().write(true).create_new(true).open(&file))
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    if let Err(error) = written {
        let why = if error.kind() == ErrorKind::AlreadyExists { "it exists already" } else { "see below" };
        let text = format!("{{}} cannot be created: {why}; the number {} is yours", block.first);
        let text = naming(&text, [&path]);
        return Err(End::new(exit::RULE, "file_exists", text).more(error.to_string()));
    }
    if !context.json {
        line(&mut std::io::stdout(), &path);
    }
    Ok(printed("created").fact("path", path).fact("number", block.first))
}
