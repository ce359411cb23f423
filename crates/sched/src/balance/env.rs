//! What one balancing pass carries with it; the kernel's `lb_env`.

use crate::cpumask::CpuMask;
use crate::domain::{SdId, SgId};
use crate::units::{CpuId, TaskId};
use alloc::vec::Vec;

/// In what state the CPU is that balances; the kernel's `cpu_idle_type`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CpuIdleType {
    /// It runs something.
    NotIdle,
    /// It is idle.
    Idle,
    /// It is about to become idle.
    NewlyIdle,
}

/// What a pass counts while it moves tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MigrationType {
    /// Load average.
    Load,
    /// Utilisation.
    Util,
    /// Tasks.
    Task,
    /// A task too big for its CPU.
    Misfit,
}

/// No task seen so far may run on the destination.
pub(super) const LBF_ALL_PINNED: u32 = 0x01;
/// Enough tasks were looked at in one go; more may follow.
pub(super) const LBF_NEED_BREAK: u32 = 0x02;
/// A task may not run on the destination, but on another CPU of its group.
pub(super) const LBF_DST_PINNED: u32 = 0x04;
/// Some task may not run on the destination.
pub(super) const LBF_SOME_PINNED: u32 = 0x08;
/// The running task is pushed.
pub(super) const LBF_ACTIVE_LB: u32 = 0x10;

/// Tasks looked at in one go, with interrupts off.
pub(super) const SCHED_NR_MIGRATE_BREAK: u32 = 32;

pub(super) struct LbEnv {
    pub(super) sd: SdId,
    pub(super) src_cpu: CpuId,
    pub(super) dst_cpu: CpuId,
    /// Where to try next, after `LBF_DST_PINNED`.
    pub(super) new_dst_cpu: CpuId,
    /// The siblings of `dst_cpu` are idle.
    pub(super) dst_core_idle: bool,
    /// The group whose balance mask holds the other possible destinations.
    pub(super) dst_group: SgId,
    pub(super) idle: CpuIdleType,
    /// How much to move, in the unit of `migration_type`; signed as the kernel's `long`.
    pub(super) imbalance: i64,
    pub(super) migration_type: MigrationType,
    /// The CPUs still in question.
    pub(super) cpus: CpuMask,
    pub(super) flags: u32,
    /// LB_COLD_FIRST: cache-hot tasks are not moved yet.
    pub(super) cold_only: bool,
    pub(super) nr_looked_at: u32,
    pub(super) loop_break: u32,
    pub(super) loop_max: u32,
    /// Detached and not yet attached; the last one comes first.
    pub(super) tasks: Vec<TaskId>,
}

impl LbEnv {
    pub(super) fn new(sd: SdId, dst_group: SgId, dst_cpu: CpuId, idle: CpuIdleType) -> LbEnv {
        LbEnv {
            sd,
            src_cpu: CpuId::NONE,
            dst_cpu,
            new_dst_cpu: CpuId::NONE,
            dst_core_idle: false,
            dst_group,
            idle,
            imbalance: 0,
            migration_type: MigrationType::Load,
            cpus: CpuMask::default(),
            flags: 0,
            cold_only: false,
            nr_looked_at: 0,
            loop_break: SCHED_NR_MIGRATE_BREAK,
            loop_max: 0,
            tasks: Vec::new(),
        }
    }

    /// Idle or about to be.
    pub(super) fn is_idle(&self) -> bool {
        self.idle != CpuIdleType::NotIdle
    }

    /// Starts to count looked-at tasks anew.
    pub(super) fn restart_loop(&mut self) {
        self.nr_looked_at = 0;
        self.loop_break = SCHED_NR_MIGRATE_BREAK;
    }
}
