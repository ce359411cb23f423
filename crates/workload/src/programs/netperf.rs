//! netperf TCP_RR over loopback: pairs that exchange requests and responses.
//!
//! Model.       A script starts the netperfs in the background one after another. Each connects to the netserver, which
//!              forks a process for it; when that answers, netperf sends a request and waits for the response, again and
//!              again for `duration`. Its own processes work no more than the calls; each keeps using 16 KiB of its own
//!              and of the kernel's memory.
//! Units.       Transactions a second, of all pairs together; each counts for its own `duration`.
//! Source.      netperf 2.7 src/nettest_omni.c `send_omni_inner`, `recv_omni`, src/netserver.c `spawn_child`,
//!              `process_requests`, and its manual (TCP_RR). Memory: a request and response right after a migration of a
//!              process that did both ends took 2.3 to 3.0 us longer than the same over another, equally cold
//!              connection (Sapphire Rapids Xeon, 35 ns a line from another core, four at a time: 17 to 22 KiB).
//! Deviations.  Of the exchange before the test only the connection and the answer to it are there. A transaction under
//!              way at the end is completed.

use super::draft::{Draft, once, repeat};
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Value};
use crate::action::{Action, Launch, ObjectRef, StreamKind};
use crate::spec::{Loops, Workload};

/// Bytes that a task keeps using while it exchanges small messages over TCP.
pub(super) const TCP_TASK: u64 = 16 << 10;

pub(super) static INFO: Info = Info {
    name: "netperf",
    about: "pairs that exchange requests and responses over loopback TCP (netperf -t TCP_RR)",
    params: &[
        Param {
            name: "pairs",
            default: "1",
            kind: Kind::Count(1, 10_000),
            help: "netperfs at once",
        },
        Param {
            name: "duration",
            default: "10s",
            kind: Kind::Time(1_000_000, 3_600_000_000_000),
            help: "how long each runs (-l)",
        },
        Param {
            name: "request",
            default: "1",
            kind: Kind::Bytes(1, 1 << 20),
            help: "bytes of a request (-r)",
        },
        Param {
            name: "response",
            default: "1",
            kind: Kind::Bytes(1, 1 << 20),
            help: "bytes of a response (-r)",
        },
    ],
    load: "pairs",
    build,
};

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let (pairs, duration) = (values.count("pairs"), values.number("duration"));
    let (request, response) = (values.count("request"), values.count("response"));
    let mut draft = Draft::new();
    let listen = ObjectRef::shared(draft.streams(StreamKind::Tcp, 1));
    let first = draft.streams(StreamKind::Tcp, 3 * pairs);
    let [control, requests, responses] = [0, 1, 2].map(|kind| ObjectRef::each(first + kind, 3));
    let transactions = draft.counter();
    let read = |stream, bytes| Action::Read { stream, bytes }.into();
    let write = |stream, bytes| Action::Write { stream, bytes }.into();

    let serve = vec![read(requests, request), write(responses, response)];
    let server = draft.child(
        "server",
        Launch::Process,
        vec![
            once("answer", vec![write(control, 1)]),
            repeat("serve", Loops::Forever, serve),
        ],
    );
    let accept = vec![read(listen, 1), Action::Create(server).into()];
    let netserver = draft.child(
        "netserver",
        Launch::Process,
        vec![
            repeat("accept", Loops::Times(pairs), accept),
            once("stay", vec![read(listen, 1)]),
        ],
    );
    let exchange = vec![
        write(requests, request),
        read(responses, response),
        Action::Count {
            counter: transactions,
            by: 1,
        }
        .into(),
    ];
    let netperf = draft.child(
        "netperf",
        Launch::Process,
        vec![
            once(
                "connect",
                vec![Action::Exec.into(), write(listen, 1), read(control, 1)],
            ),
            repeat("test", Loops::For { ns: duration }, exchange),
        ],
    );
    for task in [netserver, server] {
        draft.background(task);
    }
    for task in [netperf, server] {
        draft.working_set(task, TCP_TASK);
    }
    let start = |task| Action::Create(task).into();
    draft.main(
        "script",
        vec![
            once("netserver", vec![start(netserver)]),
            repeat("netperfs", Loops::Times(pairs), vec![start(netperf)]),
        ],
    );
    let rate = Metric {
        name: "Trans. Rate",
        unit: "1/s",
        higher_is_better: true,
        value: Value::PerSecondOf {
            amount: Amount::Counted(transactions),
            seconds: duration as f64 / 1e9,
            factor: 1.0,
        },
    };
    (draft.finish(), vec![rate])
}
