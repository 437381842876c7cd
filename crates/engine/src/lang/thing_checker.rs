use std::collections::BTreeSet;

use super::ast::{Path, Thing};
use super::checker::Checker;
use super::error::{ExprError, Warning, did_you_mean};
use super::field::Field;
use super::lexer::Span;
use super::names::Target;
use super::predicate::{Check, Predicate};
use super::vocabulary::mapped_names;
use mitmcraft_protocol::packet::PathStep;
use mitmcraft_protocol::schema::{Kind, MAX_LISTED};

impl Checker<'_> {
    /// Compiles a condition on what the value of a field stands for. Of a slot, it is the item.
    pub(super) fn is(&mut self, path: &Path, thing: &Thing) -> Result<Predicate, ExprError> {
        let span = path.span();
        let Target::Field(field, kinds) = self.vocabulary.target(path, &|_| true)? else {
            return Err(ExprError::new(&span, format!("`{path}` is not a field"))
                .hint("`is` asks what a field means: `type is creeper`"));
        };
        let name = thing.name.strip_prefix("minecraft:").unwrap_or(&thing.name);
        let mut fields = Vec::new();
        if !kinds.without(Kind::Map.into()).is_empty() {
            fields.push(field.clone());
        }
        if kinds.has(Kind::Map) {
            for inner in ITEM {
                let step = PathStep::Name(inner.into());
                let path = field.path.steps().iter().cloned().chain([step]).collect();
                fields.push(Field { packets: field.packets.clone(), path });
            }
        }
        self.check_thing(path, &fields, name, &thing.location.0)?;
        let atoms = fields.into_iter().map(|field| {
            let operand = self.field(&span, field);
            Predicate::atom(Check::Is(operand, name.into()), &self.fields)
        });
        Ok(Predicate::any(atoms.collect::<Vec<_>>()))
    }

    /// Checks that one of the fields can have that name in any version. Of a field that is text in some,
    /// which can be anything, a name that is nearly one that numbers have is probably a mistake.
    fn check_thing(
        &mut self,
        path: &Path,
        fields: &[Field],
        name: &str,
        span: &Span,
    ) -> Result<(), ExprError> {
        let (mut names, mut text) = (BTreeSet::new(), false);
        for index in self.vocabulary.indexes() {
            for field in fields {
                for packet in index.packets(field) {
                    let protocol = index.protocol();
                    let meaning = field.meaning(protocol, packet);
                    let own = meaning.into_iter().flat_map(|meaning| meaning.names());
                    names.extend(own.map(str::to_owned));
                    // Each server has its own names for what it sends.
                    text |= field.kinds(protocol, packet).has(Kind::Text)
                        || meaning.is_some_and(|meaning| meaning.sent_registry().is_some());
                }
                names.extend(mapped_names(index, field).iter().map(|name| name.to_string()));
                if names.contains(name) {
                    return Ok(());
                }
            }
        }
        let near = did_you_mean(name, names.iter().map(String::as_str));
        if text {
            let message = format!("no version has a `{name}` among the names of `{path}`");
            self.warnings.extend(near.map(|near| Warning::new(span, message).hint(near)));
            return Ok(());
        }
        if names.is_empty() {
            return Err(ExprError::new(span, format!("the values of `{path}` have no names"))
                .hint("compare the value with `==`"));
        }
        let error = ExprError::new(span, format!("no version has a `{name}` in `{path}`"));
        Err(match near {
            Some(near) => error.hint(near),
            None => {
                let some: Vec<&str> = names.iter().map(String::as_str).take(MAX_LISTED).collect();
                let more = if names.len() > MAX_LISTED { ", .." } else { "" };
                error.hint(format!("its names: `{}`{more}", some.join("`, `")))
            }
        })
    }
}

/// The fields of a slot that say which item is in it, in all versions.
const ITEM: [&str; 2] = ["itemId", "blockId"];
