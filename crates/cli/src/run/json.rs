//! Results as JSON.
//!
//! Model.       The report, and beside its fields those of the command. docs/report.md describes
//!              them; [`REPORT_VERSION`](fairwind_sim::REPORT_VERSION) grows when one changes its
//!              meaning or goes away.

use super::results::Results;
use crate::error::Error;
use fairwind_sim::{MergedReport, Report};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a Report,
    settings: &'a [String],
    specs: &'a [MergedReport],
    group_tasks: &'a [MergedReport],
}

/// The document; it ends with a newline.
pub(crate) fn render(results: &Results) -> Result<String, Error> {
    let document = Document {
        report: &results.report,
        settings: &results.settings,
        specs: &results.specs,
        group_tasks: &results.group_tasks,
    };
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Error::failed(format!("cannot make the JSON: {error}")))?;
    Ok(text + "\n")
}
