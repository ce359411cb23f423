//! dbench: the file operations of a file server's clients, on a local file system, with the kernel's lock that all share.
//!
//! Model.       Each client is a process that goes through a list of 100 operations in the proportions, and with the usual
//!              sizes, of client.txt. An operation takes work of its own and copies its data; one that creates, looks up,
//!              writes or removes holds a spinlock that all clients share for a while.
//! Units.       MB/s: file data read and written by all clients, in 2^20 bytes, each in its own `duration`.
//! Source.      dbench 4.0 client.txt of Debian's dbench 4.0-2.1.
//! Deviations.  What an operation and its share of the lock take are parameters, and their defaults are guesses: no
//!              measurement at hand. Data is copied at 4 bytes a ns. All locks of a file system are one. Nothing waits for a
//!              disk.

use super::draft::{Draft, once, repeat};
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Value};
use crate::action::{Action, Launch};
use crate::spec::{Event, Loops, SpinlockId, Workload};

/// Operations of a round: how many, bytes of file data, and whether they take the lock.
const OPERATIONS: [(u32, u32, bool); 12] = [
    // ReadX
    (18, 4096, false),
    (4, 61_440, false),
    (2, 2048, false),
    (3, 512, false),
    // WriteX
    (3, 65_536, true),
    (4, 4096, true),
    (2, 1, true),
    // NTCreateX, QUERY_PATH_INFORMATION, Close, FIND_FIRST and Unlink, QUERY_FS_INFORMATION and the rest
    (17, 0, true),
    (16, 0, true),
    (13, 0, true),
    (9, 0, true),
    (9, 0, false),
];

pub(super) static INFO: Info = Info {
    name: "dbench",
    about: "clients of a file server, their file operations only (dbench)",
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
        Param {
            name: "work",
            default: "5us",
            kind: Kind::Time(1, 1_000_000_000),
            help: "what an operation does outside the lock",
        },
        Param {
            name: "hold",
            default: "1us",
            kind: Kind::Time(1, 1_000_000_000),
            help: "how long an operation holds the lock",
        },
    ],
    load: "clients",
    build,
};

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let (clients, duration) = (values.count("clients"), values.number("duration"));
    let (work, hold) = (values.number("work"), values.number("hold"));
    let mut draft = Draft::new();
    let lock = SpinlockId(draft.spinlock("file system"));
    let carried = draft.counter();
    let mut round: Vec<(u32, u32, bool)> = Vec::new();
    // Each kind spread evenly: the k-th of n stands at (2k + 1) / 2n of the round.
    for &(count, bytes, locks) in &OPERATIONS {
        let place = |nth| (2 * nth + 1) * 1_000_000 / (2 * count);
        round.extend((0..count).map(|nth| (place(nth), bytes, locks)));
    }
    round.sort_by_key(|&(place, ..)| place);
    let mut events = Vec::new();
    for (_, bytes, locks) in round {
        let ns = work + u64::from(bytes) / 4;
        events.push(Event::from(Action::Compute { ns }));
        if locks {
            events.push(Event::SpinLock(lock));
            events.push(Action::Compute { ns: hold }.into());
            events.push(Event::SpinUnlock(lock));
        }
        if bytes > 0 {
            let counter = carried;
            events.push(Action::Count { counter, by: bytes }.into());
        }
    }
    let client = draft.child(
        "client",
        Launch::Process,
        vec![repeat("run", Loops::For { ns: duration }, events)],
    );
    draft.main(
        "dbench",
        vec![
            repeat(
                "clients",
                Loops::Times(clients),
                vec![Action::Create(client).into()],
            ),
            once("wait", vec![Action::Reap.into()]),
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
