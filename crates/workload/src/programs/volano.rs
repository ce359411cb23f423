//! VolanoMark: chat rooms, in which what one user says goes to all.
//!
//! Model.       A server and a client process, joined by a TCP connection a user. On either side each connection has a
//!              thread that reads and one that writes. A client's writer sends its messages; the server's reader puts each
//!              into the queues of all users of the room; the server's writers send what is queued to their users.
//! Units.       Messages a second that clients receive, of the whole run.
//! Source.      VolanoMark 2.5's documentation: rooms of 20 users, 100 messages each, blocking I/O, two threads a
//!              connection on either side.
//! Deviations.  What Java does between the calls is a parameter, and its default is a guess: no measurement at hand. No
//!              garbage is collected.

use super::draft::{Draft, once, repeat};
use super::netperf::TCP_TASK;
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Span, Value};
use crate::action::{Action, Launch, ObjectRef, StreamKind};
use crate::spec::{Event, Loops, Workload};

pub(super) static INFO: Info = Info {
    name: "volano",
    about: "chat rooms: threads that pass on messages over loopback TCP (VolanoMark)",
    params: &[
        Param {
            name: "rooms",
            default: "10",
            kind: Kind::Count(1, 1000),
            help: "rooms",
        },
        Param {
            name: "users",
            default: "20",
            kind: Kind::Count(1, 100),
            help: "users of a room",
        },
        Param {
            name: "messages",
            default: "100",
            kind: Kind::Count(1, 100_000),
            help: "messages of each user",
        },
        Param {
            name: "datasize",
            default: "100",
            kind: Kind::Bytes(1, 1 << 16),
            help: "bytes of a message",
        },
        Param {
            name: "work",
            default: "5us",
            kind: Kind::Time(0, 1_000_000_000),
            help: "what a thread does with a message",
        },
    ],
    load: "rooms",
    build,
};

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let (rooms, users) = (values.count("rooms"), values.count("users"));
    let (messages, bytes) = (values.count("messages"), values.count("datasize"));
    let ns = values.number("work");
    let mut draft = Draft::new();
    let nr_users = rooms * users;
    let up = ObjectRef::each(draft.streams(StreamKind::Tcp, nr_users), 1);
    let down = ObjectRef::each(draft.streams(StreamKind::Tcp, nr_users), 1);
    let queues = draft.semaphores(nr_users);
    let (start, stop) = (draft.clock(), draft.clock());
    let received = draft.counter();
    let read = |stream| Event::from(Action::Read { stream, bytes });
    let write = |stream| Event::from(Action::Write { stream, bytes });
    let work = (ns > 0).then(|| Event::from(Action::Compute { ns }));
    let working = |events: Vec<Event>| work.into_iter().chain(events).collect();
    let to_all = Loops::Times(users * messages);

    let post = |user| {
        Event::from(Action::Post(ObjectRef {
            first: queues + user,
            step: users,
            per: users,
        }))
    };
    let mut hear = vec![read(up)];
    hear.extend(work);
    hear.extend((0..users).map(post));
    let mut thread = |name: &str, loops, events| {
        draft.child(name, Launch::Thread, vec![repeat("message", loops, events)])
    };
    let server_reader = thread("server-reader", Loops::Times(messages), hear);
    let take = Event::from(Action::Take(ObjectRef::each(queues, 1)));
    let server_writer = thread("server-writer", to_all, {
        let mut events = vec![take];
        events.extend(work);
        events.push(write(down));
        events
    });
    let client_writer = thread(
        "client-writer",
        Loops::Times(messages),
        working(vec![write(up)]),
    );
    let counted = Event::from(Action::Count {
        counter: received,
        by: 1,
    });
    let client_reader = thread("client-reader", to_all, {
        let mut events = vec![read(down)];
        events.extend(work);
        events.push(counted);
        events
    });
    draft.working_set_of_all(TCP_TASK + u64::from(bytes));
    let both = |reader, writer| vec![Action::Create(reader).into(), Action::Create(writer).into()];
    let each = Loops::Times(nr_users);
    let reap = || once("join", vec![Action::Reap.into()]);
    let server = draft.child(
        "server",
        Launch::Process,
        vec![
            repeat("accept", each, both(server_reader, server_writer)),
            reap(),
        ],
    );
    let client = draft.child(
        "client",
        Launch::Process,
        vec![
            repeat("connect", each, both(client_reader, client_writer)),
            reap(),
        ],
    );
    let begin = vec![
        Action::Stamp(start).into(),
        Action::Create(server).into(),
        Action::Create(client).into(),
    ];
    draft.main(
        "volano",
        vec![
            once("begin", begin),
            once("end", vec![Action::Reap.into(), Action::Stamp(stop).into()]),
        ],
    );
    let rate = Metric {
        name: "average throughput",
        unit: "messages/s",
        higher_is_better: true,
        value: Value::PerSecond {
            amount: Amount::Counted(received),
            span: Span {
                from: start,
                to: stop,
            },
            factor: 1.0,
        },
    };
    (draft.finish(), vec![rate])
}
