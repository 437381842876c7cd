use super::*;
use mitmcraft_engine::capture::{Event, EventKind, Summary};

fn viewer(store: &Arc<Store>) -> Viewer {
    Viewer::new(Arc::clone(store), Arc::new(Catalog::embedded().clone()))
}

/// What a program is told until nothing more comes: the rows of packets, and the sessions that are told before, between
/// and behind them.
#[derive(Debug, Default, PartialEq)]
struct Told {
    rows: Vec<u64>,
    missed: u64,
    /// Each with the rows told before, and why it has ended.
    sessions: Vec<(usize, u64, Option<String>)>,
}

impl Told {
    fn by(viewer: &mut Viewer) -> Self {
        let mut told = Self::default();
        for push in viewer.settle() {
            match push["push"].as_str() {
                Some("packets") => {
                    told.missed += push["missed"].as_u64().unwrap();
                    let packets = push["packets"].as_array().unwrap();
                    told.rows.extend(packets.iter().map(|it| it["row"].as_u64().unwrap()));
                }
                Some("sessions") => {
                    told.sessions.extend(push["sessions"].as_array().unwrap().iter().map(|it| {
                        let closed = it["closed"].as_str().map(str::to_owned);
                        (told.rows.len(), it["session"].as_u64().unwrap(), closed)
                    }));
                }
                _ => {}
            }
        }
        told
    }
}

fn subscribe(viewer: &mut Viewer, filter: &str, from: Option<u64>) -> Json {
    viewer.ask(&json!({ "do": "subscribe", "filter": filter, "from": from }))
}

/// Opens or ends a session of the context of [`fill`], or of another number.
fn event(store: &Store, session: u64, kind: EventKind) {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let client = ([127, 0, 0, 1], 50000).into();
    let context = Arc::new(Context::new(session, Timestamp(START), client, protocol));
    let at = Timestamp(START + 3_600_000_000_000);
    store.push(&Entry::Event(Event { context, at, kind }));
}

fn closed() -> EventKind {
    let reason = "the server closed the connection".to_owned();
    EventKind::Close(Summary {
        reason,
        serverbound_packets: 0,
        clientbound_packets: 0,
        serverbound_bytes: 0,
        clientbound_bytes: 0,
    })
}

#[test]
fn packets_are_told_once_and_in_order_as_they_come() {
    let store = store(1000);
    let mut viewer = viewer(&store);
    // Nothing is told without being asked for.
    assert_eq!(Told::by(&mut viewer), Told::default());
    let answer = subscribe(&mut viewer, "", Some(990));
    assert_eq!((&answer["answer"], &answer["from"]), (&json!("subscribe"), &json!(990)));
    let mut told = Told::by(&mut viewer);
    assert_eq!(told.sessions, [(0, 1, None)]);
    for end in [1001, 1200, 7000] {
        fill(&store, 990 + told.rows.len() as u64, end);
        let more = Told::by(&mut viewer);
        // Only their counts have changed.
        assert_eq!(more.sessions, []);
        told.rows.extend(more.rows);
    }
    assert_eq!(told.rows, (990..7000).collect::<Vec<_>>());
    assert_eq!(Told::by(&mut viewer), Told::default());
    assert_eq!(viewer.ask(&json!({ "do": "unsubscribe" }))["answer"], "done");
    fill(&store, 7000, 7100);
    assert_eq!(Told::by(&mut viewer), Told::default());
}

#[test]
fn packets_that_match_are_told_as_lines_of_a_capture() {
    let store = store(1000);
    let mut viewer = viewer(&store);
    subscribe(&mut viewer, "chat", Some(0));
    let pushes = viewer.settle();
    let packets: Vec<&Json> = pushes
        .iter()
        .filter(|it| it["push"] == "packets")
        .flat_map(|it| it["packets"].as_array().unwrap())
        .collect();
    assert_eq!(packets.len(), 10);
    let second = packets[1];
    assert_eq!((&second["row"], &second["seq"]), (&json!(100), &json!(101)));
    assert_eq!((&second["packet"], &second["session"]), (&json!("chat"), &json!(1)));
    assert_eq!(second["fields"]["message"], "{\"text\":\"Hello 100\",\"color\":\"red\"}");
    // Those from now on, and another subscription ends the one before.
    let answer = subscribe(&mut viewer, "update_time", None);
    assert_eq!(answer["from"], 1000);
    fill(&store, 1000, 1003);
    assert_eq!(Told::by(&mut viewer).rows, [1001, 1002]);
    let wrong = subscribe(&mut viewer, "mesage == 1", None);
    assert_eq!(wrong["error"]["hint"], "did you mean `message`?");
    // A filter that is wrong changes nothing.
    fill(&store, 1003, 1004);
    assert_eq!(Told::by(&mut viewer).rows, [1003]);
}

#[test]
fn a_session_is_told_before_its_packets_and_its_end_behind_them() {
    let store = Arc::new(Store::new(StoreOptions::whole()));
    event(&store, 7, EventKind::Open);
    event(&store, 7, closed());
    event(&store, 1, EventKind::Open);
    let mut viewer = viewer(&store);
    subscribe(&mut viewer, "", None);
    let why = || Some("the server closed the connection".to_owned());
    assert_eq!(Told::by(&mut viewer).sessions, [(0, 1, None), (0, 7, why())]);
    fill(&store, 0, 300);
    event(&store, 1, closed());
    let told = Told::by(&mut viewer);
    assert_eq!(told.rows.len(), 300);
    assert_eq!(told.sessions.last(), Some(&(300, 1, why())));
    assert!(told.sessions.iter().all(|(rows, _, closed)| (*rows == 0) == closed.is_none()));
    // One that came and went in between is told twice too.
    let mut late = self::viewer(&store);
    subscribe(&mut late, "", Some(0));
    let told = Told::by(&mut late);
    let open = [(0, 1, None), (0, 7, None)];
    let ended = [(300, 1, why()), (300, 7, why())];
    assert_eq!(told.sessions, [open, ended].concat());
}

#[test]
fn what_was_forgotten_before_it_was_told_is_counted() {
    let mut options = StoreOptions::whole();
    options.rows = 5000;
    let store = Arc::new(Store::new(options));
    let mut viewer = viewer(&store);
    subscribe(&mut viewer, "", None);
    fill(&store, 0, 100);
    assert_eq!(Told::by(&mut viewer).rows.len(), 100);
    fill(&store, 100, 30_000);
    let told = Told::by(&mut viewer);
    assert!(told.missed > 20_000, "{}", told.missed);
    assert_eq!(told.missed + told.rows.len() as u64, 29_900);
    assert_eq!(told.rows, (100 + told.missed..30_000).collect::<Vec<_>>());
}

#[test]
fn messages_stay_small_whatever_the_packets() {
    let store = store(20_000);
    let mut viewer = viewer(&store);
    subscribe(&mut viewer, "", Some(0));
    let pushes = viewer.settle();
    let sizes = pushes.iter().map(|it| it.to_string().len());
    assert!(sizes.clone().max().unwrap() < 300 << 10, "{:?}", sizes.max());
    assert!(pushes.len() > 10, "{}", pushes.len());
}
