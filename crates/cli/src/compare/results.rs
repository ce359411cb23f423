//! What the forms of output are made from.

use super::kernel_spec::Kernel;
use fairwind_lab::{Better, COUNTERS, Comparison, Metric, Run, Sample, compare};
use fairwind_machine::Machine;

/// Everything that was compared.
#[derive(Debug)]
pub(crate) struct Results {
    /// The machine.
    pub(crate) machine: Machine,
    /// The kernels, the base first.
    pub(crate) kernels: Vec<Kernel>,
    /// What was asked for beside kernels, as it would be typed.
    pub(crate) settings: Vec<String>,
    /// The first seed, and how many.
    pub(crate) seeds: (u64, u64),
    /// Ctrl-C came before the end.
    pub(crate) interrupted: bool,
    /// One for each workload and metric.
    pub(crate) blocks: Vec<Block>,
}

/// One workload, one metric.
#[derive(Debug)]
pub(crate) struct Block {
    /// The workload.
    pub(crate) workload: String,
    /// The metric.
    pub(crate) metric: Metric,
    /// One for each load.
    pub(crate) rows: Vec<Row>,
}

/// One workload, one metric, one load.
#[derive(Debug)]
pub(crate) struct Row {
    /// How much of the workload, as in `60-pairs`; none: it was run as it is.
    pub(crate) load: Option<String>,
    /// `[nr_kernels]`, the base first; none: no run is done, or it measured no such thing.
    pub(crate) cells: Vec<Option<Cell>>,
}

/// One workload, metric, load and kernel.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// What each seed gave, in order.
    pub(crate) values: Vec<f64>,
    /// Their mean and spread.
    pub(crate) sample: Sample,
    /// Against the base; none of the base itself, or if the base has no cell.
    pub(crate) comparison: Option<Comparison>,
}

impl Row {
    /// Of the runs of one load, `[nr_kernels][nr_seeds]`.
    pub(crate) fn of(load: Option<String>, metric: &Metric, runs: &[Vec<&Run>]) -> Row {
        let mut cells: Vec<Option<Cell>> = Vec::new();
        for of_kernel in runs {
            let values = of_kernel
                .iter()
                .filter_map(|r| r.measures.get(&metric.name));
            let values: Vec<f64> = values.collect();
            let base = cells.first().cloned().flatten();
            cells.push(Sample::of(&values).map(|sample| Cell {
                values,
                sample,
                comparison: base.map(|base| compare(&base.sample, &sample, metric.better)),
            }));
        }
        Row { load, cells }
    }

    /// How the base changes to become the kernel, in percent, better being positive; none: not known.
    pub(crate) fn improvement(&self, kernel: usize, better: Better) -> Option<f64> {
        let percent = match kernel {
            0 => self.cells[0].as_ref().map(|_| 0.0),
            _ => self.cells[kernel].as_ref()?.comparison?.percent,
        };
        percent.map(|percent| percent * better.sign())
    }
}

impl Block {
    /// Does it tell how wakeups were placed?
    pub(crate) fn is_counter(&self) -> bool {
        COUNTERS
            .iter()
            .any(|counter| counter.name == self.metric.name)
    }

    /// The metric and its unit.
    pub(crate) fn title(&self) -> String {
        let Metric { title, unit, .. } = &self.metric;
        if unit.is_empty() {
            title.clone()
        } else {
            format!("{title} ({unit})")
        }
    }
}

impl Results {
    /// How many tests were made.
    pub(crate) fn nr_tested(&self) -> usize {
        self.comparisons().filter(|c| c.tested.is_some()).count()
    }

    /// Every comparison.
    pub(crate) fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        let rows = self.blocks.iter().flat_map(|block| &block.rows);
        let cells = rows.flat_map(|row| &row.cells).flatten();
        cells.filter_map(|cell| cell.comparison.as_ref())
    }

    /// The runs, as people say it.
    pub(crate) fn runs(&self) -> String {
        match self.seeds {
            (first, 1) => format!("1 a kernel, seed {first}"),
            (first, n) => format!("{n} a kernel, seeds {first} to {}", first + n - 1),
        }
    }
}
