//! tbench: the network traffic of a file server's clients, over loopback TCP.
//!
//! Model.       Each client has a connection to a server process of its own. It goes through a list of operations; each is
//!              a packet sent, and one received whose first four bytes are read first; the server reads packets the same
//!              way. The list has 100 operations in the proportions, and with the usual sizes, of dbench's client.txt:
//!              458 341 operations that send 2309 bytes each on average, receive 3302 and carry 5428 bytes of file data;
//!              these send 2242, receive 3402 and carry 5461.
//! Units.       MB/s: file data read and written by all clients, in 2^20 bytes, each in its own `duration`.
//! Source.      dbench 4.0 sockio.c, tbench_srv.c `server`, client.txt of Debian's dbench 4.0-2.1.
//! Deviations.  The order of the operations is even, not that of the file. There is no warm-up: all of the run counts. A
//!              client copies what it receives, where MSG_TRUNC lets the kernel drop it.

use super::draft::{Draft, once, repeat};
use super::netperf::TCP_TASK;
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Value};
use crate::action::{Action, Launch, ObjectRef, StreamKind};
use crate::spec::{Event, Loops, Workload};

/// Operations of a round: how many, bytes sent, bytes received, bytes of file data.
const OPERATIONS: [(u32, u32, u32, u32); 18] = [
    // ReadX
    (18, 59, 4155, 4096),
    (4, 59, 61_499, 61_440),
    (1, 59, 2107, 2048),
    (1, 59, 8251, 8192),
    (3, 59, 571, 512),
    // WriteX
    (3, 65_595, 55, 65_536),
    (2, 4155, 55, 4096),
    (2, 60, 55, 1),
    (1, 2107, 55, 2048),
    (1, 8251, 55, 8192),
    // NTCreateX, QUERY_PATH_INFORMATION, Close, FIND_FIRST, Unlink
    (17, 153, 87, 0),
    (16, 135, 71, 0),
    (13, 47, 39, 0),
    (6, 114, 517, 0),
    (3, 123, 39, 0),
    // QUERY_FS_INFORMATION and QUERY_FILE_INFORMATION, SET_FILE_INFORMATION, Flush and Rename
    (6, 59, 71, 0),
    (1, 71, 47, 0),
    (2, 105, 39, 0),
];

pub(super) static INFO: Info = Info {
    name: "tbench",
    about: "clients of a file server, their network traffic only (tbench)",
    params: &[
        Param {
            name: "clients",
            default: "1",
            kind: Kind::Count(1, 10_000),
            help: "clients",
        },
        Param {
            name: "duration",
            default: "10s",
            kind: Kind::Time(1_000_000, 3_600_000_000_000),
            help: "how long each runs (-t)",
        },
    ],
    load: "clients",
    build,
};

/// The operations of a round, each kind spread evenly: the k-th of n stands at (2k + 1) / 2n of the round.
fn round() -> Vec<(u32, u32, u32)> {
    let mut operations = Vec::new();
    for (kind, &(count, sent, received, data)) in OPERATIONS.iter().enumerate() {
        for nth in 0..count {
            let place = (2 * nth + 1) * 1_000_000 / (2 * count);
            operations.push((place, kind, (sent, received, data)));
        }
    }
    operations.sort_unstable_by_key(|&(place, kind, _)| (place, kind));
    operations
        .into_iter()
        .map(|(.., operation)| operation)
        .collect()
}

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let (clients, duration) = (values.count("clients"), values.number("duration"));
    let mut draft = Draft::new();
    let listen = ObjectRef::shared(draft.streams(StreamKind::Tcp, 1));
    let first = draft.streams(StreamKind::Tcp, 2 * clients);
    let [up, down] = [0, 1].map(|way| ObjectRef::each(first + way, 2));
    let carried = draft.counter();
    let read = |stream, bytes| Event::from(Action::Read { stream, bytes });
    let write = |stream, bytes| Event::from(Action::Write { stream, bytes });
    let mut ask = Vec::new();
    let mut serve = Vec::new();
    for (sent, received, data) in round() {
        ask.extend([write(up, sent), read(down, 4), read(down, received - 4)]);
        serve.extend([read(up, 4), read(up, sent - 4), write(down, received)]);
        if data > 0 {
            let by = data;
            ask.push(
                Action::Count {
                    counter: carried,
                    by,
                }
                .into(),
            );
        }
    }
    let server = draft.child(
        "server",
        Launch::Process,
        vec![repeat("serve", Loops::Forever, serve)],
    );
    let accept = vec![read(listen, 1), Action::Create(server).into()];
    let listener = draft.child(
        "tbench_srv",
        Launch::Process,
        vec![
            repeat("accept", Loops::Times(clients), accept),
            once("stay", vec![read(listen, 1)]),
        ],
    );
    let client = draft.child(
        "client",
        Launch::Process,
        vec![
            once("connect", vec![write(listen, 1)]),
            repeat("run", Loops::For { ns: duration }, ask),
        ],
    );
    for task in [listener, server] {
        draft.background(task);
    }
    // The buffers that packets are read into and written from, of the largest packet's size at most.
    for task in [client, server] {
        draft.working_set(task, TCP_TASK + 65_595);
    }
    let start = |task| Event::from(Action::Create(task));
    draft.main(
        "tbench",
        vec![
            once("server", vec![start(listener)]),
            repeat("clients", Loops::Times(clients), vec![start(client)]),
        ],
    );
    let throughput = Metric {
        name: "Throughput",
        unit: "MB/s",
        higher_is_better: true,
        value: Value::PerSecondOf {
            amount: Amount::Counted(carried),
            seconds: duration as f64 / 1e9,
            factor: 1.0 / 1_048_576.0,
        },
    };
    (draft.finish(), vec![throughput])
}
