//! The scheduler's whole state, its clocks, and the small operations everything else is made of.
//!
//! Model.      One [`Sched`] is one running kernel: CPUs, tasks, groups, domains. Calls pass the time and the
//!             CPU they happen on; decisions are state changes plus [`Effect`]s.
//! Invariants. Tasks `0..nr_cpus` are the idle tasks, `nr_cpus..2·nr_cpus` the stoppers. Nothing depends on
//!             addresses, hashing or a clock: equal calls give equal states.
//! Source.     kernel/sched/{core,sched,pelt}.[ch] @ 6.1, 6.12.

use crate::balance::CpuSumsTable;
use crate::cfs_rq::CfsRq;
use crate::cpumask::CpuMask;
use crate::domain::Domains;
use crate::effects::Effect;
use crate::entity::{LoadWeight, SchedEntity};
use crate::fair_class::FairClass;
use crate::features::Feature;
use crate::group::{CfsBandwidth, RUNTIME_INF, TaskGroup};
use crate::group_rows::GroupRows;
use crate::nohz::Nohz;
use crate::pelt::{SchedAvg, UTIL_SUM_FULL};
use crate::probe::Probes;
use crate::profile::{KernelProfile, Preempt, Release};
use crate::rq::{ActiveBalance, Rq, RqStats};
use crate::rt_rq::RtRq;
use crate::search_stats::SearchStats;
use crate::table::Table;
use crate::task::{
    Class, DEFAULT_PRIO, MAX_PRIO, MaskId, OnRq, Policy, RtEntity, Task, TaskState, TaskStats,
};
use crate::topology::Topology;
use crate::units::{CfsRqId, CpuId, GroupId, Nanos, SeId, TaskId};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// A scheduler: the state of one kernel's scheduling.
#[derive(Clone, Debug)]
pub struct Sched {
    /// The kernel it behaves like.
    pub profile: KernelProfile,
    pub(crate) fair: &'static FairClass,
    pub(crate) balance_rules: &'static crate::balance::BalanceRules,
    pub(crate) rt_rules: &'static crate::rt::RtRules,
    /// The hardware.
    pub topology: Topology,
    /// Scheduling domains over the online CPUs.
    pub domains: Domains,
    /// Time of the current call.
    pub now: Nanos,
    /// Ticks since boot at `now`.
    pub jiffies: u64,
    /// Jiffies at time 0, as a kernel has them after boot.
    pub jiffies_base: u64,
    pub(crate) tick_nsec: Nanos,
    /// What `jiffies` counts; too long to count anything where jiffies are told.
    jiffy_nsec: Nanos,
    jiffy_begins: Nanos,
    /// Run queues, `[nr_cpus]`.
    pub rqs: Table<CpuId, Rq>,
    /// Tasks.
    pub tasks: Table<TaskId, Task>,
    /// What is only counted of them.
    pub task_stats: Table<TaskId, TaskStats>,
    /// Entities of tasks and groups.
    pub ses: Table<SeId, SchedEntity>,
    /// Fair queues of groups.
    pub cfs_rqs: Table<CfsRqId, CfsRq>,
    /// Groups.
    pub groups: Table<GroupId, TaskGroup>,
    pub(crate) group_rows: GroupRows,
    /// Sets of CPUs and how many each has; a clone shares them until one of the two adds another.
    masks: Arc<Vec<(CpuMask, u32)>>,
    /// CPUs that take part in scheduling.
    pub active: CpuMask,
    /// CPUs that are in no domain (isolcpus=): who may run there stays there.
    pub(crate) isolated: CpuMask,
    /// Requests and notices of the calls since the caller last drained them.
    pub effects: Vec<Effect>,
    /// Also report `StatRuntime` (it is frequent).
    pub notice_runtime: bool,
    /// What another kernel's probes show, for a caller that follows it.
    pub probes: Option<Box<Probes>>,
    /// How many groups have a quota; bandwidth control is skipped while 0.
    pub(crate) bandwidth_users: u32,
    /// Some group has or had one.
    pub(crate) bandwidth_used: bool,
    /// Some CPU has more than one task (`rd->overloaded`).
    pub(crate) rd_overloaded: bool,
    /// Groups and balancing of idle CPUs.
    pub(crate) nohz: Nohz,
    /// A CPU that runs out of fair tasks tries to pull some; off for a caller that does so itself, and then all but the
    /// pulling is done.
    pub newidle_balancing: bool,
    /// Whether CPUs push and pull RT tasks: not where those of another kernel are followed.
    pub rt_balancing: bool,
    /// What wakeup placement looked at.
    pub search: SearchStats,
    pub(crate) search_mask: CpuMask,
    pub(crate) cpu_sums: CpuSumsTable,
    /// State of the generator behind kernel decisions that draw random numbers (NI_RANDOM).
    pub(crate) prng: u64,
}

impl Sched {
    /// A scheduler at time 0 with every CPU online and idle.
    ///
    /// # Panics
    /// If [`check_topology`](crate::domain::check_topology) refuses the topology.
    pub fn new(profile: KernelProfile, topology: Topology) -> Sched {
        let nr_cpus = topology.nr_cpus();
        assert!(nr_cpus > 0, "a machine needs a CPU");
        let active = CpuMask::all(nr_cpus);
        let fair: &'static FairClass = match profile.release {
            Release::V6_1 => &crate::cfs::CLASS,
            Release::V6_12 => &crate::eevdf::V6_12,
            Release::V6_18 => &crate::eevdf::V6_18,
        };
        let domains = Domains::boot(&topology, fair.domains);
        let cpu_sums = CpuSumsTable::new(nr_cpus, &domains);
        let mut sched = Sched {
            fair,
            balance_rules: crate::balance::rules(profile.release),
            rt_rules: crate::rt::rules(profile.release),
            tick_nsec: profile.tick_nsec(),
            jiffy_nsec: profile.tick_nsec(),
            jiffy_begins: 0,
            domains,
            now: 0,
            jiffies: 0,
            jiffies_base: 0,
            rqs: Table::new(),
            tasks: Table::new(),
            task_stats: Table::new(),
            ses: Table::new(),
            cfs_rqs: Table::new(),
            groups: Table::new(),
            group_rows: GroupRows::default(),
            masks: Arc::new(vec![(active.clone(), nr_cpus as u32)]),
            search_mask: CpuMask::none(nr_cpus),
            cpu_sums,
            active,
            isolated: CpuMask::none(nr_cpus),
            effects: Vec::new(),
            notice_runtime: false,
            probes: None,
            bandwidth_users: 0,
            bandwidth_used: false,
            rd_overloaded: false,
            nohz: Nohz::new(nr_cpus),
            newidle_balancing: true,
            rt_balancing: true,
            search: SearchStats::default(),
            prng: 0x9e37_79b9_7f4a_7c15,
            profile,
            topology,
        };
        sched.set_time(0);
        sched.boot();
        if sched.rt_rules.server_from_boot {
            sched.boot_fair_servers();
        }
        sched
    }

    fn boot(&mut self) {
        let nr_cpus = self.topology.nr_cpus();
        let root = self.groups.push(TaskGroup {
            parent: GroupId::NONE,
            children: Vec::new(),
            cfs_rq: Vec::with_capacity(nr_cpus),
            shares: crate::entity::NICE_0_LOAD,
            idle: false,
            load_avg: 0,
            flat_below: 0,
            bandwidth: CfsBandwidth {
                quota: RUNTIME_INF,
                ..CfsBandwidth::unlimited(0)
            },
            uclamp: [0, 1024],
            dead: false,
        });
        for cpu in (0..nr_cpus as u32).map(CpuId) {
            let cfs = self.cfs_rqs.push(CfsRq::new(root, cpu, SeId::NONE));
            self.groups[root].cfs_rq.push(cfs);
        }
        for cpu in (0..nr_cpus as u32).map(CpuId) {
            let only = self.mask_id(&CpuMask::of(nr_cpus, [cpu]));
            let idle = self.push_task(cpu, Class::Idle, only);
            self.tasks[idle].prio = MAX_PRIO - 20;
            self.tasks[idle].on_rq = OnRq::Queued;
            self.tasks[idle].on_cpu = true;
        }
        for cpu in (0..nr_cpus as u32).map(CpuId) {
            let only = self.mask_id(&CpuMask::of(nr_cpus, [cpu]));
            let stop = self.push_task(cpu, Class::Stop, only);
            self.tasks[stop].prio = -1;
            self.tasks[stop].is_per_cpu_kthread = true;
            self.tasks[stop].state = TaskState::Interruptible;
        }
        for cpu in (0..nr_cpus as u32).map(CpuId) {
            let capacity = u64::from(self.topology.cpus[cpu.idx()].capacity);
            let migration_cost = self.profile.tunables.migration_cost_ns.max(0) as u64;
            self.rqs.push(Rq {
                cpu,
                online: true,
                nr_running: 0,
                clock: 0,
                clock_task: 0,
                clock_pelt: 0,
                lost_idle_time: 0,
                clock_pelt_idle: 0,
                clock_idle: 0,
                clock_skip_requested: false,
                clock_skip_active: false,
                curr_has_left: false,
                nontask_time: 0,
                irq_time: 0,
                cfs: CfsRqId(cpu.0),
                rt: RtRq::default(),
                curr: TaskId(cpu.0),
                idle: TaskId(cpu.0),
                stop: TaskId(nr_cpus as u32 + cpu.0),
                need_resched: false,
                need_resched_lazy: false,
                polling: false,
                cfs_tasks_first: TaskId::NONE,
                cfs_tasks_last: TaskId::NONE,
                cfs_tasks_turns: 0,
                leaf_first: CfsRqId::NONE,
                leaf_last: CfsRqId::NONE,
                tmp_alone_branch: CfsRqId::NONE,
                ttwu_queue: Vec::new(),
                ttwu_pending: false,
                cfsb_csd: Vec::new(),
                avg_rt: SchedAvg::default(),
                avg_irq: SchedAvg::default(),
                cpu_capacity_orig: capacity,
                cpu_capacity: capacity,
                freq_capacity: 1024,
                misfit_task_load: 0,
                // Every CPU has gone idle once while the kernel booted.
                idle_stamp: 1,
                avg_idle: 2 * migration_cost,
                max_idle_balance_cost: migration_cost,
                wake_stamp: self.jiffies,
                wake_avg_idle: 2 * migration_cost,
                next_balance: self.jiffies,
                idle_balance: false,
                nohz_tick_stopped: false,
                last_blocked_load_update_tick: self.jiffies,
                has_blocked_load: false,
                nohz_flags: 0,
                active_balance: ActiveBalance::default(),
                idle_exit_latency: None,
                flat_stale: false,
                cache_hot_timeout: 0,
                stats: RqStats::default(),
            });
        }
    }

    /// Says how many tasks will be made: tables that grow row by row take up to twice the memory while they move.
    pub fn reserve_tasks(&mut self, tasks: usize) {
        self.tasks.reserve(tasks);
        self.task_stats.reserve(tasks);
        self.ses.reserve(tasks);
    }

    fn push_task(&mut self, cpu: CpuId, class: Class, cpus: MaskId) -> TaskId {
        let id = self.tasks.next_id();
        let mut se = SchedEntity::new(LoadWeight::of_nice(0), id, CfsRqId::NONE);
        se.cfs_rq = self.groups[GroupId::ROOT].cfs_rq[cpu.idx()];
        let se = self.ses.push(se);
        self.task_stats.push(TaskStats::default());
        self.tasks.push(Task {
            se,
            policy: Policy::Normal,
            class,
            prio: DEFAULT_PRIO,
            normal_prio: DEFAULT_PRIO,
            static_prio: DEFAULT_PRIO,
            rt_priority: 0,
            state: TaskState::Running,
            on_rq: OnRq::No,
            on_cpu: false,
            cpu,
            wake_cpu: cpu,
            cpus,
            nr_cpus_allowed: self.masks[cpus.0 as usize].1,
            group: GroupId::ROOT,
            recent_used_cpu: cpu,
            wakee_flips: 0,
            wakee_flip_decay_ts: self.jiffies,
            last_wakee: TaskId::NONE,
            sched_remote_wakeup: false,
            asleep_since: None,
            avg_hot_dur: 0,
            to_empty_cfs_rq: false,
            sched_task_hot: false,
            in_iowait: false,
            sched_contributes_to_load: false,
            is_per_cpu_kthread: false,
            exiting: false,
            rt: RtEntity {
                on_rq: false,
                time_slice: 0,
            },
            last_queued: 0,
            last_arrival: 0,
            uclamp: [0, 1024],
            cfs_tasks_prev: TaskId::NONE,
            cfs_tasks_next: TaskId::NONE,
            cfs_tasks_turn: 0,
            cfs_tasks_placed: 0,
        })
    }

    /// Adds a task row for fork; see `fork`.
    pub(crate) fn new_task(&mut self, cpu: CpuId, cpus: MaskId) -> TaskId {
        self.push_task(cpu, Class::Fair, cpus)
    }

    /// How many CPUs, offline ones included.
    pub fn nr_cpus(&self) -> usize {
        self.rqs.len()
    }

    /// Tells the time; every call that passes a time does so first. Where CPUs' clocks differ, each CPU's own never goes
    /// back: an earlier time than its queue has seen leaves the queue's clock as it is.
    #[inline]
    pub fn set_time(&mut self, now: Nanos) {
        self.now = now;
        // Most calls come within the jiffy of the one before, and dividing is slow.
        if now.wrapping_sub(self.jiffy_begins) >= self.jiffy_nsec {
            let jiffies = now / self.jiffy_nsec;
            self.jiffy_begins = jiffies * self.jiffy_nsec;
            self.jiffies = self.jiffies_base + jiffies;
        }
    }

    /// Tells the jiffies from now on, which then no longer follow from the time.
    pub(crate) fn tell_jiffies(&mut self, jiffies: u64) {
        self.jiffy_nsec = Nanos::MAX;
        self.jiffies_base = jiffies;
        self.jiffies = jiffies;
    }

    /// Length of a tick.
    #[inline]
    pub fn tick_nsec(&self) -> Nanos {
        self.tick_nsec
    }

    // ---- CPU sets ----------------------------------------------------------------------------------------------

    /// The id of a set of CPUs; equal sets get equal ids.
    pub fn mask_id(&mut self, mask: &CpuMask) -> MaskId {
        if let Some(idx) = self.masks.iter().position(|(m, _)| m == mask) {
            return MaskId(idx as u32);
        }
        Arc::make_mut(&mut self.masks).push((mask.clone(), mask.weight() as u32));
        MaskId(self.masks.len() as u32 - 1)
    }

    /// The set of an id.
    #[inline]
    pub fn mask(&self, id: MaskId) -> &CpuMask {
        &self.masks[id.0 as usize].0
    }

    /// How many CPUs a set has.
    pub fn mask_weight(&self, id: MaskId) -> u32 {
        self.masks[id.0 as usize].1
    }

    /// May the task use the CPU (`cpus_ptr`)?
    #[inline]
    pub fn cpu_allowed(&self, task: TaskId, cpu: CpuId) -> bool {
        let id = self.tasks[task].cpus;
        id == MaskId::ALL || self.mask(id).test(cpu)
    }

    // ---- clocks ------------------------------------------------------------------------------------------------

    /// Brings a CPU's clocks to the time of the call.
    pub(crate) fn update_rq_clock(&mut self, cpu: CpuId) {
        self.advance_rq_clock(cpu);
    }

    /// The same for who does it at every switch, tick and wakeup.
    #[inline(always)]
    pub(crate) fn advance_rq_clock(&mut self, cpu: CpuId) {
        self.cpu_sums.mark(cpu);
        let mut now = self.now;
        if let Some(probes) = &self.probes {
            now = probes.limited(cpu, now);
        }
        let rq = &mut self.rqs[cpu];
        let idle = rq.curr == rq.idle;
        if rq.clock_skip_active {
            return;
        }
        let mut delta = now.wrapping_sub(rq.clock) as i64;
        if delta < 0 {
            return;
        }
        rq.clock = now;
        let mut nontask = 0;
        if rq.irq_time != 0 {
            // What does not fit is passed over next time; of stolen time it is forgotten.
            nontask = rq.irq_time.min(delta as u64);
            rq.irq_time -= nontask;
            delta -= nontask as i64;
        }
        if rq.nontask_time != 0 {
            let stolen = core::mem::take(&mut rq.nontask_time).min(delta as u64);
            nontask += stolen;
            delta -= stolen as i64;
        }
        rq.clock_task += delta as u64;
        if nontask != 0 && self.profile.features.has(Feature::NONTASK_CAPACITY) {
            Self::update_irq_load_avg(rq, nontask);
        }
        if idle {
            Self::sync_idle_clock_pelt(rq);
        } else {
            let scaled = ((delta as u64).wrapping_mul(rq.cpu_capacity_orig)) >> 10;
            rq.clock_pelt += scaled.wrapping_mul(rq.freq_capacity) >> 10;
        }
    }

    /// The CPU spends so long in an interrupt, or in a softirq, from now on.
    #[inline]
    pub fn account_irq_time(&mut self, cpu: CpuId, time: Nanos) {
        if self.profile.irq_time {
            self.rqs[cpu].irq_time += time;
        }
    }

    fn update_irq_load_avg(rq: &mut Rq, running: u64) {
        let running = (((running * rq.freq_capacity) >> 10) * rq.cpu_capacity_orig) >> 10;
        let mut decayed = rq.avg_irq.update_sum(rq.clock - running, 0, 0, false);
        decayed |= rq.avg_irq.update_sum(rq.clock, 1, 1, true);
        if decayed {
            rq.avg_irq.update_avg(1);
        }
    }

    fn sync_idle_clock_pelt(rq: &mut Rq) {
        rq.clock_pelt = rq.clock_task;
        rq.clock_idle = rq.clock;
        rq.clock_pelt_idle = rq.clock_pelt - rq.lost_idle_time;
    }

    /// When a CPU goes idle its PELT clock catches up, unless it was so busy that nothing was idle.
    pub(crate) fn update_idle_rq_clock_pelt(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        let util_sum = self.cfs_rqs[rq.cfs]
            .avg
            .util_sum
            .wrapping_add(rq.avg_rt.util_sum);
        if util_sum >= UTIL_SUM_FULL {
            rq.lost_idle_time = rq
                .lost_idle_time
                .wrapping_add(rq.clock_task.wrapping_sub(rq.clock_pelt));
        }
        Self::sync_idle_clock_pelt(rq);
    }

    /// The PELT clock of a CPU.
    #[inline]
    pub(crate) fn rq_clock_pelt(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu].rq_clock_pelt()
    }

    /// The PELT clock of a fair queue: it stands still while throttled.
    #[inline]
    pub(crate) fn cfs_rq_clock_pelt(&self, cfs_rq: CfsRqId) -> u64 {
        let cfs = &self.cfs_rqs[cfs_rq];
        cfs.clock_pelt(&self.rqs[cfs.cpu])
    }

    #[inline]
    pub(crate) fn update_idle_cfs_rq_clock_pelt(&mut self, cfs_rq: CfsRqId) {
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.throttled_pelt_idle = if cfs.throttle_count != 0 {
            u64::MAX
        } else {
            cfs.throttled_clock_pelt_time
        };
    }

    // ---- CPUs --------------------------------------------------------------------------------------------------

    /// Does the CPU run its idle task?
    #[inline(always)]
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].curr.0 == cpu.0
    }

    /// Idle with nothing on its way; kernel `idle_cpu`, and `available_idle_cpu` where no vCPU is preempted.
    #[inline]
    pub fn idle_cpu(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        rq.curr == rq.idle && rq.nr_running == 0 && !rq.ttwu_pending
    }

    /// Only SCHED_IDLE tasks are queued there.
    #[inline]
    pub(crate) fn sched_idle_cpu(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        rq.nr_running != 0 && rq.nr_running == self.cfs_rqs[rq.cfs].idle_h_nr_queued
    }

    /// The running task's slice of the CPU is to end.
    pub(crate) fn resched_curr(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        if rq.need_resched {
            return;
        }
        rq.need_resched = true;
        self.effects.push(Effect::Resched { cpu });
    }

    /// As [`resched_curr`](Self::resched_curr), for the fair class: with lazy preemption a task may take its time.
    pub(crate) fn resched_curr_lazy(&mut self, cpu: CpuId) {
        if self.profile.preempt == Preempt::Lazy && !self.is_idle(cpu) {
            self.rqs[cpu].need_resched_lazy = true;
        } else {
            self.resched_curr(cpu);
        }
    }

    #[inline]
    pub(crate) fn add_nr_running(&mut self, cpu: CpuId, count: u32) {
        let rq = &mut self.rqs[cpu];
        let prev = rq.nr_running;
        rq.nr_running += count;
        if prev < 2 && rq.nr_running >= 2 {
            self.rd_overloaded = true;
        }
    }

    #[inline]
    pub(crate) fn sub_nr_running(&mut self, cpu: CpuId, count: u32) {
        self.rqs[cpu].nr_running -= count;
    }

    /// Do the two CPUs share their last-level cache?
    #[inline]
    pub fn cpus_share_cache(&self, a: CpuId, b: CpuId) -> bool {
        a == b || self.domains.sd_llc_id[a.idx()] == self.domains.sd_llc_id[b.idx()]
    }

    // ---- entities ----------------------------------------------------------------------------------------------

    /// The CPU of a fair queue.
    #[inline(always)]
    pub(crate) fn cpu_of(&self, cfs_rq: CfsRqId) -> CpuId {
        self.cfs_rqs[cfs_rq].cpu
    }

    /// Is the entity of a SCHED_IDLE task or a cpu.idle group?
    #[inline]
    pub(crate) fn se_is_idle(&self, se: SeId) -> bool {
        self.is_entity_idle(&self.ses[se])
    }

    #[inline(always)]
    pub(crate) fn is_entity_idle(&self, entity: &SchedEntity) -> bool {
        if entity.is_task() {
            self.tasks[entity.task].has_idle_policy()
        } else {
            self.cfs_rqs[entity.my_q].idle
        }
    }

    /// Climbs to the two ancestors that compete on the same queue.
    pub(crate) fn find_matching_se(&self, mut a: SeId, mut b: SeId) -> (SeId, SeId) {
        while self.ses[a].depth > self.ses[b].depth {
            a = self.ses[a].parent;
        }
        while self.ses[b].depth > self.ses[a].depth {
            b = self.ses[b].parent;
        }
        while self.ses[a].cfs_rq != self.ses[b].cfs_rq {
            a = self.ses[a].parent;
            b = self.ses[b].parent;
        }
        (a, b)
    }

    /// A number from the generator that stands in for the kernel's per-CPU pseudo-random state.
    pub(crate) fn next_random(&mut self) -> u64 {
        // xorshift64*: full period, no zero state.
        self.prng ^= self.prng >> 12;
        self.prng ^= self.prng << 25;
        self.prng ^= self.prng >> 27;
        self.prng.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Seeds that generator; 0 is taken as 1.
    pub fn seed(&mut self, seed: u64) {
        self.prng = seed.max(1);
    }
}
