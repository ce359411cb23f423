//! Results as CSV: a line for each workload, load, metric and kernel; columns are named as the fields of the JSON form.

use super::json::direction;
use super::results::{Cell, Results};
use crate::error::Error;
use csv::Writer;

const COLUMNS: [&str; 17] = [
    "workload",
    "load",
    "metric",
    "unit",
    "better",
    "spec",
    "runs",
    "mean",
    "std",
    "std_percent",
    "change_percent",
    "low_percent",
    "high_percent",
    "p",
    "exact",
    "verdict",
    "machine",
];

/// The table, with a header line; what is not known is empty.
pub(crate) fn render(results: &Results) -> Result<Vec<u8>, Error> {
    let failed =
        |error: &dyn std::fmt::Display| Error::failed(format!("cannot make the CSV: {error}"));
    let mut lines = Writer::from_writer(Vec::new());
    lines
        .write_record(COLUMNS)
        .map_err(|error| failed(&error))?;
    for block in &results.blocks {
        for row in &block.rows {
            for (kernel, cell) in results.kernels.iter().zip(&row.cells) {
                let metric = &block.metric;
                let names = [
                    &*block.workload,
                    row.load.as_deref().unwrap_or(""),
                    &metric.name,
                    &metric.unit,
                    direction(metric.better),
                    &kernel.label,
                ];
                let record = { names.into_iter().map(str::to_string) }
                    .chain(numbers(cell.as_ref()))
                    .chain([results.machine.name.clone()]);
                lines.write_record(record).map_err(|error| failed(&error))?;
            }
        }
    }
    lines.into_inner().map_err(|error| failed(&error))
}

fn numbers(cell: Option<&Cell>) -> [String; 10] {
    let Some(cell) = cell else {
        return Default::default();
    };
    let sample = &cell.sample;
    let comparison = cell.comparison;
    let tested = comparison.and_then(|c| c.tested);
    let interval = tested.and_then(|test| test.interval);
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    [
        sample.runs.to_string(),
        sample.mean.to_string(),
        sample.std.to_string(),
        sample.std_percent().to_string(),
        number(comparison.and_then(|c| c.percent)),
        number(interval.map(|(low, _)| low)),
        number(interval.map(|(_, high)| high)),
        number(tested.map(|test| test.p)),
        comparison.map_or(String::new(), |c| c.is_exact().to_string()),
        comparison.map_or(String::new(), |c| c.verdict.name().to_string()),
    ]
}
