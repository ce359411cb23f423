//! Studies as JSON; docs/studies.md describes the form.

use super::Done;
use super::sensitivity::Constant;
use crate::error::Error;
use fairwind_lab::Sample;
use fairwind_lab::study::Judged;
use serde::Serialize;

/// Version of the form; grows when a field changes its meaning or goes away.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    studies: Vec<StudyDocument<'a>>,
}

#[derive(Serialize)]
struct StudyDocument<'a> {
    study: &'a str,
    title: &'a str,
    published: &'a str,
    seeds: u64,
    interrupted: bool,
    rows: Vec<Row<'a>>,
    sensitivity: Option<&'a [Constant]>,
}

#[derive(Serialize)]
struct Row<'a> {
    experiment: &'a str,
    machine: &'a str,
    base: &'a str,
    with: Option<&'a str>,
    metric: &'a str,
    against: Option<&'a str>,
    published_unit: &'a str,
    published_change_percent: Option<f64>,
    published_within_noise: Option<bool>,
    base_mean: Option<f64>,
    base_std: Option<f64>,
    with_mean: Option<f64>,
    with_std: Option<f64>,
    change_percent: Option<f64>,
    within_noise: Option<bool>,
    verdict: &'static str,
    cause: Option<&'a str>,
}

/// The document; it ends with a newline.
pub(crate) fn render(all: &[Done]) -> Result<String, Error> {
    let document = Document {
        version: VERSION,
        studies: all.iter().map(study).collect(),
    };
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Error::failed(format!("cannot make the JSON: {error}")))?;
    Ok(text + "\n")
}

fn study(done: &Done) -> StudyDocument<'_> {
    let study = &done.plan.study;
    let mut rows = Vec::new();
    for (experiment, judged) in study.experiments.iter().zip(&done.judged) {
        rows.extend(judged.iter().map(|row| Row {
            experiment: &experiment.name,
            machine: &experiment.machine,
            base: &experiment.base,
            with: experiment.with.as_deref(),
            ..numbers(row)
        }));
    }
    StudyDocument {
        study: &study.name,
        title: &study.title,
        published: &study.published,
        seeds: done.plan.seeds,
        interrupted: done.interrupted,
        rows,
        sensitivity: done.sensitivity.as_ref().map(|s| &s.constants[..]),
    }
}

fn numbers(row: &Judged) -> Row<'_> {
    let mean = |sample: Option<Sample>| sample.map(|sample| sample.mean);
    let std = |sample: Option<Sample>| sample.map(|sample| sample.std);
    Row {
        experiment: "",
        machine: "",
        base: "",
        with: None,
        metric: &row.metric.name,
        against: row.row.against.as_deref(),
        published_unit: &row.row.unit,
        published_change_percent: row.published.map(|published| published.percent),
        published_within_noise: row.published.map(|published| published.noise),
        base_mean: mean(row.base),
        base_std: std(row.base),
        with_mean: mean(row.with),
        with_std: std(row.with),
        change_percent: row.ours.map(|ours| ours.percent),
        within_noise: row.ours.map(|ours| ours.noise),
        verdict: row.verdict(),
        cause: row.row.cause.as_deref(),
    }
}
