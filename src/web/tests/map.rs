use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::*;

/// The store of a sample capture, and the row of its only chunk.
fn sample() -> (Arc<Store>, u64) {
    let store = captured("session-1.8.jsonl");
    let snapshot = store.snapshot();
    let is_chunk = |row| snapshot.kind(row).is_some_and(|it| &**it.name() == "map_chunk");
    let row = (0..snapshot.end()).rfind(|row| is_chunk(*row));
    (store, row.unwrap())
}

fn map(viewer: &mut Viewer, request: Json) -> Json {
    assert_eq!(viewer.ask(&request)["answer"], "done");
    let pushes = viewer.settle();
    pushes.into_iter().rfind(|it| it["push"] == "map").unwrap()
}

#[test]
fn a_page_gets_the_map_as_of_any_packet() {
    let (store, row) = sample();
    let mut viewer = Viewer::new(store, Arc::new(Catalog::embedded().clone()));
    let now = map(&mut viewer, json!({ "do": "map" }));
    let session = now["session"].clone();
    assert_eq!(
        (&now["complete"], &now["left_out"], &now["packet"]),
        (&json!(true), &json!(0), &Json::Null)
    );
    let dimension = &now["dimensions"][0];
    assert_eq!(
        (&dimension["name"], &dimension["chunks"]),
        (&json!("minecraft:overworld"), &json!(1))
    );
    let tiles = &dimension["tiles"];
    assert_eq!((tiles.as_array().unwrap().len(), &tiles[0][2]), (1, &json!(row)));
    assert_eq!(now["player"]["dimension"], 0);
    assert!(!dimension["path"][0].as_array().unwrap().is_empty());
    // Asked again, the page gets what has changed: nothing.
    let again = map(&mut viewer, json!({ "do": "map" }));
    let same = &again["dimensions"][0];
    assert_eq!([&now["whole"], &again["whole"]], [true, false]);
    assert_eq!(
        (&same["tiles"], &same["path"], &same["chunks"]),
        (&json!([]), &Json::Null, &json!(1))
    );

    // Before the chunk came, there was none; a packet about it says where it is.
    let before = map(&mut viewer, json!({ "do": "map", "row": row - 1 }));
    assert_eq!((&before["session"], &before["dimensions"]), (&session, &json!([])));
    assert_eq!([&now["row"], &before["row"]], [&Json::Null, &json!(row - 1)]);
    let then = map(&mut viewer, json!({ "do": "map", "row": row }));
    assert_eq!((&then["dimensions"][0]["chunks"], &then["packet"]["y"]), (&json!(1), &Json::Null));

    let [x, z] = [0, 1].map(|place| tiles[0][place].as_i64().unwrap());
    let mut tile = |x: i64, row: Json| {
        let asked = json!({ "do": "map_tile", "dimension": 0, "x": x, "z": z, "row": row });
        viewer.ask(&asked)["png"].clone()
    };
    let png = BASE64_STANDARD.decode(tile(x, Json::Null).as_str().unwrap()).unwrap();
    // 128 × 128 pixels.
    assert_eq!(png[16..24], [0, 0, 0, 128, 0, 0, 0, 128]);
    assert_eq!(tile(x, row.into()), BASE64_STANDARD.encode(&png));
    assert_eq!([tile(x, (row - 1).into()), tile(x + 1, Json::Null)], [Json::Null, Json::Null]);
    assert_eq!(tile(i64::from(i32::MIN), Json::Null), Json::Null);

    let place = &then["packet"];
    let block =
        viewer.ask(&json!({ "do": "map_block", "dimension": 0, "x": place["x"], "z": place["z"] }));
    assert_eq!(block["name"], "dirt");
    assert!(block["y"].is_i64());
    let nowhere = viewer.ask(&json!({ "do": "map_block", "dimension": 7, "x": 0, "z": 0 }));
    assert_eq!((&nowhere["name"], &nowhere["y"]), (&Json::Null, &Json::Null));
}
