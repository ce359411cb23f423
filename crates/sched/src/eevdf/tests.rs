//! Worked examples: where 6.18 decides differently from 6.12.
//!
//! Model. One CPU, so that the base slice is 0.7 ms, at HZ=250; nice 0, so that virtual time is time. The entities are
//!        put by hand where an example wants them.

use crate::features::Feature;
use crate::flags::{WF_RQ_SELECTED, WF_SYNC, WF_TTWU};
use crate::pelt::UTIL_AVG_UNCHANGED;
use crate::profile::{KernelProfile, Preempt, Release};
use crate::sched::Sched;
use crate::topology::Topology;
use crate::units::{CfsRqId, CpuId, GroupId, Nanos, SeId, TaskId};
use crate::{SchedAttr, TaskState};

const CPU: CpuId = CpuId(0);
const MS: Nanos = 1_000_000;
/// Virtual time at which the examples begin.
const V: u64 = 1000 * MS;

struct Pair {
    sched: Sched,
    cfs_rq: CfsRqId,
    runs: SeId,
    waits: SeId,
    waiting: TaskId,
    now: Nanos,
}

impl Pair {
    /// One task runs and one waits, both at virtual time [`V`], with slices of such lengths.
    fn new(release: Release, nr_cpus: u32, runs: Nanos, waits: Nanos) -> Pair {
        let profile = KernelProfile::new(release, nr_cpus as usize);
        let mut sched = Sched::new(profile, Topology::regular(1, nr_cpus, 1));
        let now = 100 * MS;
        let only = crate::CpuMask::of(nr_cpus as usize, [CPU]);
        let tasks = [runs, waits].map(|runtime| {
            let task = sched.spawn(CPU, now);
            sched.set_cpus_allowed(task, &only, now).unwrap();
            let attr = SchedAttr {
                runtime,
                ..SchedAttr::normal(0)
            };
            sched.sched_setscheduler(task, attr, now).unwrap();
            sched.wake_up_new_task(CPU, task, now);
            if sched.is_idle(CPU) {
                sched.schedule(CPU, now, true);
            }
            task
        });
        let [runs, waits] = tasks.map(|task| sched.tasks[task].se);
        let mut pair = Pair {
            cfs_rq: sched.ses[runs].cfs_rq,
            sched,
            runs,
            waits,
            waiting: tasks[1],
            now,
        };
        pair.sched.rqs[CPU].need_resched = false;
        pair.put(V, V);
        pair
    }

    /// Both where they are told to be, each with a whole slice before it; the running one has just been picked.
    fn put(&mut self, runs: u64, waits: u64) {
        let sched = &mut self.sched;
        sched.timeline_remove(self.cfs_rq, self.waits);
        sched.cfs_rqs[self.cfs_rq].zero_vruntime = V;
        for (se, vruntime) in [(self.runs, runs), (self.waits, waits)] {
            let entity = &mut sched.ses[se];
            entity.vruntime = vruntime;
            entity.deadline = vruntime + entity.slice;
        }
        sched.timeline_add(self.cfs_rq, self.waits);
        (sched.fair.set_protect_slice)(sched, self.cfs_rq, self.runs);
    }

    /// For how long the running one is protected.
    fn protection(&self) -> i64 {
        let entity = &self.sched.ses[self.runs];
        entity.vlag - entity.vruntime as i64
    }

    /// Time passes, and the running task is charged for it.
    fn run(&mut self, time: Nanos) {
        self.now += time;
        self.sched.set_time(self.now);
        self.sched.update_rq_clock(CPU);
        self.sched.update_curr_eevdf(self.cfs_rq);
    }

    /// The waiting task has just been woken: does it preempt?
    fn preempts(&mut self, wake_flags: u32) -> bool {
        self.sched.rqs[CPU].need_resched = false;
        self.sched.wakeup_preempt(CPU, self.waiting, wake_flags);
        self.sched.rqs[CPU].need_resched
    }
}

#[test]
fn a_slice_is_protected_as_far_as_the_shortest_one_that_waits() {
    for (waits, protected) in [(3, 3), (20, 20), (30, 20)] {
        let pair = Pair::new(Release::V6_18, 1, 20 * MS, waits * MS);
        assert_eq!(pair.protection(), protected * MS as i64);
    }
}

#[test]
fn without_run_to_parity_one_unscaled_base_slice_is_protected() {
    // Four CPUs: the base slice is 0.7 ms · (1 + log2 4).
    let mut pair = Pair::new(Release::V6_18, 4, 20 * MS, 20 * MS);
    assert_eq!(pair.sched.profile.tunables.base_slice_ns, 2_100_000);
    pair.sched
        .profile
        .features
        .set(Feature::RUN_TO_PARITY, false);
    pair.put(V, V);
    assert_eq!(pair.protection(), 700_000);
}

#[test]
fn who_has_lost_protection_is_to_be_replaced_at_once() {
    // Slices of 20 ms and 3 ms. After 2 ms neither is asked for a decision; after 3.5 ms the longer is in 6.18, though it
    // has 16.5 ms to go. In 6.12 it keeps the CPU.
    for (release, asks) in [(Release::V6_12, false), (Release::V6_18, true)] {
        let mut pair = Pair::new(release, 1, 20 * MS, 3 * MS);
        pair.run(2 * MS);
        assert!(!pair.sched.rqs[CPU].need_resched, "{release:?}");
        pair.run(MS + MS / 2);
        assert_eq!(pair.sched.rqs[CPU].need_resched, asks, "{release:?}");
    }
}

#[test]
fn a_wakeup_that_does_not_preempt_shortens_the_protection() {
    // The waiting task is 30 ms ahead and asks for 20 ms as the running one does. At 5 ms it comes again with 3 ms: the
    // protection ends at 8 ms. Later wakeups do not lengthen it.
    let mut pair = Pair::new(Release::V6_18, 1, 20 * MS, 20 * MS);
    pair.sched
        .profile
        .features
        .set(Feature::PREEMPT_SHORT, false);
    pair.put(V, V + 30 * MS);
    pair.run(5 * MS);
    assert_eq!(pair.protection(), 15 * MS as i64);
    pair.sched.ses[pair.waits].slice = 3 * MS;
    pair.sched.cfs_rqs[pair.cfs_rq]
        .timeline
        .set_slice(pair.waits, 3 * MS);
    assert!(!pair.preempts(WF_TTWU));
    assert_eq!(pair.protection(), 3 * MS as i64);
    pair.run(MS);
    assert!(!pair.preempts(WF_TTWU));
    assert_eq!(pair.protection(), 2 * MS as i64);
}

#[test]
fn a_shorter_slice_preempts_if_it_would_be_picked() {
    // 3 ms against 20 ms: an earlier deadline, as long as it is eligible. At V + 1 ms it is not, the average being half
    // a ms behind; and then what runs keeps the protection of its next 3 ms.
    let mut pair = Pair::new(Release::V6_18, 1, 20 * MS, 3 * MS);
    assert!(pair.preempts(WF_TTWU));
    assert_eq!(pair.protection(), 0);
    pair.put(V, V + MS);
    assert!(!pair.preempts(WF_TTWU));
    assert_eq!(pair.protection(), 3 * MS as i64);
    pair.sched
        .profile
        .features
        .set(Feature::PREEMPT_SHORT, false);
    pair.put(V, V);
    assert!(!pair.preempts(WF_TTWU));
}

#[test]
fn a_new_task_preempts_for_a_shorter_slice_only() {
    use crate::flags::WF_FORK;
    // Where nothing is protected an earlier deadline preempts, but not a new task's in 6.18.
    for (release, new_preempts) in [(Release::V6_12, true), (Release::V6_18, false)] {
        let mut pair = Pair::new(release, 1, 3 * MS, 3 * MS);
        pair.sched
            .profile
            .features
            .set(Feature::RUN_TO_PARITY, false);
        pair.put(V, V - MS / 2);
        pair.run(MS);
        assert!(pair.preempts(WF_TTWU), "{release:?}");
        assert_eq!(pair.preempts(WF_FORK), new_preempts, "{release:?}");
    }
    let mut pair = Pair::new(Release::V6_18, 1, 20 * MS, 3 * MS);
    assert!(pair.preempts(WF_FORK));
}

#[test]
fn a_sync_waker_runs_for_a_while_before_its_wakee_gets_the_cpu() {
    // NEXT_BUDDY: the wakee is the next to run and has the earlier deadline. migration_cost_ns is 0.5 ms: a waker that
    // could have had its wakee on another CPU is left alone for a quarter of that.
    let preempts_after = |ran: Nanos, flags: u32| {
        let mut pair = Pair::new(Release::V6_18, 1, 3 * MS, 3 * MS);
        pair.sched.profile.features.set(Feature::NEXT_BUDDY, true);
        pair.put(V, V - 2 * MS);
        // The clock goes on, and the waker has not been charged for it.
        pair.sched.ses[pair.runs].exec_start = pair.sched.rqs[CPU].clock_task - ran;
        let wake_flags = WF_TTWU | WF_SYNC | flags;
        let cfs_rq = pair.cfs_rq;
        let action = pair
            .sched
            .preempt_wakeup_action(CPU, cfs_rq, pair.waits, pair.runs, wake_flags);
        assert_eq!(pair.sched.cfs_rqs[cfs_rq].next, pair.waits);
        action == super::preempt::PreemptWakeupAction::Resched
    };
    assert!(!preempts_after(499_999, 0));
    assert!(preempts_after(500_000, 0));
    assert!(!preempts_after(124_999, WF_RQ_SELECTED));
    assert!(preempts_after(125_000, WF_RQ_SELECTED));
}

#[test]
fn a_buddy_with_an_earlier_deadline_keeps_its_place() {
    let mut pair = Pair::new(Release::V6_18, 1, 3 * MS, 3 * MS);
    pair.sched.profile.features.set(Feature::NEXT_BUDDY, true);
    pair.put(V - MS, V);
    pair.sched.cfs_rqs[pair.cfs_rq].next = pair.runs;
    pair.preempts(WF_TTWU);
    assert_eq!(pair.sched.cfs_rqs[pair.cfs_rq].next, pair.runs);
    pair.put(V, V - MS);
    pair.preempts(WF_TTWU);
    assert_eq!(pair.sched.cfs_rqs[pair.cfs_rq].next, pair.waits);
}

#[test]
fn lag_goes_as_far_as_the_longest_slice_and_a_tick() {
    // 40 ms apart, each 20 ms from the average. 6.12: max(2 · 1 ms, 4 ms); 6.18: 3 ms + 4 ms, the 3 ms being the other's.
    for (release, lag) in [(Release::V6_12, 4), (Release::V6_18, 7)] {
        let mut pair = Pair::new(release, 1, MS, 3 * MS);
        pair.put(V + 40 * MS, V);
        pair.sched.update_entity_lag(pair.cfs_rq, pair.runs);
        let found = pair.sched.ses[pair.runs].vlag;
        assert_eq!(found, -lag * MS as i64, "{release:?}");
    }
}

#[test]
fn a_running_task_that_is_put_back_is_not_protected_anew() {
    // Slices of 100 ms. A change of nice takes the running task off and puts it back. The tick after it finds a
    // protected slice in 6.12; in 6.18 it finds its lag where the protection was.
    for (release, asks) in [(Release::V6_12, false), (Release::V6_18, true)] {
        let mut pair = Pair::new(release, 1, 100 * MS, 100 * MS);
        let task = pair.sched.rqs[CPU].curr;
        pair.sched.set_user_nice(task, -1, pair.now);
        pair.sched.rqs[CPU].need_resched = false;
        pair.sched.sched_tick(CPU, pair.now + 4 * MS);
        assert_eq!(pair.sched.rqs[CPU].need_resched, asks, "{release:?}");
    }
}

#[test]
fn a_waiting_entity_whose_weight_changes_keeps_its_lag_in_time() {
    // A group's entity waits at V, a task of equal weight runs at V + 3 ms: the average is V + 1.5 ms, the lag 1.5 ms. At
    // half the weight that is 3 ms of virtual time. It leaves and joins: without it the average is V + 3 ms, and joining
    // moves it, so that 3 ms · (1024 + 512)/1024 = 4.5 ms are taken off that: V − 1.5 ms. Of its slice 2 ms are left,
    // which are 4 ms now.
    let mut pair = Pair::new(Release::V6_18, 1, 3 * MS, 3 * MS);
    let group = pair.sched.create_group(GroupId::ROOT, pair.now);
    pair.sched.sched_move_task(pair.waiting, group, pair.now);
    pair.waits = pair.sched.ses[pair.waits].parent;
    pair.put(V + 3 * MS, V);
    let sched = &mut pair.sched;
    sched.timeline_remove(pair.cfs_rq, pair.waits);
    sched.ses[pair.waits].deadline = V + 2 * MS;
    sched.timeline_add(pair.cfs_rq, pair.waits);
    assert_eq!(sched.ses[pair.waits].weight(), 1024);
    let half = sched.ses[pair.waits].load.weight / 2;
    (sched.fair.reweight_entity)(sched, pair.cfs_rq, pair.waits, half);
    let entity = &sched.ses[pair.waits];
    assert_eq!(entity.vruntime, V - MS - MS / 2);
    assert_eq!(entity.deadline, entity.vruntime + 4 * MS);
}

#[test]
fn a_running_group_whose_weight_changes_loses_its_protection() {
    let mut pair = Pair::new(Release::V6_18, 1, 20 * MS, 20 * MS);
    assert_eq!(pair.protection(), 20 * MS as i64);
    let sched = &mut pair.sched;
    let half = sched.ses[pair.runs].load.weight / 2;
    (sched.fair.reweight_entity)(sched, pair.cfs_rq, pair.runs, half);
    assert!(!(sched.fair.protect_slice)(&sched.ses[pair.runs]));
    // Placed with a lag of 0 at the average, with twice the virtual time left.
    assert_eq!(sched.ses[pair.runs].vruntime, V);
    assert_eq!(sched.ses[pair.runs].deadline, V + 40 * MS);
}

#[test]
fn a_wakeup_takes_sleepers_off_that_a_pick_comes_by() {
    // The waiting task went to sleep before it was eligible. Now it is, with the earliest deadline, V + 4 ms. A new task with
    // a shorter slice than the running one's, due at V + 2.5 ms + 10 ms / 2, makes the kernel pick: the sleeper leaves.
    let mut pair = Pair::new(Release::V6_18, 1, 20 * MS, 3 * MS);
    pair.sched.tasks[pair.waiting].state = TaskState::Interruptible;
    pair.put(V, V + MS);
    let off = pair
        .sched
        .dequeue_task(CPU, pair.waiting, crate::flags::DEQUEUE_SLEEP);
    assert!(!off && pair.sched.ses[pair.waits].sched_delayed);
    pair.run(4 * MS);
    let third = pair.sched.spawn(CPU, pair.now);
    let attr = SchedAttr {
        runtime: 10 * MS,
        ..SchedAttr::normal(0)
    };
    pair.sched
        .sched_setscheduler(third, attr, pair.now)
        .unwrap();
    pair.sched.rqs[CPU].need_resched = false;
    pair.sched.wake_up_new_task(CPU, third, pair.now);
    assert!(!pair.sched.ses[pair.waits].on_rq);
}

#[test]
fn what_is_asked_lazily_is_asked_for_good_at_the_tick() {
    let mut pair = Pair::new(Release::V6_18, 1, 20 * MS, 3 * MS);
    pair.sched.profile.preempt = Preempt::Lazy;
    pair.sched.effects.clear();
    assert!(!pair.preempts(WF_TTWU));
    assert!(pair.sched.rqs[CPU].need_resched_lazy && pair.sched.effects.is_empty());
    pair.sched.sched_tick(CPU, pair.now + MS);
    assert!(pair.sched.rqs[CPU].need_resched);
    pair.sched.schedule(CPU, pair.now + MS, true);
    assert!(!pair.sched.rqs[CPU].need_resched_lazy);
}

#[test]
fn utilisation_above_the_capacity_lowers_an_estimate() {
    // The estimate is 900, the task ran at 500 on a CPU of 400, and wanted no more: a quarter of the way is 800.
    for (release, estimate) in [(Release::V6_12, 900), (Release::V6_18, 800)] {
        let mut pair = Pair::new(release, 1, 3 * MS, 3 * MS);
        pair.sched.rqs[CPU].cpu_capacity_orig = 400;
        let avg = &mut pair.sched.ses[pair.waits].avg;
        (avg.util_est, avg.util_avg, avg.runnable_avg) = (900, 500, 500);
        pair.sched.util_est_update_eevdf(CPU, pair.waiting, true);
        let found = pair.sched.ses[pair.waits].avg.util_est & !UTIL_AVG_UNCHANGED;
        assert_eq!(found, estimate, "{release:?}");
    }
}
