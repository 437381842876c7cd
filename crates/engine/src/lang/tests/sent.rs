use super::*;

#[test]
fn names_that_the_server_has_sent_are_those_of_its_session() {
    let protocol = Catalog::embedded().find(770).unwrap().protocol;
    let packet = |context: &Context, state: State, name: &str, fields: &serde_json::Value| {
        let kind = protocol.named(state, Direction::Clientbound, name).unwrap();
        let body = protocol.encode(kind, &Value::from_json(fields)).unwrap();
        let content = Content::Frame(Frame::from_body(body.into()));
        let (context, way) = (Arc::new(context.clone()), Direction::Clientbound);
        Packet::new(context, 1, Timestamp(0), way, state, content)
    };
    let client = "127.0.0.1:50000".parse().unwrap();
    let unknown = Context::new(1, Timestamp(0), client, Arc::clone(&protocol));
    let with = |order: [&str; 2]| {
        let mut context = unknown.clone();
        for registry in ["minecraft:damage_type", "minecraft:enchantment"] {
            let entries = order.map(|key| json!({ "key": key }));
            let fields = json!({"id": registry, "entries": entries});
            let sent = packet(&context, State::Configuration, "registry_data", &fields);
            context.registries = Arc::new(context.registries.with(&sent));
        }
        context
    };
    let (one, other) = (with(["minecraft:lava", "my_mod:acid"]), with(["fall", "minecraft:lava"]));
    let hurt = json!({"entityId": 7, "sourceTypeId": 1, "sourceCauseId": 0, "sourceDirectId": 0});
    let enchanted =
        json!({"type": "enchantments", "data": {"enchantments": [{"id": 1, "level": 2}]}});
    let item = json!({"itemCount": 1, "itemId": 5, "addedComponentCount": 1,
        "removedComponentCount": 0, "components": [enchanted], "removeComponents": []});
    let slot = json!({"windowId": 0, "stateId": 0, "slot": 1, "item": item});
    let id = "item.components[*].data.enchantments[*].id";
    for (name, fields, field) in [("damage_event", hurt, "sourceTypeId"), ("set_slot", slot, id)] {
        let matches = |context: &Context, thing: &str| {
            expr(&format!("{field} is {thing}")).matches(&packet(
                context,
                State::Play,
                name,
                &fields,
            ))
        };
        assert!(matches(&other, "lava") && !matches(&other, "fall"), "{field}");
        assert!(matches(&other, "\"minecraft:lava\""), "{field}");
        assert!(matches(&one, "\"my_mod:acid\"") && !matches(&one, "lava"), "{field}");
        assert!(!matches(&unknown, "lava"), "{field}");
    }
}
