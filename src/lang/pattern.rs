use regex::bytes::{Regex, RegexBuilder};

use super::ExprError;
use super::node::Pattern;
use super::token::{Quoted, Span};

/// Compiles a regular expression, which matches in linear time.
pub(super) fn compile(pattern: &Pattern) -> Result<Regex, ExprError> {
    if let Some((message, span)) = fault(pattern) {
        return Err(ExprError::new(&span, format!("regular expression: {message}")));
    }
    let built = RegexBuilder::new(&pattern.text).size_limit(MAX_SIZE).build();
    built.map_err(|_| {
        ExprError::new(&pattern.place.0, "this regular expression is too large")
            .hint("counted repetitions take most")
    })
}

/// What is wrong with it, and where in the source.
fn fault(pattern: &Pattern) -> Option<(String, Span)> {
    let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
    let (message, span) = match parser.parse(&pattern.text).err()? {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), *error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), *error.span()),
        error => return Some((error.to_string(), pattern.place.0.clone())),
    };
    let quoted = Quoted { value: String::new(), unknown: None, anchors: pattern.anchors.0.clone() };
    let place = |offset| quoted.source(offset);
    Some((message, place(span.start.offset)..place(span.end.offset)))
}

/// Bytes of the compiled form. What people write takes a few thousand.
const MAX_SIZE: usize = 1 << 20;
