use super::*;
use kernel::Id;

const T: &str = "00000000-0000-4000-8000-000000000001";
const U: &str = "00000000-0000-4000-8000-000000000002";

fn oid(digit: char) -> Oid {
    Oid::parse(&digit.to_string().repeat(40)).unwrap()
}

fn line(old: char, new: char, name: &str) -> String {
    format!("{} {} {name}\n", old.to_string().repeat(40), new.to_string().repeat(40))
}

fn lines(lines: &[(char, char, &str)]) -> Vec<Update> {
    read(lines.iter().map(|(old, new, name)| line(*old, *new, name)).collect::<String>().as_bytes()).unwrap()
}

fn trunks() -> Vec<String> {
    vec!["main".to_owned(), "release/1".to_owned()]
}

fn refusal(updates: &[(char, char, &str)]) -> Option<Refusal> {
    of_push(&lines(updates), &trunks(), &[]).err().map(|refused| refused.why)
}

fn epoch(turn_no: i64, ticket: &str, state: State, trunk: &str) -> Epoch {
    let ticket: Id = ticket.parse().unwrap();
    Epoch { turn_no, ticket, box_id: "b".into(), state, trunk: trunk.into() }
}

/// A landing of turn 5 from trunk 1 to 2 and epoch 3 to 4, that passes.
fn landing() -> (Part<'static>, Facts, Word) {
    let part = Part {
        trunk: "main",
        branch: Some(Move { old: Some(oid('1')), new: oid('2') }),
        epoch: Some(Move { old: Some(oid('3')), new: oid('4') }),
    };
    let facts = Facts {
        epoch: Some(epoch(5, T, State::Landed, oid('2').as_str())),
        parents: vec![oid('3')],
        stands: Some(epoch(5, T, State::Begun, oid('1').as_str())),
        trunk: Some(oid('1')),
        forward: true,
    };
    (part, facts, Word { box_id: "b".into(), holder: Some((T.into(), 5)) })
}

/// The turn's beginning, over the landing of turn 4.
fn begin() -> (Part<'static>, Facts, Word) {
    let (mut part, mut facts, word) = landing();
    part.branch = None;
    facts.epoch = Some(epoch(5, T, State::Begun, oid('1').as_str()));
    facts.stands = Some(epoch(4, U, State::Landed, oid('1').as_str()));
    (part, facts, word)
}

#[test]
fn lines_that_are_not_gits_are_not_read() {
    assert_eq!(read(b""), Some(Vec::new()));
    for odd in ["x", "1 2 refs/heads/a", " ", &line('1', '2', "a").replace(' ', "\t")] {
        assert_eq!(read(odd.as_bytes()), None, "{odd:?}");
    }
    let [symbolic] = &read(b"0000 ref:refs/heads/a HEAD").unwrap()[..] else { panic!("one line") };
    assert_eq!((&symbolic.old, &symbolic.new), (&Value::Nothing, &Value::Name));
    let names = read(line('1', '2', "refs/heads/ma in\u{7f}").as_bytes()).unwrap();
    assert_eq!(names[0].name, "refs/heads/ma in\u{7f}");
}

#[test]
fn other_refs_are_nothing_to_the_gate() {
    for name in [
        "refs/heads/feature",
        "refs/tags/main",
        "refs/heads/Main",
        "refs/heads/mainly",
        "refs/heads/release/12",
        "refs/heads/x/main",
        "refs/signalbox/epoch/other",
        "refs/signalbox/boxes",
        "refs/heads/refs/heads/main",
        "refs/namespaces/a/refs/heads/main",
    ] {
        for (old, new) in [('0', '2'), ('1', '2'), ('1', '0')] {
            let (updates, trunks) = (lines(&[(old, new, name)]), trunks());
            assert!(of_push(&updates, &trunks, &[]).unwrap().is_nothing(), "{name}");
            assert_eq!(of_transaction(&updates, &trunks), Ok(Vec::new()));
        }
    }
}

#[test]
fn what_a_push_must_not_do_is_refused_before_anything_is_looked_at() {
    let main = "refs/heads/main";
    let epoch = "refs/signalbox/epoch/main";
    let boxed = "refs/signalbox/box";
    assert_eq!(refusal(&[('1', '2', main)]), Some(Refusal::Direct));
    assert_eq!(refusal(&[('0', '2', main)]), Some(Refusal::Direct));
    assert_eq!(refusal(&[('1', '2', "refs/heads/release/1")]), Some(Refusal::Direct));
    assert_eq!(refusal(&[('3', '4', epoch), ('1', '2', "refs/heads/release/1")]), Some(Refusal::Direct));
    assert_eq!(refusal(&[('1', '0', main)]), Some(Refusal::TrunkDeleted));
    assert_eq!(refusal(&[('3', '4', epoch), ('1', '0', main)]), Some(Refusal::TrunkDeleted));
    assert_eq!(refusal(&[('3', '0', epoch), ('1', '2', main)]), Some(Refusal::EpochDeleted));
    assert_eq!(refusal(&[('1', '2', boxed)]), Some(Refusal::BoxStands));
    assert_eq!(refusal(&[('1', '0', boxed)]), Some(Refusal::BoxStands));
    assert_eq!(refusal(&[('3', '4', epoch), ('3', '5', epoch)]), Some(Refusal::Twice));
    let way = |name: &str| Some(Refusal::InTheWay(name.into()));
    for name in
        ["refs/heads/main/x", "refs/heads/release", "refs/signalbox/epoch/main/x", "refs/signalbox/epoch"]
    {
        assert_eq!(refusal(&[('0', '1', name)]), way(name));
        assert_eq!(refusal(&[('1', '0', name)]), None, "what is in the way may go");
    }
    let trunks = trunks();
    let updates =
        lines(&[('3', '4', epoch), ('1', '2', main), ('0', '5', boxed), ('0', '6', "refs/tags/v1")]);
    let asked = of_push(&updates, &trunks, &[]).unwrap();
    assert_eq!((asked.parts.len(), asked.claim), (1, Some(oid('5'))));
}

#[test]
fn symbolic_refs_to_and_from_what_is_guarded_are_refused() {
    let (alias, main) = ("refs/heads/alias", "refs/heads/main");
    let to = |name: &str, target: &str| [Symbolic { name: name.into(), target: target.into() }];
    let trunks = trunks();
    let push = |name: &str, symbolic: &[Symbolic]| {
        let updates = lines(&[('1', '2', name), ('3', '4', "refs/signalbox/epoch/main")]);
        of_push(&updates, &trunks, symbolic).err().map(|refused| refused.why)
    };
    for target in [main, "refs/signalbox/epoch/release/1", "refs/signalbox/box"] {
        assert_eq!(push(alias, &to(alias, target)), Some(Refusal::Symbolic(alias.into())));
    }
    assert_eq!(push(main, &to(main, "refs/heads/other")), Some(Refusal::Symbolic(main.into())));
    assert_eq!(push(alias, &to(alias, "refs/heads/other")), None);
}

#[test]
fn a_landing_and_the_beginning_of_a_turn_pass() {
    let (part, facts, word) = landing();
    assert_eq!(judge(&part, &facts, &word), Ok(()));
    let (part, mut facts, word) = begin();
    assert_eq!(judge(&part, &facts, &word), Ok(()));
    facts.stands = Some(epoch(5, T, State::Void, oid('1').as_str()));
    assert_eq!(judge(&part, &facts, &word), Ok(()), "taken again after it was fenced");
    let (mut part, mut facts, word) = begin();
    part.epoch = Some(Move { old: None, new: oid('4') });
    (facts.parents, facts.stands, facts.trunk) = (Vec::new(), None, None);
    facts.epoch = Some(epoch(5, T, State::Begun, "none"));
    assert_eq!(judge(&part, &facts, &word), Ok(()), "the first of all");
}

#[test]
fn an_epoch_must_follow_the_one_that_stands_and_be_of_the_box() {
    for make in [landing, begin] {
        let refused = |change: &dyn Fn(&mut Facts, &mut Word)| {
            let (part, mut facts, mut word) = make();
            change(&mut facts, &mut word);
            judge(&part, &facts, &word)
        };
        assert_eq!(refused(&|f, _| f.epoch = None), Err(Refusal::NoEpoch));
        assert_eq!(refused(&|f, _| f.parents.clear()), Err(Refusal::NotChained));
        assert_eq!(refused(&|f, _| f.parents.push(oid('7'))), Err(Refusal::NotChained));
        assert_eq!(refused(&|f, _| f.parents = vec![oid('7')]), Err(Refusal::NotChained));
        assert_eq!(refused(&|f, _| f.stands = None), Err(Refusal::StandsUnreadable));
        assert_eq!(refused(&|_, w| w.box_id = "c".into()), Err(Refusal::OtherBox));
        let other = |f: &mut Facts| f.stands.as_mut().unwrap().box_id = "c".into();
        assert_eq!(refused(&|f, _| other(f)), Err(Refusal::BoxStands));
        let later = |f: &mut Facts| f.stands.as_mut().unwrap().turn_no = 6;
        assert_eq!(refused(&|f, _| later(f)), Err(Refusal::OldTurn(5, 6)));
        let landed = |f: &mut Facts| f.stands = Some(epoch(5, T, State::Landed, "none"));
        assert_eq!(refused(&|f, _| landed(f)), Err(Refusal::OldTurn(5, 5)));
        let another = |f: &mut Facts| f.stands = Some(epoch(5, U, State::Begun, "none"));
        assert_eq!(refused(&|f, _| another(f)), Err(Refusal::OldTurn(5, 5)));
    }
}

#[test]
fn only_the_ticket_that_has_the_turn_begins_it_and_lands() {
    for make in [landing, begin] {
        for holder in [None, Some((U.to_owned(), 5)), Some((T.to_owned(), 6)), Some((T.to_owned(), 4))] {
            let (part, facts, mut word) = make();
            word.holder = holder;
            assert_eq!(judge(&part, &facts, &word), Err(Refusal::NoTurn(5)));
        }
    }
}

#[test]
fn a_landing_names_its_commit_follows_its_beginning_and_only_grows() {
    let (part, mut facts, word) = landing();
    facts.epoch = Some(epoch(5, T, State::Landed, oid('1').as_str()));
    assert_eq!(judge(&part, &facts, &word), Err(Refusal::OtherCommit));
    for stands in [epoch(4, T, State::Begun, "none"), epoch(5, T, State::Void, "none")] {
        let (part, mut facts, word) = landing();
        facts.stands = Some(stands);
        assert_eq!(judge(&part, &facts, &word), Err(Refusal::NotBegun));
    }
    let (part, mut facts, word) = landing();
    facts.forward = false;
    assert_eq!(judge(&part, &facts, &word), Err(Refusal::Backwards));
    let (part, mut facts, word) = begin();
    facts.trunk = Some(oid('2'));
    assert_eq!(judge(&part, &facts, &word), Err(Refusal::OtherCommit));
}

#[test]
fn trunk_and_epoch_move_as_their_state_says() {
    let (mut part, facts, word) = landing();
    part.branch = None;
    assert_eq!(judge(&part, &facts, &word), Err(Refusal::Apart), "landed alone");
    let (part, mut facts, word) = landing();
    for state in [State::Begun, State::Void] {
        facts.epoch = Some(epoch(5, T, state, oid('2').as_str()));
        assert_eq!(judge(&part, &facts, &word), Err(Refusal::Apart), "{state:?} with the trunk");
    }
}

#[test]
fn a_turn_that_has_begun_is_voided_by_anybody_and_nothing_else_is() {
    let (mut part, mut facts, mut word) = landing();
    part.branch = None;
    facts.epoch = Some(epoch(5, T, State::Void, oid('1').as_str()));
    for holder in [None, Some((U.to_owned(), 6)), Some((T.to_owned(), 5))] {
        word.holder = holder;
        assert_eq!(judge(&part, &facts, &word), Ok(()));
    }
    facts.stands = Some(epoch(5, T, State::Void, "none"));
    assert_eq!(judge(&part, &facts, &word), Err(Refusal::NothingToVoid));
    facts.stands = Some(epoch(4, T, State::Begun, "none"));
    assert_eq!(judge(&part, &facts, &word), Err(Refusal::NothingToVoid));
    facts.stands = Some(epoch(5, U, State::Begun, "none"));
    assert_eq!(judge(&part, &facts, &word), Err(Refusal::OldTurn(5, 5)));
}

#[test]
fn a_box_is_claimed_by_the_one_that_the_server_asks() {
    let word = landing().2;
    assert_eq!(judge_claim("b", &word), Ok(()));
    assert_eq!(judge_claim("c", &word), Err(Refusal::OtherBox));
    assert_eq!(judge_claim("", &word), Err(Refusal::OtherBox));
}

/// The verdict on a transaction, where trunk 1 and epoch 3 stand.
fn transaction(updates: &[(char, char, &str)], epoch: Option<&Epoch>) -> Result<(), Refusal> {
    let (updates, trunks) = (lines(updates), trunks());
    let before = Before { trunk: Some(oid('1')), epoch: Some(oid('3')) };
    let parts = of_transaction(&updates, &trunks).map_err(|refused| refused.why)?;
    parts.iter().try_for_each(|part| together(part, &updates, &before, epoch))
}

#[test]
fn a_transaction_that_moves_the_trunk_has_the_epoch_that_names_it() {
    let (main, name) = ("refs/heads/main", "refs/signalbox/epoch/main");
    let landed = epoch(5, T, State::Landed, oid('2').as_str());
    assert_eq!(transaction(&[('1', '2', main), ('3', '4', name)], Some(&landed)), Ok(()));
    assert_eq!(transaction(&[('1', '2', "HEAD"), ('1', '2', main), ('3', '4', name)], Some(&landed)), Ok(()));
    assert_eq!(transaction(&[('1', '2', main)], None), Err(Refusal::Apart));
    assert_eq!(transaction(&[('0', '2', main)], None), Err(Refusal::Apart), "without an old value");
    assert_eq!(transaction(&[('3', '4', name)], Some(&landed)), Err(Refusal::Apart));
    assert_eq!(transaction(&[('1', '2', main), ('0', '3', name)], Some(&landed)), Err(Refusal::Apart));
    for other in [
        None,
        Some(epoch(5, T, State::Landed, oid('5').as_str())),
        Some(epoch(5, T, State::Begun, oid('2').as_str())),
    ] {
        let both = [('1', '2', main), ('3', '4', name)];
        assert_eq!(transaction(&both, other.as_ref()), Err(Refusal::OtherCommit), "{other:?}");
    }
    assert_eq!(transaction(&[('3', '4', name)], None), Err(Refusal::NoEpoch));
    for state in [State::Begun, State::Void] {
        assert_eq!(transaction(&[('3', '4', name)], Some(&epoch(5, T, state, "none"))), Ok(()));
    }
}

#[test]
fn deletions_and_unchanged_values_pass_a_transaction() {
    let (main, name) = ("refs/heads/main", "refs/signalbox/epoch/main");
    for updates in [
        [('0', '1', main), ('0', '3', name)],
        [('1', '1', main), ('3', '3', name)],
        [('1', '0', main), ('3', '0', name)],
        [('0', '0', main), ('0', '0', name)],
    ] {
        assert_eq!(transaction(&updates, None), Ok(()), "{updates:?}");
    }
    let packed = [('0', '3', "refs/signalbox/keep/x/landed"), ('0', '3', name)];
    assert_eq!(transaction(&packed, None), Ok(()), "what keeps an epoch is packed beside it");
}

#[test]
fn an_epoch_that_moves_through_another_name_is_refused() {
    let begun = epoch(5, T, State::Begun, "none");
    let updates = [('0', '4', "refs/heads/alias"), ('0', '4', "refs/signalbox/epoch/main")];
    let refusal = Refusal::Symbolic("refs/heads/alias".into());
    assert_eq!(transaction(&updates, Some(&begun)), Err(refusal));
    let trunks = trunks();
    let symbolic = read(format!("{} ref:refs/heads/x refs/heads/main", "0".repeat(40)).as_bytes()).unwrap();
    let refused = of_transaction(&symbolic, &trunks).unwrap_err();
    assert_eq!(refused.why, Refusal::Symbolic("refs/heads/main".into()));
}

#[test]
fn every_refusal_fits_a_line_and_says_what_to_do() {
    let name: BString = format!("refs/heads/{}", "n".repeat(200)).into();
    let long = "t".repeat(200);
    for why in [
        Refusal::Direct,
        Refusal::TrunkDeleted,
        Refusal::EpochDeleted,
        Refusal::BoxStands,
        Refusal::OtherBox,
        Refusal::Symbolic(name.clone()),
        Refusal::InTheWay(name),
        Refusal::Twice,
        Refusal::NoEpoch,
        Refusal::StandsUnreadable,
        Refusal::NotChained,
        Refusal::OldTurn(3, 5),
        Refusal::OldTurn(3, 3),
        Refusal::NoTurn(3),
        Refusal::OtherCommit,
        Refusal::NotBegun,
        Refusal::NothingToVoid,
        Refusal::Apart,
        Refusal::Backwards,
    ] {
        for trunk in [None, Some("main"), Some(long.as_str())] {
            let end = Refused { trunk, why: why.clone() }.end();
            // Behind `remote: `, and with nothing cut off.
            assert!(!end.line.ends_with('…'), "{}", end.line);
            assert!(end.line.contains([';', ':']), "{}", end.line);
        }
    }
}
