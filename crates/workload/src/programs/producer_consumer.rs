//! Producers and consumers around a bounded buffer.
//!
//! Model.       Every producer makes its items, and for each waits for a free place, takes the buffer's mutex, puts the
//!              item in and tells the consumers; they wait for an item, take it out under the mutex, tell the producers and
//!              use it.
//! Units.       Items a second.
//! Source.      The bounded buffer of sem_overview(7) and pthread_mutex_lock(3p), as textbooks have it: two semaphores and a
//!              mutex, all futexes.
//! Deviations.  What it is to make and to use an item are parameters, with guesses as defaults.

use super::draft::{Draft, once, repeat};
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Span, Value};
use crate::action::{Action, Launch, ObjectRef};
use crate::spec::{Event, Loops, MutexId, Workload};

pub(super) static INFO: Info = Info {
    name: "producer-consumer",
    about: "threads that pass items through a bounded buffer",
    params: &[
        Param {
            name: "pairs",
            default: "1",
            kind: Kind::Count(1, 10_000),
            help: "producers, and consumers",
        },
        Param {
            name: "items",
            default: "10000",
            kind: Kind::Count(1, u32::MAX as u64),
            help: "items of each producer",
        },
        Param {
            name: "places",
            default: "16",
            kind: Kind::Count(1, 10_000),
            help: "items that the buffer holds",
        },
        Param {
            name: "produce",
            default: "10us",
            kind: Kind::Time(1, 1_000_000_000),
            help: "work to make an item",
        },
        Param {
            name: "consume",
            default: "10us",
            kind: Kind::Time(1, 1_000_000_000),
            help: "work to use one",
        },
    ],
    load: "pairs",
    build,
};

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let (pairs, items) = (values.count("pairs"), values.count("items"));
    let mut draft = Draft::new();
    let free = ObjectRef::shared(draft.semaphores(1));
    let full = ObjectRef::shared(draft.semaphores(1));
    let buffer = MutexId(draft.mutexes(1));
    let (start, stop) = (draft.clock(), draft.clock());
    let work = |name| {
        Event::from(Action::Compute {
            ns: values.number(name),
        })
    };
    let pass = |from, to| {
        [
            Action::Take(from).into(),
            Event::Lock(buffer),
            Event::Unlock(buffer),
            Action::Post(to).into(),
        ]
    };
    let mut produce = vec![work("produce")];
    produce.extend(pass(free, full));
    let mut consume = pass(full, free).to_vec();
    consume.push(work("consume"));
    let mut thread = |name: &str, events| {
        draft.child(
            name,
            Launch::Thread,
            vec![repeat("item", Loops::Times(items), events)],
        )
    };
    let producer = thread("producer", produce);
    let consumer = thread("consumer", consume);
    let place = vec![Action::Post(free).into()];
    draft.main(
        "main",
        vec![
            repeat("places", Loops::Times(values.count("places")), place),
            once("begin", vec![Action::Stamp(start).into()]),
            repeat(
                "create",
                Loops::Times(pairs),
                vec![
                    Action::Create(producer).into(),
                    Action::Create(consumer).into(),
                ],
            ),
            once("end", vec![Action::Reap.into(), Action::Stamp(stop).into()]),
        ],
    );
    let rate = Metric {
        name: "items",
        unit: "1/s",
        higher_is_better: true,
        value: Value::PerSecond {
            amount: Amount::Fixed(u64::from(items) * u64::from(pairs)),
            span: Span {
                from: start,
                to: stop,
            },
            factor: 1.0,
        },
    };
    (draft.finish(), vec![rate])
}
