use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};

use super::ast::{Comparison, Function, Item, Literal, Node, NodeKind, Path, Pattern, With};
use super::attribute::Attribute;
use super::datum::{Datum, SCALARS, Set};
use super::error::{ExprError, Warning, closest};
use super::field::Field;
use super::fit::{NUMBERS, SEARCHABLE, TEXTS, fit_call, fit_compares, fit_computes, fit_contains};
use super::lexer::{Quoted, Span};
use super::names::{Mention, Mentioned, Target, property};
use super::predicate::{Check, Operand, Predicate};
use super::replacement::Replacement;
use super::vocabulary::{Vocabulary, mapped_names};
use mitmcraft_protocol::schema::{Kind, Kinds, MAX_LISTED, parse_uuid};

/// Checks a syntax tree against the protocols of all versions, and compiles it.
pub(super) struct Checker<'v> {
    pub(super) vocabulary: &'v Vocabulary<'v>,
    /// The fields read so far, without duplicates.
    pub(super) fields: Vec<Field>,
    pub(super) mentions: Vec<Mention>,
    /// Probable mistakes.
    pub(super) warnings: Vec<Warning>,
}

/// An operand and the kinds of values it can have.
type Typed = (Operand, Kinds);

/// A test of whether an operator or function accepts values of these kinds.
type Takes<'t> = &'t dyn Fn(Kinds) -> bool;

impl<'v> Checker<'v> {
    pub(super) fn new(vocabulary: &'v Vocabulary<'v>) -> Self {
        Self { vocabulary, fields: Vec::new(), mentions: Vec::new(), warnings: Vec::new() }
    }

    /// Compiles a condition.
    pub(super) fn predicate(&mut self, node: &Node) -> Result<Predicate, ExprError> {
        let span = &node.location.0;
        let check = match &node.kind {
            NodeKind::Literal(Literal::Bool(bool)) => return Ok(Predicate::Constant(*bool)),
            NodeKind::Not(node) => return Ok(Predicate::not(self.predicate(node)?)),
            NodeKind::All(nodes) => return Ok(Predicate::all(self.predicates(nodes)?)),
            NodeKind::Any(nodes) => return Ok(Predicate::any(self.predicates(nodes)?)),
            NodeKind::Path(path) => self.bare(path)?,
            NodeKind::Exists(path) => Check::Exists(self.path(path, &|_| true)?.0),
            NodeKind::Compare(comparison, left, right) => self.compare(*comparison, left, right)?,
            NodeKind::In(left, items) => self.is_in(left, items)?,
            NodeKind::Contains(left, right) => self.contains(left, right)?,
            NodeKind::Matches(left, regex) => {
                let no_text = |kinds| format!("`{left}` is {kinds}: `matches` searches text");
                Check::Matches(self.wanted(left, SEARCHABLE, no_text)?.0, compile(regex)?)
            }
            NodeKind::Is(path, thing) => return self.is(path, thing),
            NodeKind::Literal(_)
            | NodeKind::Call(..)
            | NodeKind::Replace(..)
            | NodeKind::Slice(..)
            | NodeKind::Block(_)
            | NodeKind::Distance(_)
            | NodeKind::Negate(_)
            | NodeKind::Arithmetic(..) => {
                return Err(ExprError::new(span, format!("`{node}` is a value, not a condition"))
                    .hint("compare it with something"));
            }
        };
        Ok(Predicate::atom(check, &self.fields))
    }

    /// Compiles a single value. Returns some of the kinds that it can have.
    pub(super) fn value(&mut self, node: &Node) -> Result<(Operand, Kinds), ExprError> {
        self.wanted(node, SCALARS, |kinds| format!("`{node}` is {kinds}, not a single value"))
    }

    fn predicates(&mut self, nodes: &[Node]) -> Result<Vec<Predicate>, ExprError> {
        nodes.iter().map(|node| self.predicate(node)).collect()
    }

    /// Compiles a condition that is only a path.
    fn bare(&mut self, path: &Path) -> Result<Check, ExprError> {
        let span = path.span();
        let hint = |error: ExprError| error.hint(format!("compare it, or write `{path}.exists`"));
        Ok(match self.vocabulary.condition(path)? {
            Target::State(state) => Check::State(state),
            Target::Direction(direction) => Check::Direction(direction),
            Target::Packets(packets) => {
                self.mention(&span, Mentioned::Packets(packets.clone()));
                Check::Packet(packets)
            }
            Target::Attribute(attribute) if attribute.is_optional() => {
                Check::Exists(Operand::Attribute(attribute))
            }
            Target::Attribute(attribute) if attribute.kinds().has(Kind::Bool) => {
                Check::True(Operand::Attribute(attribute))
            }
            Target::Attribute(attribute) => {
                let message = format!("`{}` is a value, not a condition", attribute.name());
                return Err(ExprError::new(&span, message).hint("compare it with something"));
            }
            Target::Field(field, kinds) if kinds.has(Kind::Bool) => {
                Check::True(self.field(&span, field))
            }
            Target::Field(_, kinds) => {
                let message = format!("`{path}` is a field ({kinds}), not a condition");
                return Err(hint(ExprError::new(&span, message)));
            }
        })
    }

    fn compare(
        &mut self,
        comparison: Comparison,
        left: &Node,
        right: &Node,
    ) -> Result<Check, ExprError> {
        let fits = |left, right| fit_compares(comparison, left, right);
        let ((a, left_kinds), (b, right_kinds)) = self.pair(left, right, &fits)?;
        let symbol = comparison.symbol();
        if !fits(left_kinds, right_kinds) {
            return Err(self.misfit(symbol, (left, left_kinds), (right, right_kinds)));
        }
        for (operand, node, other) in [(&a, left, right), (&b, right, left)] {
            self.check_order(comparison, operand, node)?;
            if let NodeKind::Literal(literal) = &other.kind {
                self.check_literal(operand, literal, &other.location.0)?;
            }
        }
        match (&a, &right.kind) {
            (Operand::Attribute(Attribute::Name), NodeKind::Literal(Literal::Text(text)))
                if !comparison.orders() =>
            {
                self.compare_name(comparison, text, &right.location.0)
            }
            _ => Ok(Check::Compare(comparison, a, b)),
        }
    }

    /// Compiles the comparison of a packet's name with a text, which may be an official name.
    fn compare_name(
        &self,
        comparison: Comparison,
        text: &str,
        span: &Span,
    ) -> Result<Check, ExprError> {
        let compare = |name: &str| {
            let name = Operand::Constant(Datum::string(name.into()));
            Ok(Check::Compare(comparison, Operand::Attribute(Attribute::Name), name))
        };
        match (comparison, self.vocabulary.names_of_official(text).as_slice()) {
            (_, []) => compare(text),
            (_, [name]) => compare(name),
            (Comparison::Equal, names) => {
                let items: Vec<Item> = names.iter().map(|name| Item::of(name, span)).collect();
                Ok(Check::In(Operand::Attribute(Attribute::Name), Set::new(&items)))
            }
            (_, names) => {
                let message = format!("\"{text}\" is the official name of several packets");
                let names = names.iter().map(|name| Literal::from(&**name).to_string());
                let names = names.collect::<Vec<_>>().join(", ");
                let hint = format!("write `not (pkt.name in {{{names}}})`");
                Err(ExprError::new(span, message).hint(hint))
            }
        }
    }

    fn contains(&mut self, left: &Node, right: &Node) -> Result<Check, ExprError> {
        let ((a, left_kinds), (b, right_kinds)) = self.pair(left, right, &fit_contains)?;
        if !fit_contains(left_kinds, right_kinds) {
            let error = self.misfit("contains", (left, left_kinds), (right, right_kinds));
            return Err(if left_kinds.has(Kind::List) {
                error.hint(format!("write `{left}[*] == {right}`"))
            } else {
                error
            });
        }
        Ok(Check::Contains(a, b))
    }

    fn is_in(&mut self, left: &Node, items: &[Item]) -> Result<Check, ExprError> {
        let fits = |kinds: Kinds, item: &Item| {
            let comparison = match item.high {
                Some(_) => Comparison::LessOrEqual,
                None => Comparison::Equal,
            };
            fit_compares(comparison, kinds, item.low.kinds())
        };
        let takes = |kinds| items.iter().all(|item| fits(kinds, item));
        let (operand, kinds) = self.operand(left, &takes)?;
        for item in items {
            let span = &item.location.0;
            if let Some(high) = &item.high {
                check_range(&item.low, high, span)?;
            }
            if !fits(kinds, item) {
                let message = format!("`{left}` is {kinds}, which `{item}` is not");
                return Err(self.hint(ExprError::new(span, message), left, kinds));
            }
            self.check_literal(&operand, &item.low, span)?;
        }
        let mut items = items.to_vec();
        if let Operand::Attribute(Attribute::Name) = operand {
            let official = items.iter().filter_map(|item| match &item.low {
                Literal::Text(text) => Some((self.vocabulary.names_of_official(text), item)),
                _ => None,
            });
            let named = official.flat_map(|(names, item)| {
                names.into_iter().map(|name| Item::of(name, &item.location.0))
            });
            let named: Vec<Item> = named.collect();
            items.extend(named);
        }
        Ok(Check::In(operand, Set::new(&items)))
    }

    /// Compiles both sides of an operator, first the one whose kinds are certain.
    fn pair(
        &mut self,
        left: &Node,
        right: &Node,
        fits: &dyn Fn(Kinds, Kinds) -> bool,
    ) -> Result<(Typed, Typed), ExprError> {
        if matches!(left.kind, NodeKind::Literal(_)) {
            let a = self.operand(left, &|_| true)?;
            let b = self.operand(right, &|kinds| fits(a.1, kinds))?;
            return Ok((a, b));
        }
        let any = |kinds: Kinds| kinds.meets(SCALARS);
        let b = match right.kind {
            NodeKind::Literal(_) => Some(self.operand(right, &any)?),
            _ => None,
        };
        let known = b.as_ref().map(|(_, kinds)| *kinds);
        let takes = |kinds| known.map_or_else(|| any(kinds), |known| fits(kinds, known));
        let a = self.operand(left, &takes)?;
        let b = match b {
            Some(b) => b,
            None => {
                let b = self.operand(right, &|kinds| fits(a.1, kinds));
                b.map_err(|error| unquoted(error, right, a.1))?
            }
        };
        Ok((a, b))
    }

    /// Compiles a value. Where a name has several meanings, picks one whose kinds `takes` accepts.
    fn operand(&mut self, node: &Node, takes: Takes<'_>) -> Result<Typed, ExprError> {
        let span = &node.location.0;
        Ok(match &node.kind {
            NodeKind::Literal(literal) => {
                (Operand::Constant(Datum::from(literal)), literal.kinds())
            }
            NodeKind::Path(path) => self.path(path, takes)?,
            NodeKind::Call(function, argument) => self.call(*function, argument)?,
            NodeKind::Replace(text, pattern, with) => self.replace(text, pattern, with)?,
            NodeKind::Slice(text, places) => self.slice(text, places)?,
            NodeKind::Negate(inner) => {
                let wanted = |kinds: Kinds| kinds.meets(NUMBERS);
                let (operand, kinds) = self.operand(inner, &wanted)?;
                if !wanted(kinds) {
                    let message = format!("`{inner}` is {kinds}, which has no negative");
                    return Err(ExprError::new(span, message));
                }
                let result = Kinds::of(&[Kind::Int, Kind::Float]);
                (Operand::Negate(Box::new(operand)), result)
            }
            NodeKind::Arithmetic(operator, left, right) => {
                let fits = |a, b| !fit_computes(*operator, a, b).is_empty();
                let ((a, left_kinds), (b, right_kinds)) = self.pair(left, right, &fits)?;
                let kinds = fit_computes(*operator, left_kinds, right_kinds);
                if kinds.is_empty() {
                    let symbol = operator.symbol();
                    return Err(self.misfit(symbol, (left, left_kinds), (right, right_kinds)));
                }
                (Operand::Compute(*operator, Box::new(a), Box::new(b)), kinds)
            }
            NodeKind::Block(coordinates) => {
                (Operand::Block(self.coordinates(coordinates)?), Kind::Text.into())
            }
            NodeKind::Distance(coordinates) => {
                (Operand::Distance(self.coordinates(coordinates)?), Kind::Float.into())
            }
            NodeKind::Not(_)
            | NodeKind::All(_)
            | NodeKind::Any(_)
            | NodeKind::Exists(_)
            | NodeKind::Compare(..)
            | NodeKind::In(..)
            | NodeKind::Contains(..)
            | NodeKind::Is(..)
            | NodeKind::Matches(..) => {
                (Operand::Predicate(Box::new(self.predicate(node)?)), Kind::Bool.into())
            }
        })
    }

    /// Compiles a value that must have one of the kinds `wanted`; `unfit` says that it has not.
    fn wanted(
        &mut self,
        node: &Node,
        wanted: Kinds,
        unfit: impl FnOnce(Kinds) -> String,
    ) -> Result<Typed, ExprError> {
        let (operand, kinds) = self.operand(node, &|kinds| kinds.meets(wanted))?;
        if kinds.meets(wanted) {
            return Ok((operand, kinds));
        }
        Err(self.hint(ExprError::new(&node.location.0, unfit(kinds)), node, kinds))
    }

    fn coordinates(&mut self, nodes: &[Node]) -> Result<Box<[Operand]>, ExprError> {
        nodes.iter().map(|node| self.coordinate(node)).collect()
    }

    /// Compiles a coordinate in blocks.
    fn coordinate(&mut self, node: &Node) -> Result<Operand, ExprError> {
        Ok(match self.single_number(node, "a coordinate")? {
            operand @ Operand::Field(_) => Operand::Blocks(Box::new(operand)),
            operand => operand,
        })
    }

    /// Compiles `what`, a number that has one value.
    fn single_number(&mut self, node: &Node, what: &str) -> Result<Operand, ExprError> {
        let no_number = |kinds| format!("`{node}` is {kinds}: {what} is a number");
        let (operand, _) = self.wanted(node, NUMBERS, no_number)?;
        if operand.is_many(&self.fields) {
            let message = format!("`{node}` has several values: {what} is one number");
            return Err(ExprError::new(&node.location.0, message));
        }
        Ok(operand)
    }

    fn call(&mut self, function: Function, argument: &Node) -> Result<Typed, ExprError> {
        let (wanted, result) = fit_call(function);
        let name = function.name();
        let unfit = |kinds| format!("`{name}` takes {wanted}; `{argument}` is {kinds}");
        let (operand, _) = self.wanted(argument, wanted, unfit)?;
        Ok((Operand::Call(function, Box::new(operand)), result))
    }

    fn replace(&mut self, text: &Node, pattern: &Pattern, with: &With) -> Result<Typed, ExprError> {
        let wanted = Kinds::of(&[Kind::Text, Kind::Name, Kind::Nbt]);
        let unfit = |kinds| format!("`replace` takes {wanted}; `{text}` is {kinds}");
        let (operand, kinds) = self.wanted(text, wanted, unfit)?;
        let replacement = Replacement::new(compile_for_text(pattern)?, with)?;
        let mut result = Kinds::NONE;
        if kinds.meets(Kinds::of(&[Kind::Text, Kind::Name])) {
            result = result | Kind::Text.into();
        }
        if kinds.has(Kind::Nbt) {
            result = result | Kind::Nbt.into();
        }
        Ok((Operand::Replace(Box::new(operand), Arc::new(replacement)), result))
    }

    fn slice(&mut self, text: &Node, places: &[Node]) -> Result<Typed, ExprError> {
        let wanted = Kinds::of(&[Kind::Text, Kind::Name, Kind::Nbt]);
        let unfit = |kinds| format!("`slice` takes {wanted}; `{text}` is {kinds}");
        let mut operands = vec![self.wanted(text, wanted, unfit)?.0];
        for place in places {
            operands.push(self.single_number(place, "a place in a text")?);
        }
        Ok((Operand::Slice(operands.into()), Kind::Text.into()))
    }

    fn path(&mut self, path: &Path, takes: Takes<'_>) -> Result<Typed, ExprError> {
        let span = path.span();
        let condition = |property: &str, value: &str| {
            ExprError::new(&span, format!("`{path}` is a condition, not a value"))
                .hint(format!("write `pkt.{property} == \"{value}\"`"))
        };
        match self.vocabulary.target(path, takes)? {
            Target::Attribute(attribute) => Ok((Operand::Attribute(attribute), attribute.kinds())),
            Target::Field(field, kinds) => Ok((self.field(&span, field), kinds)),
            Target::State(state) => Err(condition("state", state.name())),
            Target::Direction(direction) => Err(condition("dir", direction.name())),
            Target::Packets(packets) => {
                let error = ExprError::new(&span, format!("`{path}` names packets, not a value"));
                let names = match path.is_glob() {
                    false => self.vocabulary.field_names(Some(&packets), &[]),
                    true => BTreeSet::new(),
                };
                let names: Vec<&str> = names.iter().map(String::as_str).take(MAX_LISTED).collect();
                Err(match names.as_slice() {
                    [] => error,
                    _ => error.hint(format!("its fields: `{}`", names.join("`, `"))),
                })
            }
        }
    }

    /// Returns the operand of a field.
    pub(super) fn field(&mut self, span: &Span, field: Field) -> Operand {
        self.mention(span, Mentioned::Field(field.clone()));
        let place = self.fields.iter().position(|known| *known == field);
        Operand::Field(place.unwrap_or_else(|| {
            self.fields.push(field);
            self.fields.len() - 1
        }))
    }

    fn mention(&mut self, span: &Span, what: Mentioned) {
        self.mentions.push(Mention { span: span.clone(), what });
    }

    /// Checks that the other side can equal a literal text.
    fn check_literal(
        &self,
        operand: &Operand,
        literal: &Literal,
        span: &Span,
    ) -> Result<(), ExprError> {
        let Literal::Text(text) = literal else { return Ok(()) };
        match operand {
            Operand::Attribute(attribute) => match attribute.values() {
                Some(values) if !values.contains(&text.as_str()) => {
                    let message = format!("`{}` is never \"{text}\"", attribute.name());
                    Err(one_of(ExprError::new(span, message), text, &values))
                }
                _ => Ok(()),
            },
            Operand::Field(place) => self.check_text(&self.fields[*place], text, span),
            _ => Ok(()),
        }
    }

    /// Checks that a field that is a mapped number or a UUID can equal a text.
    fn check_text(&self, field: &Field, text: &str, span: &Span) -> Result<(), ExprError> {
        // If the field has another kind in any version, it can be any text.
        let fixed = Kinds::of(&[Kind::Name, Kind::Uuid, Kind::Int, Kind::Float, Kind::Bool]);
        let uuid = parse_uuid(text).is_some();
        let can_be =
            |kinds: Kinds| !kinds.without(fixed).is_empty() || (uuid && kinds.has(Kind::Uuid));
        let mut names = BTreeSet::new();
        for index in self.vocabulary.indexes() {
            if can_be(index.kinds(field, Kinds::NONE, can_be)) {
                return Ok(());
            }
            names.extend(mapped_names(index, field));
            if names.contains(text) {
                return Ok(());
            }
        }
        if names.is_empty() {
            return Err(ExprError::new(span, format!("\"{text}\" is not a UUID"))
                .hint("for example \"069a79f4-44e9-4726-a5be-fca90e38aaf5\""));
        }
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let message = format!("`{}` is never \"{text}\"", field);
        Err(one_of(ExprError::new(span, message), text, &names))
    }

    /// Checks that an operand of an order comparison has an order.
    fn check_order(
        &self,
        comparison: Comparison,
        operand: &Operand,
        node: &Node,
    ) -> Result<(), ExprError> {
        let Operand::Attribute(attribute) = operand else { return Ok(()) };
        let ordered = attribute.values().is_none() && *attribute != Attribute::Version;
        if ordered || !comparison.orders() {
            return Ok(());
        }
        let error =
            ExprError::new(&node.location.0, format!("`{}` has no order", attribute.name()));
        Err(match attribute {
            Attribute::Version => error.hint("compare the number `pkt.protocol`"),
            _ => error,
        })
    }

    fn misfit(
        &self,
        symbol: &str,
        (left, left_kinds): (&Node, Kinds),
        (right, right_kinds): (&Node, Kinds),
    ) -> ExprError {
        let span = left.location.0.start..right.location.0.end;
        let message = format!(
            "`{left}` is {left_kinds} and `{right}` is {right_kinds}, which do not fit `{symbol}`"
        );
        let error = ExprError::new(&span, message);
        match (&left.kind, &right.kind) {
            (_, NodeKind::Literal(Literal::Int(0 | 1))) if left_kinds.has(Kind::Bool) => {
                error.hint("write `true` or `false`")
            }
            (_, NodeKind::Literal(literal @ (Literal::Int(_) | Literal::Float(_))))
                if left_kinds.has(Kind::Text) && symbol == "==" =>
            {
                error.hint(format!("put text in quotes: {}", Literal::Text(literal.to_string())))
            }
            (NodeKind::Literal(_), _) => self.hint(error, right, right_kinds),
            _ => self.hint(error, left, left_kinds),
        }
    }

    /// Adds a hint about lists and containers, and about fields with the name of a property.
    fn hint(&self, error: ExprError, node: &Node, kinds: Kinds) -> ExprError {
        let NodeKind::Path(path) = &node.kind else { return error };
        if let Some(property) = path.word().and_then(property) {
            return error.hint(format!("did you mean `{property}`?"));
        }
        if kinds.has(Kind::List) {
            return error.hint(format!("`{path}[*]` is any of its elements"));
        }
        if !kinds.has(Kind::Map) {
            return error;
        }
        let Ok(Target::Field(field, _)) = self.vocabulary.target(path, &|_| true) else {
            return error;
        };
        let names = self.vocabulary.field_names(field.packets.as_ref(), field.path.steps());
        match names.first() {
            Some(name) => error.hint(format!("one of its fields, for example `{path}.{name}`")),
            None => error,
        }
    }
}

/// Adds a hint with the nearest value, or with all values if they are few.
fn one_of(error: ExprError, text: &str, values: &[&str]) -> ExprError {
    match closest(text, values.iter().copied()) {
        Some(near) => error.hint(format!("did you mean \"{near}\"?")),
        None if values.len() <= MAX_LISTED => {
            error.hint(format!("it is one of \"{}\"", values.join("\", \"")))
        }
        None => error,
    }
}

/// Adds a hint that an unknown word on the right may be a text without quotes.
fn unquoted(error: ExprError, node: &Node, left: Kinds) -> ExprError {
    match &node.kind {
        NodeKind::Path(path) if left.meets(TEXTS) && error.hint.is_none() => {
            error.hint(format!("put text in quotes: {}", Literal::Text(path.to_string())))
        }
        _ => error,
    }
}

fn check_range(low: &Literal, high: &Literal, span: &Span) -> Result<(), ExprError> {
    let numbers = (Datum::from(low), Datum::from(high));
    let (Datum::Number(low), Datum::Number(high)) = numbers else {
        return Err(ExprError::new(span, "a range goes from a number to a number"));
    };
    if low.compare(high).is_some_and(Ordering::is_gt) {
        return Err(ExprError::new(span, "the range is empty: its end is less than its start"));
    }
    Ok(())
}

/// Compiles a regular expression, which matches in linear time.
fn compile(pattern: &Pattern) -> Result<Regex, ExprError> {
    if let Some((message, span)) = fault(pattern) {
        return Err(ExprError::new(&span, format!("regular expression: {message}")));
    }
    let built = RegexBuilder::new(&pattern.text).size_limit(MAX_SIZE).build();
    built.map_err(|_| too_large(pattern))
}

/// Compiles a regular expression that finds whole characters only.
fn compile_for_text(pattern: &Pattern) -> Result<regex::Regex, ExprError> {
    compile(pattern)?;
    let built = regex::RegexBuilder::new(&pattern.text).size_limit(MAX_SIZE).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => too_large(pattern),
        _ => ExprError::new(&pattern.location.0, "part of a character can be no text")
            .hint("`(?-u)` is for `matches`"),
    })
}

fn too_large(pattern: &Pattern) -> ExprError {
    ExprError::new(&pattern.location.0, "this regular expression is too large")
        .hint("counted repetitions take most")
}

/// Returns the syntax error of a regular expression, with its place in the source.
fn fault(pattern: &Pattern) -> Option<(String, Span)> {
    let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
    let (message, span) = match parser.parse(&pattern.text).err()? {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), *error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), *error.span()),
        error => return Some((error.to_string(), pattern.location.0.clone())),
    };
    let quoted = Quoted { value: String::new(), unknown: None, anchors: pattern.anchors.0.clone() };
    let place = |offset| quoted.source(offset);
    Some((message, place(span.start.offset)..place(span.end.offset)))
}

/// The largest compiled size, in bytes. Typical expressions take a few thousand.
const MAX_SIZE: usize = 1 << 20;
