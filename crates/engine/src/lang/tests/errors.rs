use super::Formula;
use crate::lang::Expr;
use mitmcraft_protocol::schema::Catalog;

fn error(text: &str) -> String {
    Expr::parse(text, Catalog::embedded()).unwrap_err().render(text)
}

/// Each case is the output of [`ExprError::render`](crate::lang::ExprError::render): the message,
/// the expression, and the carets with the hint.
#[track_caller]
fn check(cases: &str) {
    for case in cases.split("\n\n") {
        let lines: Vec<&str> = case.trim_matches('\n').lines().collect();
        let [_, text, _] = lines[..] else { panic!("{case}") };
        assert_eq!(error(text.strip_prefix("  ").unwrap()), lines.join("\n"));
    }
}

#[test]
fn names_of_things_are_checked() {
    check(
        r#"
no version has a `creper` in `spawn_entity_living.type`
  spawn_entity_living.type is creper
                              ^^^^^^ did you mean `creeper`?

the values of `x` have no names
  x is creeper
       ^^^^^^^ compare the value with `==`

`is` takes a field on its left
  3 is creeper
  ^ for example `type is creeper`

`is` takes a name
  type is 50
          ^^ for example `type is creeper`; put other characters in quotes

`distance` takes 6 coordinates, not 3
  distance(x, y, z) < 3
  ^^^^^^^^^^^^^^^^^ two points in blocks: `distance(x, y, z, 0, 64, 0)`

`pkt.name` is not a field
  pkt.name is creeper
  ^^^^^^^^ `is` asks what a field means: `type is creeper`"#,
    );
}

#[test]
fn an_unknown_name_is_an_error_with_a_suggestion() {
    check(
        r#"
no packet has a field `mesage`
  chat and mesage == "hello"
           ^^^^^^ did you mean `message`?

`chat` has no field `mesage`
  chat.mesage contains "hello"
       ^^^^^^ did you mean `message`?

`chat` has no field `what`
  chat.what contains "hello"
       ^^^^ it has `message`, `position`, `sender`

`items[*]` has no field `blokId`
  items[*].blokId == 264
           ^^^^^^ did you mean `blockId`?

no packet `chta`
  chta or play
  ^^^^ did you mean `chat`?

no packet `s2c`
  s2c and chat
  ^^^ did you mean `clientbound`?

`payload` has no field `motd`
  payload.motd.exists
          ^^^^ a protocol description of your own adds the fields of a plugin channel

no packet `serverbond`
  chat and serverbond
           ^^^^^^^^^^ did you mean `serverbound`?

no packet matches `entty_*`
  entty_*
  ^^^^^^^ with spaces around it, `*` multiplies

no packet matches `foo*`
  foo*.x == 1
  ^^^^

no `pkt.nmae`
  pkt.nmae == "chat"
  ^^^^^^^^ did you mean `pkt.name`?

no `session.x`
  session.x == 1
  ^^^^^^^^^ there are `id`, `player`, `client`, `server`

`pkt.name` has no parts
  pkt.name.first == 1
  ^^^^^^^^

no packet `lvel_chunk_with_light`
  lvel_chunk_with_light and clientbound
  ^^^^^^^^^^^^^^^^^^^^^ did you mean `level_chunk_with_light`?

`level_chunk_with_light` has no field `xx`
  level_chunk_with_light.xx == 1
                         ^^ did you mean `x`?

`level_chunk_with_light` names packets, not a value
  level_chunk_with_light == 1
  ^^^^^^^^^^^^^^^^^^^^^^ its fields: `addBitMap`, `biomes`, `bitMap`, `blockEntities`, `blockLight`, `blockLightMask`, `chunkData`, `compressedChunkData`, `dataLength`, `emptyBlockLightMask`, `emptySkyLightMask`, `groundUp`

no role `caht`
  role.caht
  ^^^^^^^^^ did you mean `role.chat`?

no role `x`
  role.x and play
  ^^^^^^ there are `chat`, `command`, `disconnect`, `join`, `keep_alive`, `plugin_message`, `position`, `resource_pack`, `spawn`, `title`, `transfer`

`role.chat` has no field `mesage`
  role.chat.mesage contains "hello"
            ^^^^^^ did you mean `message`?

`role.keep_alive` names packets, not a value
  role.keep_alive == 1
  ^^^^^^^^^^^^^^^ its fields: `keepAliveId`

no packet `role`
  role
  ^^^^ `role` is a prefix: `role.chat`

no packet `spawn`
  spawn
  ^^^^^ did you mean `role.spawn`?

no packet `pkt`
  pkt
  ^^^ `pkt` is a prefix: `pkt.name`

no function `length`
  length(message) > 3
  ^^^^^^ there are `len`, `lower`, `upper`, `abs`, `text`, `hex`, `replace`, `slice`, `distance`, `block`

no function `uper`
  uper(message) == "A"
  ^^^^ did you mean `upper`?

no packet has a field `Notch`
  session.player == Notch
                    ^^^^^ put text in quotes: "Notch"

`pkt.state` is never "player"
  pkt.state == "player"
               ^^^^^^^^ did you mean "play"?

`pkt.origin` is never "me"
  pkt.origin in {"client", "me"}
                           ^^^^ it is one of "client", "server", "proxy"

`difficulty` is never "hrad"
  difficulty == "hrad"
                ^^^^^^ did you mean "hard"?

"Notch" is not a UUID
  spectate.target == "Notch"
                     ^^^^^^^ for example "069a79f4-44e9-4726-a5be-fca90e38aaf5"
"#,
    );
}

#[test]
fn a_type_mismatch_is_an_error_with_both_types() {
    check(
        r#"
`message` is text or NBT and `3` is integer, which do not fit `>`
  chat and message > 3
           ^^^^^^^^^^^

`message` is text or NBT and `3` is integer, which do not fit `==`
  message == 3
  ^^^^^^^^^^^^ put text in quotes: "3"

`onGround` is bool and `1` is integer, which do not fit `==`
  onGround == 1
  ^^^^^^^^^^^^^ write `true` or `false`

`onGround` is bool and `true` is bool, which do not fit `<`
  onGround < true
  ^^^^^^^^^^^^^^^

`entityIds` is list and `5` is integer, which do not fit `==`
  entityIds == 5
  ^^^^^^^^^^^^^^ `entityIds[*]` is any of its elements

`entity_velocity.velocity` is container and `5` is integer, which do not fit `==`
  entity_velocity.velocity == 5
  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ one of its fields, for example `entity_velocity.velocity.x`

`entityIds` is list and `5` is integer, which do not fit `contains`
  entityIds contains 5
  ^^^^^^^^^^^^^^^^^^^^ write `entityIds[*] == 5`

`message` is text or NBT and `0a:1b` is bytes, which do not fit `contains`
  message contains 0a:1b
  ^^^^^^^^^^^^^^^^^^^^^^

`keepAliveId` is integer: `matches` searches text
  keepAliveId matches "1"
  ^^^^^^^^^^^

`message` is text or NBT, which `1..3` is not
  message in {"a", 1..3}
                   ^^^^

`len` takes text, name, bytes, NBT or list; `keepAliveId` is integer
  len(keepAliveId) > 3
      ^^^^^^^^^^^

`message` is text or NBT, which has no negative
  -message == "a"
  ^^^^^^^^

`message` is text or NBT and `1` is integer, which do not fit `-`
  message - 1 > 3
  ^^^^^^^^^^^

`chat.message` is text and has no fields
  chat.message.text == "a"
               ^^^^

`chat.message` is text, not a list
  chat.message[0] == "a"
              ^^^

`items` is list and has no fields
  items.blockId == 1
        ^^^^^^^ those of its elements: `items[*].blockId`

`location` is container, not a list
  location[0] == 1
          ^^^

`pkt.version` has no order
  pkt.version >= "1.9"
  ^^^^^^^^^^^ compare the number `pkt.protocol`

`pkt.dir` has no order
  pkt.dir < "a"
  ^^^^^^^

a range goes from a number to a number
  message in {"a".."b"}
              ^^^^^^^^

the range is empty: its end is less than its start
  x in {5..1}
        ^^^^
"#,
    );
}

#[test]
fn conditions_and_values_are_distinguished() {
    check(
        r#"
`message` is a field (text), not a condition
  serverbound and message
                  ^^^^^^^ compare it, or write `message.exists`

`chat.message` is a field (text), not a condition
  chat.message
  ^^^^^^^^^^^^ compare it, or write `chat.message.exists`

`len(message)` is a value, not a condition
  len(message)
  ^^^^^^^^^^^^ compare it with something

`pkt.size` is a value, not a condition
  pkt.size
  ^^^^^^^^ compare it with something

`"chat"` is a value, not a condition
  "chat" and play
  ^^^^^^ compare it with something

`named_entity_spawn` names packets, not a value
  named_entity_spawn == 3
  ^^^^^^^^^^^^^^^^^^ its fields: `currentItem`, `data`, `entityId`, `metadata`, `pitch`, `playerName`, `playerUUID`, `x`, `y`, `yaw`, `z`

`entity_*` names packets, not a value
  entity_* == 3
  ^^^^^^^^

`serverbound` is a condition, not a value
  serverbound == true
  ^^^^^^^^^^^ write `pkt.dir == "serverbound"`

`state.login` is a condition, not a value
  state.login == true
  ^^^^^^^^^^^ write `pkt.state == "login"`
"#,
    );
    let fields = Formula::parse("items", Catalog::embedded()).unwrap_err().render("items");
    let expected =
        "`items` is list, not a single value\n  items\n  ^^^^^ `items[*]` is any of its elements";
    assert_eq!(fields, expected);
}

#[test]
fn a_syntax_error_is_marked_where_it_occurs() {
    check(
        r#"
unexpected `=`
  x = 1
    ^ equality is `==`

an operator is expected before `y`
  x == 1 y == 2
         ^ for example `and`, `or`, `==`

an operator is expected before `adn`
  x == 1 adn y == 2
         ^^^ did you mean `and`?

an operator is expected before `not`
  x not in {1}
    ^^^ write `not x in {..}`

an operator is expected before `eq`
  x eq 1
    ^^ write `==`

`replace` takes a regular expression
  replace(message, 1, "x") == ""
                   ^ `replace(message, "regex", "text")`

`replace` takes a text in quotes here
  replace(message, "a", message) == ""
                        ^^^^^^^ `replace(message, "regex", "text")`

`slice` takes 2 or 3 values, not 1
  slice(message) == ""
  ^^^^^^^^^^^^^^ a text and places in it: `slice(message, 0, 5)`

comparisons do not chain
  1 < x < 3
        ^ join two of them with `and`

`not` is not allowed here
  x == not y
       ^^^ put the negated condition in parentheses

unclosed `(`: expected `)`
  chat and (x == 1 or y == 2
           ^

unmatched `)`
  chat)
      ^

`)` is expected before this
  (chat 1)
        ^ for example `and`, `or`, `==`

the expression ends where a name or value is expected
  chat and
          ^

expected a name or value, found `==`
  == 1
  ^^

expected a condition before `and`
  and chat
  ^^^

`in` takes a set
  x in 5
       ^ for example `in {1, 5..9}`

the set is empty
  x in {}
       ^^

a set holds numbers, texts and bytes only
  x in {y}
        ^ compare with `==` and join with `or`; put text in quotes

an index is a number or `*`
  a[b] == 1
    ^ `[0]` is the first, `[-1]` the last, `[*]` any

a name must follow the dot
  a.5 == 1
    ^ put a name with other characters in quotes: `tag."a:b"`

`matches` takes a regular expression
  message matches 5
                  ^ as text, for example "(?i)^hello"

unknown escape
  message == "\d"
              ^^ write a backslash as `\\`; r".." has no escapes

`-9223372036854775809` is out of range
  x == -9223372036854775809
       ^^^^^^^^^^^^^^^^^^^^
"#,
    );
    assert_eq!(error(""), "the expression is empty\n  \n  ^");
    let deep = format!("{}chat{}", "(".repeat(200), ")".repeat(200));
    assert!(error(&deep).starts_with("nested deeper than 100 levels\n"));
    let long = format!("x == {}1", "1 + ".repeat(200));
    assert!(error(&long).starts_with("nested deeper than 100 levels\n"));
    let huge = "chat or ".repeat(10_000);
    assert!(error(&huge).starts_with("an expression of 80000 bytes is too long\n"));
}

#[test]
fn a_faulty_regular_expression_is_shown_inside_its_quotes() {
    check(
        r#"
regular expression: unclosed group
  message matches "a(b"
                    ^

regular expression: repetition operator missing expression
  message matches "é\"*+?|*"
                          ^

regular expression: invalid escape sequence found in character class
  message matches "\n\d[\b]"
                        ^^

regular expression: Unicode property not found
  message matches r"\p{Nothing}"
                    ^^^^^^^^^^^

regular expression: unclosed group
  replace(message, "a(b", "") == ""
                     ^

part of a character can be no text
  replace(message, "(?-u:\xff)", "") == ""
                   ^^^^^^^^^^^^ `(?-u)` is for `matches`

the regular expression has no group `2`
  replace(message, "(a)", "$1$$3$2") == ""
                          ^^^^^^^^^ `$$` is a dollar; put the name in braces, as in `${1}a`, if letters follow it

the regular expression has no group `1a`
  replace(message, "(a)", "$1a") == ""
                          ^^^^^ `$$` is a dollar; put the name in braces, as in `${1}a`, if letters follow it

this regular expression is too large
  message matches "(a{1000}){1000}"
                  ^^^^^^^^^^^^^^^^^ counted repetitions take most
"#,
    );
}

#[test]
fn an_error_in_a_longer_text_is_shown_in_its_line() {
    let text = "chat\n  and mesage == \"x\"\n  and play";
    let expected = "no packet has a field `mesage`\n    and mesage == \"x\"\n        ^^^^^^ did you mean `message`?";
    assert_eq!(error(text), expected);
}

#[test]
fn a_condition_that_can_never_match_is_a_warning() {
    let warnings = |text: &str| {
        let (_, warnings) = Expr::parse(text, Catalog::embedded()).unwrap();
        warnings.iter().map(|warning| warning.render(text)).collect::<Vec<_>>()
    };
    assert_eq!(warnings("chat and serverbound"), [""; 0]);
    assert_eq!(warnings("pkt.error or pkt.id == 0x7f"), [""; 0]);
    assert_eq!(
        warnings("login and configuration"),
        ["no packet can match this\n  login and configuration\n  ^^^^^^^^^^^^^^^^^^^^^^^ \
          `login` is a packet; the state is `state.login`"]
    );
    assert_eq!(
        warnings("configuration and map_chunk"),
        ["no packet can match this\n  configuration and map_chunk\n  ^^^^^^^^^^^^^^^^^^^^^^^^^^^"]
    );
    assert_eq!(
        warnings("chat and map_chunk.x == 3"),
        ["no packet can match this\n  chat and map_chunk.x == 3\n  ^^^^^^^^^^^^^^^^^^^^^^^^^"]
    );
    assert_eq!(warnings("false"), ["no packet can match this\n  false\n  ^^^^^"]);
}

#[test]
fn a_word_for_a_property_of_every_packet_is_understood() {
    for (text, meant) in [
        ("packet == \"chat\"", "`pkt.name`"),
        ("direction == \"clientbound\"", "`pkt.dir`"),
        ("player == \"Notch\"", "`session.player`"),
        ("session == 1", "`session.id`"),
    ] {
        let hint = Expr::parse(text, Catalog::embedded()).unwrap_err().hint.unwrap();
        assert_eq!(hint, format!("did you mean {meant}?"), "{text}");
    }
}

#[test]
fn a_name_that_is_nearly_one_of_a_field_that_can_be_text_is_a_warning() {
    let warnings = |text: &str| -> Vec<String> {
        let (_, warnings) = Expr::parse(text, Catalog::embedded()).unwrap();
        warnings.iter().map(|warning| warning.render(text)).collect()
    };
    let expected = "no version has a `creper` among the names of `type`\n  type is creper\n          \
                    ^^^^^^ did you mean `creeper`?";
    assert_eq!(warnings("type is creper"), [expected]);
    assert!(warnings("type is creeper").is_empty());
    // The text of a server's own.
    assert!(warnings("type is \"my_mod:guard_of_the_tower\"").is_empty());
}
