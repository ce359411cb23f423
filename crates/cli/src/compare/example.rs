//! Results with numbers that were chosen, for the tests of the styles.

use super::kernel_spec;
use super::results::{Block, Cell, Results, Row};
use fairwind_lab::{Better, Metric, Sample, compare};
use fairwind_machine::Machine;

/// Mean and std in percent under the base and under the other kernel, at a load.
pub(super) type Numbers = (&'static str, [(f64, f64); 2]);

/// Ten runs a kernel.
fn cell((mean, std_percent): (f64, f64), base: Option<&Cell>, better: Better) -> Cell {
    let sample = Sample {
        runs: 10,
        mean,
        std: mean * std_percent / 100.0,
    };
    Cell {
        values: Vec::new(),
        sample,
        comparison: base.map(|base| compare(&base.sample, &sample, better)),
    }
}

/// One workload, one metric.
pub(super) fn block(workload: &str, name: &str, better: Better, rows: &[Numbers]) -> Block {
    let rows = rows.iter().map(|(load, [base, with])| {
        let base = cell(*base, None, better);
        let with = cell(*with, Some(&base), better);
        Row {
            load: Some(load.to_string()),
            cells: vec![Some(base), Some(with)],
        }
    });
    Block {
        workload: workload.to_string(),
        metric: Metric {
            name: name.to_string(),
            title: name.to_string(),
            unit: "units/s".to_string(),
            better,
        },
        rows: rows.collect(),
    }
}

/// 6.12 and 6.12 without SIS_UTIL on a machine of eight CPUs.
pub(super) fn results(blocks: Vec<Block>) -> Results {
    let base = kernel_spec::base("6.12", 8).unwrap();
    let with = kernel_spec::with("NO_SIS_UTIL", &base, 8).unwrap();
    Results {
        machine: Machine::load("1x8x1").unwrap(),
        kernels: vec![base, with],
        settings: Vec::new(),
        seeds: (1, 10),
        interrupted: false,
        blocks,
    }
}
