//! Scheduler features: switches with the kernel's `sched_features` names, and changes that were published for it.
//!
//! Model.  The table has two parts: the switches of the release's own debugfs, and others. What of these the stock kernel
//!         has is on by default (FAIR_GROUP_SCHED, which a kernel is built with, and what KVM and yield_to came to do), all
//!         else off, so that the default is always the stock kernel. Adding one takes a line; the code asks `features.has(Feature::NAME)`.
//! Source. kernel/sched/features.h @ 6.1.192, 6.12.117, 6.18.44.

use crate::profile::Release;

macro_rules! features {
    ($($origin:ident { $($name:ident, $v6_1:expr, $v6_12:expr, $v6_18:expr, $doc:literal;)* })*) => {
        /// A switch; names are the kernel's.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Feature { $($(#[doc = $doc] $name,)*)* }

        /// Every feature with its name, its default per release (`None`: not in that release) and one line of help.
        pub const FEATURES: &[FeatureInfo] = &[$($(FeatureInfo {
            feature: Feature::$name,
            name: stringify!($name),
            origin: Origin::$origin,
            defaults: [$v6_1, $v6_12, $v6_18],
            help: $doc,
        },)*)*];
    };
}

/// Where a feature comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The release's own: its debugfs lists it.
    Kernel,
    /// A change to the kernel, or a part that kernels can be built without.
    Change,
}

/// A row of [`FEATURES`].
#[derive(Clone, Copy, Debug)]
pub struct FeatureInfo {
    /// The switch.
    pub feature: Feature,
    /// Its name, in debugfs too where the kernel has it.
    pub name: &'static str,
    /// Where it comes from.
    pub origin: Origin,
    /// Its default in each release, in their order; `None`: not there.
    pub defaults: [Option<bool>; Release::ALL.len()],
    /// What it does, one line.
    pub help: &'static str,
}

impl FeatureInfo {
    /// Its default in a release; `None` if it does not exist there.
    pub fn default_in(&self, release: Release) -> Option<bool> {
        self.defaults[release as usize]
    }
}

/// Those that only act where there are virtual machines.
pub const GUEST_FEATURES: &[Feature] = &[
    Feature::PLE,
    Feature::YIELD_TO_READY,
    Feature::YIELD_TO_NR_RUNNING,
    Feature::YIELD_TO_SKIP_GUEST_MODE,
    Feature::YIELD_TO_LOCKLESS_CHECK,
    Feature::YIELD_TO_SKIP_YIELDING,
    Feature::YIELD_TO_SKIP_HOST_MODE,
    Feature::TICKET_SPINLOCKS,
];

const ON: Option<bool> = Some(true);
const OFF: Option<bool> = Some(false);

features! {
    Kernel {
        GENTLE_FAIR_SLEEPERS, ON, None, None, "halve the credit a waking sleeper gets";
        START_DEBIT, ON, None, None, "a new task starts one virtual slice late";
        PLACE_LAG, None, ON, ON, "a task keeps the lag it went to sleep with";
        PLACE_DEADLINE_INITIAL, None, ON, ON, "a new task's first deadline is half a slice away";
        PLACE_REL_DEADLINE, None, ON, ON, "a migrating task keeps the rest of its deadline";
        RUN_TO_PARITY, None, ON, ON, "the running task keeps the CPU until its slice is used up";
        PREEMPT_SHORT, None, ON, ON, "a shorter slice may cut RUN_TO_PARITY short";
        NEXT_BUDDY, OFF, OFF, OFF, "prefer the task that was woken last";
        LAST_BUDDY, ON, None, None, "prefer the task that was preempted by a wakeup";
        PICK_BUDDY, None, ON, ON, "pick cfs_rq->next if it is eligible";
        CACHE_HOT_BUDDY, ON, ON, ON, "buddies count as cache hot in load balancing";
        DELAY_DEQUEUE, None, ON, ON, "a task that sleeps with negative lag stays queued until it is eligible";
        DELAY_ZERO, None, ON, ON, "a delayed task does not keep positive lag";
        WAKEUP_PREEMPTION, ON, ON, ON, "a waking task may preempt the running one";
        HRTICK, OFF, OFF, OFF, "end slices by a high-resolution timer";
        HRTICK_DL, OFF, OFF, OFF, "as HRTICK, for deadline tasks";
        DOUBLE_TICK, OFF, OFF, None, "let the tick act while an hrtick is armed";
        NONTASK_CAPACITY, ON, ON, ON, "interrupt and steal time reduce a CPU's capacity";
        TTWU_QUEUE, ON, ON, ON, "queue remote wakeups on the target CPU by an interrupt";
        SIS_PROP, OFF, None, None, "bound the idle-CPU search by average idle time";
        SIS_UTIL, ON, ON, ON, "bound the idle-CPU search by the LLC's utilisation";
        WARN_DOUBLE_CLOCK, OFF, OFF, OFF, "no effect here: a debugging aid of the kernel";
        RT_PUSH_IPI, OFF, OFF, OFF, "pull RT tasks by a chain of interrupts instead of locking all queues";
        RT_RUNTIME_SHARE, OFF, OFF, OFF, "RT queues borrow runtime from each other";
        LB_MIN, OFF, OFF, OFF, "balancing ignores tasks with load below 16";
        ATTACH_AGE_LOAD, ON, ON, ON, "age the load of a task that changes its queue";
        WA_IDLE, ON, ON, ON, "wake_affine looks for an idle CPU";
        WA_WEIGHT, ON, ON, ON, "wake_affine compares the loads of the two CPUs";
        WA_BIAS, ON, ON, ON, "wake_affine favours the previous CPU a little";
        UTIL_EST, ON, ON, ON, "estimate utilisation from past activations";
        UTIL_EST_FASTUP, ON, None, None, "the estimate follows increases at once";
        LATENCY_WARN, OFF, OFF, OFF, "no effect here: a debugging aid of the kernel";
        NI_RANDOM, ON, ON, ON, "try newly idle balancing in proportion to its past success";
        ALT_PERIOD, ON, None, None, "the period counts all tasks below the root, not this queue's entities";
        BASE_SLICE, ON, None, None, "a slice is never below the minimum granularity";
    }
    Change {
        PLE, ON, ON, ON, "vCPUs that spin for their whole window exit (kvm's ple_gap); off: they spin on";
        YIELD_TO_READY, ON, ON, ON, "a spinning vCPU looks whether another waits for a CPU, in its kernel, before it yields to it";
        YIELD_TO_NR_RUNNING, ON, ON, ON, "a directed yield gives up early where both queues hold one task only";
        YIELD_TO_SKIP_GUEST_MODE, OFF, OFF, OFF, "a spinning vCPU passes over those in guest mode (in 3.6, before YIELD_TO_READY)";
        YIELD_TO_LOCKLESS_CHECK, OFF, OFF, OFF, "a directed yield looks whether its target waits before it locks the queues";
        YIELD_TO_SKIP_YIELDING, OFF, OFF, OFF, "a spinning vCPU passes over those whose queue another directed yield has locked";
        YIELD_TO_SKIP_HOST_MODE, OFF, OFF, OFF, "a spinning vCPU passes over those whose CPU is not in guest mode";
        TICKET_SPINLOCKS, OFF, OFF, OFF, "directed yields find ticket locks on the run queues, not queued ones (before 4.2)";
        FAIR_GROUP_SCHED, ON, ON, ON, "groups compete with each other (CONFIG_FAIR_GROUP_SCHED); off: all tasks as in the root";
        FLAT_GROUPS, OFF, OFF, OFF, "two levels for the scheduler, however deep the group tree: depth goes into the weights";
        LB_COLD_FIRST, OFF, OFF, OFF, "when balancing may move cache-hot tasks, cold ones go first";
        SPARSE_GROUP_TICK, OFF, OFF, OFF, "the tick works half as often at each level further from the task";
        SIS_CACHE, OFF, OFF, OFF, "leave a CPU to the task that sleeps there for a moment";
        SIS_EMPTY_CFS_RQ, OFF, OFF, OFF, "where no CPU is idle, a waking task goes where its group has none";
        WA_QUEUED_WEIGHT, OFF, OFF, OFF, "wake_affine compares the weights of the tasks queued on the two CPUs, in groups or not (2.6.22)";
    }
}

/// Which features are on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features(u64);

impl Features {
    /// The defaults of a release.
    pub fn defaults(release: Release) -> Self {
        let mut features = Features(0);
        for info in FEATURES {
            features.set(info.feature, info.default_in(release) == Some(true));
        }
        features
    }

    /// Is it on?
    #[inline(always)]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 >> (feature as u8) & 1 != 0
    }

    /// Switches it.
    pub fn set(&mut self, feature: Feature, on: bool) {
        let bit = 1 << (feature as u8);
        self.0 = if on { self.0 | bit } else { self.0 & !bit };
    }
}
