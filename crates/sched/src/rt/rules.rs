//! The RT class of a release: the functions in which releases differ, chosen once when a scheduler is built.

use crate::profile::Release;
use crate::rt_rq::RtRq;
use crate::sched::Sched;
use crate::task::MAX_RT_PRIO;
use crate::units::{CpuId, Nanos};

/// One release's functions.
#[derive(Debug)]
pub struct RtRules {
    /// Does an `rt_task()` run, as wakeup placement sees it? The argument is a kernel priority.
    pub(crate) is_rt_prio: fn(i32) -> bool,
    /// May other CPUs pull from this queue?
    pub(crate) is_overloaded: fn(&RtRq) -> bool,
    /// An RT task was queued.
    pub(crate) start_bandwidth: fn(&mut Sched, CpuId),
    /// RT tasks consumed CPU time.
    pub(crate) account_runtime: fn(&mut Sched, CpuId, Nanos),
    /// The timer of `StartRtTimer` fires.
    pub(crate) timer: fn(&mut Sched, CpuId),
    /// A CPU goes online; it starts with a full share.
    pub(crate) enable_runtime: fn(&mut Sched, CpuId),
    /// A CPU goes offline; it gives back what it borrowed.
    pub(crate) disable_runtime: fn(&mut Sched, CpuId),
    /// A CPU's first fair task was queued.
    pub(crate) start_fair_server: fn(&mut Sched, CpuId),
    /// The fair server's runtime is used up, and the timer for its next period would lie in the past.
    pub(crate) replenish_late_server: fn(&mut Sched, CpuId),
    /// A queued fair server counts in its CPU's `nr_running`.
    pub(crate) server_counts_as_task: bool,
    /// The fair server's first period begins when the CPU comes up, not with its first fair task.
    pub(crate) server_from_boot: bool,
}

/// 6.1: RT throttling.
static V6_1: RtRules = RtRules {
    is_rt_prio: |prio| prio < MAX_RT_PRIO,
    is_overloaded: |rt| rt.nr_migratory != 0 && rt.nr_running > 1,
    start_bandwidth: Sched::start_rt_bandwidth,
    account_runtime: Sched::account_rt_runtime,
    timer: Sched::sched_rt_period_timer,
    enable_runtime: Sched::enable_rt_runtime,
    disable_runtime: Sched::disable_rt_runtime,
    start_fair_server: |_, _| {},
    replenish_late_server: |_, _| {},
    server_counts_as_task: false,
    server_from_boot: false,
};

/// 6.12: the fair server.
const WITH_SERVER: RtRules = RtRules {
    is_rt_prio: |prio| (0..MAX_RT_PRIO).contains(&prio),
    is_overloaded: |rt| !rt.pushable.is_empty(),
    start_bandwidth: |_, _| {},
    account_runtime: |_, _, _| {},
    timer: Sched::dl_server_timer,
    enable_runtime: |_, _| {},
    disable_runtime: |_, _| {},
    start_fair_server: Sched::dl_server_start,
    replenish_late_server: Sched::replenish_and_enqueue_server,
    server_counts_as_task: true,
    server_from_boot: false,
};

static V6_12: RtRules = WITH_SERVER;

/// 6.18: a fair server that is no task.
static V6_18: RtRules = RtRules {
    replenish_late_server: Sched::begin_period_late,
    server_counts_as_task: false,
    server_from_boot: true,
    ..WITH_SERVER
};

/// The rules of a release.
pub(crate) fn rules(release: Release) -> &'static RtRules {
    match release {
        Release::V6_1 => &V6_1,
        Release::V6_12 => &V6_12,
        Release::V6_18 => &V6_18,
    }
}
