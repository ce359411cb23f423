//! sysbench cpu and threads.
//!
//! Model.       Each thread goes through events for `time`. Of cpu, an event is to look for all primes below `prime`. Of
//!              threads, it is to take one of `locks` mutexes, the next in turn among all threads' events, then to yield, and
//!              to give it back, `yields` times over.
//! Units.       Events a second.
//! Source.      sysbench 1.0.20 src/tests/cpu/sb_cpu.c `cpu_execute_event`, src/tests/threads/sb_threads.c
//!              `threads_execute_event`. An event of cpu with `prime` 10000: 490 us on a Sapphire Rapids Xeon; it grows as
//!              prime^1.5.

use super::draft::{Draft, once, repeat};
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Value};
use crate::action::{Action, Launch};
use crate::spec::{Event, Loops, Phase, Workload};

/// CPU time of an event that looks for the primes below 10000.
const PRIMES_NS: u64 = 490_000;

/// Locking and unlocking a free mutex: two atomic operations of 6 ns, and glibc's code around them.
const MUTEX_NS: u64 = 25;

const THREADS: Param = Param {
    name: "threads",
    default: "1",
    kind: Kind::Count(1, 100_000),
    help: "threads (--threads)",
};
const TIME: Param = Param {
    name: "time",
    default: "10s",
    kind: Kind::Time(1_000_000, 3_600_000_000_000),
    help: "how long each runs (--time)",
};

pub(super) static CPU: Info = Info {
    name: "sysbench-cpu",
    about: "threads that look for primes (sysbench cpu)",
    params: &[
        THREADS,
        TIME,
        Param {
            name: "prime",
            default: "10000",
            kind: Kind::Count(3, 1_000_000),
            help: "limit of the primes (--cpu-max-prime)",
        },
    ],
    load: "threads",
    build: build_cpu,
};

pub(super) static LOCKS: Info = Info {
    name: "sysbench-threads",
    about: "threads that take mutexes and yield (sysbench threads)",
    params: &[
        THREADS,
        TIME,
        Param {
            name: "yields",
            default: "1000",
            kind: Kind::Count(1, 1_000_000),
            help: "yields of an event (--thread-yields)",
        },
        Param {
            name: "locks",
            default: "8",
            kind: Kind::Count(1, 100_000),
            help: "mutexes (--thread-locks)",
        },
    ],
    load: "threads",
    build: build_locks,
};

fn build_cpu(values: &Values) -> (Workload, Vec<Metric>) {
    let prime = values.number("prime");
    // prime^1.5 in units of 10000^1.5, in whole numbers.
    let ns = PRIMES_NS * (prime.pow(3)).isqrt() / 1_000_000;
    threads(values, Draft::new(), |draft, count| {
        let work = Action::Compute { ns: ns.max(1) };
        let limit = Loops::For {
            ns: values.number("time"),
        };
        let events = vec![work.into(), count];
        let phases = vec![repeat("event", limit, events)];
        draft.child("thread", Launch::Thread, phases)
    })
}

fn build_locks(values: &Values) -> (Workload, Vec<Metric>) {
    let mut draft = Draft::new();
    let count = values.count("locks");
    let choose = Action::Choose {
        first: draft.mutexes(count),
        count,
        turns: draft.counter(),
    };
    threads(values, draft, |draft, counted| {
        let turn = vec![
            Event::from(Action::Compute { ns: MUTEX_NS }),
            Action::LockChosen.into(),
            Event::Yield,
            Action::UnlockChosen.into(),
        ];
        let phases: Vec<Phase> = vec![
            once("choose", vec![choose.into()]),
            repeat("event", Loops::Times(values.count("yields")), turn),
            once("done", vec![counted]),
        ];
        let thread = draft.child("thread", Launch::Thread, phases);
        draft.repeat_task(
            thread,
            Loops::For {
                ns: values.number("time"),
            },
        );
        thread
    })
}

/// The threads of a test, of which each does what `thread` makes.
fn threads(
    values: &Values,
    mut draft: Draft,
    thread: impl FnOnce(&mut Draft, Event) -> crate::spec::TaskSpecId,
) -> (Workload, Vec<Metric>) {
    let counter = draft.counter();
    let thread = thread(&mut draft, Action::Count { counter, by: 1 }.into());
    let create = Event::from(Action::Create(thread));
    draft.main(
        "sysbench",
        vec![
            repeat(
                "create",
                Loops::Times(values.count("threads")),
                vec![create],
            ),
            once("join", vec![Action::Reap.into()]),
        ],
    );
    let rate = Metric {
        name: "events per second",
        unit: "1/s",
        higher_is_better: true,
        value: Value::PerSecondOf {
            amount: Amount::Counted(counter),
            seconds: values.number("time") as f64 / 1e9,
            factor: 1.0,
        },
    };
    (draft.finish(), vec![rate])
}
