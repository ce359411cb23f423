//! Results as JSON.
//!
//! Model.       The report, and beside its fields those of the command. docs/report.md describes
//!              them; [`REPORT_VERSION`](fairwind_sim::REPORT_VERSION) grows when one changes its
//!              meaning or goes away.

use super::results::{ProgramResult, Results};
use crate::error::Error;
use fairwind_sim::{MergedReport, Report};
use fairwind_workload::programs::MetricResult;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a Report,
    settings: &'a [String],
    programs: Vec<ProgramDocument<'a>>,
    specs: &'a [MergedReport],
    group_tasks: &'a [MergedReport],
    guest_programs: Vec<GuestDocument<'a>>,
}

/// What ran in a guest, beside its report.
#[derive(Serialize)]
struct GuestDocument<'a> {
    guest: &'a str,
    programs: Vec<ProgramDocument<'a>>,
    specs: &'a [MergedReport],
}

#[derive(Serialize)]
struct ProgramDocument<'a> {
    name: &'a str,
    spec: &'a str,
    metrics: Vec<MetricDocument<'a>>,
}

#[derive(Serialize)]
struct MetricDocument<'a> {
    name: &'a str,
    unit: &'a str,
    higher_is_better: bool,
    value: Option<f64>,
}

fn program(program: &ProgramResult) -> ProgramDocument<'_> {
    let metric = |metric: &MetricResult| MetricDocument {
        name: metric.name,
        unit: metric.unit,
        higher_is_better: metric.higher_is_better,
        value: metric.value,
    };
    ProgramDocument {
        name: program.name,
        spec: &program.spec,
        metrics: program.metrics.iter().map(metric).collect(),
    }
}

/// The document; it ends with a newline.
pub(crate) fn render(results: &Results) -> Result<String, Error> {
    let document = Document {
        report: &results.report,
        settings: &results.settings,
        programs: results.programs.iter().map(program).collect(),
        specs: &results.specs,
        group_tasks: &results.group_tasks,
        guest_programs: { results.guests.iter() }
            .map(|guest| GuestDocument {
                guest: &guest.name,
                programs: guest.programs.iter().map(program).collect(),
                specs: &guest.specs,
            })
            .collect(),
    };
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Error::failed(format!("cannot make the JSON: {error}")))?;
    Ok(text + "\n")
}
