use std::fmt;
use std::sync::Arc;

use super::checker::Checker;
use super::context::Context;
use super::evaluate::with_slots;
use super::field::Field;
use super::known::{Known, KnownPacket};
use super::mention::Mention;
use super::parser::parse;
use super::plan::{Plan, Plans, Quick, Table};
use super::test::Test;
use super::{ExprError, Needs, Outlook, View, Warning};
use crate::schema::{Catalog, Direction, PacketType, Protocol, State};

/// A condition on packets, compiled: what stands behind `-Y`, `--write-where` and `when`.
///
/// Cheap to clone, and shared between sessions: what it has found out about the packets of a
/// protocol is kept for all.
///
/// ```
/// use mitmcraft::lang::Expr;
/// use mitmcraft::schema::Catalog;
///
/// let catalog = Catalog::embedded();
/// let (condition, warnings) = Expr::parse(r#"chat and message matches "^!""#, catalog)?;
/// assert_eq!(condition.needs().fields, ["message"]);
/// let error = Expr::parse("chat and mesage == 3", catalog).unwrap_err();
/// assert_eq!(error.hint.as_deref(), Some("did you mean `message`?"));
/// # Ok::<(), mitmcraft::lang::ExprError>(())
/// ```
#[derive(Clone)]
pub struct Expr(Arc<Inner>);

struct Inner {
    text: Box<str>,
    test: Test,
    fields: Box<[Field]>,
    mentions: Box<[Mention]>,
    needs: Needs,
    plans: Plans,
}

impl Expr {
    /// Reads and checks a condition against the packets of all versions.
    ///
    /// A name that only other versions have is no fault: see [`warnings_for`](Self::warnings_for).
    ///
    /// # Errors
    /// [`ExprError`], with the place: what is no expression, names that no version has, operators
    /// between what never fits.
    pub fn parse(text: &str, catalog: &Catalog) -> Result<(Self, Vec<Warning>), ExprError> {
        let node = parse(text)?;
        let mut checker = Checker::new(catalog);
        let test = checker.test(&node)?;
        let (fields, mentions) = checker.finish();
        let needs = Needs::of(&test, &fields);
        let plans = Plans::default();
        let expr =
            Self(Arc::new(Inner { text: text.into(), test, fields, mentions, needs, plans }));
        let warning = expr.never(&node.place.0, catalog);
        Ok((expr, warning.into_iter().collect()))
    }

    /// Whether a packet matches.
    ///
    /// Asks the view for no more than it takes: a decision that needs no field neither inflates
    /// nor decodes, and decoding stops behind the last field asked for. A comparison with what is
    /// absent does not hold.
    #[must_use]
    pub fn matches(&self, view: &dyn View) -> bool {
        let table = self.table(view.protocol(), view.state(), view.direction());
        match table.quick {
            Quick::All => return table.test.holds(&Context::without_fields(view)),
            Quick::Some => {
                if let Some(holds) = table.test.quick(&Context::without_fields(view)) {
                    return holds;
                }
            }
            Quick::None => {}
        }
        let packet = view.kind();
        let known = self.known(view.protocol(), view.state(), view.direction(), packet);
        table.with(&known, |plan| match &plan.test {
            Test::Constant(bool) => *bool,
            test => with_slots(view, packet, plan, &self.0.fields, |context| test.holds(context)),
        })
    }

    /// What is certain of packets of that type: `packet` is one of `protocol`'s, or none for those
    /// whose id means nothing. An index of rules is made of this.
    #[must_use]
    pub fn outlook(
        &self,
        protocol: &Arc<Protocol>,
        state: State,
        direction: Direction,
        packet: Option<&PacketType>,
    ) -> Outlook {
        let known = self.known(protocol, state, direction, packet);
        self.table(protocol, state, direction).with(&known, Plan::outlook)
    }

    /// What it asks of packets, whichever they are.
    #[must_use]
    pub fn needs(&self) -> &Needs {
        &self.0.needs
    }

    /// The names in it that `protocol` does not have, and whether it can match no packet of it.
    #[must_use]
    pub fn warnings_for(&self, protocol: &Arc<Protocol>) -> Vec<Warning> {
        let mentions = self.0.mentions.iter();
        let mut warnings: Vec<Warning> =
            mentions.filter_map(|mention| mention.warning_for(protocol)).collect();
        if warnings.is_empty() && !self.can_match(protocol) {
            let (version, name) = (protocol.version(), protocol.name());
            warnings.push(Warning {
                message: format!("no packet of protocol {version} ({name}) can match this"),
                span: 0..self.0.text.len(),
                hint: None,
            });
        }
        warnings
    }

    /// The names in it that only some releases have, and which. Packets that every release has one
    /// of (`chat or chat_message`) are no fault.
    #[must_use]
    pub fn version_warnings(&self, catalog: &Catalog) -> Vec<Warning> {
        let mentions = &self.0.mentions;
        let some = |version| mentions.iter().any(|it| it.is_packet_of(version, catalog));
        let complete = catalog.releases_where(some).is_none();
        let mentions = mentions.iter().filter(|it| !(complete && it.is_packet()));
        mentions.filter_map(|mention| mention.warning(catalog)).collect()
    }

    /// Whether some packet of that protocol can match.
    #[must_use]
    pub fn can_match(&self, protocol: &Arc<Protocol>) -> bool {
        let possible = |state, direction, packet| {
            self.outlook(protocol, state, direction, packet) != Outlook::Never
        };
        protocol
            .packets()
            .iter()
            .any(|packet| possible(packet.state(), packet.direction(), Some(packet)))
            || State::ALL.into_iter().any(|state| {
                Direction::ALL.into_iter().any(|direction| possible(state, direction, None))
            })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    fn table(&self, protocol: &Arc<Protocol>, state: State, direction: Direction) -> &Table {
        let tables = self.0.plans.tables(protocol, &self.0.test, &self.0.fields);
        Table::of(tables, state, direction)
    }

    fn known<'a>(
        &'a self,
        protocol: &'a Protocol,
        state: State,
        direction: Direction,
        packet: Option<&'a PacketType>,
    ) -> Known<'a> {
        let packet = KnownPacket::from(packet);
        Known { protocol, state, direction, packet, fields: &self.0.fields }
    }

    /// A warning when no packet of any version can match.
    fn never(&self, span: &std::ops::Range<usize>, catalog: &Catalog) -> Option<Warning> {
        let tables = super::tables::Tables::new(catalog);
        if tables.protocols().any(|protocol| self.can_match(&protocol)) {
            return None;
        }
        let login = self.0.mentions.iter().any(Mention::is_login);
        Some(Warning {
            message: "no packet can match this".to_owned(),
            span: span.clone(),
            hint: login.then(|| "`login` is a packet; the state is `state.login`".to_owned()),
        })
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expr").field(&self.0.text).finish()
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}
