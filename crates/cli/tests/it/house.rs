//! What holds for the house itself: which crate may depend on what, and that the reference is as the code
//! says. `SIGNALBOX_WRITE_DOCS=1` writes the reference.

use kernel::{Code, Limits, Mode};
use landing::members::{CALLS, Grammar};
use passage::end::exit;
use passage::settings::Settings;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The normal dependencies of each crate of the workspace.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    #[expect(clippy::disallowed_methods, reason = "tests start programs")]
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked", "--offline"])
        .current_dir(top());
    let out = cargo.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let metadata: Value = serde_json::from_slice(&out.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let crates = metadata["packages"].as_array().unwrap().iter();
    crates
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            (name(package), dependencies.filter(|d| d["kind"].is_null()).map(name).collect())
        })
        .collect()
}

#[test]
fn house_rules_crates_depend_on_nothing_that_does_io() {
    let all = dependencies();
    let allowed = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
    let rules = [
        ("kernel", allowed(&["serde", "serde_json", "sha2", "uuid"])),
        ("landing", allowed(&["kernel", "serde_json"])),
    ];
    for (name, allowed) in rules {
        let more: Vec<_> = all[name].difference(&allowed).collect();
        assert!(more.is_empty(), "{name} is a rules crate and depends on {more:?}");
    }
}

#[test]
fn house_each_engine_is_known_to_one_crate_only() {
    for (name, dependencies) in dependencies() {
        assert!(name == "store" || !dependencies.contains("rusqlite"), "{name} knows SQLite");
        assert!(
            !["store", "client", "landing", "kernel"].contains(&name.as_str())
                || !dependencies.contains("git"),
            "{name} knows git"
        );
    }
}

#[test]
fn house_programs_are_started_where_the_map_says_and_nowhere_else() {
    let places =
        ["crates/git/src/process.rs", "crates/passage/src/process.rs", "crates/cli/src/commands/demo"];
    let needle = concat!("Command::", "new(");
    for file in sources(&top().join("crates")) {
        let path = file.strip_prefix(top()).unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        // What stands below its tests is a test; clippy sees to it that nothing else does.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let starts = code.contains(needle);
        let may = path.contains("/tests/") || places.iter().any(|place| path.starts_with(place));
        assert!(!starts || may, "{path} starts a program");
    }
}

/// The configuration reference shows each key with a value that is not the default, and it reads as a settings file.
#[test]
fn house_the_configuration_reference_names_every_key_and_reads_as_settings() {
    let text = std::fs::read_to_string(top().join("docs/configuration.md")).unwrap();
    let block = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    Settings::parse(block.as_bytes()).unwrap();
    let line = passage::settings::Line { name: "n".into(), template: Some("{number}".into()) };
    let full = Settings {
        trunk: passage::settings::TrunkAt { remote: "r".into(), branch: "b".into() },
        land: passage::settings::Land { strategy: passage::settings::Strategy::Squash },
        check: passage::settings::Check {
            command: Some("c".into()),
            none: true,
            env: vec!["E".into()],
            files: vec!["f".into()],
            parallel: 7,
            ahead: false,
        },
        lines: vec![line],
    };
    let written = full.render().unwrap();
    let keys = written.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key);
    let keys: Vec<&str> = keys.filter(|key| !key.starts_with('#')).collect();
    assert!(keys.len() >= 11, "{written}");
    for key in keys {
        assert!(block.contains(&format!("{key} = ")), "docs/configuration.md does not name {key}");
    }
}

/// The guide says what each event of `land --json` tells.
#[test]
fn house_the_guide_names_every_event_that_programs_see() {
    let screen = std::fs::read_to_string(top().join("crates/cli/src/screen.rs")).unwrap();
    let guide = std::fs::read_to_string(top().join("docs/guide.md")).unwrap();
    let events: Vec<&str> =
        screen.split("\"event\": \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(events.len() >= 14, "{events:?}");
    for event in events {
        assert!(guide.contains(&format!("`{event}`")), "docs/guide.md does not name {event}");
    }
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(sources(&entry));
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push(entry);
        }
    }
    found
}

#[test]
fn house_the_reference_of_calls_refusals_and_exit_codes_is_as_the_code_says() {
    let file = top().join("docs/calls.md");
    let wanted = reference();
    if std::env::var_os("SIGNALBOX_WRITE_DOCS").is_some() {
        std::fs::write(&file, &wanted).unwrap();
    }
    let stands = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(stands, wanted, "docs/calls.md is old; write it with SIGNALBOX_WRITE_DOCS=1 ./test -p cli");
}

#[test]
fn house_the_readme_lists_every_exit_code() {
    let readme = std::fs::read_to_string(top().join("README.md")).unwrap();
    for (code, _) in exit::TABLE {
        let listed = readme.lines().any(|line| {
            line.starts_with('|')
                && line.split('|').nth(1).is_some_and(|cell| {
                    cell.split(|c: char| !c.is_ascii_digit()).any(|word| word == code.to_string())
                })
        });
        assert!(listed, "README.md does not list exit code {code}");
    }
}

/// The reference page, from the tables that also drive parsing and answering.
fn reference() -> String {
    let limits = Limits::default();
    let mut page = String::from(
        "# Calls, refusals, exit codes\n\nWritten from the code; `SIGNALBOX_WRITE_DOCS=1 ./test -p cli` writes \
         it anew.\n\n## Calls\n\nEvery call has `project`, a UUID. A body is one JSON object of at most ",
    );
    let _ = writeln!(page, "{} bytes without repeated or unknown members.\n", limits.body_bytes_max);
    for call in CALLS {
        let lock = if call.mode == Mode::Shared { "beside others" } else { "alone" };
        let _ = writeln!(page, "### `{}`\n\nHolds its project {lock}.\n", call.name);
        let _ = writeln!(page, "| member | | rule |\n| --- | --- | --- |");
        for member in call.members {
            let must = if member.required { "required" } else { "" };
            let _ = writeln!(page, "| `{}` | {must} | {} |", member.name, member.grammar.rule(&limits));
        }
        if call.request {
            let rule = Grammar::Uuid.rule(&limits);
            let _ =
                writeln!(page, "| `request` | | {rule}: a repeat with the same id gets the same answer |");
        }
        page.push('\n');
    }
    page.push_str("## Refusals\n\n| status | code | when |\n| --- | --- | --- |\n");
    for code in Code::ALL {
        let _ = writeln!(page, "| {} | `{}` | {} |", code.status(), code.as_str(), code.meaning());
    }
    page.push_str("\n## Exit codes\n\nOne table for all commands, by what the caller does next.\n\n");
    page.push_str("| code | means |\n| --- | --- |\n");
    for (code, meaning) in exit::TABLE {
        let _ = writeln!(page, "| {code} | {meaning} |");
    }
    page
}

#[test]
fn house_the_grammar_of_branch_names_is_the_one_that_git_has() {
    let mut names: Vec<String> = Vec::new();
    let parts = [
        "a", "A.b", ".a", "a.", "a..b", "@", "@{", "a@b", "-", "-a", "ü", "a b", "a~b", "a^", "a:b", "a?",
        "*", "[", "]", "\\", "\x7f", "\x01", "a\tb", "lock", "a.lock", ".lock", "{}", "'", "\"", "$x",
        "a.lockb", "~", "#", "%",
    ];
    for one in parts {
        names.push(one.to_owned());
        for two in parts {
            names.extend([
                format!("{one}/{two}"),
                format!("{one}{two}"),
                format!("{one}/"),
                format!("/{one}"),
            ]);
            names.push(format!("{one}//{two}"));
        }
    }
    let (mut checked, mut refused) = (0, 0);
    for name in names {
        #[expect(clippy::disallowed_methods, reason = "tests start programs")]
        let mut git = std::process::Command::new("git");
        let takes = git.args(["check-ref-format", &format!("refs/heads/{name}")]).status().unwrap().success();
        assert_eq!(landing::branch::is_branch(&name), takes, "{name:?}");
        checked += 1;
        refused += usize::from(!takes);
    }
    assert!(checked > 1_000 && refused > 100 && refused < checked);
}
