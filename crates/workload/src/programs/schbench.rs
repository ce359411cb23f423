//! schbench: message threads that wake workers, each of which works through requests.
//!
//! Model.       A worker tells its message thread that it is free and waits; woken, it begins a request: it sleeps 100 us, and
//!              multiplies `operations` times two matrices that take `footprint` together with their product. A message
//!              thread, woken by the first to come, wakes those that wait.
//! Units.       us from being woken to running; us a request takes; requests a second.
//! Source.      schbench 1.0 schbench.c `worker_thread`, `msg_and_wait`, `run_msg_thread`, `xlist_wake_all`, `do_work`,
//!              `do_some_math`. A step of the multiplication: 0.8 ns, measured for matrices of 104 x 104 on a Sapphire
//!              Rapids Xeon (894 us for 104^3 steps).
//! Deviations.  Workers are woken in the order they came, each with its own time, where schbench wakes a batch last come
//!              first and counts from the batch's begin. Its locks, one a CPU, are left out.

use super::draft::{Draft, once, repeat};
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Value};
use crate::action::{Action, Launch, ObjectRef, Since};
use crate::spec::{Event, Loops, Workload};

/// Picoseconds of a step of the multiplication, and bytes of an element.
const STEP_PS: u64 = 800;
const ELEMENT: u64 = 8;

pub(super) static INFO: Info = Info {
    name: "schbench",
    about: "message threads that wake workers with requests to work through (schbench)",
    params: &[
        Param {
            name: "mthreads",
            default: "1",
            kind: Kind::Count(1, 1000),
            help: "message threads (-m)",
        },
        Param {
            name: "threads",
            default: "16",
            kind: Kind::Count(1, 1000),
            help: "workers of a message thread (-t)",
        },
        Param {
            name: "duration",
            default: "30s",
            kind: Kind::Time(1_000_000, 3_600_000_000_000),
            help: "how long it runs (-r)",
        },
        Param {
            name: "operations",
            default: "5",
            kind: Kind::Count(1, 1000),
            help: "multiplications of a request (-n)",
        },
        Param {
            name: "footprint",
            default: "256k",
            kind: Kind::Bytes(1024, 64 << 20),
            help: "bytes of the matrices (-F)",
        },
    ],
    load: "mthreads",
    build,
};

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let (mthreads, threads) = (values.count("mthreads"), values.count("threads"));
    let (duration, footprint) = (values.number("duration"), values.number("footprint"));
    let side = (footprint / 3 / ELEMENT).isqrt();
    let work_ns = (side.pow(3) * STEP_PS / 1000).max(1) * values.number("operations");
    let mut draft = Draft::new();
    let free = ObjectRef::each(draft.semaphores(mthreads), 1);
    let first = draft.semaphores(mthreads);
    let answers = ObjectRef::each(first, 1);
    let answer = ObjectRef {
        per: threads,
        ..answers
    };
    let tell = ObjectRef {
        per: threads,
        ..free
    };
    let (wakeups, requests) = (draft.latency(), draft.latency());
    let done = draft.counter();
    let record = |into, since| Event::from(Action::Record { into, since });
    let worker = draft.child(
        "worker",
        Launch::Thread,
        vec![repeat(
            "request",
            Loops::Forever,
            vec![
                Action::Post(tell).into(),
                Action::Take(answer).into(),
                record(wakeups, Since::Wakeup),
                Action::StartLap.into(),
                Event::Sleep { us: 100 },
                Action::Compute { ns: work_ns }.into(),
                record(requests, Since::Lap),
                Action::Count {
                    counter: done,
                    by: 1,
                }
                .into(),
            ],
        )],
    );
    let create = std::iter::repeat_n(Event::from(Action::Create(worker)), threads as usize);
    let message = draft.child(
        "message",
        Launch::Thread,
        vec![
            once("create", create.collect()),
            repeat(
                "message",
                Loops::Forever,
                vec![Action::Take(free).into(), Action::Post(answers).into()],
            ),
        ],
    );
    draft.background(worker);
    draft.background(message);
    draft.working_set(worker, footprint);
    let us = u32::try_from(duration / 1000).unwrap_or(u32::MAX);
    draft.main(
        "schbench",
        vec![
            repeat(
                "create",
                Loops::Times(mthreads),
                vec![Action::Create(message).into()],
            ),
            once("run", vec![Event::Sleep { us }]),
        ],
    );
    let percentile = |name, latency, percentile| Metric {
        name,
        unit: "us",
        higher_is_better: false,
        value: Value::Percentile {
            latency,
            percentile,
        },
    };
    let rate = Metric {
        name: "average rps",
        unit: "1/s",
        higher_is_better: true,
        value: Value::PerSecondOf {
            amount: Amount::Counted(done),
            seconds: duration as f64 / 1e9,
            factor: 1.0,
        },
    };
    let metrics = vec![
        percentile("Wakeup Latencies 99.0th", wakeups, 99.0),
        percentile("Wakeup Latencies 50.0th", wakeups, 50.0),
        percentile("Wakeup Latencies 90.0th", wakeups, 90.0),
        percentile("Wakeup Latencies 99.9th", wakeups, 99.9),
        percentile("Request Latencies 50.0th", requests, 50.0),
        percentile("Request Latencies 99.0th", requests, 99.0),
        rate,
    ];
    (draft.finish(), metrics)
}
