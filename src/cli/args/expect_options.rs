use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Where the results of expectations are written beside the table.
#[derive(Debug, Default, Args)]
pub(crate) struct ExpectOptions {
    /// Also write the results of the expectations in the filter files as XML, in the format of JUnit
    #[arg(long, value_name = "FILE", requires = "filters")]
    pub(crate) junit: Option<PathBuf>,

    /// Also print failed expectations as annotations for the service that runs the tests
    #[arg(long, value_enum, value_name = "SERVICE", requires = "filters")]
    pub(crate) annotations: Option<Annotations>,

    /// Print the results of the expectations as JSON instead of text: the last line on stdout
    #[arg(long, requires = "filters", conflicts_with = "annotations")]
    pub(crate) json: bool,
}

/// A service that shows annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Annotations {
    /// GitHub Actions: `::error file=..,line=..::..`
    Github,
}
