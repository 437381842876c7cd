use std::collections::BTreeSet;

use super::ExprError;
use super::field::Field;
use super::fit;
use super::mention::{Mention, Mentioned};
use super::node::{Comparison, Function, Item, Literal, Node, NodeKind, Path};
use super::operand::Operand;
use super::pattern;
use super::print::steps;
use super::resolve::Target;
use super::set::Set;
use super::subject::Subject;
use super::suggest::closest;
use super::tables::{Tables, kinds, mapped_names};
use super::test::{Check, Test};
use super::token::Span;
use super::val::Val;
use crate::schema::{Catalog, Kind, Kinds, MAX_LISTED, parse_uuid};

/// Checks a tree against the tables of all versions, and compiles it.
pub(super) struct Checker<'c> {
    pub(super) tables: Tables<'c>,
    /// Each once.
    fields: Vec<Field>,
    mentions: Vec<Mention>,
}

/// A value, with what it can be.
type Typed = (Operand, Kinds);

/// Whether these kinds are such as an operator takes.
type Takes<'t> = &'t dyn Fn(Kinds) -> bool;

impl<'c> Checker<'c> {
    pub(super) fn new(catalog: &'c Catalog) -> Self {
        Self { tables: Tables::new(catalog), fields: Vec::new(), mentions: Vec::new() }
    }

    /// What has a truth.
    pub(super) fn test(&mut self, node: &Node) -> Result<Test, ExprError> {
        let span = &node.place.0;
        let check = match &node.kind {
            NodeKind::Literal(Literal::Bool(bool)) => return Ok(Test::Constant(*bool)),
            NodeKind::Not(node) => return Ok(Test::not(self.test(node)?)),
            NodeKind::All(nodes) => return Ok(Test::all(self.tests(nodes)?)),
            NodeKind::Any(nodes) => return Ok(Test::any(self.tests(nodes)?)),
            NodeKind::Path(path) => self.bare(path)?,
            NodeKind::Exists(path) => Check::Exists(self.path(path, &|_| true)?.0),
            NodeKind::Compare(comparison, left, right) => self.compare(*comparison, left, right)?,
            NodeKind::In(left, items) => self.is_in(left, items)?,
            NodeKind::Contains(left, right) => self.contains(left, right)?,
            NodeKind::Matches(left, regex) => {
                let takes = |kinds: Kinds| kinds.meets(fit::SEARCHABLE);
                let (operand, kinds) = self.operand(left, &takes)?;
                if !takes(kinds) {
                    let message = format!("`{left}` is {kinds}: `matches` searches text");
                    return Err(self.hint(ExprError::new(&left.place.0, message), left, kinds));
                }
                Check::Matches(operand, pattern::compile(regex)?)
            }
            NodeKind::Literal(_)
            | NodeKind::Call(..)
            | NodeKind::Negate(_)
            | NodeKind::Arithmetic(..) => {
                return Err(ExprError::new(span, format!("`{node}` is a value, not a condition"))
                    .hint("compare it with something"));
            }
        };
        Ok(Test::leaf(check, &self.fields))
    }

    /// What has a single value.
    pub(super) fn value(&mut self, node: &Node) -> Result<Operand, ExprError> {
        let takes = |kinds: Kinds| kinds.meets(fit::SCALARS);
        let (operand, kinds) = self.operand(node, &takes)?;
        if takes(kinds) {
            return Ok(operand);
        }
        let error = ExprError::new(&node.place.0, format!("`{node}` is {kinds}, no single value"));
        Err(self.hint(error, node, kinds))
    }

    pub(super) fn finish(self) -> (Box<[Field]>, Box<[Mention]>) {
        (self.fields.into(), self.mentions.into())
    }

    fn tests(&mut self, nodes: &[Node]) -> Result<Vec<Test>, ExprError> {
        nodes.iter().map(|node| self.test(node)).collect()
    }

    /// A name that stands alone.
    fn bare(&mut self, path: &Path) -> Result<Check, ExprError> {
        let span = path.span();
        let hint = |error: ExprError| error.hint(format!("compare it, or write `{path}.exists`"));
        Ok(match self.condition(path)? {
            Target::State(state) => Check::State(state),
            Target::Direction(direction) => Check::Direction(direction),
            Target::Packets(packets) => {
                self.mention(&span, Mentioned::Packets(packets.clone()));
                Check::Packet(packets)
            }
            Target::Subject(subject) if subject.is_optional() => {
                Check::Exists(Operand::Subject(subject))
            }
            Target::Subject(subject) => {
                let message = format!("`{}` is a value, not a condition", subject.name());
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
        let fits = |left, right| fit::compares(comparison, left, right);
        let (a, b) = self.pair(left, right, &fits)?;
        let ((a, left_kinds), (b, right_kinds)) = (a, b);
        let symbol = comparison.symbol();
        if !fits(left_kinds, right_kinds) {
            return Err(self.misfit(symbol, (left, left_kinds), (right, right_kinds)));
        }
        for (operand, node, other) in [(&a, left, right), (&b, right, left)] {
            self.check_order(comparison, operand, node)?;
            if let NodeKind::Literal(literal) = &other.kind {
                self.check_literal(operand, literal, &other.place.0)?;
            }
        }
        Ok(Check::Compare(comparison, a, b))
    }

    fn contains(&mut self, left: &Node, right: &Node) -> Result<Check, ExprError> {
        let ((a, left_kinds), (b, right_kinds)) = self.pair(left, right, &fit::contains)?;
        if !fit::contains(left_kinds, right_kinds) {
            let error = self.misfit("contains", (left, left_kinds), (right, right_kinds));
            return Err(match left_kinds.has(Kind::List) {
                true => error.hint(format!("write `{left}[*] == {right}`")),
                false => error,
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
            fit::compares(comparison, kinds, item.low.kinds())
        };
        let takes = |kinds| items.iter().all(|item| fits(kinds, item));
        let (operand, kinds) = self.operand(left, &takes)?;
        for item in items {
            let span = &item.place.0;
            if let Some(high) = &item.high {
                check_range(&item.low, high, span)?;
            }
            if !fits(kinds, item) {
                let message = format!("`{left}` is {kinds}, which `{item}` is not");
                return Err(self.hint(ExprError::new(span, message), left, kinds));
            }
            self.check_literal(&operand, &item.low, span)?;
        }
        Ok(Check::In(operand, Set::new(items)))
    }

    /// Both sides, the one that is certain first.
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
        let any = |kinds: Kinds| kinds.meets(fit::SCALARS);
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

    /// A value with what it can be, which is such as `takes` wants it if some version has that.
    fn operand(&mut self, node: &Node, takes: Takes<'_>) -> Result<Typed, ExprError> {
        let span = &node.place.0;
        Ok(match &node.kind {
            NodeKind::Literal(literal) => (Operand::Constant(Val::from(literal)), literal.kinds()),
            NodeKind::Path(path) => self.path(path, takes)?,
            NodeKind::Call(function, argument) => self.call(*function, argument)?,
            NodeKind::Negate(inner) => {
                let wanted = |kinds: Kinds| kinds.meets(fit::NUMBERS);
                let (operand, kinds) = self.operand(inner, &wanted)?;
                if !wanted(kinds) {
                    let message = format!("`{inner}` is {kinds}, which has no negative");
                    return Err(ExprError::new(span, message));
                }
                let result = Kinds::of(&[Kind::Int, Kind::Float]);
                (Operand::Negate(Box::new(operand)), result)
            }
            NodeKind::Arithmetic(operator, left, right) => {
                let fits = |a, b| !fit::computes(*operator, a, b).is_empty();
                let ((a, left_kinds), (b, right_kinds)) = self.pair(left, right, &fits)?;
                let kinds = fit::computes(*operator, left_kinds, right_kinds);
                if kinds.is_empty() {
                    let symbol = operator.symbol();
                    return Err(self.misfit(symbol, (left, left_kinds), (right, right_kinds)));
                }
                (Operand::Compute(*operator, Box::new(a), Box::new(b)), kinds)
            }
            NodeKind::Not(_)
            | NodeKind::All(_)
            | NodeKind::Any(_)
            | NodeKind::Exists(_)
            | NodeKind::Compare(..)
            | NodeKind::In(..)
            | NodeKind::Contains(..)
            | NodeKind::Matches(..) => {
                (Operand::Test(Box::new(self.test(node)?)), Kind::Bool.into())
            }
        })
    }

    fn call(&mut self, function: Function, argument: &Node) -> Result<Typed, ExprError> {
        let (wanted, result) = fit::call(function);
        let (operand, kinds) = self.operand(argument, &|kinds| kinds.meets(wanted))?;
        if !kinds.meets(wanted) {
            let name = function.name();
            let message = format!("`{name}` takes {wanted}; `{argument}` is {kinds}");
            let error = ExprError::new(&argument.place.0, message);
            return Err(self.hint(error, argument, kinds));
        }
        Ok((Operand::Call(function, Box::new(operand)), result))
    }

    fn path(&mut self, path: &Path, takes: Takes<'_>) -> Result<Typed, ExprError> {
        let span = path.span();
        match self.target(path, takes)? {
            Target::Subject(subject) => Ok((Operand::Subject(subject), subject.kinds())),
            Target::Field(field, kinds) => Ok((self.field(&span, field), kinds)),
            Target::State(state) => {
                Err(ExprError::new(&span, format!("`{path}` is a condition, not a value"))
                    .hint(format!("write `pkt.state == \"{state}\"`")))
            }
            Target::Direction(direction) => {
                Err(ExprError::new(&span, format!("`{path}` is a condition, not a value"))
                    .hint(format!("write `pkt.dir == \"{direction}\"`")))
            }
            Target::Packets(packets) => {
                let error = ExprError::new(&span, format!("`{path}` names packets, not a value"));
                let names = match path.word() {
                    Some(_) => self.tables.field_names(Some(&packets), &[]),
                    None => BTreeSet::new(),
                };
                let names: Vec<&str> = names.iter().map(String::as_str).take(MAX_LISTED).collect();
                Err(match names.as_slice() {
                    [] => error,
                    _ => error.hint(format!("its fields: `{}`", names.join("`, `"))),
                })
            }
        }
    }

    /// The place of a field among those of the expression.
    fn field(&mut self, span: &Span, field: Field) -> Operand {
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

    /// That a text is one that the other side can be.
    fn check_literal(
        &self,
        operand: &Operand,
        literal: &Literal,
        span: &Span,
    ) -> Result<(), ExprError> {
        let Literal::Text(text) = literal else { return Ok(()) };
        match operand {
            Operand::Subject(subject) => match subject.values() {
                Some(values) if !values.contains(&text.as_str()) => {
                    let message = format!("`{}` is never \"{text}\"", subject.name());
                    Err(one_of(ExprError::new(span, message), text, values))
                }
                _ => Ok(()),
            },
            Operand::Field(place) => self.check_text(&self.fields[*place], text, span),
            _ => Ok(()),
        }
    }

    /// That a field which is a mapped number or a UUID can be that text.
    fn check_text(&self, field: &Field, text: &str, span: &Span) -> Result<(), ExprError> {
        // As soon as some version has something else there, it can be any text.
        let fixed = Kinds::of(&[Kind::Name, Kind::Uuid, Kind::Int, Kind::Float, Kind::Bool]);
        let uuid = parse_uuid(text).is_some();
        let can_be =
            |kinds: Kinds| !kinds.without(fixed).is_empty() || (uuid && kinds.has(Kind::Uuid));
        let mut names = BTreeSet::new();
        for protocol in self.tables.protocols() {
            if can_be(kinds(&protocol, field, Kinds::NONE, can_be)) {
                return Ok(());
            }
            names.extend(mapped_names(&protocol, field));
            if names.contains(text) {
                return Ok(());
            }
        }
        if names.is_empty() {
            return Err(ExprError::new(span, format!("\"{text}\" is no UUID"))
                .hint("for example \"069a79f4-44e9-4726-a5be-fca90e38aaf5\""));
        }
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let message = format!("`{}` is never \"{text}\"", steps(field));
        Err(one_of(ExprError::new(span, message), text, &names))
    }

    /// That what is asked for an order has one.
    fn check_order(
        &self,
        comparison: Comparison,
        operand: &Operand,
        node: &Node,
    ) -> Result<(), ExprError> {
        let Operand::Subject(subject) = operand else { return Ok(()) };
        let ordered = subject.values().is_none() && *subject != Subject::Version;
        if ordered || !comparison.orders() {
            return Ok(());
        }
        let error = ExprError::new(&node.place.0, format!("`{}` has no order", subject.name()));
        Err(match subject {
            Subject::Version => error.hint("compare the number `pkt.protocol`"),
            _ => error,
        })
    }

    fn misfit(
        &self,
        symbol: &str,
        (left, left_kinds): (&Node, Kinds),
        (right, right_kinds): (&Node, Kinds),
    ) -> ExprError {
        let span = left.place.0.start..right.place.0.end;
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
                error.hint(format!("text stands in quotes: \"{literal}\""))
            }
            (NodeKind::Literal(_), _) => self.hint(error, right, right_kinds),
            _ => self.hint(error, left, left_kinds),
        }
    }

    /// With what can be done about a list or a container.
    fn hint(&self, error: ExprError, node: &Node, kinds: Kinds) -> ExprError {
        let NodeKind::Path(path) = &node.kind else { return error };
        if kinds.has(Kind::List) {
            return error.hint(format!("`{path}[*]` is any of its elements"));
        }
        if !kinds.has(Kind::Map) {
            return error;
        }
        let Ok(Target::Field(field, _)) = self.target(path, &|_| true) else { return error };
        let names = self.tables.field_names(field.packets.as_ref(), &field.steps);
        match names.first() {
            Some(name) => error.hint(format!("one of its fields, for example `{path}.{name}`")),
            None => error,
        }
    }
}

/// With the nearest of what it can be, else with all.
fn one_of(error: ExprError, text: &str, values: &[&str]) -> ExprError {
    match closest(text, values.iter().copied()) {
        Some(near) => error.hint(format!("did you mean \"{near}\"?")),
        None if values.len() <= MAX_LISTED => {
            error.hint(format!("it is one of \"{}\"", values.join("\", \"")))
        }
        None => error,
    }
}

/// A word on the right that is no field was perhaps meant as text.
fn unquoted(error: ExprError, node: &Node, left: Kinds) -> ExprError {
    match &node.kind {
        NodeKind::Path(path) if left.meets(fit::TEXTS) && error.hint.is_none() => {
            error.hint(format!("text stands in quotes: \"{path}\""))
        }
        _ => error,
    }
}

fn check_range(low: &Literal, high: &Literal, span: &Span) -> Result<(), ExprError> {
    let numbers = (Val::from(low), Val::from(high));
    let (Val::Number(low), Val::Number(high)) = numbers else {
        return Err(ExprError::new(span, "a range goes from a number to a number"));
    };
    if low.compare(high).is_some_and(std::cmp::Ordering::is_gt) {
        return Err(ExprError::new(span, "nothing is in this range: its end comes first"));
    }
    Ok(())
}
