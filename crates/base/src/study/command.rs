//! A user's own command as a workload: what to run, and what to read from it.

use crate::parameters::THREADS;
use crate::study::reading::Better;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names that a command and its hooks may have in braces, filled in for each run.
pub const FILLED_IN: [&str; 5] = ["threads", "cpus", "arm", "copy", "variant"];

/// A command to be measured; arguments may hold the names of [`FILLED_IN`].
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandSpec {
    /// Program and arguments, before placeholders are filled in.
    pub argv: Vec<String>,
    /// Numbers to read from the output; the first one marked primary replaces wall time.
    #[serde(default)]
    pub metrics: Vec<MetricSpec>,
    /// A server to start before each reading (placeholders too), the command being its load.
    pub server: Option<ServerSpec>,
    /// Shell line run once per study, before anything else.
    pub setup: Option<String>,
    /// Shell line run before every reading, untimed.
    pub prepare: Option<String>,
    /// Shell line run after every reading, untimed, also after a failed one.
    pub cleanup: Option<String>,
    /// Repeat the command within a reading until it has run at least this long, in seconds.
    #[serde(default)]
    pub min_time_s: f64,
    /// A reading longer than this is ended, process group and all, and is a failed cell.
    pub timeout_s: f64,
    pub folder: Option<String>,
    /// Where it is the load of a service, offered at a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Box<LoadSpec>>,
}

/// What is read of a load beside its metrics.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSpec {
    /// File of latencies, one a line, which the load writes (placeholders too).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latencies: Option<String>,
    /// Unit of numbers without one in that file: ns, us, ms or s.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Requests a second that this run offers; `None` in a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

impl CommandSpec {
    /// A command with nothing beside it: no metrics, no server, run once.
    pub fn plain(argv: Vec<String>, timeout_s: f64) -> Self {
        Self { argv, timeout_s, ..Self::default() }
    }

    /// Whether the number of threads reaches the work: a command gets it only where it asks for it.
    pub fn uses_threads(&self) -> bool {
        let server = self.server.as_ref().map(|server| &server.command);
        let mut lines = self.argv.iter().chain(server).chain(&self.prepare).chain(&self.cleanup);
        lines.any(|line| line.contains(THREADS))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSpec {
    pub command: String,
    /// Shell line that succeeds once the server can take load; none: a short pause.
    pub ready: Option<String>,
    pub ready_timeout_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricSpec {
    pub name: String,
    pub extract: Extract,
    /// Unit as printed, empty if it has none.
    #[serde(default)]
    pub unit: String,
    pub better: Better,
    /// Whether it is the value that the study compares.
    #[serde(default)]
    pub primary: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extract {
    /// First capture group (or the whole match) of a regular expression; the last match counts.
    Regex(String),
    /// A JSON pointer (RFC 6901), starting with `/`, into the output read as one JSON document.
    JsonPointer(String),
}
