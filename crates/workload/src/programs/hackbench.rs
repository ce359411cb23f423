//! hackbench: groups of senders and receivers, each sender writing to every receiver of its group.
//!
//! Model.       The main task creates, group by group, the receivers and then the senders. Each of them writes a byte to
//!              the ready stream and polls the wake stream. When all bytes are read, main takes the time, writes one byte
//!              that wakes them all, and waits for their ends. A sender writes, `loops` times over, a message to each
//!              receiver of its group in turn; a receiver reads `fds × loops` messages.
//!              A task keeps using its message and some memory of its own and of the kernel.
//! Units.       The metric is in seconds.
//! Source.      rt-tests 2.4 src/hackbench/hackbench.c `group`, `sender`, `receiver`, `ready`, `reap_worker`, `main`, and
//!              its manual page; perf's tools/perf/bench/sched-messaging.c does the same.

use super::draft::{Draft, once, repeat};
use super::params::{Kind, Param, Values};
use super::{Info, Metric, Span, Value};
use crate::action::{Action, Launch, ObjectRef, StreamKind};
use crate::spec::{Event, Loops, Workload};

/// Bytes that a task keeps using, beside its messages, while it reads and writes pipes or Unix sockets: its stack, its
/// `task_struct`, what it has open. Measured on a Sapphire Rapids Xeon: a write and a read right after a migration took so
/// much longer than the same on other, equally cold files, as lines of these bytes take that come from another core's
/// cache (325 and 890 ns; 35 ns a line, four at a time).
pub(super) const PIPE_TASK: u64 = 2 << 10;
const UNIX_TASK: u64 = 6 << 10;

pub(super) static INFO: Info = Info {
    name: "hackbench",
    about: "groups in which every sender writes to every receiver (hackbench, perf bench sched messaging)",
    params: &[
        Param {
            name: "groups",
            default: "10",
            kind: Kind::Count(1, 1000),
            help: "groups (-g)",
        },
        Param {
            name: "fds",
            default: "20",
            kind: Kind::Count(1, 1000),
            help: "senders of a group, and receivers (-f)",
        },
        Param {
            name: "loops",
            default: "100",
            kind: Kind::Count(1, 1_000_000),
            help: "messages from each sender to each receiver (-l)",
        },
        Param {
            name: "datasize",
            default: "100",
            kind: Kind::Bytes(1, 1 << 20),
            help: "bytes of a message (-s)",
        },
        Param {
            name: "ipc",
            default: "socket",
            kind: Kind::Choice(&["socket", "pipe"]),
            help: "what carries messages (-p: pipe)",
        },
        Param {
            name: "mode",
            default: "process",
            kind: Kind::Choice(&["process", "thread"]),
            help: "what senders and receivers are (-T: thread)",
        },
    ],
    load: "groups",
    build,
};

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let (groups, fds) = (values.count("groups"), values.count("fds"));
    let (loops, bytes) = (values.count("loops"), values.count("datasize"));
    let kind = if values.is("ipc", "pipe") {
        StreamKind::Pipe
    } else {
        StreamKind::Unix
    };
    let launch = if values.is("mode", "thread") {
        Launch::Thread
    } else {
        Launch::Process
    };
    let mut draft = Draft::new();
    let ready = ObjectRef::shared(draft.streams(kind, 1));
    let wake = ObjectRef::shared(draft.streams(kind, 1));
    let first = draft.streams(kind, groups * fds);
    let (start, stop) = (draft.clock(), draft.clock());
    let be_ready = || {
        let tell = Action::Write {
            stream: ready,
            bytes: 1,
        };
        once("ready", vec![tell.into(), Action::Poll(wake).into()])
    };

    let receive = Action::Read {
        stream: ObjectRef::each(first, 1),
        bytes,
    };
    let receive = repeat("receive", Loops::Times(fds * loops), vec![receive.into()]);
    let working_set = if kind == StreamKind::Pipe {
        PIPE_TASK
    } else {
        UNIX_TASK
    };
    let receiver = draft.child("receiver", launch, vec![be_ready(), receive]);

    let send = |fd| Action::Write {
        stream: ObjectRef {
            first: first + fd,
            step: fds,
            per: fds,
        },
        bytes,
    };
    let sends = (0..fds).map(|fd| send(fd).into()).collect();
    let send = repeat("send", Loops::Times(loops), sends);
    let sender = draft.child("sender", launch, vec![be_ready(), send]);

    draft.working_set(receiver, working_set + u64::from(bytes));
    draft.working_set(sender, working_set + u64::from(bytes));

    let create = |task| std::iter::repeat_n(Event::from(Action::Create(task)), fds as usize);
    let hear = Action::Read {
        stream: ready,
        bytes: 1,
    };
    let go = Action::Write {
        stream: wake,
        bytes: 1,
    };
    draft.main(
        "hackbench",
        vec![
            repeat(
                "create",
                Loops::Times(groups),
                create(receiver).chain(create(sender)).collect(),
            ),
            repeat("hear", Loops::Times(2 * fds * groups), vec![hear.into()]),
            once(
                "run",
                vec![
                    Action::Stamp(start).into(),
                    go.into(),
                    Action::Reap.into(),
                    Action::Stamp(stop).into(),
                ],
            ),
        ],
    );
    let time = Metric {
        name: "Time",
        unit: "s",
        higher_is_better: false,
        value: Value::Seconds(Span {
            from: start,
            to: stop,
        }),
    };
    (draft.finish(), vec![time])
}
