//! Studies as CSV: a line for each published row; columns are named as the fields of the JSON form.

use super::Done;
use crate::error::Error;
use csv::Writer;

const COLUMNS: [&str; 12] = [
    "study",
    "experiment",
    "metric",
    "published_unit",
    "published_change_percent",
    "published_within_noise",
    "base_mean",
    "base_std",
    "with_mean",
    "with_std",
    "change_percent",
    "verdict",
];

/// The table, with a header line; what is not known is empty.
pub(crate) fn render(all: &[Done]) -> Result<Vec<u8>, Error> {
    let failed =
        |error: &dyn std::fmt::Display| Error::failed(format!("cannot make the CSV: {error}"));
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let mut lines = Writer::from_writer(Vec::new());
    lines
        .write_record(COLUMNS)
        .map_err(|error| failed(&error))?;
    for done in all {
        let study = &done.plan.study;
        for (experiment, rows) in study.experiments.iter().zip(&done.judged) {
            for row in rows {
                let record = [
                    study.name.clone(),
                    experiment.name.clone(),
                    row.metric.name.clone(),
                    row.row.unit.clone(),
                    number(row.published.map(|published| published.percent)),
                    { row.published }.map_or(String::new(), |p| p.noise.to_string()),
                    number(row.base.map(|sample| sample.mean)),
                    number(row.base.map(|sample| sample.std)),
                    number(row.with.map(|sample| sample.mean)),
                    number(row.with.map(|sample| sample.std)),
                    number(row.ours.map(|ours| ours.percent)),
                    row.verdict().to_string(),
                ];
                lines.write_record(record).map_err(|error| failed(&error))?;
            }
        }
    }
    lines.into_inner().map_err(|error| failed(&error))
}
