use super::field::Field;
use super::operand::Asked;
use super::print::steps;
use super::subject::Subject;
use super::test::Test;

/// What an expression asks of packets, whichever they are.
///
/// What it asks of packets of one type is said by [`Expr::outlook`](super::Expr::outlook).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// The fields, for example `chat.message` or `items[*].itemId`, each once.
    pub fields: Vec<String>,
    /// Whether the name or id is asked for.
    pub packet: bool,
    /// Whether something in the body is asked for.
    pub body: bool,
    /// Whether it is asked for whether everything decodes.
    pub decode: bool,
}

impl Needs {
    pub(super) fn of(test: &Test, fields: &[Field]) -> Self {
        let mut needs = Self { fields: fields.iter().map(steps).collect(), ..Self::default() };
        test.visit(&mut |asked| match asked {
            Asked::Packet | Asked::Subject(Subject::Name | Subject::Id) => needs.packet = true,
            Asked::Field(_) => (needs.packet, needs.body) = (true, true),
            Asked::Subject(Subject::Body) => needs.body = true,
            Asked::Subject(Subject::Error) => (needs.body, needs.decode) = (true, true),
            Asked::Subject(_) => {}
        });
        needs
    }
}
