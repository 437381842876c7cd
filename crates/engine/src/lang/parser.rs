use super::MAX_LENGTH;
use super::ast::{
    Anchors, Arithmetic, Comparison, Function, Item, Literal, Location, MAX_DEPTH, Node, NodeKind,
    Path, PathPart, Pattern, Power, Thing, With,
};
use super::error::{ExprError, did_you_mean};
use super::lexer::{Quoted, Span, Token, tokens};
use mitmcraft_protocol::packet::PathStep;

/// Parses an expression with a Pratt parser, in which each operator has a binding [`Power`].
pub(super) fn parse(text: &str) -> Result<Node, ExprError> {
    if text.len() > MAX_LENGTH {
        let message = format!("an expression of {} bytes is too long", text.len());
        return Err(ExprError::new(&(0..0), message).hint(format!("at most {MAX_LENGTH}")));
    }
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0, depth: 0 };
    let node = parser.expression(Power::Or)?;
    match parser.peek() {
        Token::End => Ok(node),
        _ => Err(parser.no_operator()),
    }
}

struct Parser<'t> {
    text: &'t str,
    /// The last one is [`Token::End`].
    tokens: Vec<(Token<'t>, Span)>,
    /// The index of the next token.
    at: usize,
    /// The nesting depth.
    depth: usize,
}

impl<'t> Parser<'t> {
    /// Parses an expression of operators that bind at least as tightly as `least`.
    fn expression(&mut self, least: Power) -> Result<Node, ExprError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep(&self.span()));
        }
        let mut left = self.prefix(least)?;
        while let Some((operator, power)) = self.operator()
            && power >= least
        {
            left = self.infix(left, operator, power)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Returns the next operator.
    fn operator(&self) -> Option<(Operator, Power)> {
        Some(match self.peek() {
            Token::Word("or") | Token::Symbol("||") => (Operator::Or, Power::Or),
            Token::Word("and") | Token::Symbol("&&") => (Operator::And, Power::And),
            Token::Word("in") => (Operator::In, Power::Comparison),
            Token::Word("contains") => (Operator::Contains, Power::Comparison),
            Token::Word("matches") => (Operator::Matches, Power::Comparison),
            Token::Word("is") => (Operator::Is, Power::Comparison),
            Token::Symbol(symbol) => {
                let comparison = Comparison::ALL.into_iter().find(|it| it.symbol() == *symbol);
                if let Some(comparison) = comparison {
                    return Some((Operator::Compare(comparison), Power::Comparison));
                }
                let arithmetic = Arithmetic::ALL.into_iter().find(|it| it.symbol() == *symbol)?;
                (Operator::Arithmetic(arithmetic), arithmetic.power())
            }
            _ => return None,
        })
    }

    fn infix(&mut self, left: Node, operator: Operator, power: Power) -> Result<Node, ExprError> {
        self.next();
        let start = left.location.0.start;
        let boxed = Box::new;
        let kind = match operator {
            Operator::Or => NodeKind::Any(self.joined(left, Operator::Or, Power::And)?),
            Operator::And => NodeKind::All(self.joined(left, Operator::And, Power::Not)?),
            Operator::Compare(comparison) => {
                NodeKind::Compare(comparison, boxed(left), boxed(self.expression(Power::Sum)?))
            }
            Operator::Contains => {
                NodeKind::Contains(boxed(left), boxed(self.expression(Power::Sum)?))
            }
            Operator::Matches => NodeKind::Matches(
                boxed(left),
                self.pattern("matches", "as text, for example \"(?i)^hello\"")?,
            ),
            Operator::Is => match left.kind {
                NodeKind::Path(path) => NodeKind::Is(path, self.thing()?),
                _ => {
                    let error = ExprError::new(&left.location.0, "`is` takes a field on its left");
                    return Err(error.hint("for example `type is creeper`"));
                }
            },
            Operator::In => NodeKind::In(boxed(left), self.items()?),
            Operator::Arithmetic(arithmetic) => {
                let right = self.expression(match arithmetic.power() {
                    Power::Sum => Power::Product,
                    _ => Power::Unary,
                })?;
                NodeKind::Arithmetic(arithmetic, boxed(left), boxed(right))
            }
        };
        if power == Power::Comparison
            && let Some((_, Power::Comparison)) = self.operator()
        {
            return Err(ExprError::new(&self.span(), "comparisons do not chain")
                .hint("join two of them with `and`"));
        }
        self.node(kind, start)
    }

    /// Parses all operands of a chain of the same operator, after the `first`.
    fn joined(
        &mut self,
        first: Node,
        operator: Operator,
        least: Power,
    ) -> Result<Vec<Node>, ExprError> {
        let mut nodes = vec![first, self.expression(least)?];
        while self.operator().is_some_and(|(next, _)| next == operator) {
            self.next();
            nodes.push(self.expression(least)?);
        }
        Ok(nodes)
    }

    /// Parses an operand and its prefix operators.
    fn prefix(&mut self, least: Power) -> Result<Node, ExprError> {
        let (token, span) = self.next();
        let start = span.start;
        let kind = match token {
            Token::Word("not") | Token::Symbol("!") => {
                if least > Power::Not {
                    return Err(ExprError::new(&span, "`not` is not allowed here")
                        .hint("put the negated condition in parentheses"));
                }
                NodeKind::Not(Box::new(self.expression(Power::Not)?))
            }
            Token::Symbol("-") => {
                let operand = self.expression(Power::Unary)?;
                self.negate(operand, &span)?
            }
            Token::Symbol("(") => {
                let inner = self.expression(Power::Or)?;
                self.expect(")", &span)?;
                return Ok(inner);
            }
            Token::Word(name)
                if matches!(self.peek(), Token::Symbol("(")) && name != "and" && name != "or" =>
            {
                self.call(name, &span)?
            }
            Token::Word("true") => NodeKind::Literal(Literal::Bool(true)),
            Token::Word("false") => NodeKind::Literal(Literal::Bool(false)),
            Token::Word(name @ ("and" | "or")) => {
                return Err(ExprError::new(&span, format!("expected a condition before `{name}`")));
            }
            Token::Word(name) => self.path(name, span)?,
            Token::Glob(glob) => self.path(glob, span)?,
            Token::Int(int) => NodeKind::Literal(int.into()),
            Token::Float(float) => NodeKind::Literal(Literal::Float(float)),
            Token::Text(quoted) => NodeKind::Literal(Literal::Text(plain(quoted)?)),
            Token::Bytes(bytes) => NodeKind::Literal(Literal::Bytes(bytes)),
            Token::Symbol(symbol) => {
                return Err(ExprError::new(
                    &span,
                    format!("expected a name or value, found `{symbol}`"),
                ));
            }
            Token::End => {
                let message = match self.tokens.len() {
                    1 => "the expression is empty",
                    _ => "the expression ends where a name or value is expected",
                };
                return Err(ExprError::new(&span, message));
            }
        };
        self.node(kind, start)
    }

    /// Negates an operand; a literal becomes a negative literal.
    fn negate(&self, operand: Node, span: &Span) -> Result<NodeKind, ExprError> {
        let literal = match operand.kind {
            NodeKind::Literal(Literal::Int(int)) => -i128::from(int),
            NodeKind::Literal(Literal::Unsigned(int)) => -i128::from(int),
            NodeKind::Literal(Literal::Float(float)) => {
                return Ok(NodeKind::Literal(Literal::Float(-float)));
            }
            _ => return Ok(NodeKind::Negate(Box::new(operand))),
        };
        let literal = match (i64::try_from(literal), u64::try_from(literal)) {
            (Ok(int), _) => Literal::Int(int),
            (_, Ok(int)) => Literal::Unsigned(int),
            _ => {
                let span = span.start..operand.location.0.end;
                return Err(ExprError::new(&span, format!("`{literal}` is out of range")));
            }
        };
        Ok(NodeKind::Literal(literal))
    }

    fn call(&mut self, name: &str, span: &Span) -> Result<NodeKind, ExprError> {
        if name == DISTANCE {
            let hint = "two points in blocks: `distance(x, y, z, 0, 64, 0)`";
            return Ok(NodeKind::Distance(self.coordinates(span, DISTANCE, 6, hint)?));
        }
        if name == BLOCK {
            let hint = "a position in the world: `block(-140, 64, 195)`";
            return Ok(NodeKind::Block(self.coordinates(span, BLOCK, 3, hint)?));
        }
        if name == REPLACE {
            return self.replacement();
        }
        if name == SLICE {
            return self.slice(span);
        }
        let Some(function) = Function::ALL.into_iter().find(|it| it.name() == name) else {
            let names: Vec<&str> = function_names().collect();
            let error = ExprError::new(span, format!("no function `{name}`"));
            let near = did_you_mean(name, names.iter().copied());
            return Err(
                error.hint(near.unwrap_or_else(|| format!("there are `{}`", names.join("`, `"))))
            );
        };
        let (_, open) = self.next();
        let argument = self.expression(Power::Or)?;
        self.expect(")", &open)?;
        Ok(NodeKind::Call(function, Box::new(argument)))
    }

    /// Parses what follows `replace`.
    fn replacement(&mut self) -> Result<NodeKind, ExprError> {
        let hint = "`replace(message, \"regex\", \"text\")`";
        let (_, open) = self.next();
        let text = self.expression(Power::Or)?;
        self.expect(",", &open).map_err(|error| error.hint(hint))?;
        let pattern = self.pattern(REPLACE, hint)?;
        self.expect(",", &open).map_err(|error| error.hint(hint))?;
        let with = match self.next() {
            (Token::Text(quoted), span) => With { text: plain(quoted)?, location: Location(span) },
            (_, span) => {
                let error = ExprError::new(&span, "`replace` takes a text in quotes here");
                return Err(error.hint(hint));
            }
        };
        self.expect(")", &open)?;
        Ok(NodeKind::Replace(Box::new(text), pattern, with))
    }

    /// Parses what follows `slice`.
    fn slice(&mut self, span: &Span) -> Result<NodeKind, ExprError> {
        let (mut arguments, end) = self.arguments()?;
        let places = arguments.split_off(1);
        match <[Node; 1]>::try_from(arguments) {
            Ok([text]) if matches!(places.len(), 1 | 2) => {
                Ok(NodeKind::Slice(Box::new(text), places))
            }
            _ => {
                let message = format!("`slice` takes 2 or 3 values, not {}", places.len() + 1);
                let error = ExprError::new(&(span.start..end), message);
                Err(error.hint("a text and places in it: `slice(message, 0, 5)`"))
            }
        }
    }

    /// Parses the arguments of a function after its name. Returns them and where they end.
    fn arguments(&mut self) -> Result<(Vec<Node>, usize), ExprError> {
        let (_, open) = self.next();
        let mut arguments = vec![self.expression(Power::Or)?];
        while *self.peek() == Token::Symbol(",") {
            self.next();
            arguments.push(self.expression(Power::Or)?);
        }
        Ok((arguments, self.expect(")", &open)?.end))
    }

    fn path(&mut self, first: &str, span: Span) -> Result<NodeKind, ExprError> {
        let step = PathStep::Name(first.into());
        let mut parts = vec![PathPart { step, location: Location(span) }];
        loop {
            match self.peek() {
                Token::Symbol(".") => {
                    self.next();
                    let (token, span) = self.next();
                    let name = match token {
                        Token::Word("exists") => return Ok(NodeKind::Exists(Path { parts })),
                        Token::Word(name) => name.to_owned(),
                        Token::Text(quoted) => plain(quoted)?,
                        _ => {
                            return Err(ExprError::new(&span, "a name must follow the dot").hint(
                                "put a name with other characters in quotes: `tag.\"a:b\"`",
                            ));
                        }
                    };
                    parts.push(PathPart {
                        step: PathStep::Name(name.into()),
                        location: Location(span),
                    });
                }
                Token::Symbol("[") => {
                    let (_, open) = self.next();
                    let step = self.index()?;
                    let close = self.expect("]", &open)?;
                    parts.push(PathPart { step, location: Location(open.start..close.end) });
                }
                _ => return Ok(NodeKind::Path(Path { parts })),
            }
        }
    }

    fn index(&mut self) -> Result<PathStep, ExprError> {
        let (token, mut span) = self.next();
        let negative = token == Token::Symbol("-");
        let token = if negative {
            let (token, number) = self.next();
            span.end = number.end;
            token
        } else {
            token
        };
        match token {
            Token::Symbol("*") if !negative => Ok(PathStep::Each),
            Token::Int(int) => match i32::try_from(int) {
                Ok(int) if negative => Ok(PathStep::Index(-i64::from(int))),
                Ok(int) => Ok(PathStep::Index(int.into())),
                Err(_) => Err(ExprError::new(&span, format!("no list has an element {int}"))),
            },
            _ => Err(ExprError::new(&span, "an index is a number or `*`")
                .hint("`[0]` is the first, `[-1]` the last, `[*]` any")),
        }
    }

    fn pattern(&mut self, name: &str, hint: &str) -> Result<Pattern, ExprError> {
        match self.next() {
            (Token::Text(Quoted { value, anchors, .. }), span) => {
                Ok(Pattern { text: value, location: Location(span), anchors: Anchors(anchors) })
            }
            (_, span) => {
                let message = format!("`{name}` takes a regular expression");
                Err(ExprError::new(&span, message).hint(hint))
            }
        }
    }

    /// Parses the name after `is`: words joined by dots, or a text.
    fn thing(&mut self) -> Result<Thing, ExprError> {
        let (token, mut span) = self.next();
        let mut name = match token {
            Token::Word(word) => word.to_owned(),
            Token::Text(quoted) => plain(quoted)?,
            _ => {
                return Err(ExprError::new(&span, "`is` takes a name")
                    .hint("for example `type is creeper`; put other characters in quotes"));
            }
        };
        while *self.peek() == Token::Symbol(".") {
            self.next();
            let (token, end) = self.next();
            let Token::Word(word) = token else {
                return Err(ExprError::new(&end, "a name must follow the dot"));
            };
            name = name + "." + word;
            span.end = end.end;
        }
        Ok(Thing { name, location: Location(span) })
    }

    /// Parses the coordinates of a function after its name.
    fn coordinates(
        &mut self,
        span: &Span,
        name: &str,
        count: usize,
        hint: &str,
    ) -> Result<Vec<Node>, ExprError> {
        let (coordinates, end) = self.arguments()?;
        if coordinates.len() != count {
            let message = format!("`{name}` takes {count} coordinates, not {}", coordinates.len());
            return Err(ExprError::new(&(span.start..end), message).hint(hint));
        }
        Ok(coordinates)
    }

    fn items(&mut self) -> Result<Vec<Item>, ExprError> {
        let (token, open) = self.next();
        if token != Token::Symbol("{") {
            return Err(
                ExprError::new(&open, "`in` takes a set").hint("for example `in {1, 5..9}`")
            );
        }
        let mut items = Vec::new();
        while *self.peek() != Token::Symbol("}") {
            let start = self.span().start;
            let low = self.literal()?;
            let high = match self.peek() {
                Token::Symbol("..") => {
                    self.next();
                    Some(self.literal()?)
                }
                _ => None,
            };
            let end = self.tokens[self.at - 1].1.end;
            items.push(Item { low, high, location: Location(start..end) });
            match self.peek() {
                Token::Symbol(",") => drop(self.next()),
                _ => break,
            }
        }
        let close = self.expect("}", &open)?;
        if items.is_empty() {
            let span = open.start..close.end;
            return Err(ExprError::new(&span, "the set is empty"));
        }
        Ok(items)
    }

    fn literal(&mut self) -> Result<Literal, ExprError> {
        let span = self.span();
        let NodeKind::Literal(literal) = self.expression(Power::Unary)?.kind else {
            return Err(ExprError::new(&span, "a set holds numbers, texts and bytes only")
                .hint("compare with `==` and join with `or`; put text in quotes"));
        };
        Ok(literal)
    }

    fn expect(&mut self, symbol: &'static str, open: &Span) -> Result<Span, ExprError> {
        let (token, span) = self.next();
        match token {
            Token::Symbol(found) if found == symbol => Ok(span),
            Token::End => Err(ExprError::new(
                open,
                format!("unclosed `{}`: expected `{symbol}`", &self.text[open.clone()]),
            )),
            _ => {
                self.at -= 1;
                let mut error = self.no_operator();
                error.message = format!("`{symbol}` is expected before this");
                Err(error)
            }
        }
    }

    /// Returns the error for a token after a complete expression.
    fn no_operator(&self) -> ExprError {
        let span = self.span();
        let found = &self.text[span.clone()];
        let hint = match self.peek() {
            Token::Symbol(")" | "]" | "}") => {
                return ExprError::new(&span, format!("unmatched `{found}`"));
            }
            Token::Word("not") => Some("write `not x in {..}`".to_owned()),
            Token::Word("eq") => Some("write `==`".to_owned()),
            Token::Word("ne") => Some("write `!=`".to_owned()),
            Token::Word(word) => did_you_mean(word, OPERATORS),
            Token::Glob(_) => Some("with spaces around it, `*` multiplies".to_owned()),
            _ => None,
        };
        let error = ExprError::new(&span, format!("an operator is expected before `{found}`"));
        error.hint(hint.unwrap_or_else(|| "for example `and`, `or`, `==`".to_owned()))
    }

    fn node(&self, kind: NodeKind, start: usize) -> Result<Node, ExprError> {
        let span = start..self.tokens[self.at.saturating_sub(1)].1.end;
        let node = Node::new(kind, span);
        if node.depth > MAX_DEPTH {
            return Err(too_deep(&node.location.0));
        }
        Ok(node)
    }

    fn next(&mut self) -> (Token<'t>, Span) {
        let token = self.tokens[self.at].clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn peek(&self) -> &Token<'t> {
        &self.tokens[self.at].0
    }

    /// Returns the span of the next token.
    fn span(&self) -> Span {
        self.tokens[self.at].1.clone()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    In,
    Contains,
    Matches,
    Is,
    Compare(Comparison),
    Arithmetic(Arithmetic),
}

/// Returns a text without invalid escapes.
fn plain(quoted: Quoted) -> Result<String, ExprError> {
    match quoted.unknown {
        None => Ok(quoted.value),
        Some(span) => Err(ExprError::new(&span, "unknown escape")
            .hint("write a backslash as `\\\\`; r\"..\" has no escapes")),
    }
}

fn too_deep(span: &Span) -> ExprError {
    ExprError::new(span, format!("nested deeper than {MAX_DEPTH} levels"))
}

/// Iterates over the names of all functions.
pub(super) fn function_names() -> impl Iterator<Item = &'static str> {
    Function::ALL.map(Function::name).into_iter().chain([REPLACE, SLICE, DISTANCE, BLOCK])
}

/// The operators that are words.
pub(super) const OPERATORS: [&str; 6] = ["and", "or", "in", "contains", "matches", "is"];

// The functions with several arguments.
const DISTANCE: &str = "distance";
const BLOCK: &str = "block";
const REPLACE: &str = "replace";
const SLICE: &str = "slice";
