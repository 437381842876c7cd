use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use mitmcraft_engine::report::{Report, github, junit};
use mitmcraft_engine::text::Verbosity;

use super::args::{Annotations, Overwrite};
use super::exit::Done;
use super::output::{Level, Output};

/// Writes the report of a judge in the forms that were asked for.
pub(super) struct ReportOutput {
    junit: Option<(File, PathBuf)>,
    json: bool,
    /// The service that shows failures as annotations.
    annotations: Option<Annotations>,
}

impl ReportOutput {
    /// Creates the file for JUnit's XML, if there is to be one.
    pub(super) fn create(
        junit: Option<&Path>,
        json: bool,
        overwrite: Overwrite,
    ) -> anyhow::Result<Self> {
        let junit =
            junit.map(|path| Ok::<_, anyhow::Error>((overwrite.create(path)?, path.into())));
        Ok(Self { junit: junit.transpose()?, json, annotations: None })
    }

    /// Also prints failures as annotations for a service.
    pub(super) fn annotated(self, annotations: Option<Annotations>) -> Self {
        Self { annotations, ..self }
    }

    /// Prints a report, as text on stderr unless `on_stdout`, or as JSON on stdout, and writes the file. The
    /// answer is whether the report is good.
    pub(super) fn print(
        self,
        report: &dyn Report,
        on_stdout: bool,
        output: &Output,
    ) -> anyhow::Result<Done> {
        let options = Output::line_options(Verbosity::Main, false);
        let say = |text: &str| -> io::Result<()> {
            match text.trim_end() {
                "" => {}
                text if on_stdout => output.lines(text)?,
                text => output.message_lines(Level::Info, text),
            }
            Ok(())
        };
        if self.json {
            output.json(&report.json())?;
        } else {
            let mut text = String::new();
            let colors = on_stdout && output.colors_stdout();
            report.write_text(&mut text, &Output::line_options(Verbosity::Main, colors));
            say(&text)?;
        }
        if let Some(Annotations::Github) = self.annotations {
            say(&github(&report.suites(&options)))?;
        }
        if let Some((mut file, path)) = self.junit {
            let written = file.write_all(junit(&report.suites(&options)).as_bytes());
            written.with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        Ok(if report.passed() { Done::Yes } else { Done::No })
    }
}
