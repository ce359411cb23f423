//! Models of benchmark programs.
//!
//! Model.       A specification, `NAME:KEY=VALUE,…`, names a program and its parameters, which are the program's own. A
//!              program becomes a workload whose tasks make the same system calls in the same order, with the same numbers
//!              of tasks, bytes and loops, and which measures what the program measures.
//! Units.       Metrics as the program prints them.
//! Source.      One file a program; its header names what it was read from.
//! Deviations.  Work of a program between two system calls that is below a tenth of what the calls cost is left out.
//! Not here.    What the calls cost (the machine's), and no number that is there to make a result come out.

mod dbench;
mod draft;
mod hackbench;
mod httperf;
mod join;
mod lat_ctx;
mod metric;
mod netperf;
mod oltp;
mod params;
mod perf_pipe;
mod producer_consumer;
mod schbench;
mod stress_ng;
mod sysbench;
mod tbench;
mod volano;

use crate::spec::Workload;
pub use join::join;
pub use metric::{Amount, Metric, MetricResult, Span, Value};
pub use params::{Kind, Param, SpecError};

/// A program with its parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// All its parameters, those left out with their defaults.
    pub params: Vec<(&'static str, String)>,
    /// What it does.
    pub workload: Workload,
    /// What it prints; the first is the one to compare.
    pub metrics: Vec<Metric>,
}

/// What is known of a program before it has parameters.
#[derive(Debug)]
pub struct Info {
    /// Its name in specifications.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// The parameter that says how much load it makes.
    pub load: &'static str,
    build: fn(&params::Values) -> (Workload, Vec<Metric>),
}

/// All programs, in the order in which they are told of.
pub static LIST: &[&Info] = &[
    &hackbench::INFO,
    &perf_pipe::INFO,
    &lat_ctx::INFO,
    &netperf::INFO,
    &tbench::INFO,
    &dbench::INFO,
    &schbench::INFO,
    &stress_ng::INFO,
    &sysbench::CPU,
    &sysbench::LOCKS,
    &volano::INFO,
    &httperf::INFO,
    &oltp::INFO,
    &producer_consumer::INFO,
];

/// The program of a name.
pub fn find(name: &str) -> Option<&'static Info> {
    LIST.iter().copied().find(|info| info.name == name)
}

/// Makes the program that a specification names.
///
/// # Errors
/// If it names no program, or a parameter that the program does not take.
pub fn parse(spec: &str) -> Result<Program, SpecError> {
    let (info, values) = params::parse(spec, LIST)?;
    let (mut workload, metrics) = (info.build)(&values);
    if let Some(path) = values.group() {
        draft::put_into_group(&mut workload, path);
    }
    Ok(Program {
        name: info.name,
        params: values.list(),
        workload,
        metrics,
    })
}

impl Program {
    /// Its parameter for how much load it makes.
    pub fn load(&self) -> &'static str {
        find(self.name).map_or("", |info| info.load)
    }

    /// It as a specification, with all parameters.
    pub fn spec(&self) -> String {
        let params: Vec<String> = self
            .params
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!("{}:{}", self.name, params.join(","))
    }
}
