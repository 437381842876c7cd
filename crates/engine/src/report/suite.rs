use std::fmt::Write as _;
use std::sync::Arc;

use super::Finding;
use crate::text::{EscapedLines, xml, xml_attribute};

/// Test cases that belong together.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The name, which is also the class of its cases.
    pub name: String,
    /// The cases, in order.
    pub cases: Vec<Case>,
}

/// A test case and its result.
#[derive(Debug, Clone)]
pub struct Case {
    /// The name.
    pub name: String,
    /// The result.
    pub verdict: Verdict,
    /// Why it failed or was skipped, in short.
    pub message: String,
    /// The details of a failure; may be empty.
    pub text: String,
    /// What is said about it at a line of a file.
    pub annotation: Option<Annotation>,
}

/// A message about a line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The message.
    pub message: String,
}

/// A result in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Everything that was judged passed.
    Passed,
    /// Something failed.
    Failed,
    /// Nothing was judged.
    Skipped,
}

impl Suite {
    fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }
}

impl Case {
    /// Creates a case with a result and the reason for it.
    pub fn new(name: impl Into<String>, verdict: Verdict, message: impl Into<String>) -> Self {
        let (name, message) = (name.into(), message.into());
        Self { name, verdict, message, text: String::new(), annotation: None }
    }

    /// Creates a case that failed if there are findings, whose details `write` appends.
    pub fn of<'f>(
        name: impl Into<String>,
        findings: impl IntoIterator<Item = &'f Finding>,
        write: impl Fn(&mut String, &'f Finding),
    ) -> Self {
        let mut case = Self::new(name, Verdict::Passed, "");
        for finding in findings {
            if case.verdict == Verdict::Passed {
                (case.verdict, case.message) = (Verdict::Failed, finding.reason.clone());
            }
            write(&mut case.text, finding);
        }
        case
    }
}

impl Verdict {
    /// Returns `passed`, `failed` or `skipped`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// Returns test suites in the XML format of JUnit.
#[must_use]
pub fn junit(suites: &[Suite]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for suite in suites {
        let class = xml_attribute(&suite.name);
        let [failures, skipped] = [Verdict::Failed, Verdict::Skipped].map(|it| suite.count(it));
        let tests = suite.cases.len();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{class}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" \
             skipped=\"{skipped}\">"
        );
        for Case { name, verdict, message, text, .. } in &suite.cases {
            let (name, message) = (xml_attribute(name), xml_attribute(message));
            let _ = write!(out, "    <testcase classname=\"{class}\" name=\"{name}\"");
            let text = xml(text.trim_end());
            let _ = match verdict {
                Verdict::Passed => writeln!(out, "/>"),
                Verdict::Skipped => writeln!(out, "><skipped message=\"{message}\"/></testcase>"),
                Verdict::Failed => writeln!(
                    out,
                    ">\n      <failure message=\"{message}\">{text}</failure>\n    </testcase>"
                ),
            };
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// Returns the annotations of test suites as commands of GitHub's workflows, one per line.
#[must_use]
pub fn github(suites: &[Suite]) -> String {
    let mut out = String::new();
    for case in suites.iter().flat_map(|suite| &suite.cases) {
        let Some(Annotation { file, line, message }) = &case.annotation else { continue };
        let (file, title) = (property(file), property(&case.name));
        let _ = writeln!(out, "::error file={file},line={line},title={title}::{}", data(message));
    }
    out
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    EscapedLines(text).to_string().replace('%', "%25").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
