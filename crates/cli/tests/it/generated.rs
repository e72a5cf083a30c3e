//! What is made from the table of arguments: completions and the manual.

use crate::harness::{Tree, World};
use crate::words::{refused, refuses, well_formed};
use std::io::Write;
use std::process::Stdio;

/// Runs a program with this text as its input; it must succeed.
#[track_caller]
fn takes(tree: &Tree, program: &[&str], text: &str) -> String {
    let mut command = tree.command(program[0]);
    command.args(&program[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(out.status.success() && out.stderr.is_empty(), "{program:?}: {}", said(&out.stderr));
    said(&out.stdout)
}

#[test]
fn completions_are_printed_for_each_shell_and_bash_completes_with_them() {
    let world = World::new();
    let nowhere = world.tree(world.path("home"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (exit, script, stderr) = nowhere.people(&["completions", shell]);
        assert_eq!((exit, stderr.as_str()), (0, ""), "{shell}");
        for word in ["land", "project", "wait-holds"] {
            assert!(script.contains(word), "{shell} knows {word}");
        }
    }
    let script = nowhere.people(&["completions", "bash"]).1;
    takes(&nowhere, &["bash", "-n"], &script);
    let ask = format!(
        "{script}\nCOMP_WORDS=(signalbox pro); COMP_CWORD=1; _signalbox signalbox pro signalbox; echo ${{COMPREPLY[@]}}\n"
    );
    assert_eq!(takes(&nowhere, &["bash", "--norc"], &ask), "project\n");
    let done = nowhere.ok(&["completions", "bash"]);
    well_formed(&done);
    assert_eq!(done.end()["completions"], script.as_str());
    refuses(&nowhere, &["completions", "tcsh"], 2, "usage");
}

#[test]
fn the_manual_has_a_page_for_every_command_with_its_options_and_the_exit_codes() {
    let world = World::new();
    let nowhere = world.tree(world.path("home"));
    let (exit, page, stderr) = nowhere.people(&["man"]);
    assert_eq!((exit, stderr.as_str()), (0, ""));
    for (code, meaning) in passage::end::exit::TABLE {
        assert!(page.contains(&format!("\\fB{code}\\fR\n")), "{code}: {meaning}");
    }
    let land = nowhere.people(&["man", "land"]).1;
    assert!(land.contains(".TH signalbox-land 1") && land.contains("wait\\-holds"), "{land}");
    assert!(nowhere.people(&["man", "hold", "open"]).1.contains(".TH signalbox-hold-open 1"));
    let out = world.path("pages");
    let done = nowhere.ok(&["man", "--out", out.to_str().unwrap()]);
    well_formed(&done);
    let mut files: Vec<_> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(done.end()["pages"], files.len());
    assert_eq!(std::fs::read_to_string(out.join("signalbox.1")).unwrap(), page);
    assert_eq!(std::fs::read_to_string(out.join("signalbox-land.1")).unwrap(), land);
    for line in page.lines().filter_map(|line| line.strip_suffix("(1)")) {
        let name = line.replace('\\', "");
        assert!(out.join(format!("{name}.1")).exists(), "{name} is named and has a page");
    }
    assert_eq!(nowhere.ok(&["man", "land"]).end()["page"], land.as_str());
    refuses(&nowhere, &["man", "sail"], 2, "no_command");
    refused(&nowhere.run(&["man", "--out", "/dev/null/x"]), 2, "not_written");
    // Where there is a program that shows manual pages, it finds nothing to complain of.
    if nowhere.command("man").arg("--version").output().is_ok_and(|out| out.status.success()) {
        for file in files {
            let args = ["man", "--warnings", "-E", "UTF-8", "-l", file.to_str().unwrap()];
            takes(&nowhere, &args, "");
        }
    }
}
