//! stress-ng --cpu: processes that compute, a fixed number of operations in all.
//!
//! Model.       The parent forks `cpu` workers; each does its share of `cpu-ops` operations, and the parent waits for all.
//! Units.       Seconds from the first fork to the last end; bogo ops a second of that time.
//! Source.      stress-ng 0.15 stress-cpu.c, stress-ng.c `stress_run`; `stress-ng --cpu 2 --cpu-ops 400` does 400 in all. An
//!              operation: 0.95 ms on average over all methods (400 in 0.38 s of CPU time on a Sapphire Rapids Xeon).
//! Deviations.  Operations take their mean, where those of stress-ng's many methods differ.

use super::draft::{Draft, once, repeat};
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Span, Value};
use crate::action::{Action, Launch};
use crate::spec::{Loops, Workload};

/// CPU time of an operation.
const OPERATION_NS: u64 = 950_000;

pub(super) static INFO: Info = Info {
    name: "stress-ng",
    about: "processes that compute (stress-ng --cpu)",
    params: &[
        Param {
            name: "cpu",
            default: "1",
            kind: Kind::Count(1, 100_000),
            help: "workers (--cpu)",
        },
        Param {
            name: "cpu-ops",
            default: "10000",
            kind: Kind::Count(1, u32::MAX as u64),
            help: "operations, of all workers together (--cpu-ops)",
        },
    ],
    load: "cpu",
    build,
};

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let workers = values.count("cpu");
    let each = values.count("cpu-ops").div_ceil(workers);
    let mut draft = Draft::new();
    let (start, stop) = (draft.clock(), draft.clock());
    let compute = Action::Compute { ns: OPERATION_NS };
    let worker = draft.child(
        "stress-ng-cpu",
        Launch::Process,
        vec![repeat("compute", Loops::Times(each), vec![compute.into()])],
    );
    draft.main(
        "stress-ng",
        vec![
            once("begin", vec![Action::Stamp(start).into()]),
            repeat(
                "create",
                Loops::Times(workers),
                vec![Action::Create(worker).into()],
            ),
            once("end", vec![Action::Reap.into(), Action::Stamp(stop).into()]),
        ],
    );
    let span = Span {
        from: start,
        to: stop,
    };
    let metrics = vec![
        Metric {
            name: "real time",
            unit: "s",
            higher_is_better: false,
            value: Value::Seconds(span),
        },
        Metric {
            name: "bogo ops/s",
            unit: "1/s",
            higher_is_better: true,
            value: Value::PerSecond {
                amount: Amount::Fixed(u64::from(each) * u64::from(workers)),
                span,
                factor: 1.0,
            },
        },
    ];
    (draft.finish(), metrics)
}
