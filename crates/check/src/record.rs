//! What a recording says, event by event, in the terms the check needs.
//!
//! Model.    Tracepoints and probes of any trace format become [`Record`]s; the others are left out.
//! Source.   include/trace/events/sched.h and cgroup.h @ 6.1, 6.12; the probes are function entries
//!           with the entity's fields: `place_entity`, `set_next_entity`, `put_prev_entity`; see
//!           `fairwind_sched::probe` for the fields. `set_shares` is the entry of `sched_group_set_shares`.
//! Not here. What follows from an event: see [`follow`](crate::follow).

use crate::possible;
use fairwind_sched::TaskState;
use fairwind_sched::probe::{NOTHING_SHOWN, ProbeField, ProbePoint, ProbeValues};
use fairwind_trace::read::ReadStats;
use fairwind_trace::{EventFormat, RawEvent, TraceFile};
use std::collections::BTreeSet;

const NEED_RESCHED: u8 = 4;
const HARDIRQ: u8 = 8;
const SOFTIRQ: u8 = 16;
/// The half of the count that is about preemption, rather than migration.
const PREEMPT_DEPTH: u8 = 15;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Trace clock, ns.
    pub(crate) ts: u64,
    /// The CPU that executed it.
    pub(crate) cpu: u32,
    /// The thread that ran there; 0: none, or not told.
    pub(crate) pid: i32,
    /// In a hardware or software interrupt.
    pub(crate) irq: bool,
    /// In a softirq, and in no hardware interrupt on top of it.
    pub(crate) softirq: bool,
    /// In a hardware interrupt on top of a softirq.
    pub(crate) interrupts_softirq: bool,
    /// The running task had been asked to reschedule.
    pub(crate) need_resched: bool,
    /// How many reasons there were not to preempt it: locks held, say.
    pub(crate) preempt_depth: u8,
    /// What happened.
    pub(crate) what: What,
}

impl Record {
    /// An event outside interrupts, of a task that nothing keeps from being preempted and that has not been asked to
    /// reschedule.
    pub(crate) fn of_task(ts: u64, cpu: u32, what: What) -> Record {
        Record {
            ts,
            cpu,
            pid: 0,
            irq: false,
            softirq: false,
            interrupts_softirq: false,
            need_resched: false,
            preempt_depth: 0,
            what,
        }
    }

    /// A probe that shows nothing but its flags.
    #[cfg(test)]
    pub(crate) fn of_probe(cpu: u32, point: ProbePoint, flags: Option<u64>) -> Record {
        let probe = What::Probe {
            point,
            address: 1,
            values: Box::new(NOTHING_SHOWN),
            flags,
            clock: None,
        };
        Record::of_task(0, cpu, probe)
    }

    /// In which kinds of interrupts it was written.
    pub(crate) fn context(&self) -> (bool, bool, bool) {
        (self.irq, self.softirq, self.interrupts_softirq)
    }

    /// Was it written in a hardware interrupt?
    pub(crate) fn hardirq(&self) -> bool {
        self.irq && !self.softirq
    }
}

/// A task as `sched_switch` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Party {
    pub(crate) pid: i32,
    pub(crate) comm: String,
    pub(crate) prio: i32,
}

#[cfg(test)]
impl Party {
    /// One without a name, of nice level 0.
    pub(crate) fn of(pid: i32) -> Party {
        Party {
            pid,
            comm: String::new(),
            prio: 120,
        }
    }
}

/// What the task that is switched away from does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrevState {
    Runnable,
    Interruptible,
    Uninterruptible,
    /// Or traced, or parked.
    Stopped,
    Dead,
}

impl PrevState {
    pub(crate) fn task_state(self) -> TaskState {
        match self {
            PrevState::Runnable => TaskState::Running,
            PrevState::Interruptible => TaskState::Interruptible,
            PrevState::Uninterruptible => TaskState::Uninterruptible,
            PrevState::Stopped => TaskState::Stopped,
            PrevState::Dead => TaskState::Dead,
        }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Switch {
        prev: Party,
        prev_state: PrevState,
        next: Party,
    },
    Waking {
        pid: i32,
        comm: String,
        prio: i32,
        /// Where the task slept: the choice is still to come.
        slept_on: u32,
    },
    Wakeup {
        pid: i32,
        prio: i32,
        target: u32,
    },
    WakeupNew {
        pid: i32,
        prio: i32,
        target: u32,
    },
    Migrate {
        pid: i32,
        orig: u32,
        dest: u32,
    },
    Fork {
        parent: i32,
        child: i32,
        comm: String,
    },
    Runtime {
        pid: i32,
        runtime: u64,
        vruntime: Option<u64>,
    },
    Mkdir {
        /// The number of the hierarchy.
        root: u64,
        /// That of the group in it.
        id: u64,
        path: String,
    },
    /// A group gets another weight.
    SetShares {
        /// The group's number.
        id: u64,
        /// `cpu.shares`, scaled as weights of entities are.
        shares: u64,
    },
    Attach {
        pid: i32,
        /// The number of the hierarchy.
        root: u64,
        path: String,
    },
    Exit {
        pid: i32,
    },
    /// A timer interrupt begins: what has expired on this CPU follows, a tick perhaps.
    Timer,
    /// What a probe shows of an entity, which is named by its address.
    Probe {
        point: ProbePoint,
        address: u64,
        values: Box<ProbeValues>,
        /// `ENQUEUE_*`, where the probe tells them.
        flags: Option<u64>,
        /// The queue's clock (`cfs_rq->rq->clock`), where it tells that.
        clock: Option<u64>,
    },
}

impl What {
    /// The probe that it is.
    pub(crate) fn probed(&self) -> Option<ProbePoint> {
        match self {
            What::Probe { point, .. } => Some(*point),
            _ => None,
        }
    }

    /// Is it a probe of the entity itself, rather than one of its queue only?
    pub(crate) fn shows_entity(&self) -> bool {
        match self {
            What::Probe { values, .. } => values[ProbeField::Vruntime as usize].is_some(),
            _ => false,
        }
    }

    /// Does it change who is queued or runs where?
    pub(crate) fn changes_queues(&self) -> bool {
        matches!(
            self,
            What::Switch { .. }
                | What::Wakeup { .. }
                | What::WakeupNew { .. }
                | What::Migrate { .. }
        )
    }

    /// Is it part of a call that a later record of its CPU ends?
    pub(crate) fn is_inside(&self) -> bool {
        matches!(
            self,
            What::Migrate { .. } | What::Runtime { .. } | What::Probe { .. }
        )
    }
}

/// What a trace has of use.
#[derive(Debug)]
pub(crate) struct Events {
    /// By time.
    pub(crate) records: Vec<Record>,
    /// The names of the events that occur.
    pub(crate) seen: BTreeSet<String>,
    /// What was lost, and what could not be read.
    pub(crate) stats: ReadStats,
}

/// Reads the records of a trace of a machine with so many CPUs.
pub(crate) fn read(trace: &TraceFile, nr_cpus: usize) -> Events {
    let formats = trace.formats();
    let mut events = trace.events();
    let mut ids = BTreeSet::new();
    let mut records = Vec::new();
    for event in events.by_ref() {
        if let Some(record) = record(formats.get(event.event), &event) {
            ids.insert(event.event);
            records.push(record);
        }
    }
    let mut stats = events.stats();
    stats.impossible(possible::retain(&mut records, nr_cpus));
    Events {
        records,
        seen: ids.iter().map(|id| formats.get(*id).name.clone()).collect(),
        stats,
    }
}

fn record(format: &EventFormat, event: &RawEvent<'_>) -> Option<Record> {
    let what = what(&format.name, &Fields { format, event })?;
    Some(Record {
        ts: event.ts,
        cpu: event.cpu,
        pid: event.common_pid,
        irq: event.flags & (HARDIRQ | SOFTIRQ) != 0,
        softirq: event.flags & (HARDIRQ | SOFTIRQ) == SOFTIRQ,
        interrupts_softirq: event.flags & (HARDIRQ | SOFTIRQ) == HARDIRQ | SOFTIRQ,
        need_resched: event.flags & NEED_RESCHED != 0,
        preempt_depth: event.preempt_count & PREEMPT_DEPTH,
        what,
    })
}

struct Fields<'a> {
    format: &'a EventFormat,
    event: &'a RawEvent<'a>,
}

impl Fields<'_> {
    fn int(&self, name: &str) -> Option<i64> {
        self.format.field(name).map(|field| self.event.int(field))
    }

    fn uint(&self, name: &str) -> Option<u64> {
        self.int(name).map(i64::cast_unsigned)
    }

    fn pid(&self, name: &str) -> Option<i32> {
        self.int(name).and_then(|value| i32::try_from(value).ok())
    }

    fn cpu(&self, name: &str) -> Option<u32> {
        self.int(name).and_then(|value| u32::try_from(value).ok())
    }

    fn text(&self, name: &str) -> Option<String> {
        self.format
            .field(name)
            .map(|field| self.event.str(field).to_owned())
    }

    /// A probe's name begins with that of its function, and what follows is up to who defined it.
    fn probe(&self, name: &str) -> Option<What> {
        let point = match name {
            _ if name.starts_with("place_") => ProbePoint::PlaceEntity,
            _ if name.starts_with("set_next_") => ProbePoint::SetNextEntity,
            _ if name.starts_with("put_prev_") => ProbePoint::PutPrevEntity,
            _ => return None,
        };
        let mut values = Box::new(NOTHING_SHOWN);
        for (value, field) in values.iter_mut().zip(ProbeField::ALL) {
            *value = self.uint(field.name());
        }
        let address = self.uint("se")?;
        let flags = self.uint("flags");
        let clock = self.uint("clock");
        Some(What::Probe {
            point,
            address,
            values,
            flags,
            clock,
        })
    }

    fn prev_state(&self) -> Option<PrevState> {
        const UNINTERRUPTIBLE: i64 = 2;
        const STOPPED: i64 = 4 | 8 | 0x40;
        const DEAD: i64 = 0x10 | 0x20;
        const ASLEEP: i64 = 0xff;
        let field = self.format.field("prev_state")?;
        if field.is_string() {
            let text = self.event.str(field);
            return Some(match text.as_bytes().first()? {
                b'R' => PrevState::Runnable,
                b'X' | b'Z' => PrevState::Dead,
                b'D' => PrevState::Uninterruptible,
                b'T' | b't' | b'P' | b'x' => PrevState::Stopped,
                _ => PrevState::Interruptible,
            });
        }
        let state = self.event.int(field);
        Some(match state & ASLEEP {
            0 => PrevState::Runnable,
            bits if bits & DEAD != 0 => PrevState::Dead,
            bits if bits & UNINTERRUPTIBLE != 0 => PrevState::Uninterruptible,
            bits if bits & STOPPED != 0 => PrevState::Stopped,
            _ => PrevState::Interruptible,
        })
    }

    fn party(&self, comm: &str, pid: &str, prio: &str) -> Option<Party> {
        Some(Party {
            pid: self.pid(pid)?,
            comm: self.text(comm)?,
            prio: self.pid(prio)?,
        })
    }
}

fn what(name: &str, f: &Fields<'_>) -> Option<What> {
    Some(match name {
        "sched_switch" => What::Switch {
            prev: f.party("prev_comm", "prev_pid", "prev_prio")?,
            prev_state: f.prev_state()?,
            next: f.party("next_comm", "next_pid", "next_prio")?,
        },
        "sched_waking" => What::Waking {
            pid: f.pid("pid")?,
            comm: f.text("comm")?,
            prio: f.pid("prio")?,
            slept_on: f.cpu("target_cpu")?,
        },
        "sched_wakeup" => What::Wakeup {
            pid: f.pid("pid")?,
            prio: f.pid("prio")?,
            target: f.cpu("target_cpu")?,
        },
        "sched_wakeup_new" => What::WakeupNew {
            pid: f.pid("pid")?,
            prio: f.pid("prio")?,
            target: f.cpu("target_cpu")?,
        },
        "sched_migrate_task" => What::Migrate {
            pid: f.pid("pid")?,
            orig: f.cpu("orig_cpu")?,
            dest: f.cpu("dest_cpu")?,
        },
        "sched_process_fork" => What::Fork {
            parent: f.pid("parent_pid")?,
            child: f.pid("child_pid")?,
            comm: f.text("child_comm")?,
        },
        "sched_stat_runtime" => What::Runtime {
            pid: f.pid("pid")?,
            runtime: f.uint("runtime")?,
            // 6.12 does not tell it, which text shows as 0.
            vruntime: f.uint("vruntime").filter(|&vruntime| vruntime != 0),
        },
        "cgroup_mkdir" => What::Mkdir {
            root: f.uint("root").unwrap_or(0),
            id: f.uint("id").unwrap_or(0),
            path: f.text("path")?,
        },
        "set_shares" => What::SetShares {
            id: f.uint("id")?,
            shares: f.uint("shares")?,
        },
        "cgroup_attach_task" => What::Attach {
            pid: f.pid("pid")?,
            root: f.uint("dst_root").unwrap_or(0),
            path: f.text("dst_path")?,
        },
        "sched_process_exit" => What::Exit { pid: f.pid("pid")? },
        "local_timer_entry" => What::Timer,
        _ => return f.probe(name),
    })
}
