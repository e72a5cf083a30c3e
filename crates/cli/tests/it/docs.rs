//! What the documents tell to type can be typed.

use crate::doctor::typed;
use crate::harness::{Tree, World, executable};
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn documents() -> Vec<PathBuf> {
    let docs = std::fs::read_dir(top().join("docs")).unwrap().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = docs.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    found.push(top().join("README.md"));
    found.sort();
    found
}

/// The blocks of shell commands of a document.
fn blocks(text: &str) -> Vec<String> {
    let parts = text.split("\n```sh\n").skip(1);
    parts.map(|part| part.split("\n```").next().unwrap().to_owned() + "\n").collect()
}

/// Every command of signalbox that a document tells whole: in blocks of commands, and within its sentences.
fn commands(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in blocks(text).iter().flat_map(|block| block.lines()) {
        let line = line.split("  #").next().unwrap();
        found.extend(line.split("&&").map(|part| part.trim().to_owned()));
    }
    let prose: String = text.split("```").step_by(2).collect();
    found.extend(prose.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")));
    let stands_for = |word: &str| {
        let name = word.trim_matches(|c: char| !c.is_alphanumeric());
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    // What has a placeholder is no command yet; `signalbox/` is a folder.
    found.retain(|command| {
        let words = command.strip_prefix("signalbox ").map(|rest| rest.split(' '));
        words.is_some_and(|mut words| !words.any(|word| stands_for(word) || word.contains('…')))
    });
    found
}

#[test]
fn every_command_that_a_document_tells_can_be_typed() {
    let world = World::new();
    let nowhere = world.path("nowhere");
    std::fs::create_dir(&nowhere).unwrap();
    let nowhere = world.tree(nowhere);
    let mut all = 0;
    for document in documents() {
        for command in commands(&std::fs::read_to_string(&document).unwrap()) {
            // The tour would run, wherever it is.
            let asked = if command.starts_with("signalbox demo") {
                command.clone() + " --help"
            } else {
                command.clone()
            };
            let (_, said) = typed(&nowhere, &asked);
            // A sentence may name a command without its arguments.
            let known = !said.contains("see --help") || said.contains("arguments were not provided");
            assert!(known, "{}: {command}\n{said}", document.display());
            all += 1;
        }
    }
    assert!(all > 40, "only {all} commands are told");
}

/// A program of that name that does nothing and succeeds.
fn program(tree: &Tree, name: &str) {
    let bin = tree.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join(name), "#!/bin/sh\n").unwrap();
    executable(&bin.join(name));
}

#[test]
fn the_guide_can_be_typed_from_its_first_command_to_its_last() {
    let world = World::new();
    let repo = world.repo("your-repository");
    program(&repo, "make");
    let text = std::fs::read_to_string(top().join("docs/guide.md")).unwrap();
    let work = "# work, and commit\n";
    assert_eq!(text.matches(work).count(), 1);
    let script: String =
        blocks(&text).concat().replace(work, "echo work >work && git add work && git commit -qm work\n");
    let (done, said) = typed(&repo, &format!("set -eux\n{script}"));
    assert!(done, "{said}");
    assert_eq!(repo.git(&["show", "main:work"]), "work");
    assert!(world.path("feature/docs/adr/0001-use-sqlite-not-files.md").exists(), "{said}");
}

#[test]
fn the_first_five_minutes_of_the_readme_can_be_typed() {
    let world = World::new();
    let repo = world.repo("your-repository");
    program(&repo, "make");
    let text = std::fs::read_to_string(top().join("README.md")).unwrap();
    let first = blocks(&text).into_iter().find(|block| block.starts_with("cd your-repository")).unwrap();
    let script =
        first.replace("# work, and commit\n", "echo work >work && git add work && git commit -qm work\n");
    let here = world.tree(world.path(""));
    let (done, said) = typed(&here, &format!("set -eux\n{script}"));
    assert!(done, "{said}");
    assert_eq!(repo.git(&["show", "main:work"]), "work");
}
