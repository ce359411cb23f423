//! perf bench sched pipe: two tasks pass a number to and fro through two pipes.
//!
//! Model.       Of two processes the parent writes 4 bytes and then reads 4, the child reads and then writes; of two threads
//!              the first reads first. The time goes from before they are made until after they are waited for.
//!              A task keeps using 2 KiB of its own and of the kernel's memory (see `hackbench`).
//! Units.       ops/sec, and us an op; an op is there and back.
//! Source.      tools/perf/bench/sched-pipe.c `bench_sched_pipe`, `worker_thread` @ 6.12.

use super::draft::{Draft, once, repeat};
use super::hackbench::PIPE_TASK as SMALL;
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Span, Value};
use crate::action::{Action, Launch, ObjectRef, StreamKind};
use crate::spec::{Loops, Workload};

pub(super) static INFO: Info = Info {
    name: "perf-pipe",
    about: "two tasks that pass a number to and fro through pipes (perf bench sched pipe)",
    params: &[
        Param {
            name: "loops",
            default: "1000000",
            kind: Kind::Count(1, u32::MAX as u64),
            help: "how often there and back (-l)",
        },
        Param {
            name: "mode",
            default: "process",
            kind: Kind::Choice(&["process", "thread"]),
            help: "what the two tasks are (-T: thread)",
        },
    ],
    load: "loops",
    build,
};

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let loops = values.count("loops");
    let mut draft = Draft::new();
    let there = ObjectRef::shared(draft.streams(StreamKind::Pipe, 1));
    let back = ObjectRef::shared(draft.streams(StreamKind::Pipe, 1));
    let (start, stop) = (draft.clock(), draft.clock());
    let read = |stream| Action::Read { stream, bytes: 4 }.into();
    let write = |stream| Action::Write { stream, bytes: 4 }.into();
    let answer = || {
        repeat(
            "answer",
            Loops::Times(loops),
            vec![read(there), write(back)],
        )
    };
    let ask = || repeat("ask", Loops::Times(loops), vec![write(there), read(back)]);
    let begin = Action::Stamp(start).into();
    let end = once("end", vec![Action::Reap.into(), Action::Stamp(stop).into()]);
    if values.is("mode", "thread") {
        let answerer = draft.child("answer", Launch::Thread, vec![answer()]);
        let asker = draft.child("ask", Launch::Thread, vec![ask()]);
        let create = vec![
            begin,
            Action::Create(answerer).into(),
            Action::Create(asker).into(),
        ];
        draft.main("perf", vec![once("create", create), end]);
    } else {
        let answerer = draft.child("answer", Launch::Process, vec![answer()]);
        let create = vec![begin, Action::Create(answerer).into()];
        draft.main("perf", vec![once("create", create), ask(), end]);
    }
    draft.working_set_of_all(SMALL);
    let amount = Amount::Fixed(u64::from(loops));
    let span = Span {
        from: start,
        to: stop,
    };
    let metrics = vec![
        Metric {
            name: "ops/sec",
            unit: "1/s",
            higher_is_better: true,
            value: Value::PerSecond {
                amount,
                span,
                factor: 1.0,
            },
        },
        Metric {
            name: "usecs/op",
            unit: "us",
            higher_is_better: false,
            value: Value::MicrosecondsPer {
                amount,
                span,
                less: None,
            },
        },
    ];
    (draft.finish(), metrics)
}
