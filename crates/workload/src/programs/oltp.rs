//! A mix of database transactions: connections that query, and commits that wait for a disk.
//!
//! Model.       A client thread a connection sends the queries of a transaction one after the other and waits for each
//!              answer; a server thread a connection works on each. A transaction begins with BEGIN and ends with COMMIT, in
//!              which the server writes the log under a mutex and waits for the disk.
//! Units.       Transactions a second; the time of one in us.
//! Source.      sysbench 1.0.20 src/lua/oltp_read_write.lua: 10 point selects, 4 ranges, 4 changes between BEGIN and COMMIT;
//!              MySQL's manual: a thread a connection, a log that commits wait for.
//! Deviations.  The work of a query is a parameter, and its default is a guess: no measurement at hand. Commits are written
//!              one by one, not in groups. Rows are not locked.

use super::draft::{Draft, once, repeat};
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Value};
use crate::action::{Action, Launch, ObjectRef, Since, StreamKind};
use crate::spec::{Event, Loops, MutexId, Workload};

/// Bytes of a query, of an answer, and of the log a commit.
const QUERY: u32 = 60;
const ANSWER: u32 = 200;
const LOG: u32 = 4096;

pub(super) static INFO: Info = Info {
    name: "oltp",
    about: "database transactions: queries over Unix sockets, commits to a disk (sysbench oltp_read_write)",
    params: &[
        Param {
            name: "connections",
            default: "16",
            kind: Kind::Count(1, 10_000),
            help: "clients, each with a connection",
        },
        Param {
            name: "duration",
            default: "10s",
            kind: Kind::Time(1_000_000, 3_600_000_000_000),
            help: "how long each runs",
        },
        Param {
            name: "queries",
            default: "18",
            kind: Kind::Count(1, 1000),
            help: "queries of a transaction",
        },
        Param {
            name: "work",
            default: "50us",
            kind: Kind::Time(1, 1_000_000_000),
            help: "what the server does for a query",
        },
        Param {
            name: "working-set",
            default: "256k",
            kind: Kind::Bytes(0, 1 << 30),
            help: "bytes that a server thread keeps using",
        },
    ],
    load: "connections",
    build,
};

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let (connections, duration) = (values.count("connections"), values.number("duration"));
    let mut draft = Draft::new();
    let first = draft.streams(StreamKind::Unix, 2 * connections);
    let [up, down] = [0, 1].map(|way| ObjectRef::each(first + way, 2));
    let log = MutexId(draft.mutexes(1));
    let (done, times) = (draft.counter(), draft.latency());
    draft.slow_device();
    let ask = [
        Event::from(Action::Write {
            stream: up,
            bytes: QUERY,
        }),
        Action::Read {
            stream: down,
            bytes: ANSWER,
        }
        .into(),
    ];
    let hear = Event::from(Action::Read {
        stream: up,
        bytes: QUERY,
    });
    let answer = Event::from(Action::Write {
        stream: down,
        bytes: ANSWER,
    });
    let work = Event::from(Action::Compute {
        ns: values.number("work"),
    });
    let queries = values.count("queries") as usize;
    let mut transaction = vec![Event::from(Action::StartLap)];
    // BEGIN, the queries, COMMIT.
    transaction.extend((0..queries + 2).flat_map(|_| ask));
    transaction.push(
        Action::Record {
            into: times,
            since: Since::Lap,
        }
        .into(),
    );
    transaction.push(
        Action::Count {
            counter: done,
            by: 1,
        }
        .into(),
    );
    let mut serve = vec![hear, answer];
    serve.extend((0..queries).flat_map(|_| [hear, work, answer]));
    let commit = [
        Event::Lock(log),
        Event::IoRun { bytes: LOG },
        Event::Unlock(log),
    ];
    serve.push(hear);
    serve.extend(commit);
    serve.push(answer);
    let connection = draft.child(
        "connection",
        Launch::Thread,
        vec![repeat("transaction", Loops::Forever, serve)],
    );
    draft.working_set(connection, values.number("working-set"));
    let client = draft.child(
        "client",
        Launch::Thread,
        vec![repeat(
            "transaction",
            Loops::For { ns: duration },
            transaction,
        )],
    );
    let create = |task| {
        repeat(
            "create",
            Loops::Times(connections),
            vec![Event::from(Action::Create(task))],
        )
    };
    let server = draft.child("mysqld", Launch::Process, vec![create(connection)]);
    draft.background(server);
    draft.background(connection);
    draft.main(
        "sysbench",
        vec![
            once("server", vec![Action::Create(server).into()]),
            create(client),
        ],
    );
    let percentile = |name, percentile| Metric {
        name,
        unit: "us",
        higher_is_better: false,
        value: Value::Percentile {
            latency: times,
            percentile,
        },
    };
    let metrics = vec![
        Metric {
            name: "transactions",
            unit: "1/s",
            higher_is_better: true,
            value: Value::PerSecondOf {
                amount: Amount::Counted(done),
                seconds: duration as f64 / 1e9,
                factor: 1.0,
            },
        },
        percentile("latency median", 50.0),
        percentile("latency 95th", 95.0),
    ];
    (draft.finish(), metrics)
}
