//! What people and programs read, word for word.

use crate::harness::World;
use crate::words::{columns, plain, seen, well_formed};
use insta::assert_snapshot;

#[test]
fn the_help_fits_a_screen_and_has_an_example() {
    let world = World::new();
    let nowhere = world.tree(world.path("home"));
    let commands: &[&[&str]] = &[
        &[],
        &["init"],
        &["land"],
        &["why"],
        &["run"],
        &["mint"],
        &["new"],
        &["queue"],
        &["log"],
        &["hook", "install"],
        &["hold", "open"],
        &["freeze", "open"],
        &["project", "replace"],
        &["limits"],
        &["completions"],
        &["man"],
        &["demo"],
    ];
    for command in commands {
        let args: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
        let (exit, stdout, stderr) = nowhere.people(&args);
        assert_eq!((exit, stderr.as_str()), (0, ""));
        assert!(stdout.contains("Example:\n  signalbox"), "{command:?} {stdout}");
        assert!(stdout.lines().all(|line| columns(line) <= 100), "{stdout}");
        let (most, width) = if command.is_empty() { (24, 80) } else { (40, 100) };
        assert!(stdout.lines().count() <= most, "{command:?} {stdout}");
        assert!(stdout.lines().all(|line| columns(line) <= width), "{command:?} {stdout}");
        assert!(!stdout.contains('\x1b'), "no colours in a pipe");
        let (_, short, _) = nowhere.people(&command.iter().copied().chain(["-h"]).collect::<Vec<_>>());
        assert_eq!(short, stdout, "there is one help");
    }
    let version = nowhere.people(&["--version"]).1;
    assert_eq!(version, format!("signalbox {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_help_of_every_command_reads_so() {
    let world = World::new();
    let nowhere = world.tree(world.path("home"));
    let help = |command: &str| {
        let args: Vec<&str> = [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        nowhere.people(&args).1
    };
    assert_snapshot!(help(""), @r"
    Lands branches on one trunk, exactly once and one at a time

    Usage: signalbox [OPTIONS] <COMMAND>

    Commands:
      init    Set this repository up
      land    Land a branch: wait for the turn, merge, check, push, leave
      why     Tell what keeps a branch from landing, and the way out
      doctor  Find what is wrong here, or may be soon, each with its remedy
      queue   Show who has the turn and who waits
      log     Show what landed, what did not and why, and how long each part took
      run     Hold the turn while a command runs: a deploy, a migration
      mint    Print a fresh number, or a block of them
      hold    Keep other landings off some files for a while
      more    freeze, new, hook, project, limits, completions, man, demo

    Options:
          --state <DIR>  The state's folder (or SIGNALBOX_STATE; default: in .git)
          --json         Print one JSON object per line, the last one the outcome
      -h, --help         Print help
      -V, --version      Print version

    Example:
      signalbox init --check 'make test'; then, on a branch: signalbox land
    ");
    assert_snapshot!(help("init"), @r#"
    Set this repository up

    Usage: signalbox init [OPTIONS]

    Options:
          --check <COMMAND>            The command that must pass before a branch lands
          --state <DIR>                The state's folder (or SIGNALBOX_STATE; default: in .git)
          --json                       Print one JSON object per line, the last one the outcome
          --no-check                   Check nothing, and say so
          --trunk <BRANCH>             The trunk's branch (default: found out)
          --remote <NAME>              The trunk's remote, or "." for this repository itself (default:
                                       found out)
          --strategy <STRATEGY>        How a branch becomes commits of the trunk [possible values:
                                       merge, squash]
          --parallel <N>               How many checks may run at once on this machine (default: 2); 1:
                                       none ahead of its turn
          --line <NAME[=TEMPLATE]>     A number line: NAME, or NAME=TEMPLATE (may be repeated)
          --lease-ms <N>               How long a silent ticket lives in this box, in milliseconds
          --turn-ms <N>                How long a turn may last in this box, in milliseconds
          --freeze-holds-turns <BOOL>  Whether a freeze keeps turns from beginning; if not, a landing is
                                       only stopped before its push [possible values: true, false]
          --take-over                  Keep this trunk from here on: its earlier state is lost, or was
                                       another clone's
          --moved                      The state's folder was moved here; it is no copy
      -h, --help                       Print help

    Example:
      signalbox init --check 'cargo test' --line 'adr=docs/adr/{number:04}-{slug}.md'
    "#);
    assert_snapshot!(help("land"), @r"
    Land a branch: wait for the turn, merge, check, push, leave

    Usage: signalbox land [OPTIONS] [BRANCH]

    Arguments:
      [BRANCH]  The branch (default: the one that is checked out here)

    Options:
          --dry-run          Merge and check, but push nothing
          --state <DIR>      The state's folder (or SIGNALBOX_STATE; default: in .git)
          --json             Print one JSON object per line, the last one the outcome
          --wait <DURATION>  Wait at most this long for the turn (90s, 5m, 1h)
          --no-wait          Do not wait: take a place, print the ticket
          --resume <TICKET>  Go on with a ticket that was taken before
          --label <TEXT>     Who lands, as others see it (default: you and this folder) [env:
                             SIGNALBOX_LABEL=]
          --owner <TEXT>     Whom it acts for: holds of this owner are no obstacle (default: the label)
          --wait-holds       Wait for a hold that is in the way, outside the queue
          --no-reenter       A lost turn ends the command instead of being waited for again
          --settle           Only find out what became of pushes that were cut off
      -h, --help             Print help

    Example:
      signalbox land            land the branch that is checked out here
      signalbox land --json     the same for a program: on a non-zero exit do what `do` says
    ");
    assert_snapshot!(help("mint"), @r"
    Print a fresh number, or a block of them

    Usage: signalbox mint [OPTIONS] <LINE>

    Arguments:
      <LINE>  The number line

    Options:
          --count <N>          How many numbers, one after the other
          --state <DIR>        The state's folder (or SIGNALBOX_STATE; default: in .git)
          --floor <N>          Start above this number
          --json               Print one JSON object per line, the last one the outcome
          --floor-from <GLOB>  Start above the highest number in the names of the trunk's files
          --request <ID>       Repeat an earlier mint whose answer was lost: the same id gets the same
                               numbers
      -h, --help               Print help

    Example:
      signalbox mint adr --floor-from 'docs/adr/*.md'
    ");
    assert_snapshot!(help("new"), @r"
    Mint a number and create the line's file for it

    Usage: signalbox new [OPTIONS] <LINE> <TITLE>

    Arguments:
      <LINE>   The number line; it needs a template
      <TITLE>  The title, from which the file's name is made

    Options:
          --state <DIR>  The state's folder (or SIGNALBOX_STATE; default: in .git)
          --json         Print one JSON object per line, the last one the outcome
      -h, --help         Print help

    Example:
      signalbox new adr 'Use SQLite, not files'
    ");
    assert_snapshot!(help("queue"), @r"
    Show who has the turn and who waits

    Usage: signalbox queue [OPTIONS]

    Options:
          --state <DIR>  The state's folder (or SIGNALBOX_STATE; default: in .git)
      -w, --watch        Go on showing it as it changes
          --json         Print one JSON object per line, the last one the outcome
      -h, --help         Print help

    Example:
      signalbox queue --watch
    ");
    assert_snapshot!(help("log"), @r"
    Show what landed, what did not and why, and how long each part took

    Usage: signalbox log [OPTIONS]

    Options:
      -n, --count <N>    How many entries (at most 20 are kept at hand) [default: 20]
          --state <DIR>  The state's folder (or SIGNALBOX_STATE; default: in .git)
          --json         Print one JSON object per line, the last one the outcome
          --stats        Instead: how often each outcome was, how long each part took, how good the
                         estimates were
      -h, --help         Print help

    Example:
      signalbox log -n 5
    ");
    assert_snapshot!(help("demo"), @r"
    Show what goes wrong with a lock file, and that it does not here

    Usage: signalbox demo [OPTIONS]

    Options:
          --keep         Leave the repositories there to look at
          --state <DIR>  The state's folder (or SIGNALBOX_STATE; default: in .git)
          --json         Print one JSON object per line, the last one the outcome
      -h, --help         Print help

    Example:
      signalbox demo
    ");
    assert_snapshot!(help("why"), @r"
    Tell what keeps a branch from landing, and the way out

    Usage: signalbox why [OPTIONS] [NAME]

    Arguments:
      [NAME]  A branch, a ticket, or the first characters of one (default: the branch that is checked
              out here)

    Options:
          --state <DIR>  The state's folder (or SIGNALBOX_STATE; default: in .git)
          --json         Print one JSON object per line, the last one the outcome
      -h, --help         Print help

    Example:
      signalbox why feature/login
    ");
    assert_snapshot!(help("run"), @r"
    Hold the turn while a command runs: a deploy, a migration

    Usage: signalbox run [OPTIONS] [--] <COMMAND>...

    Arguments:
      <COMMAND>...  The command and its arguments; others see them

    Options:
          --state <DIR>      The state's folder (or SIGNALBOX_STATE; default: in .git)
          --wait <DURATION>  Wait at most this long for the turn (90s, 5m, 1h); 0s: not at all
          --json             Print one JSON object per line, the last one the outcome
          --label <TEXT>     Who runs it, as others see it (default: you and this folder) [env:
                             SIGNALBOX_LABEL=]
      -h, --help             Print help

    It ends with the command's own exit code (128+N for a signal); 125 is a refusal of `run` itself.

    Example:
      signalbox run --wait 10m -- make deploy
    ");
    assert_snapshot!(help("limits"), @r"
    Show every limit in force

    Usage: signalbox limits [OPTIONS]

    Options:
          --state <DIR>  The state's folder (or SIGNALBOX_STATE; default: in .git)
          --json         Print one JSON object per line, the last one the outcome
      -h, --help         Print help

    Example:
      signalbox limits
    ");
    assert_snapshot!(help("completions"), @r"
    Print what makes a shell complete commands

    Usage: signalbox completions [OPTIONS] <SHELL>

    Arguments:
      <SHELL>  The shell [possible values: bash, elvish, fish, powershell, zsh]

    Options:
          --state <DIR>  The state's folder (or SIGNALBOX_STATE; default: in .git)
          --json         Print one JSON object per line, the last one the outcome
      -h, --help         Print help

    Example:
      signalbox completions bash > ~/.local/share/bash-completion/completions/signalbox
    ");
    assert_snapshot!(help("man"), @r"
    Print the manual, or write its pages

    Usage: signalbox man [OPTIONS] [COMMAND]...

    Arguments:
      [COMMAND]...  The command that the page is of (default: signalbox itself)

    Options:
          --out <DIR>    Write every page into this folder
          --state <DIR>  The state's folder (or SIGNALBOX_STATE; default: in .git)
          --json         Print one JSON object per line, the last one the outcome
      -h, --help         Print help

    Example:
      signalbox man land | man -l -
      signalbox man --out ~/.local/share/man/man1
    ");
}

#[test]
fn setting_up_landing_and_the_log_read_so() {
    let world = World::with_clock();
    let repo = world.repo("r");
    assert_snapshot!(seen(&world, &repo, &["land"]), @r"
    exit 3
    -- standard output
    -- standard error
    signalbox: this repository is not set up for signalbox; run `signalbox init --check COMMAND`
      next: signalbox init --check 'make test'
    ");
    assert_snapshot!(seen(&world, &repo, &["init"]), @r"
    exit 2
    -- standard output
    -- standard error
    signalbox: say what must pass before a branch lands: --check COMMAND, or --no-check out loud
      next: signalbox init --check 'make test'
    ");
    assert_snapshot!(seen(&world, &repo, &["init", "--check", "cat README; ! test -e bad"]), @r"
    exit 0
    -- standard output
    ready: branches land on main; make one, commit, then run: signalbox land
      check: cat README; ! test -e bad
      settings: [world]/r/.signalbox.toml (commit it when you like; until the trunk has it, a copy in the state counts)
      next: git switch -c my-change
    -- standard error
    ");
    assert_snapshot!(seen(&world, &repo, &["queue"]), @r"
    exit 0
    -- standard output
    nobody is in the queue of main
    -- standard error
    ");
    assert_snapshot!(seen(&world, &repo, &["log"]), @r"
    exit 0
    -- standard output
    nothing has ended yet: no branch landed, none was refused
    -- standard error
    ");
    repo.branch("feature");
    assert_snapshot!(seen(&world, &repo, &["land", "feature", "--dry-run"]), @r"
    exit 0
    -- standard output
    feature would land on main: merged and checked, nothing pushed
      next: signalbox land feature
    -- standard error
    note     the trunk has no .signalbox.toml yet; what `init` wrote here counts
    turn     1, after 0.0 s
    check    cat README; ! test -e bad
    hello
             passed in 0.0 s
    ");
    assert_snapshot!(seen(&world, &repo, &["land", "feature"]), @r"
    exit 0
    -- standard output
    feature landed on main as [commit] (turn 2)
    -- standard error
    note     the trunk has no .signalbox.toml yet; what `init` wrote here counts
    turn     2, after 0.0 s
    check    this very tree has passed before
    ");
    assert_snapshot!(seen(&world, &repo, &["land", "feature"]), @r"
    exit 0
    -- standard output
    feature is already in main; nothing to land
    -- standard error
    ");
    repo.git(&["switch", "-q", "-c", "worse"]);
    repo.commit("bad", "", "bad");
    assert_snapshot!(seen(&world, &repo, &["land"]), @r"
    exit 10
    -- standard output
    -- standard error
    turn     3, after 0.0 s
    check    cat README; ! test -e bad
    hello
             failed with code 1 after 0.0 s
    note     now the trunk alone is checked, to see whose fault it is
    check    this very tree has passed before
    signalbox: the check of worse fails (code 1), main alone passes; mend the branch
      Its output: [world]/r/.git/signalbox/logs/[id].log
      next: cat [world]/r/.git/signalbox/logs/[id].log
    ");
    assert_snapshot!(seen(&world, &repo, &["log"]), @r"
    exit 0
    -- standard output
    2027-01-15 08:00:00  failed    worse                            the check ended with 1, waited 0.0 s, check 0.0 s
    2027-01-15 08:00:00  landed    feature                          as [commit], waited 0.0 s, check 0.0 s, push 0.0 s
    2027-01-15 08:00:00  withdrawn feature                          a dry run, waited 0.0 s, check 0.0 s
    -- standard error
    ");
}

#[test]
fn a_conflict_and_a_duplicate_number_read_so() {
    let world = World::with_clock();
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    clone.ok(&["init", "--no-check", "--line", "adr=adr/{number:04}-{slug}.md"]);
    for (branch, content) in [("ours", "ours\n"), ("theirs", "theirs\n")] {
        clone.git(&["switch", "-q", "-c", branch, "origin/main"]);
        clone.write("README", content);
        clone.commit(&format!("adr/0001-{branch}.md"), "", &format!("say {branch}"));
    }
    clone.git(&["switch", "-q", "main"]);
    clone.ok(&["land", "ours"]);
    assert_snapshot!(seen(&world, &clone, &["land", "theirs"]), @r"
    exit 12
    -- standard output
    -- standard error
    turn     2, after 0.0 s
    signalbox: conflict in README; merge the trunk into the branch, then land again
      README: changed by [commit] Merge branch 'ours' into main
      CONFLICT (content): Merge conflict in README
      On the branch:
        git switch theirs
        git fetch origin main && git merge FETCH_HEAD
        (mend the files, git add them, then: git commit --no-edit)
        signalbox land theirs
      next: git fetch origin main && git merge FETCH_HEAD
    ");
    clone.git(&["switch", "-q", "-c", "twin", "theirs"]);
    clone.git(&["checkout", "-q", "origin/main~1", "--", "README"]);
    clone.git(&["commit", "-q", "-m", "no quarrel"]);
    assert_snapshot!(seen(&world, &clone, &["land", "twin"]), @r#"
    exit 12
    -- standard output
    -- standard error
    turn     3, after 0.0 s
    signalbox: adr 1 is used by two files; give adr/0001-theirs.md a fresh one
      adr/0001-theirs.md: from twin
      adr/0001-ours.md: in the trunk since [commit] Merge branch 'ours' into main
      On the branch:
        git switch twin
        n=$(printf %04d "$(signalbox mint adr)")
        git mv -- adr/0001-theirs.md adr/"$n"-theirs.md
        git commit -m 'A fresh number for adr/0001-theirs.md'
        signalbox land twin
      next: git switch twin && n=$(printf %04d "$(signalbox mint adr)") && git mv -- adr/0001-theirs.md adr/"$n"-theirs.md && git commit -m 'A fresh number for adr/0001-theirs.md' && signalbox land twin
    "#);
    assert_snapshot!(seen(&world, &clone, &["new", "adr", "A third way"]), @r"
    exit 0
    -- standard output
    adr/0002-a-third-way.md
    -- standard error
    ");
}

#[test]
fn a_second_clone_and_one_who_does_not_wait_read_so() {
    let world = World::with_clock();
    let remote = world.bare("remote.git");
    let (first, second) = (world.clone_of(&remote, "first"), world.clone_of(&remote, "second"));
    let gate = world.gate("gate");
    first.ok(&["init", "--check", &gate.command()]);
    assert_snapshot!(seen(&world, &second, &["init", "--no-check"]), @r"
    exit 3
    -- standard output
    -- standard error
    signalbox: this trunk is kept by another clone or an earlier state; share its state, or take over
      Numbers and turns come from one state. To use the other clone's: --state DIR (or SIGNALBOX_STATE), where DIR is the folder `signalbox` in that clone's git directory.
      If that state is lost: signalbox init --take-over. It starts above the trunk's highest turn and above the numbers of its files; the other clone is refused from then on. A line without files goes on a thousand above what the last landing recorded, or begins again where none did: then mint it once with --floor N.
    ");
    first.branch("one");
    first.branch("two");
    let mut land = first.start(&["land", "one", "--label", "Ann"]);
    land.until("the check is known to others", |event| event["event"] == "check");
    crate::harness::eventually("the check is known to others", || {
        first.people(&["queue"]).1.contains("checking")
    });
    assert_snapshot!(seen(&world, &first, &["land", "two", "--no-wait", "--label", "Bo"]), @r"
    exit 22
    -- standard output
    -- standard error
    note     the trunk has no .signalbox.toml yet; what `init` wrote here counts
    waiting  next in line; Ann has the turn with one (checking)
    signalbox: two still waits; its place is kept until its lease ends
      next: signalbox land --label Bo two --resume [id]
    ");
    gate.open();
    assert_eq!(land.end().code(), "landed");
}

#[test]
fn a_landing_reads_so_for_programs() {
    let world = World::with_clock();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "true"]);
    repo.branch("feature");
    let done = repo.ok(&["land", "feature"]);
    well_formed(&done);
    let mut events = done.events.clone();
    // How long the parts took is no matter of words.
    events.last_mut().unwrap().as_object_mut().unwrap().remove("phases");
    let lines: Vec<String> = events.iter().map(ToString::to_string).collect();
    assert_snapshot!(plain(&world, &lines.join("\n")), @r#"
    {"event":"note","text":"the trunk has no .signalbox.toml yet; what `init` wrote here counts"}
    {"event":"entered","ticket":"[id]","position":0}
    {"event":"turn","turnNo":1,"waitedMs":0}
    {"event":"step","step":"taking the fence"}
    {"event":"step","step":"merging"}
    {"event":"step","step":"checking"}
    {"event":"check","command":"true","log":"[world]/r/.git/signalbox/logs/[id].log"}
    {"event":"checked","code":0,"tookMs":0}
    {"event":"step","step":"pushing"}
    {"event":"end","exit":0,"code":"landed","detail":"feature landed on main as [commit] (turn 1)","do":null,"commit":"[commit]","branch":"feature","head":"[commit]","ticket":"[id]","turnNo":1}
    "#);
}
