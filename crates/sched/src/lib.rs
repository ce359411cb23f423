//! The Linux fair scheduler as a pure library.
//!
//! Model. One [`Sched`] is the scheduling state of one kernel. Its methods are the events a kernel's scheduler sees
//!        (a wakeup, a tick, a switch, a change of attributes); each is told the time and the CPU it happens on, changes the
//!        state, and leaves [`Effect`]s: what the surroundings must do (send an interrupt, arm a timer) and what
//!        they may want to know (a task was woken, migrated).
//! Invariants. No clock, no I/O, no thread, no randomness but a seeded generator, no hash order, no floats: equal calls
//!        give equal states on any machine.
//! Units. ns for time, 1/1024 for capacity and utilisation.
//! Source. Linux 6.1.192 (CFS), 6.12.117 and 6.18.44 (EEVDF), kernel/sched/; each module names its functions.
//! Not here. What running code does (see `workload`), what things cost (see `machine`), when calls happen (see `sim`).
//!
//! Two tasks that only compute share a CPU. The caller keeps the clock; it calls `schedule` when a reschedule is asked
//! for, and the tick 250 times a second:
//!
//! ```
//! use fairwind_sched::{CpuId, Effect, KernelProfile, Release, SchedAttr, Sched, Topology};
//!
//! let cpu = CpuId(0);
//! let profile = KernelProfile::new(Release::V6_12, 1);
//! let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
//! let [hog, nice_hog] = [0, 0].map(|now| {
//!     let task = sched.spawn(cpu, now);
//!     sched.wake_up_new_task(cpu, task, now);
//!     task
//! });
//! sched.sched_setscheduler(nice_hog, SchedAttr::normal(5), 0)?;
//! let tick = sched.tick_nsec();
//! for now in (0..2500).map(|n| n * tick) {
//!     sched.sched_tick(cpu, now);
//!     for effect in sched.effects.drain(..) {
//!         // On a machine with more CPUs this one may have to be interrupted.
//!         assert!(!matches!(effect, Effect::TtwuIpi { .. }));
//!     }
//!     if sched.rqs[cpu].need_resched {
//!         sched.schedule(cpu, now, true);
//!     }
//! }
//! let ran = |task| sched.ses[sched.tasks[task].se].sum_exec_runtime;
//! // 10 s by the weights of nice 0 and nice 5: 1024 and 335.
//! assert!(ran(hog).abs_diff(10_000_000_000 * 1024 / 1359) < 10 * tick);
//! # Ok::<(), fairwind_sched::InvalidAttr>(())
//! ```
#![no_std]
extern crate alloc;

pub mod attributes;
pub mod balance;
pub mod cfs_rq;
mod cfs_tasks;
pub mod cgroup;
pub mod cpumask;
pub mod domain;
pub mod effects;
pub mod entity;
pub mod features;
pub mod flags;
pub mod group;
mod group_rows;
pub mod interleave;
pub mod levels;
pub mod nohz;
pub mod pelt;
pub mod probe;
pub mod profile;
pub mod replay;
pub mod rq;
pub mod rt;
pub mod rt_rq;
pub mod search_stats;
pub mod table;
pub mod task;
pub mod timeline;
pub mod topology;
pub mod units;

mod bandwidth;
mod cache_hot;
mod cfs;
mod core;
mod eevdf;
mod empty_cfs_rq;
mod fair;
mod fair_class;
mod flat;
mod fork;
mod hotplug;
mod idle_scan;
mod leaf;
mod load;
mod sched;
mod schedule;
mod ttwu;
mod wake_queued;
mod wakeup;

pub use attributes::{InvalidAttr, NoCpu, SchedAttr};
pub use cgroup::{BandwidthLimit, GroupError};
pub use cpumask::CpuMask;
pub use effects::Effect;
pub use features::{FEATURES, Feature, Features};
pub use hotplug::HotplugError;
pub use interleave::BwInterleave;
pub use profile::{KernelProfile, Preempt, Release, TUNABLES, TunableError};
pub use sched::Sched;
pub use schedule::Switch;
pub use task::{Policy, TaskState};
pub use topology::{CpuPlace, Topology};
pub use ttwu::WakingTask;
pub use units::{CfsRqId, CpuId, GroupId, Nanos, SeId, TaskId};
