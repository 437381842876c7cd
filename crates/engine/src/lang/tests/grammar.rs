use proptest::collection::vec;
use proptest::prelude::*;

use crate::lang::ast::{
    Anchors, Arithmetic, Comparison, Function, Item, Literal, Location, Node, NodeKind, Path,
    PathPart, Pattern, With,
};
use crate::lang::parser::parse;
use crate::lang::{Condition, Expr, Formula};
use mitmcraft_protocol::packet::PathStep;
use mitmcraft_protocol::schema::Catalog;

/// Prints the tree with parentheses around every operation.
fn grouped(text: &str) -> String {
    fn group(node: &Node) -> String {
        let join = |nodes: &[Node], word| {
            let parts: Vec<String> = nodes.iter().map(group).collect();
            format!("({})", parts.join(word))
        };
        match &node.kind {
            NodeKind::All(nodes) => join(nodes, " and "),
            NodeKind::Any(nodes) => join(nodes, " or "),
            NodeKind::Not(inner) => format!("(not {})", group(inner)),
            NodeKind::Negate(inner) => format!("(-{})", group(inner)),
            NodeKind::Compare(it, a, b) => format!("({} {} {})", group(a), it.symbol(), group(b)),
            NodeKind::Arithmetic(it, a, b) => {
                format!("({} {} {})", group(a), it.symbol(), group(b))
            }
            NodeKind::Contains(a, b) => format!("({} contains {})", group(a), group(b)),
            _ => node.to_string(),
        }
    }
    group(&parse(text).unwrap())
}

#[test]
fn operators_bind_as_in_wireshark() {
    for (text, meant) in [
        ("a or b and not c == d", "(a or (b and (not (c == d))))"),
        ("a and b or c and d", "((a and b) or (c and d))"),
        ("a && b || !c", "((a and b) or (not c))"),
        ("not a and b", "((not a) and b)"),
        ("a + b * c == d - e - f", "((a + (b * c)) == ((d - e) - f))"),
        ("-a * b % c", "(((-a) * b) % c)"),
        ("a / b / c", "((a / b) / c)"),
        ("(a or b) and c", "((a or b) and c)"),
        ("a or (b or c)", "(a or (b or c))"),
        ("a or b or c", "(a or b or c)"),
        ("a + 1 contains b + 2", "((a + 1) contains (b + 2))"),
        ("not not a", "(not (not a))"),
        ("- -a", "(-(-a))"),
        ("a - -1", "(a - -1)"),
        ("matches contains in", "(matches contains in)"),
        ("a.and.or == 1", "(a.and.or == 1)"),
    ] {
        assert_eq!(grouped(text), meant, "{text}");
    }
}

#[test]
fn every_form_is_printed_as_it_was_parsed() {
    for text in [
        "a.b[0][-1][*].\"c d\".exists",
        "entity_*.x in {1, 5..9, -3..-1, 1.5, \"a\", 0a:1b, true}",
        "len(a) == :0a",
        "message matches \"\\\\d+ \\\"x\\\"\"",
        "x == 18446744073709551615",
        "x == 1e300",
        "text(lower(upper(abs(x)))) == \"\\n\\u{7}\u{1f600}\"",
        "(a == 1) == true",
        "not (a and b) or -(a + 1) * 2 == 3",
        "*",
        "* * 2 == 1",
    ] {
        let node = parse(text).unwrap();
        assert_eq!(parse(&node.to_string()).unwrap(), node, "{text}");
    }
}

#[test]
fn conditions_are_combined_as_trees() {
    let parse = |text: &str| Condition::parse(text).unwrap();
    let [a, b, either] = ["a", "b && c", "a || b"].map(parse);
    for (combined, text) in [
        (a.clone().and(b.clone()), "a and b and c"),
        (b.clone().and(either.clone()), "b and c and (a or b)"),
        (either.clone().or(b.clone()), "a or b or b and c"),
        (!either.clone(), "not (a or b)"),
        (!!either.clone(), "a or b"),
        (a.and(!b), "a and not (b and c)"),
    ] {
        assert_eq!(combined.to_string(), text);
        assert_eq!(parse(text), combined);
    }
}

#[test]
fn what_a_name_or_a_text_contains_is_not_read_as_part_of_the_language() {
    for name in ["x or y", "and", "true", "", "a.b", "(", "minecraft:x"] {
        assert_eq!(Path::named(name), None, "{name}");
    }
    let steps = ["chat", "a or b", "exists"].map(|name| PathStep::Name(name.into()));
    let path = Path::field(&steps.into_iter().collect()).unwrap();
    let condition = path.equals("\" or \u{202e}\u{1b}\r\"");
    let text = condition.to_string();
    assert_eq!(text, r#"chat."a or b"."exists" == "\" or \u{202e}\u{1b}\u{d}\"""#);
    assert_eq!(Condition::parse(&text), Ok(condition));
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_][a-z0-9_]{0,5}", Just("in".into()), Just("matches".into()), Just("r".into())]
        .prop_filter("reserved", |name: &String| {
            !matches!(name.as_str(), "and" | "or" | "not" | "true" | "false")
        })
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        any::<bool>().prop_map(Literal::Bool),
        any::<i64>().prop_map(Literal::Int),
        (i64::MAX as u64 + 1..).prop_map(Literal::Unsigned),
        any::<f64>().prop_filter("finite", |it| it.is_finite()).prop_map(Literal::Float),
        any::<String>().prop_map(Literal::Text),
        vec(any::<u8>(), 1..5).prop_map(Literal::Bytes),
    ]
}

fn path() -> impl Strategy<Value = Path> {
    let named = |name: String| PathStep::Name(name.into());
    let part = |step| PathPart { step, location: Location::default() };
    let first = prop_oneof![
        4 => name().prop_map(named),
        1 => "[a-z]{0,3}[*][a-z]{0,2}[?]?".prop_map(named),
    ];
    let rest = prop_oneof![
        name().prop_map(named),
        any::<String>().prop_map(named),
        Just("exists".to_owned()).prop_map(named),
        Just("and".to_owned()).prop_map(named),
        any::<i32>().prop_map(|index| PathStep::Index(index.max(-i32::MAX).into())),
        Just(PathStep::Each),
    ];
    (first, vec(rest, 0..3)).prop_map(move |(first, rest)| Path {
        parts: std::iter::once(first).chain(rest).map(part).collect(),
    })
}

fn node(kind: NodeKind, inside: usize) -> Node {
    Node { kind, location: Location::default(), depth: inside + 1 }
}

fn deepest(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| node.depth).max().unwrap_or(0)
}

fn tree() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        literal().prop_map(NodeKind::Literal),
        path().prop_map(NodeKind::Path),
        path().prop_map(NodeKind::Exists),
    ];
    let leaf = leaf.prop_map(|kind| node(kind, 0));
    leaf.prop_recursive(5, 40, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let pair = (boxed.clone(), boxed.clone());
        let item = (literal(), proptest::option::of(literal())).prop_map(|(low, high)| Item {
            low,
            high,
            location: Location::default(),
        });
        let pattern = any::<String>().prop_map(|text| Pattern {
            text,
            location: Location::default(),
            anchors: Anchors::default(),
        });
        let is_number = |node: &Node| {
            matches!(
                node.kind,
                NodeKind::Literal(Literal::Int(_) | Literal::Unsigned(_) | Literal::Float(_))
            )
        };
        let kind = prop_oneof![
            vec(inner.clone(), 2..4).prop_map(NodeKind::All),
            vec(inner.clone(), 2..4).prop_map(NodeKind::Any),
            boxed.clone().prop_map(NodeKind::Not),
            // A negative number is a literal.
            boxed
                .clone()
                .prop_filter("number", move |node| !is_number(node))
                .prop_map(NodeKind::Negate),
            (proptest::sample::select(&Function::ALL[..]), boxed.clone())
                .prop_map(|(function, node)| NodeKind::Call(function, node)),
            (boxed.clone(), pattern.clone(), any::<String>()).prop_map(|(node, pattern, text)| {
                NodeKind::Replace(node, pattern, With { text, location: Location::default() })
            }),
            (boxed.clone(), vec(inner.clone(), 1..3))
                .prop_map(|(node, places)| NodeKind::Slice(node, places)),
            (proptest::sample::select(&Comparison::ALL[..]), pair.clone())
                .prop_map(|(it, (a, b))| NodeKind::Compare(it, a, b)),
            (proptest::sample::select(&Arithmetic::ALL[..]), pair.clone())
                .prop_map(|(it, (a, b))| NodeKind::Arithmetic(it, a, b)),
            pair.prop_map(|(a, b)| NodeKind::Contains(a, b)),
            (boxed.clone(), vec(item, 1..4)).prop_map(|(node, items)| NodeKind::In(node, items)),
            (boxed, pattern).prop_map(|(node, pattern)| NodeKind::Matches(node, pattern)),
        ];
        kind.prop_map(|kind| {
            let inside = match &kind {
                NodeKind::All(nodes) | NodeKind::Any(nodes) => deepest(nodes),
                NodeKind::Not(it) | NodeKind::Negate(it) | NodeKind::Call(_, it) => it.depth,
                NodeKind::In(it, _) | NodeKind::Matches(it, _) | NodeKind::Replace(it, ..) => {
                    it.depth
                }
                NodeKind::Slice(it, places) => it.depth.max(deepest(places)),
                NodeKind::Compare(_, a, b)
                | NodeKind::Arithmetic(_, a, b)
                | NodeKind::Contains(a, b) => a.depth.max(b.depth),
                _ => 0,
            };
            node(kind, inside)
        })
    })
}

/// Random sequences of tokens.
fn soup() -> impl Strategy<Value = String> {
    let word = proptest::sample::select(&WORDS[..]);
    vec(word, 0..12).prop_map(|words| words.concat())
}

const WORDS: [&str; 50] = [
    " ", "chat", "message", "x", "items", "and", "or", "not", "in", "contains", "matches",
    "exists", "pkt", "name", "session", "state", "play", "login", "len", "text", "replace",
    "slice", "(", ")", "[", "]", "{", "}", ",", ".", "..", "*", "?", "+", "-", "/", "%", "==",
    "!=", "<", "!", "0", "1.5", "0x1f", "0a:1b", ":ff", "\"a\"", "\"\\d(\"", "r\"", "é",
];

proptest! {
    #[test]
    fn a_printed_tree_parses_to_the_same_tree(tree in tree()) {
        let text = tree.to_string();
        let read = parse(&text);
        prop_assert_eq!(read.as_ref(), Ok(&tree), "{}", text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in prop_oneof![any::<String>(), soup()]) {
        match parse(&text) {
            Ok(node) => prop_assert_eq!(parse(&node.to_string()), Ok(node)),
            Err(error) => {
                prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len());
                prop_assert!(error.render(&text).lines().count() >= 2);
            }
        }
    }

    #[test]
    fn no_text_makes_the_check_or_an_evaluation_panic(text in soup()) {
        let sample = super::golden("play clientbound window_items 0");
        let catalog = Catalog::embedded().only(&[47]);
        match Expr::parse(&text, &catalog) {
            Ok((expr, _)) => drop(expr.matches(&sample.packet())),
            Err(error) => drop(error.render(&text)),
        }
        if let Ok(formula) = Formula::parse(&text, &catalog) {
            let _ = formula.value(&sample.packet());
        }
    }

    #[test]
    fn no_tree_makes_the_check_or_an_evaluation_panic(tree in tree()) {
        let sample = super::golden("play clientbound set_slot 2");
        let catalog = Catalog::embedded().only(&[47]);
        if let Ok((expr, _)) = Expr::parse(&tree.to_string(), &catalog) {
            let _ = expr.matches(&sample.packet());
        }
    }
}
