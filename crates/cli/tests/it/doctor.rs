//! `doctor`: every finding is made on purpose, seen, and its remedy tried exactly as it is printed.

use crate::harness::{Done, Tree, World};
use crate::words::{fits, plain, told, well_formed};
use insta::assert_snapshot;
use passage::doctor::{Code, Severity};
use serde_json::Value;
use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

/// A finding that stands.
pub struct Sick<'a> {
    pub tree: &'a Tree,
    pub finding: Value,
    code: &'static str,
}

fn findings(done: &Done) -> impl Iterator<Item = &Value> {
    done.events.iter().filter(|event| event["event"] == "finding")
}

/// Runs `doctor`, for a program and for a person, and checks how it answers.
#[track_caller]
pub fn examined(tree: &Tree) -> Done {
    let done = tree.run(&["doctor"]);
    well_formed(&done);
    fits(done.end()["detail"].as_str().unwrap());
    let count = |severity| findings(&done).filter(|finding| finding["severity"] == severity).count();
    assert_eq!(done.end()["problems"], count("problem"), "{}", done.all());
    assert_eq!(done.end()["warnings"], count("warning"), "{}", done.all());
    match findings(&done).find(|finding| finding["severity"] == "problem") {
        None => assert_eq!((done.exit, done.code()), (Some(0), "healthy"), "{}", done.all()),
        Some(first) => {
            assert_ne!(done.exit, Some(0), "{}", done.all());
            assert_eq!(first["code"], done.end()["code"], "{}", done.all());
            assert_eq!(first["do"], done.end()["do"], "{}", done.all());
        }
    }
    for finding in findings(&done) {
        let code = Code::named(finding["code"].as_str().unwrap()).unwrap();
        assert_eq!(finding["severity"], code.severity().as_str(), "{finding}");
        fits(finding["detail"].as_str().unwrap());
    }
    done
}

/// The finding of that code, which must stand.
#[track_caller]
pub fn sick<'a>(tree: &'a Tree, code: &'static str) -> Sick<'a> {
    let done = examined(tree);
    let finding = findings(&done).find(|finding| finding["code"] == code);
    let finding = finding.unwrap_or_else(|| panic!("{code} is not found: {}", done.all())).clone();
    let (_, stdout, stderr) = tree.people(&["doctor"]);
    if !stderr.is_empty() {
        told(&stderr);
    }
    let sick = Sick { tree, finding, code };
    if let Some(command) = sick.command() {
        let printed = format!("  next: {command}\n");
        assert!(stdout.contains(&printed), "{command} is not printed: {stdout}");
    }
    sick
}

/// No finding of that code stands.
#[track_caller]
pub fn healthy(tree: &Tree, code: &str) {
    let done = examined(tree);
    assert!(!findings(&done).any(|finding| finding["code"] == code), "{}", done.all());
}

/// Runs a command as a person would type it.
pub fn typed(tree: &Tree, command: &str) -> (bool, String) {
    let bin = tree.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let _ = symlink(tree.binary(), bin.join("signalbox"));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut shell = tree.env("PATH", path).command("sh");
    let out = shell.args(["-c", command]).stdin(Stdio::null()).output().unwrap();
    let text = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (out.status.success(), text)
}

impl Sick<'_> {
    /// The command to type, as a person reads it.
    pub fn command(&self) -> Option<String> {
        Some(self.finding["do"].as_str()?.replace("signalbox --json ", "signalbox "))
    }

    /// What a person reads of it.
    pub fn told(&self, world: &World) -> String {
        let finding = &self.finding;
        let (severity, detail) = (finding["severity"].as_str().unwrap(), finding["detail"].as_str().unwrap());
        let mut text = format!("{severity}: {detail}\n");
        for more in finding["more"].as_array().unwrap() {
            let _ = writeln!(text, "{}", more.as_str().unwrap().trim_end());
        }
        if let Some(command) = self.command() {
            let _ = writeln!(text, "next: {command}");
        }
        // A path that was shortened is another one in each world.
        let shortened = |word: &str| if word.contains('…') { "[path]".to_owned() } else { word.to_owned() };
        let lines = plain(world, &text);
        let lines = lines.lines().map(|line| line.split(' ').map(shortened).collect::<Vec<_>>().join(" "));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Types its command, after which it is gone.
    #[track_caller]
    pub fn heals(self) {
        let command = self.command().unwrap_or_else(|| panic!("{} has no command", self.code));
        let (done, said) = typed(self.tree, &command);
        assert!(done, "{command}: {said}");
        healthy(self.tree, self.code);
    }

    /// Unsets what its command says, after which it is gone.
    #[track_caller]
    pub fn heals_in_the_shell(self) {
        let command = self.command().unwrap();
        let (_, said) = typed(self.tree, &format!("{command} && signalbox doctor --json"));
        let code = format!("\"code\":\"{}\"", self.code);
        assert!(said.contains("\"event\":\"end\"") && !said.contains(&code), "{command}: {said}");
    }

    /// Does by hand what it says where it has no command, or one that only looks.
    #[track_caller]
    pub fn healed_by(self, hand: impl FnOnce()) {
        if let Some(command) = self.command() {
            // It may be no more than a look, which may end as it likes, but must be there.
            let (_, said) = typed(self.tree, &command);
            assert!(!said.contains("not found") && !said.contains("unrecognized"), "{command}: {said}");
        }
        hand();
        healthy(self.tree, self.code);
    }
}

/// A repository that was set up, whose trunk is in it.
pub fn here(world: &World, check: &str) -> Tree {
    let repo = world.repo("r");
    repo.ok(&["init", "--check", check]);
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "settings"]);
    repo
}

/// A remote, and a clone of it that was set up.
pub fn with_remote(world: &World, init: &[&str]) -> (Tree, Tree) {
    let remote = world.bare("trunk.git");
    let clone = world.clone_of(&remote, "work");
    clone.ok(&[&["init", "--no-check"], init].concat());
    clone.git(&["switch", "-q", "-c", "settings"]);
    clone.git(&["add", "-A"]);
    clone.git(&["commit", "-q", "-m", "settings"]);
    assert_eq!(clone.ok(&["land"]).code(), "landed");
    clone.git(&["fetch", "-q"]);
    clone.git(&["switch", "-q", "main"]);
    clone.git(&["merge", "-q", "--ff-only", "origin/main"]);
    (remote, clone)
}

#[test]
fn every_finding_that_is_not_fine_has_a_case_here() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut text = String::new();
    for entry in std::fs::read_dir(tests).unwrap().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with("doctor")) {
            text += &std::fs::read_to_string(entry.path()).unwrap();
        }
    }
    // A network file system cannot be had here: see passage's doctor/look/state.rs.
    let elsewhere = [Code::StateOnNetwork];
    let is_made = |code: &Code| {
        let literal = format!("\"{}\")", code.as_str());
        text.match_indices(&literal).any(|(at, _)| {
            let before = &text[..at];
            let call = before.rfind('(').map(|open| &before[..open]).unwrap_or_default();
            call.ends_with("sick")
        })
    };
    let unfine = |code: &&Code| code.severity() != Severity::Fine && !elsewhere.contains(code);
    let missing: Vec<&str> =
        Code::ALL.iter().filter(unfine).filter(|code| !is_made(code)).map(|code| code.as_str()).collect();
    assert_eq!(missing, [""; 0], "these findings are never made on purpose");
}

#[test]
fn a_healthy_repository_is_told_to_be_well() {
    let world = World::new();
    let (remote, clone) = with_remote(&world, &["--line", "adr=adr/{number:04}-{slug}.md"]);
    let before = remote.git(&["for-each-ref"]);
    assert_eq!(examined(&clone).end()["warnings"], 0);
    let (exit, stdout, stderr) = clone.people(&["doctor"]);
    assert_eq!(exit, 0);
    assert!(
        stderr.starts_with("note     trying it at origin: two refs below refs/signalbox/doctor/ are set"),
        "{stderr}"
    );
    let git = clone.git(&["version"]).replace("git version", "git");
    let free = stdout.split(", ").nth(1).unwrap().split(" free").next().unwrap();
    let stdout = stdout.replace(&git, "git [version]").replace(free, "[free]");
    assert_snapshot!(plain(&world, &stdout), @r"
    repository
      ok       git [version]
    state
      ok       whole, [free] free
                 [world]/work/.git/signalbox
    settings
      ok       the trunk's own; nothing is checked
    clock
      ok       this clock, the project's time and the file system's agree; a remote's is not seen
    trunk
      ok       origin/main, kept by this state
      ok       two refs were set together at origin, read back and deleted
                 Whether it protects the trunk itself from being pushed to is seen by a landing only.
    leftovers
      ok       nothing of killed processes is left
    hooks
      ok       none of signalbox; a push past the queue is taken in and checked again
    numbers
      ok       the files of adr have one number each, and none that was not issued
    queue
      ok       nobody has the turn, and nobody waits
    all is well
    ");
    assert_eq!(remote.git(&["for-each-ref"]), before, "the trial leaves nothing");
}

#[test]
fn without_the_trial_nothing_at_all_is_written() {
    let world = World::new();
    for place in ["here", "remote"] {
        let (remote, tree) = match place {
            "here" => {
                let repo = here(&world, "true");
                (repo.clone(), repo)
            }
            _ => with_remote(&world, &[]),
        };
        let all = |tree: &Tree| {
            let mut files: Vec<String> = Vec::new();
            let out = tree.command("find").args([".", "-printf", "%p %s %m\\n"]).output().unwrap();
            files.extend(String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned));
            // The queue is looked at, as by every look at the queue.
            files.retain(|file| !file.contains("/state."));
            files.sort();
            files
        };
        tree.ok(&["doctor", "--no-trial"]);
        let before = (all(&remote), all(&tree), tree.git(&["for-each-ref"]));
        let done = tree.ok(&["doctor", "--no-trial"]);
        assert!(!done.events.iter().any(|event| event["code"] == "tried" || event["event"] == "note"));
        assert_eq!((all(&remote), all(&tree), tree.git(&["for-each-ref"])), before);
    }
}

#[test]
fn a_guarded_server_lets_the_trial_through_and_is_well_itself() {
    let world = World::new();
    let (remote, clone) = with_remote(&world, &[]);
    remote.ok(&["hook", "install", "--server", "--state", clone.state().to_str().unwrap()]);
    let done = examined(&clone);
    assert_eq!((done.exit, done.end()["warnings"].as_i64()), (Some(0), Some(0)), "{}", done.all());
    assert!(findings(&done).any(|finding| finding["code"] == "tried"));
    let done = examined(&remote);
    assert_eq!((done.exit, done.end()["warnings"].as_i64()), (Some(0), Some(0)), "{}", done.all());
}

#[test]
fn commands_to_type_mean_the_same_state() {
    let world = World::new();
    let repo = world.repo("r");
    let state = world.path("state");
    let state = state.to_str().unwrap();
    repo.ok(&["init", "--check", "true", "--state", state]);
    repo.git(&["switch", "-q", "-c", "other"]);
    let (exit, stdout, _) = repo.people(&["doctor", "--state", state]);
    assert_eq!(exit, 0, "{stdout}");
    let next =
        format!("git commit -m 'Land with signalbox' -- .signalbox.toml && signalbox --state {state} land");
    assert!(stdout.contains(&next), "{stdout}");
    let (done, said) =
        typed(&repo, stdout.lines().find_map(|line| line.trim().strip_prefix("next: ")).unwrap());
    assert!(done, "{said}");
    assert_eq!(repo.git(&["show", "main:.signalbox.toml"]), repo.read(".signalbox.toml").trim_end());
}

#[test]
fn the_page_of_findings_is_as_the_code_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md");
    let wanted = page();
    if std::env::var_os("SIGNALBOX_WRITE_DOCS").is_some() {
        std::fs::write(&file, &wanted).unwrap();
    }
    let stands = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(stands, wanted, "docs/doctor.md is old; write it with SIGNALBOX_WRITE_DOCS=1 ./test -p cli");
}

fn page() -> String {
    let mut page = String::from(
        "# What `signalbox doctor` finds, and what removes it\n\n\
         Written from the code; `SIGNALBOX_WRITE_DOCS=1 ./test -p cli` writes it anew.\n\n\
         `signalbox doctor` looks at everything that a landing depends on, and works as far as it can where nothing \
         else does: without a state, with a damaged one, without the remote. It mends nothing. Each finding comes with \
         the command to type, or says what to do.\n\n\
         Where the trunk is kept it tries what a landing needs: two refs below `refs/signalbox/doctor/` are pushed \
         together, read back and deleted. It says so before; `--no-trial` leaves it out, and then nothing at all is \
         written. Whether the remote protects the trunk itself is seen by a landing only.\n\n\
         With problems it ends with the exit code of a command that meets the first one, and `do` is what removes that \
         one. Warnings alone end with 0. With `--json` each finding is an object: `code`, `part`, `severity` (`ok`, \
         `warning`, `problem`), `detail`, `more`, `do`.\n",
    );
    for severity in [Severity::Problem, Severity::Warning] {
        let heading = if severity == Severity::Problem { "Problems" } else { "Warnings" };
        let _ = writeln!(page, "\n## {heading}\n\n| part | code | what it means | what removes it |");
        page += "| --- | --- | --- | --- |\n";
        for code in Code::ALL.iter().filter(|code| code.severity() == severity) {
            let (part, name) = (code.part().as_str(), code.as_str());
            let _ = writeln!(page, "| {part} | `{name}` | {} | {} |", code.means(), code.remedy());
        }
    }
    page += "\n## What is as it should be\n\n| part | code | what it tells |\n| --- | --- | --- |\n";
    for code in Code::ALL.iter().filter(|code| code.severity() == Severity::Fine) {
        let _ = writeln!(page, "| {} | `{}` | {} |", code.part().as_str(), code.as_str(), code.means());
    }
    page
}
