use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use mlua::{Lua, Table, Value as LuaValue};

use super::host::{Host, host_mut};
use super::mentions::missing;
use super::place::Placed;
use super::run::Run;
use super::sandbox::Sandbox;
use super::script::Script;
use super::work::MAX_WORK;
use crate::filter::{Checked, RuleSet, Severity, SourceFault};
use crate::lang::{Expr, Vocabulary, Warning};
use mitmcraft_protocol::schema::Catalog;

/// The result of checking a script.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CheckedScript {
    /// The script; `None` if there are errors.
    pub script: Option<Script>,
    /// Errors and warnings, in the order of the file.
    pub faults: Vec<SourceFault>,
}

impl Script {
    /// Checks a script: runs it once, without a session, and checks its expressions against the packets of
    /// all versions. `file` is its name in messages.
    #[must_use]
    pub fn parse(file: &str, text: &str, catalog: &Catalog) -> CheckedScript {
        let (callbacks, faults) = check(&file.into(), text, catalog);
        let script = callbacks.map(|callbacks| Self::new(file, text, callbacks));
        CheckedScript { script, faults }
    }

    /// Checks a script as [`parse`](Self::parse) does, for use among the files with rules.
    #[must_use]
    pub fn parse_set(file: &str, text: &str, catalog: &Catalog) -> Checked {
        let CheckedScript { script, faults } = Self::parse(file, text, catalog);
        let rules = script.map(|script| RuleSet::of_program(Box::new(script)));
        Checked { rules, faults }
    }
}

/// Runs a script without a session, and checks its expressions. Returns them with their lines, unless
/// there are errors, and the faults in the order of the file.
fn check(
    file: &Arc<str>,
    text: &str,
    catalog: &Catalog,
) -> (Option<Vec<(Expr, usize)>>, Vec<SourceFault>) {
    let mut faults = Faults { text, found: Vec::new() };
    let mut expressions = Vec::new();
    match load(file, text) {
        Ok(Loaded { registered, globals }) => {
            let vocabulary = Vocabulary::new(catalog);
            for (when, line) in registered {
                let span = faults.find(&when, line);
                match Expr::parse_in(&when, &vocabulary) {
                    Ok((expression, warnings)) => {
                        for warning in
                            warnings.into_iter().chain(expression.version_warnings(&vocabulary))
                        {
                            let at = faults.inside(&span, &when, &warning.span);
                            faults.add(Severity::Warning, at, warning.message, warning.hint);
                        }
                        expressions.push((expression, line));
                    }
                    Err(error) => {
                        let at = faults.inside(&span, &when, &error.span);
                        faults.add(Severity::Error, at, error.message, error.hint);
                    }
                }
            }
            // Code that is never reached may be wrong, and what it mentions is guessed from the text.
            for Warning { span, message, hint } in
                missing(text, &globals, &vocabulary).into_iter().take(MAX_MISSING)
            {
                faults.add(Severity::Warning, span, message, hint);
            }
        }
        Err(Placed { line, text, .. }) => {
            faults.add(Severity::Error, faults.line(line), text, None);
        }
    }
    let mut found = faults.found;
    found.sort_by_key(|(at, _)| *at);
    let found: Vec<SourceFault> = found.into_iter().map(|(_, fault)| fault).collect();
    let failed = found.iter().any(|fault| fault.severity == Severity::Error);
    ((!failed).then_some(expressions), found)
}

/// A script that has run once.
struct Loaded {
    /// The expressions for which it registers callbacks, with their lines.
    registered: Vec<(String, usize)>,
    /// The names of all globals, and of what those have that are tables: `string`, `string.format`.
    globals: HashSet<String>,
}

/// Runs the script.
fn load(file: &Arc<str>, text: &str) -> Result<Loaded, Placed> {
    let placed = |error| Placed::of(&error, file, 1);
    let host = Host::loading(Arc::clone(file), Run::default(), None);
    let sandbox = Sandbox::new(host, None).map_err(placed)?;
    sandbox.work.begin(MAX_WORK);
    sandbox.grant();
    sandbox.run(file, text).map_err(placed)?;
    let mut host = host_mut(&sandbox.lua).map_err(placed)?;
    let packets = host.loading.take().map(|it| it.packets).unwrap_or_default();
    let registered = packets.into_iter().map(|(when, line, _)| (when, line)).collect();
    Ok(Loaded { registered, globals: globals(&sandbox.lua) })
}

fn globals(lua: &Lua) -> HashSet<String> {
    let names = |table: &Table| {
        let pairs = table.pairs::<String, LuaValue>();
        pairs.filter_map(Result::ok).collect::<Vec<_>>()
    };
    let mut all = HashSet::new();
    for (name, value) in names(&lua.globals()) {
        if let LuaValue::Table(table) = value {
            all.extend(names(&table).into_iter().map(|(member, _)| format!("{name}.{member}")));
        }
        all.insert(name);
    }
    all
}

/// The faults found so far in a script, each with its offset.
struct Faults<'t> {
    text: &'t str,
    found: Vec<(usize, SourceFault)>,
}

impl Faults<'_> {
    fn add(
        &mut self,
        severity: Severity,
        span: Range<usize>,
        message: String,
        hint: Option<String>,
    ) {
        let at = span.start;
        self.found.push((at, SourceFault::at(self.text, span, severity, message, hint)));
    }

    /// Returns the text of a line, without the spaces around it.
    fn line(&self, number: usize) -> Range<usize> {
        let mut lines = self.text.split_inclusive('\n');
        let start: usize = lines.by_ref().take(number.saturating_sub(1)).map(str::len).sum();
        let line = lines.next().unwrap_or_default();
        let start = start + line.len() - line.trim_start().len();
        start..start + line.trim().len()
    }

    /// Returns where an expression stands that is given in a line, or the line if it is put together from
    /// others.
    fn find(&self, expression: &str, line: usize) -> Range<usize> {
        let span = self.line(line);
        let near = self.text.get(span.start..).unwrap_or_default();
        match near.find(expression).filter(|at| *at < NEAR) {
            Some(at) => span.start + at..span.start + at + expression.len(),
            None => span,
        }
    }

    /// Returns the place of a part of an expression.
    fn inside(&self, span: &Range<usize>, when: &str, part: &Range<usize>) -> Range<usize> {
        match self.text.get(span.clone()) == Some(when) {
            true => span.start + part.start..span.start + part.end,
            false => span.clone(),
        }
    }
}

/// Most warnings about names that a script mentions.
const MAX_MISSING: usize = 100;

/// Bytes after the beginning of a call within which its expression is looked for.
const NEAR: usize = 300;
