use super::*;

/// Returns those of `times`, in milliseconds, at which the rule acts.
fn acts(rule: &str, times: &[u64]) -> Vec<u64> {
    let (mut pipeline, _) = rules(&format!("[[rule]]\nwhen = 'chat'\ntag = 't'\n{rule}\n"));
    let acted = |pipeline: &mut Pipeline, at| {
        !pipeline.apply(&chat_at(at, "x")).effects.notes.tags.is_empty()
    };
    times.iter().copied().filter(|at| acted(&mut pipeline, *at)).collect()
}

#[test]
fn each_condition_holds_when_it_should() {
    let times = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    assert_eq!(acts("limit = 2", &times), [0, 1]);
    assert_eq!(acts("every = 4", &times), [0, 4, 8]);
    assert_eq!(acts("after = '6ms'", &times), [6, 7, 8, 9]);
    assert_eq!(acts("for = '2ms'", &times[3..]), [3, 4]);
    assert_eq!(acts("after = '6ms'\nfor = '2ms'", &times), [6, 7]);
    assert_eq!(acts("every = 2\nlimit = 2\nafter = '3ms'", &times), [3, 5]);
    assert_eq!(acts("once_per = 'session'", &times), [0]);
    assert_eq!(acts("chance = 0", &times), Vec::<u64>::new());
    assert_eq!(acts("chance = 1.0", &times), times);
}

#[test]
fn chance_has_its_frequency_and_repeats_with_its_seed() {
    let times: Vec<u64> = (0..1000).collect();
    let one = acts("chance = 0.3\nseed = 5", &times);
    assert!((250..350).contains(&one.len()), "{}", one.len());
    assert_eq!(one, acts("chance = 0.3\nseed = 5", &times));
    assert_ne!(one, acts("chance = 0.3\nseed = 6", &times));
}

#[test]
fn once_per_player_and_run_count_across_sessions() {
    for (scope, expected) in [("player", [true, false, true]), ("run", [true, false, false])] {
        let text = format!("[[rule]]\nwhen='chat'\ntag='t'\nonce_per = '{scope}'\n");
        let (_, set) = rules(&text);
        let mut acted = Vec::new();
        for player in ["Steve", "Steve", "Alex"] {
            let mut filter = set.filter();
            let mut packet = chat("x");
            packet.set_context(Arc::new(Context { player: Some(player.into()), ..context() }));
            let mut effects = Effects::default();
            filter.apply(&packet, &mut effects);
            acted.push(!effects.notes.tags.is_empty());
        }
        assert_eq!(acted, expected, "{scope}");
    }
}

#[test]
fn random_numbers_differ_between_sessions_and_between_rules() {
    let acts = |session: u64, rule: &str| -> Vec<bool> {
        let text = format!("[[rule]]\nwhen='chat'\ntag='t'\nchance = 0.5\n{rule}\n");
        let (mut pipeline, _) = rules(&text);
        let mut packet = chat("x");
        packet.set_context(Arc::new(Context { session, ..context() }));
        (0..100).map(|_| !pipeline.apply(&packet).effects.notes.tags.is_empty()).collect()
    };
    for seed in ["seed = 0", "seed = 9223372036854775807"] {
        assert_ne!(acts(1, seed), acts(3, seed), "{seed}");
    }
    assert_ne!(acts(1, "name = 'a'"), acts(1, "name = 'b'"));
    assert_eq!(acts(1, "name = 'a'"), acts(1, "name = 'a'"));
}

#[test]
fn a_rule_for_unassigned_ids_acts_once_on_each_such_packet() {
    let (mut pipeline, set) = rules("[[rule]]\nwhen = 'pkt.id == 0x70'\ntag = 't'\n");
    let mut packets = 0;
    for state in State::ALL {
        for direction in Direction::ALL {
            let content = Content::Frame(Frame::from_body(vec![0x70].into()));
            let context = Arc::new(context());
            let packet = Packet::new(context, 1, Timestamp(0), direction, state, content);
            assert!(packet.kind().is_none() && pipeline.wants(&packet));
            assert_eq!(
                pipeline.apply(&packet).effects.notes.tags,
                ["t"],
                "{state:?} {direction:?}"
            );
            packets += 1;
        }
    }
    assert_eq!(set.counts()[0].matched, packets);
}
