//! Pushes that say to be landings and are none.

use crate::harness::{Gate, Running, Tree, World};
use crate::hooks::{push, pushed, words};
use crate::promises::{Kept, Place};

const EPOCH: &str = "refs/signalbox/epoch/main";
const SOMEBODY: &str = "00000000-0000-4000-8000-000000000001";

/// A guarded trunk on which a landing has its turn and waits in its check, and a clone in which others forge.
struct Scene {
    place: Place,
    gate: Gate,
    holder: Option<Running>,
    forger: Tree,
    /// What the epoch that stands says.
    turn: i64,
    ticket: String,
    box_id: String,
    /// The epoch, the trunk, and a commit on top of it.
    stands: String,
    main: String,
    next: String,
}

/// What a forged epoch says.
#[derive(Clone)]
struct Says {
    turn: i64,
    ticket: String,
    box_id: String,
    state: &'static str,
    trunk: String,
    parents: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        let gate = world.gate("gate");
        gate.open();
        let place = Place::new(world, Kept::Guarded, &gate.command());
        place.branches(&["landed", "slow"].map(str::to_owned));
        place.work.ok(&["land", "landed"]);
        gate.close();
        let mut holder = place.work.start(&["land", "slow"]);
        holder.event("check");
        let forger = place.world.clone_of(&place.trunk, "forger");
        forger.git(&["fetch", "-q", "origin", &format!("+{EPOCH}:{EPOCH}")]);
        let text = place.trunk.git(&["cat-file", "commit", EPOCH]);
        let field = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)).unwrap().to_owned();
        let main = place.main();
        let next = forger.git(&["commit-tree", "-p", &main, "-m", "forged", "main^{tree}"]);
        Self {
            turn: field("turn: ").parse().unwrap(),
            ticket: field("ticket: "),
            box_id: field("box: "),
            stands: place.trunk.git(&["rev-parse", EPOCH]),
            place,
            gate,
            holder: Some(holder),
            forger,
            main,
            next,
        }
    }

    /// A landing of `next` that says everything right, but by another client than the one that has the turn.
    fn landing(&self) -> Says {
        Says {
            turn: self.turn,
            ticket: self.ticket.clone(),
            box_id: self.box_id.clone(),
            state: "landed",
            trunk: self.next.clone(),
            parents: vec![self.stands.clone()],
        }
    }

    fn epoch(&self, says: &Says) -> String {
        let Says { turn, ticket, box_id, state, trunk, .. } = says;
        let text = format!(
            "signalbox epoch\n\nturn: {turn}\nticket: {ticket}\nbox: {box_id}\nstate: {state}\ntrunk: {trunk}\nnonce: {}\n",
            fastrand::u64(..)
        );
        let tree = self.forger.git(&["hash-object", "-t", "tree", "-w", "/dev/null"]);
        let parents = says.parents.iter().flat_map(|parent| ["-p".to_owned(), parent.clone()]);
        let args: Vec<String> =
            ["commit-tree".to_owned(), tree, "-m".to_owned(), text].into_iter().chain(parents).collect();
        self.forger.git(&args)
    }

    /// Pushes a trunk with an epoch atomically, which must be refused; gives the words.
    #[track_caller]
    fn both(&self, trunk: &str, epoch: &str) -> String {
        let refs = [format!("+{trunk}:refs/heads/main"), format!("+{epoch}:{EPOCH}")];
        pushed(&self.place, &self.forger, &["--atomic", "origin", &refs[0], &refs[1]])
    }

    #[track_caller]
    fn alone(&self, epoch: &str) -> String {
        pushed(&self.place, &self.forger, &["origin", &format!("+{epoch}:{EPOCH}")])
    }

    /// A forged landing is refused with these words.
    #[track_caller]
    fn refused(&self, change: impl FnOnce(&mut Says), wanted: &str) {
        let mut says = self.landing();
        change(&mut says);
        let said = self.both(&self.next, &self.epoch(&says));
        assert!(said.contains(wanted), "{said}");
    }

    /// The landing that has the turn goes on and lands, whatever was tried.
    fn lands(&mut self) {
        self.gate.open();
        let done = self.holder.take().unwrap().end();
        assert_eq!(done.code(), "landed", "{}", done.all());
        self.place.assert_exactly_once(&["landed", "slow"].map(str::to_owned));
    }
}

#[test]
fn a_forged_turn_is_refused() {
    let mut scene = Scene::new();
    let turn = scene.turn;
    let says = Says { ticket: SOMEBODY.into(), turn: turn + 1, ..scene.landing() };
    let begun = Says { state: "begun", trunk: scene.main.clone(), ..says };
    insta::assert_snapshot!(scene.alone(&scene.epoch(&begun)), @r"
    signalbox: turn 3 of main is not this ticket's now, says the box; land again
      next: signalbox land
    ");
    scene.refused(
        |s| (s.ticket, s.turn) = (SOMEBODY.into(), turn + 1),
        "turn 3 of main is not this ticket's now",
    );
    scene.refused(|s| s.turn = turn + 1, "turn 3 of main is not this ticket's now");
    scene.refused(|s| s.ticket = SOMEBODY.into(), "turn 2 of main is over");
    scene.refused(|s| s.box_id = SOMEBODY.into(), "turns of another box only");
    scene.lands();
}

#[test]
fn an_old_turn_is_refused() {
    let mut scene = Scene::new();
    let turn = scene.turn;
    let mut says = scene.landing();
    says.turn = turn - 1;
    insta::assert_snapshot!(scene.both(&scene.next, &scene.epoch(&says)), @r"
    signalbox: turn 1 of main is over, turn 2 has begun; land again
      next: signalbox land
    ");
    // The epoch of an earlier landing itself, byte for byte.
    let earlier = scene.place.trunk.git(&["rev-parse", &format!("{EPOCH}~1")]);
    assert!(scene.both(&scene.next, &earlier).contains("does not follow the epoch that stands"));
    assert!(scene.both(&format!("{}~1", scene.main), &earlier).contains("does not follow"));
    scene.lands();
}

#[test]
fn a_missing_turn_is_refused() {
    let mut scene = Scene::new();
    let text = scene.forger.git(&["hash-object", "-w", "/dev/null"]);
    let valid = scene.epoch(&scene.landing());
    scene.forger.git(&["tag", "-a", "-m", "epoch", "wrapped", &valid]);
    let wrapped = scene.forger.git(&["rev-parse", "refs/tags/wrapped"]);
    for no_epoch in [&scene.next, &text, &wrapped] {
        let said = scene.both(&scene.next, no_epoch);
        assert!(said.contains("it is no epoch that this version can read"), "{said}");
    }
    insta::assert_snapshot!(scene.both(&scene.next, &scene.main), @r"
    signalbox: this epoch of main is not valid; land the branch, which makes its own
      Why: it is no epoch that this version can read.
      next: signalbox land
    ");
    let main = format!("{}:main", scene.next);
    let said = pushed(&scene.place, &scene.forger, &["origin", &main]);
    assert!(said.contains("landings only"), "{said}");
    scene.lands();
}

#[test]
fn an_epoch_that_is_not_chained_or_names_another_commit_is_refused() {
    let mut scene = Scene::new();
    let (main, stands) = (scene.main.clone(), scene.stands.clone());
    scene.refused(|s| s.parents.clear(), "does not follow the epoch that stands");
    scene.refused(|s| s.parents = vec![main.clone()], "does not follow the epoch that stands");
    scene.refused(|s| s.parents = vec![stands.clone(), main.clone()], "does not follow");
    let before = scene.place.trunk.git(&["rev-parse", &format!("{EPOCH}~1")]);
    scene.refused(|s| s.parents = vec![before], "does not follow the epoch that stands");
    scene.refused(|s| s.trunk = main.clone(), "names another commit of the trunk");
    scene.refused(|s| s.trunk = "none".into(), "names another commit of the trunk");
    for state in ["begun", "void"] {
        scene.refused(|s| s.state = state, "move together or not at all");
    }
    scene.lands();
}

#[test]
fn even_in_its_turn_a_landing_takes_no_commit_out_of_the_trunk() {
    let mut scene = Scene::new();
    let back = scene.place.trunk.git(&["rev-parse", "main~1"]);
    let root = scene.forger.git(&["commit-tree", "-m", "fresh", "main^{tree}"]);
    for trunk in [back, root] {
        let says = Says { trunk: trunk.clone(), ..scene.landing() };
        let said = scene.both(&trunk, &scene.epoch(&says));
        assert!(said.starts_with("signalbox: main only grows"), "{said}");
    }
    scene.lands();
}

#[test]
fn an_epoch_that_moves_alone_is_looked_at_too() {
    let mut scene = Scene::new();
    let (main, turn) = (scene.main.clone(), scene.turn);
    let alone = |says: &Says| scene.alone(&scene.epoch(says));
    let landed = scene.landing();
    assert!(alone(&landed).contains("move together or not at all"));
    let void = Says { state: "void", ticket: SOMEBODY.into(), ..landed.clone() };
    assert!(alone(&void).contains("turn 2 of main is over"), "another's turn");
    let void = Says { state: "void", turn: turn + 1, ..landed.clone() };
    assert!(alone(&void).contains("it voids a turn that has not begun"));
    let begun = Says { state: "begun", ..landed };
    assert!(alone(&begun).contains("names another commit of the trunk"));
    // What the holder itself might send passes: its own turn, begun anew.
    let begun = Says { trunk: main, ..begun };
    let again = format!("{}:{EPOCH}", scene.epoch(&begun));
    let (passed, said) = push(&scene.place, &scene.forger, &["origin", &again]);
    assert!(passed, "{said}");
    // The holder finds its epoch moved, asks the box, and takes it again.
    scene.lands();
}

#[test]
fn a_push_that_is_not_atomic_is_refused_and_moves_neither() {
    let scene = Scene::new();
    let epoch = scene.epoch(&scene.landing());
    let (main, fence) = (format!("{}:refs/heads/main", scene.next), format!("{epoch}:{EPOCH}"));
    let said = pushed(&scene.place, &scene.forger, &["origin", &main, &fence]);
    insta::assert_snapshot!(said.lines().take(3).collect::<Vec<_>>().join("\n"), @r"
    signalbox: main and its epoch move together or not at all; land the branch
      Nothing of it was changed. `signalbox land` pushes both in one atomic push.
      next: signalbox land
    ");
    let said = pushed(&scene.place, &scene.forger, &["origin", &fence, &main]);
    assert!(said.contains("move together or not at all"), "{said}");
    assert!(pushed(&scene.place, &scene.forger, &["origin", &main]).contains("landings only"));
    assert!(pushed(&scene.place, &scene.forger, &["origin", &fence]).contains("move together"));
    // The very same, atomic, is a landing: what refused was that, and nothing else.
    let (passed, said) = push(&scene.place, &scene.forger, &["--atomic", "origin", &main, &fence]);
    assert!(passed, "{}", words(&said));
    assert_eq!(scene.place.main(), scene.next);
}

#[test]
fn a_landing_whose_turn_is_over_is_refused() {
    let mut scene = Scene::new();
    let early = scene.epoch(&scene.landing());
    scene.lands();
    let said = scene.both(&scene.next, &early);
    assert!(said.contains("does not follow the epoch that stands"), "{said}");
    // Chained to what stands now, and everything else as in its turn.
    scene.forger.git(&["fetch", "-q", "origin", "main", &format!("+{EPOCH}:{EPOCH}")]);
    scene.main = scene.place.main();
    scene.stands = scene.place.trunk.git(&["rev-parse", EPOCH]);
    scene.next = scene.forger.git(&["commit-tree", "-p", &scene.main, "-m", "late", "main^{tree}"]);
    scene.refused(|_| {}, "turn 2 of main is over");
    scene.refused(|s| s.turn += 1, "turn 3 of main is not this ticket's now");
}
