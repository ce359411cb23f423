//! Walks a recording with a scheduler beside it: at each decision of the kernel ours is asked the same
//! question, judged, and then made to do what the kernel did.
//!
//! Model.       Each record is read on the CPU that wrote it. What one call of the scheduler wrote (a
//!              clock update, a choice, a state) comes as several records; they are gathered in that
//!              CPU's [`CpuContext`] until the record that ends the call. What a walk has learned of facts that are not
//!              recorded another one knows from the beginning, and that one is judged.
//! Invariants.  After each record our scheduler is in the state that the recording shows, so that one
//!              disagreement does not cause the next.
//! Units.       ns of the trace clock, which is that of the run queues.
//! Deviations.  Interrupts and stolen time that the kernel takes off a task's time are not recorded.

mod affinity;
mod ahead;
mod allowed;
mod attributes;
mod balance;
mod balance_again;
mod batch;
mod changes;
mod choosing;
mod classify;
mod clock;
mod clock_limits;
mod clock_reads;
mod courses;
mod cpu;
mod early_wakeups;
mod estimate;
mod exhausted;
mod forks;
mod futile_picks;
mod goes_on;
mod going_idle;
mod grid;
mod group_courses;
mod hotplug;
mod idle_scan;
mod imbalance;
mod imbalanced_groups;
mod in_flight;
mod jiffies;
mod judge_moves;
mod learned;
mod leaving;
mod left_late;
mod limit_timers;
mod limits;
mod looks;
mod looks_free;
mod moves;
mod newcomers;
mod order;
mod passes;
mod periods;
mod phases;
mod placement;
mod placing_clock;
mod profiles;
mod quiet_passes;
mod quotas;
mod races;
mod requeues;
mod return_grids;
mod returns;
mod rt_choice;
mod rt_throttle;
mod sequence;
mod sessions;
mod settings;
mod softirq;
mod spans;
mod start;
mod start_uses;
mod state;
mod switches;
mod takes;
mod tasks;
mod tick_grid;
mod tick_stops;
mod ticks;
mod timekeeper;
mod times;
mod told;
mod tries;
mod unplaced;
mod vain_passes;
mod waiting_before;
mod wakees;
mod wakeups;
mod weights;
mod whereabouts;
#[cfg(test)]
mod without_state;
mod yields;

use crate::facts::Facts;
use crate::gaps;
use crate::judge::{Decision, Judge, Measure};
use crate::record::{Record, What};
use affinity::Bounds;
use ahead::Ahead;
use changes::PassedOver;
use choosing::Choosing;
use clock_reads::ClockReads;
use cpu::{Charges, CpuContext};
use estimate::Estimate;
use fairwind_sched::domain::SdId;
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::{CfsRqId, CpuId, CpuMask, GroupId, Policy, Sched, SeId, TaskId};
use group_courses::Courses;
use in_flight::InFlight;
use jiffies::Jiffies;
use learned::Learned;
use limits::Limits;
use order::Picked;
use phases::Phases;
use placement::Placement;
use races::Raced;
use sessions::Sessions;
use settings::Settings;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tasks::Names;
use times::Times;
use waiting_before::Waiting;
use wakees::Wakees;
use wakeups::PendingWakeup;
use weights::Shown;
use whereabouts::Whereabouts;

/// The programs of waker and wakee, and whether that slept interruptibly.
type KindOfWakeup = (String, String, bool);

/// A scheduler beside a recording.
pub(crate) struct Follower<'a> {
    facts: &'a Facts,
    records: &'a [Record],
    /// Index of the record being followed.
    at: usize,
    sched: Sched,
    jiffies: Jiffies,
    /// Domains of which a move has told when they were last balanced: the most that jiffies can have been then.
    pinned: BTreeMap<SdId, u64>,
    /// When the kernel last moved something in a domain.
    moved: BTreeMap<SdId, u64>,
    /// A CPU has left or come back, and domains are to be built for that; by whom, once it is known.
    domains_wait: Option<(CpuId, Option<i32>)>,
    in_flight: InFlight,
    judge: Judge,
    cpus: Vec<CpuContext>,
    /// `[nr_cpus]`, beside these because all are looked at at each record.
    charges: Vec<Charges>,
    names: Names,
    wakeups: BTreeMap<i32, PendingWakeup>,
    /// Balancing softirqs that move nothing and have not run, and how late these run.
    raised: Vec<softirq::Raised>,
    softirq_delay: u64,
    /// Until how long after its last charge a task that is leaving counts as queued still.
    usually_queued: u64,
    /// When wakeups read the clocks of queues.
    clock_reads: ClockReads,
    /// How long going idle takes at least if the CPU looks for tasks.
    looking_takes: u64,
    /// How long choosing a CPU takes.
    choosing: Choosing,
    /// Tasks whose CPU is being chosen, by thread id.
    placements: BTreeMap<i32, Placement>,
    /// How each wakeup goes on, by the index of its `sched_waking`.
    ahead: BTreeMap<usize, Ahead>,
    /// How many wakeups of a kind tell that they were without WF_SYNC, and with it.
    syncs: BTreeMap<KindOfWakeup, [u32; 2]>,
    /// What placements have told of CPUs that were about to queue a task.
    looks_free: Vec<looks_free::Tells>,
    /// What an earlier walk has learned.
    learned: Learned,
    /// Passes to which ours has another answer: the CPU, and when the first record was written.
    wrong_passes: BTreeSet<(u32, u64)>,
    /// The CPUs of tasks, by thread id, that are bound by what an earlier walk has told, and how many of its changes have been.
    known_bounds: BTreeMap<i32, CpuMask>,
    bounds_begun: usize,
    /// Where ours takes free tasks, and the kernel does not.
    hints: allowed::Hints,
    /// Tasks that may be bound to some CPUs.
    bounds: BTreeMap<TaskId, Bounds>,
    /// Programs of one forefather whose tasks may all be bound.
    families: BTreeMap<(TaskId, String), Bounds>,
    /// The CPUs on which each task has run lately.
    been: BTreeMap<TaskId, VecDeque<CpuId>>,
    /// How many passes of balancing are explained by a task that is bound to where it has been.
    suspected: BTreeMap<TaskId, u32>,
    /// Entities above the task that ran before a pick which have yielded, by their queue.
    yielded: Vec<(CfsRqId, SeId)>,
    /// Which way guesses of groups' virtual runtimes were last moved, and how far.
    steps: BTreeMap<SeId, (bool, u64)>,
    /// Guesses that were picked, until a charge tells where they were.
    picked: BTreeMap<SeId, Picked>,
    /// On which queue an entity was when its virtual runtime was last told.
    told_on: BTreeMap<SeId, CfsRqId>,
    /// Somebody uses the command that changes policies.
    uses_chrt: bool,
    /// Who forked each task in the recording.
    parents: BTreeMap<TaskId, TaskId>,
    wakees: Wakees,
    /// The next record of the same CPU, for each record.
    next_on_cpu: Vec<Option<usize>>,
    /// When each record is followed: no later than what was written before the records that it overtakes.
    reached: Vec<u64>,
    /// Some records show virtual runtimes.
    shows_state: bool,
    sessions: Sessions,
    groups: BTreeMap<String, GroupId>,
    weights: Courses,
    shown_weights: Vec<Shown>,
    /// Entities by the address that probes give them.
    addresses: BTreeMap<u64, SeId>,
    times: Times,
    whereabouts: Whereabouts,
    /// Tasks whose virtual runtime hangs on which of two CPUs was first, and by how much.
    raced: BTreeMap<TaskId, Raced>,
    /// Tasks from before the recording that have not run in it.
    unsure: BTreeSet<TaskId>,
    /// What is thought of virtual times that nothing shows.
    estimate: Estimate,
    /// Who waits from before the recording, and is not queued yet.
    waiting: Vec<Waiting<'a>>,
    limits: Limits,
    phases: Phases,
    quotas: Courses,
    /// The periods of limits, where they are not what they are in the end all the time.
    periods: Courses,
    profiles: Courses,
    /// Entities whose next virtual runtime told the clock with which they were placed: at which record, and by how much
    /// ours was ahead.
    clock_told: BTreeMap<SeId, (usize, i64)>,
    /// Tasks that ours has picked, and the kernel not.
    passed_over: BTreeMap<TaskId, PassedOver>,
    /// How often in a row a task that is taken for one of SCHED_IDLE was picked where ours did not.
    picks_of_idle: BTreeMap<TaskId, u32>,
    /// The load and the utilisation of each CPU that it is taken to have had when the recording began.
    start_uses: Vec<[u64; 2]>,
    /// How often in a row only another policy explains whether a task preempted.
    other_policy: BTreeMap<TaskId, u32>,
    /// With which record each task's attributes last changed.
    changed_at: BTreeMap<TaskId, usize>,
    /// How many placements have told that a task is bound to fewer CPUs than it is taken for.
    narrower: BTreeMap<TaskId, u32>,
    /// With which record each task was seen to run another program.
    renamed_at: BTreeMap<TaskId, usize>,
    /// With which record the command that changes policies last ended.
    chrt_ended: Option<usize>,
    /// Which policies wakeups have told after changes: none if it did not come with the change.
    policies: BTreeMap<batch::Change, Option<Policy>>,
    /// Names of tasks whose nice levels sched_setattr() changes.
    set_by_setattr: BTreeSet<String>,
}

/// Follows a recording to its end.
pub(crate) fn follow(facts: &Facts, records: &[Record]) -> Judge {
    let records = &sequence::in_sequence(records)[..];
    let settings = Settings::find(facts, records);
    let follow = |learned| {
        let mut follower = Follower::new(facts, records, settings.clone(), learned);
        follower.report_weights();
        follower.report_profiles();
        follower.follow();
        follower
    };
    let first = follow(Learned::default());
    let learned = first.learned();
    let free = Learned {
        bounds: Vec::new(),
        ..learned.clone()
    };
    let free = if free == Learned::default() {
        first.judge
    } else {
        follow(free).judge
    };
    if learned.bounds.is_empty() {
        return free;
    }
    let bound = follow(learned).judge;
    if bound.missed_cpus() < free.missed_cpus() {
        bound
    } else {
        free
    }
}

impl<'a> Follower<'a> {
    fn new(
        facts: &'a Facts,
        records: &'a [Record],
        settings: Settings,
        learned: Learned,
    ) -> Follower<'a> {
        let start = records.first().map_or(0, |record| record.ts);
        let tick_nsec = facts.profile.tick_nsec();
        let phases = Phases::find(facts, records, &settings.periods);
        let next_on_cpu = ahead::next_on_cpu(records);
        let ahead = ahead::wakeups(records);
        let choosing = Choosing::usual(records, &ahead, &next_on_cpu);
        let nr_cpus = facts.topology.nr_cpus();
        let times = Times::new(records, nr_cpus);
        let waiting = waiting_before::waiting(records, &times, nr_cpus);
        let jiffies = Jiffies::new(facts.clock, tick_nsec, records, &next_on_cpu, nr_cpus);
        let phase = jiffies.phase();
        let first_jiffy = jiffies.now();
        let profile = profiles::at(facts, &settings.profiles, 0);
        let sched = start::scheduler(facts, &profile, start, first_jiffy);
        let mut follower = Follower {
            cpus: vec![CpuContext::default(); nr_cpus],
            charges: vec![Charges::default(); nr_cpus],
            names: Names::new(facts),
            facts,
            records,
            at: 0,
            sched,
            jiffies,
            pinned: BTreeMap::new(),
            moved: BTreeMap::new(),
            domains_wait: None,
            in_flight: InFlight::default(),
            judge: Judge::default(),
            wakeups: BTreeMap::new(),
            raised: Vec::new(),
            softirq_delay: 0,
            usually_queued: early_wakeups::usually_queued(records),
            clock_reads: ClockReads::default(),
            looking_takes: going_idle::looking_takes(records, &times),
            choosing,
            placements: BTreeMap::new(),
            ahead,
            syncs: learned.syncs.clone(),
            looks_free: Vec::new(),
            learned,
            wrong_passes: BTreeSet::new(),
            known_bounds: BTreeMap::new(),
            bounds_begun: 0,
            hints: BTreeMap::new(),
            bounds: BTreeMap::new(),
            families: BTreeMap::new(),
            been: BTreeMap::new(),
            suspected: BTreeMap::new(),
            yielded: Vec::new(),
            steps: BTreeMap::new(),
            picked: BTreeMap::new(),
            told_on: BTreeMap::new(),
            uses_chrt: changes::uses_chrt(records),
            parents: BTreeMap::new(),
            wakees: Wakees::new(first_jiffy, facts.profile.hz),
            next_on_cpu,
            reached: ahead::reached(records),
            shows_state: gaps::shows_state(records),
            sessions: Sessions::default(),
            groups: BTreeMap::from([("/".to_owned(), GroupId::ROOT)]),
            weights: settings.weights,
            shown_weights: Vec::new(),
            addresses: BTreeMap::new(),
            times,
            whereabouts: Whereabouts::new(records, nr_cpus),
            raced: BTreeMap::new(),
            unsure: BTreeSet::new(),
            estimate: Estimate::default(),
            waiting,
            limits: Limits::new(records, tick_nsec, phase),
            quotas: settings.quotas,
            periods: settings.periods,
            profiles: settings.profiles,
            phases,
            clock_told: BTreeMap::new(),
            passed_over: BTreeMap::new(),
            picks_of_idle: BTreeMap::new(),
            start_uses: Vec::new(),
            other_policy: BTreeMap::new(),
            changed_at: BTreeMap::new(),
            narrower: BTreeMap::new(),
            renamed_at: BTreeMap::new(),
            chrt_ended: None,
            policies: BTreeMap::new(),
            set_by_setattr: BTreeSet::new(),
        };
        follower.softirq_delay = softirq::usual_delay(records, &follower.next_on_cpu);
        follower
    }

    /// Follows the recording to its end.
    fn follow(&mut self) {
        self.start_running();
        self.start_newcomers();
        self.note_start_uses();
        let records = self.records;
        let further_passes = sequence::further_passes(records);
        for (at, record) in records.iter().enumerate() {
            self.place_by(at);
            self.run_softirqs(at);
            if record.cpu as usize >= self.cpus.len() {
                self.judge.mended("events of CPUs that the machine lacks");
                continue;
            }
            self.at = at;
            if self.jiffies.pass(self.reached[at]) {
                self.sched.follow_jiffies(self.jiffies.now());
            }
            self.limit_clocks(record);
            self.begin_bounds();
            self.change_profile();
            self.change_weights(record);
            self.change_limits(record);
            self.begin_told(record.cpu);
            self.record(record);
            self.cpu(record.cpu).last_resched = record.need_resched;
            if !record.what.is_inside() {
                self.cpu(record.cpu).last_ts = record.ts;
                self.cpu(record.cpu).first_probe = None;
            }
            self.ask_again(record);
            self.take_effects(record.cpu);
            let over = self.next_on_cpu[at].is_none_or(|next| {
                let record_after = &records[next];
                !record_after.what.is_inside()
                    || record.irq != record_after.irq
                    || record.softirq && !record_after.softirq
                    || further_passes.contains(&next) && !self.moves_on(record.cpu, next)
            });
            self.put_in_flight(record, over);
            self.land(record);
            if over {
                self.end_requeue(record);
                self.end_softirq(record);
                if record.what.is_inside() {
                    self.end_pull_in_vain(record);
                }
                self.end_locks(record);
                self.take_effects(record.cpu);
                if record.what.is_inside() && record.softirq {
                    self.follow_same_unseen(CpuId(record.cpu));
                }
            }
            self.follow_same_silently(record);
            self.take_effects(record.cpu);
            self.end_told(record);
            self.queue_waiting();
            self.leave_queue_for_sleep(record);
            self.note_charged_ahead();
            self.tick_after_wakeup(record);
            self.end_timers_softirq(record);
            self.hold(record);
        }
    }
}

impl Follower<'_> {
    fn cpu(&mut self, cpu: u32) -> &mut CpuContext {
        &mut self.cpus[cpu as usize]
    }

    fn decision(record: &Record, measure: Measure, kind: &'static str) -> Decision {
        Decision {
            ts: record.ts,
            cpu: record.cpu,
            measure,
            kind,
        }
    }

    fn record(&mut self, r: &Record) {
        if let What::Probe { .. } = r.what {
            self.cpu(r.cpu).first_probe.get_or_insert(r.ts);
        }
        self.follow_hotplug(r);
        self.go_on(r);
        self.end_charge(r);
        self.end_yield(r);
        self.end_balanced(r);
        self.end_placements(r);
        self.leave_to_others(r);
        if !r.irq || r.softirq {
            self.cpu(r.cpu).in_timer = None;
        }
        self.end_calls(r);
        self.timers_go_on(r);
        self.unthrottle_unseen(r);
        self.unthrottle_asked(r);
        match &r.what {
            What::Runtime {
                pid,
                runtime,
                vruntime,
            } => {
                self.stat_runtime(r, *pid, *runtime, *vruntime);
            }
            What::Timer => {
                self.timers_expire(r);
                self.timer(r);
            }
            What::Exit { pid } => {
                self.exit(r, *pid);
                self.end_command(r);
            }
            What::Waking {
                pid,
                comm,
                prio,
                slept_on,
            } => self.waking(r, *pid, comm, *prio, *slept_on),
            What::Migrate { pid, orig, dest } => self.migrate(r, *pid, *orig, *dest),
            What::Wakeup { pid, prio, target } => self.wakeup(r, *pid, *prio, *target),
            What::Fork {
                parent,
                child,
                comm,
            } => self.fork(r, *parent, *child, comm),
            What::WakeupNew { pid, prio, target } => self.wakeup_new(r, *pid, *prio, *target),
            What::Mkdir { path, .. } => self.mkdir(r, path),
            What::SetShares { .. } => {}
            What::Attach { pid, path, .. } => self.attach(r, *pid, path),
            What::Probe {
                point,
                address,
                values,
                flags,
                ..
            } => {
                if *point == ProbePoint::PutPrevEntity && !self.is_group_at(*address) {
                    self.end_requeue(r);
                }
                self.probe(*point, *address, r.ts, values);
                if *point == ProbePoint::SetNextEntity {
                    self.end_requeue_at_once(r);
                }
                if *point == ProbePoint::PlaceEntity {
                    self.unthrottled_by_place(r, *address, *flags);
                    self.requeued_by_place(r, *address, *flags);
                }
            }
            What::Switch {
                prev,
                prev_state,
                next,
            } => {
                self.switch(r, prev, *prev_state, next);
                self.take_left_late(r.cpu);
            }
        }
    }

    /// A record of another kind ends what earlier ones of its CPU began: a clock update that nothing
    /// used was a tick's, and balancing in the softirq is over.
    fn end_calls(&mut self, r: &Record) {
        if r.what.is_inside() {
            return;
        }
        let uses_clock = matches!(
            r.what,
            What::Switch { .. }
                | What::Wakeup { .. }
                | What::WakeupNew { .. }
                | What::Fork { .. }
                | What::Attach { .. }
        );
        if self.cpu(r.cpu).waking.is_none() && !uses_clock {
            self.drop_clock(r);
        }
        self.end_softirq(r);
        let context = self.cpu(r.cpu);
        if context.moves.is_empty() {
            context.before_pass = None;
        }
    }

    /// A clock update that nothing claimed.
    fn drop_clock(&mut self, r: &Record) {
        if let Some(clock) = self.cpu(r.cpu).pending_clock.take() {
            self.sched.follow_charge(CpuId(r.cpu), clock);
        }
    }

    /// A CPU's clock at a time of the trace, where nothing tells it better: it never goes back.
    fn clock_at(&self, cpu: CpuId, ts: u64) -> u64 {
        ts.max(self.sched.rqs[cpu].clock)
    }
}
