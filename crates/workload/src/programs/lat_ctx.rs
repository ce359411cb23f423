//! lat_ctx of lmbench: processes in a ring of pipes pass a token on, each summing an array of its own before.
//!
//! Model.       First one process alone passes the token through as many pipes and sums its array each time: that is the
//!              overhead. Then the others are forked, the token goes round once unmeasured, and `rounds` times. What is
//!              printed is the time of a hop less that of the overhead.
//! Units.       us a switch.
//! Source.      lmbench 2 and 3 src/lat_ctx.c `doit`, `create_pipes`, `create_daemons`, `initialize_overhead`;
//!              src/lib_timing.c `bread`.
//! Deviations.  lmbench finds the number of rounds itself and prints the median of several runs; here it is a parameter
//!              and there is one run. Summing takes the time of the lines it reads, not that of the additions, which is
//!              in the overhead as well.

use super::draft::{Draft, once, repeat};
use super::hackbench::PIPE_TASK;
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Span, Value};
use crate::action::{Action, Launch, ObjectRef, StreamKind};
use crate::spec::{Event, Loops, MemoryKind, MemoryUse, Workload};

pub(super) static INFO: Info = Info {
    name: "lat_ctx",
    about: "processes in a ring of pipes that pass a token on (lmbench lat_ctx)",
    params: &[
        Param {
            name: "processes",
            default: "2",
            kind: Kind::Count(2, 1000),
            help: "processes in the ring",
        },
        Param {
            name: "size",
            default: "0",
            kind: Kind::Bytes(0, 1 << 30),
            help: "bytes that each sums before it passes the token on (-s)",
        },
        Param {
            name: "rounds",
            default: "1000",
            kind: Kind::Count(1, 1_000_000),
            help: "how often the token goes round",
        },
    ],
    load: "processes",
    build,
};

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let (processes, rounds) = (values.count("processes"), values.count("rounds"));
    let size = values.count("size");
    let mut draft = Draft::new();
    let alone = ObjectRef::shared(draft.streams(StreamKind::Pipe, 1));
    let first = draft.streams(StreamKind::Pipe, processes);
    let last = ObjectRef::shared(first + processes - 1);
    let clocks = [(); 4].map(|()| draft.clock());
    let read = |stream| Event::from(Action::Read { stream, bytes: 4 });
    let write = |stream| Event::from(Action::Write { stream, bytes: 4 });
    let buffer = draft.buffer(u64::from(size));
    let sum = Event::Memory(MemoryUse {
        buffer,
        kind: MemoryKind::Read,
        count: size,
    });
    let with_sum = |mut events: Vec<Event>, at: usize| {
        if size > 0 {
            events.insert(at, sum);
        }
        events
    };
    // Child i reads pipe i and writes pipe i + 1.
    let pass = vec![
        read(ObjectRef::each(first, 1)),
        write(ObjectRef::each(first + 1, 1)),
    ];
    let child = draft.child(
        "ring",
        Launch::Process,
        vec![repeat("pass", Loops::Forever, with_sum(pass, 1))],
    );
    draft.background(child);
    let hop = || with_sum(vec![write(alone), read(alone)], 2);
    let round = || with_sum(vec![write(ObjectRef::shared(first)), read(last)], 2);
    let stamp = |clock: usize| Event::from(Action::Stamp(clocks[clock]));
    let create = (1..processes).map(|_| Action::Create(child).into());
    draft.main(
        "lat_ctx",
        vec![
            once("touch", hop()),
            once("begin", vec![stamp(0)]),
            repeat("overhead", Loops::Times(rounds), hop()),
            once("create", create_after(stamp(1), create)),
            once("first", round()),
            once("start", vec![stamp(2)]),
            repeat("round", Loops::Times(rounds), round()),
            once("stop", vec![stamp(3)]),
        ],
    );
    draft.working_set_of_all(PIPE_TASK);
    let span = |from: usize| Span {
        from: clocks[from],
        to: clocks[from + 1],
    };
    let latency = Metric {
        name: "switch",
        unit: "us",
        higher_is_better: false,
        value: Value::MicrosecondsPer {
            amount: Amount::Fixed(u64::from(rounds) * u64::from(processes)),
            span: span(2),
            less: Some((Amount::Fixed(u64::from(rounds)), span(0))),
        },
    };
    (draft.finish(), vec![latency])
}

fn create_after(stamp: Event, create: impl Iterator<Item = Event>) -> Vec<Event> {
    std::iter::once(stamp).chain(create).collect()
}
