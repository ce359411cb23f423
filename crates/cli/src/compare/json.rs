//! Results as JSON; docs/report.md describes the form.

use super::results::{Cell, Results};
use crate::error::Error;
use fairwind_lab::{Better, CONFIDENCE};
use serde::Serialize;

/// Version of the form; grows when a field changes its meaning or goes away.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    machine: &'a str,
    settings: &'a [String],
    first_seed: u64,
    seeds: u64,
    confidence_percent: u32,
    interrupted: bool,
    kernels: Vec<Kernel<'a>>,
    rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Kernel<'a> {
    spec: &'a str,
    kernel: &'static str,
    settings: &'a [String],
}

#[derive(Serialize)]
struct Row<'a> {
    workload: &'a str,
    load: Option<&'a str>,
    metric: &'a str,
    unit: &'a str,
    better: &'static str,
    kernels: Vec<Option<Numbers<'a>>>,
}

#[derive(Serialize)]
struct Numbers<'a> {
    values: &'a [f64],
    mean: f64,
    std: f64,
    comparison: Option<Comparison>,
}

#[derive(Serialize)]
struct Comparison {
    change_percent: Option<f64>,
    low_percent: Option<f64>,
    high_percent: Option<f64>,
    p: Option<f64>,
    exact: bool,
    verdict: &'static str,
}

/// Which way is better, in a word.
pub(crate) fn direction(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "neither",
    }
}

fn numbers(cell: &Cell) -> Numbers<'_> {
    Numbers {
        values: &cell.values,
        mean: cell.sample.mean,
        std: cell.sample.std,
        comparison: cell.comparison.map(|c| {
            let interval = c.tested.and_then(|test| test.interval);
            Comparison {
                change_percent: c.percent,
                low_percent: interval.map(|(low, _)| low),
                high_percent: interval.map(|(_, high)| high),
                p: c.tested.map(|test| test.p),
                exact: c.is_exact(),
                verdict: c.verdict.name(),
            }
        }),
    }
}

/// The document; it ends with a newline.
pub(crate) fn render(results: &Results) -> Result<String, Error> {
    let kernels = results.kernels.iter().map(|kernel| Kernel {
        spec: &kernel.label,
        kernel: kernel.release.name(),
        settings: &kernel.choice.settings,
    });
    let rows = { results.blocks.iter() }.flat_map(|block| {
        block.rows.iter().map(|row| Row {
            workload: &block.workload,
            load: row.load.as_deref(),
            metric: &block.metric.name,
            unit: &block.metric.unit,
            better: direction(block.metric.better),
            kernels: { row.cells.iter() }
                .map(|cell| cell.as_ref().map(numbers))
                .collect(),
        })
    });
    let document = Document {
        version: VERSION,
        machine: &results.machine.name,
        settings: &results.settings,
        first_seed: results.seeds.0,
        seeds: results.seeds.1,
        confidence_percent: CONFIDENCE,
        interrupted: results.interrupted,
        kernels: kernels.collect(),
        rows: rows.collect(),
    };
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Error::failed(format!("cannot make the JSON: {error}")))?;
    Ok(text + "\n")
}
