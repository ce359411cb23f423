//! httperf --wsess against a web server over loopback TCP.
//!
//! Model.       One client process works through sessions, one after the other. A session is one connection, and its calls
//!              come in bursts: the first call of a burst alone, and when that is answered the others back to back, which
//!              are then answered in order. Of the server's processes each serves every `workers`th session.
//! Units.       Replies a second; the time of a reply in us.
//! Source.      httperf(1) `--wsess=N1,N2,X` and `--burst-length`; src/gen/wsess.c of httperf 0.9.0.
//! Deviations.  A connection is opened by its first request. Client and server are on one machine. The work of a request is
//!              a parameter, and its default is a guess: no measurement at hand.

use super::draft::{Draft, once, repeat};
use super::netperf::TCP_TASK;
use super::params::{Kind, Param, Values};
use super::{Amount, Info, Metric, Span, Value};
use crate::action::{Action, Launch, ObjectRef, Since, StreamKind};
use crate::spec::{Event, Loops, Phase, Workload};

pub(super) static INFO: Info = Info {
    name: "httperf",
    about: "sessions of requests to a web server, in bursts (httperf --wsess)",
    params: &[
        Param {
            name: "sessions",
            default: "100",
            kind: Kind::Count(1, 1_000_000),
            help: "sessions (--wsess=N1)",
        },
        Param {
            name: "calls",
            default: "500",
            kind: Kind::Count(1, 1_000_000),
            help: "calls of a session (--wsess=N2)",
        },
        Param {
            name: "burst",
            default: "100",
            kind: Kind::Count(1, 1000),
            help: "calls of a burst (--burst-length)",
        },
        Param {
            name: "think",
            default: "0us",
            kind: Kind::Time(0, 4_000_000_000_000),
            help: "time between two bursts (--wsess=X)",
        },
        Param {
            name: "workers",
            default: "8",
            kind: Kind::Count(1, 1000),
            help: "processes of the server",
        },
        Param {
            name: "work",
            default: "50us",
            kind: Kind::Time(0, 1_000_000_000),
            help: "what the server does for a call",
        },
        Param {
            name: "reply",
            default: "4k",
            kind: Kind::Bytes(1, 1 << 24),
            help: "bytes of a reply",
        },
    ],
    load: "sessions",
    build,
};

/// Bytes of a request.
const REQUEST: u32 = 70;

fn build(values: &Values) -> (Workload, Vec<Metric>) {
    let (sessions, calls) = (values.count("sessions"), values.count("calls"));
    let (burst, reply) = (values.count("burst").min(calls), values.count("reply"));
    let workers = values.count("workers").min(sessions);
    let mut draft = Draft::new();
    let up = draft.streams(StreamKind::Tcp, workers);
    let down = draft.streams(StreamKind::Tcp, workers);
    let (start, stop) = (draft.clock(), draft.clock());
    let (replies, times) = (draft.counter(), draft.latency());
    let ask = |stream| {
        Event::from(Action::Write {
            stream,
            bytes: REQUEST,
        })
    };
    let mut serve = vec![Event::from(Action::Read {
        stream: ObjectRef::each(up, 1),
        bytes: REQUEST,
    })];
    if values.number("work") > 0 {
        let ns = values.number("work");
        serve.push(Action::Compute { ns }.into());
    }
    serve.push(
        Action::Write {
            stream: ObjectRef::each(down, 1),
            bytes: reply,
        }
        .into(),
    );
    let server = draft.child(
        "server",
        Launch::Process,
        vec![repeat("serve", Loops::Forever, serve)],
    );
    draft.background(server);
    draft.working_set(server, TCP_TASK + u64::from(reply));

    let answer = |stream| {
        [
            Event::from(Action::Read {
                stream,
                bytes: reply,
            }),
            Action::Record {
                into: times,
                since: Since::Lap,
            }
            .into(),
            Action::Count {
                counter: replies,
                by: 1,
            }
            .into(),
        ]
    };
    // A burst of so many calls over a worker's connection.
    let burst_of = |worker: u32, calls: u32| {
        let (up, down) = (
            ObjectRef::shared(up + worker),
            ObjectRef::shared(down + worker),
        );
        let mut events = vec![Action::StartLap.into(), ask(up)];
        events.extend(answer(down));
        if calls > 1 {
            events.push(Action::StartLap.into());
            events.extend((1..calls).map(|_| ask(up)));
            events.extend((1..calls).flat_map(|_| answer(down)));
        }
        let us = (values.number("think") / 1000) as u32;
        if us > 0 {
            events.push(Event::Sleep { us });
        }
        events
    };
    let session = |worker: u32| -> Vec<Phase> {
        let mut phases = vec![repeat(
            &format!("bursts{worker}"),
            Loops::Times(calls / burst),
            burst_of(worker, burst),
        )];
        if !calls.is_multiple_of(burst) {
            phases.push(once(
                &format!("rest{worker}"),
                burst_of(worker, calls % burst),
            ));
        }
        phases
    };
    // As many whole turns through the workers as there are sessions for, and then the rest.
    let turn: Vec<Phase> = (0..workers).flat_map(&session).collect();
    let client = draft.child("httperf", Launch::Process, turn);
    draft.repeat_task(client, Loops::Times(sessions / workers));
    draft.working_set(client, TCP_TASK + u64::from(reply));
    let rest: Vec<Phase> = (0..sessions % workers).flat_map(&session).collect();
    let daemon = draft.child(
        "httpd",
        Launch::Process,
        vec![repeat(
            "servers",
            Loops::Times(workers),
            vec![Action::Create(server).into()],
        )],
    );
    let begin = vec![
        Action::Create(daemon).into(),
        Action::Reap.into(),
        Action::Stamp(start).into(),
        Action::Create(client).into(),
    ];
    let mut phases = vec![once("begin", begin)];
    if !rest.is_empty() {
        let last = draft.child("httperf-rest", Launch::Process, rest);
        phases.push(once(
            "wait",
            vec![Action::Reap.into(), Action::Create(last).into()],
        ));
    }
    phases.push(once(
        "end",
        vec![Action::Reap.into(), Action::Stamp(stop).into()],
    ));
    draft.main("script", phases);
    let span = Span {
        from: start,
        to: stop,
    };
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
            name: "reply rate",
            unit: "replies/s",
            higher_is_better: true,
            value: Value::PerSecond {
                amount: Amount::Counted(replies),
                span,
                factor: 1.0,
            },
        },
        percentile("reply time median", 50.0),
        percentile("reply time 99th", 99.0),
    ];
    (draft.finish(), metrics)
}
