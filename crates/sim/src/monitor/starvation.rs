//! Every fair task that can run does, in time.
//!
//! Model. While a task waits, it is owed its share of what its CPU gives to fair tasks: time × Π w/W over the levels above
//!        it (W the weight of all on that level's queue). Running clears the debt, and so does sleeping. What a
//!        scheduler may owe is bounded by how it cuts time:
//!
//! ```text
//!   6.12   levels · 4 · (longest slice + tick)            lag is within two slices or a tick, either sign
//!   6.1    4 · (tasks + 1) · (longest period + tick)      each of the others may have a sleeper's credit
//! ```
//!
//! A move to another CPU clears the debt, too: what a queue owes is cut to the limit of lag when the entity leaves, and
//! balancing may move a waiting task as often as it likes (SCHED_IDLE tasks every few ticks).
//! Time that RT tasks take does not count: without a limit on them fair tasks starve, rightly. Neither does time
//! throttled. A CPU that idles beside the task counts as if it had been given away.
//! Deviations. Where no honest bound exists nothing is checked: 6.1 leaves the virtual runtime of a group's entity as it is
//!        when its weight changes, so that on several CPUs a group can owe arbitrarily much; 6.18 places one that runs anew
//!        then, by a lag that it inflates though the average counts the entity already, and what competes with such a group
//!        waits for longer each time; 6.12 without PLACE_LAG or DELAY_DEQUEUE lets sleepers forget what they owe; a task
//!        whose weight or slice changes while it waits keeps, in 6.12, a deadline of its old weight, which may be far away
//!        in the new one.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::task::Class;
use fairwind_sched::{CfsRqId, Feature, Nanos, Release, Sched, SeId, TaskId, TaskState};

/// Shares are in 2⁻³².
const SHARE_SHIFT: u32 = 32;

/// A task that waits.
#[derive(Clone, Copy, Default)]
struct Waiting {
    /// Owed so far, ns·2³².
    owed: u128,
    /// Its share from the last look on; 0: it did not wait, or its CPU was not the fair class's.
    share: u64,
    /// How often it had been moved.
    moves: u64,
    /// Weight and slice that it began to wait with.
    began: Option<(u64, Nanos)>,
}

/// See the module.
#[derive(Default)]
pub struct Starvation {
    last: Nanos,
    /// `[nr_tasks]`
    tasks: Vec<Waiting>,
    /// `[nr_cfs_rqs]`: weight of all queued, as picking sees it.
    weights: Vec<u64>,
}

/// A queue's weight as virtual time sees it.
fn queue_weight(sched: &Sched, cfs_rq: CfsRqId) -> u64 {
    let cfs = &sched.cfs_rqs[cfs_rq];
    let waiting: u64 = cfs
        .timeline
        .iter()
        .map(|entry| sched.ses[entry.se].weight())
        .sum();
    let curr = cfs.curr.get().filter(|&curr| sched.ses[curr].on_rq);
    waiting + curr.map_or(0, |curr| sched.ses[curr].weight())
}

/// The most a task may be owed, if there is a bound.
fn bound(sched: &Sched, task: TaskId) -> Option<Nanos> {
    let levels = u64::from(sched.ses[sched.tasks[task].se].depth) + 1;
    let tick = sched.tick_nsec();
    let features = sched.profile.features;
    let tunables = &sched.profile.tunables;
    match sched.profile.release {
        release @ (Release::V6_12 | Release::V6_18) => {
            let alone = sched.nr_cpus() == 1 || sched.groups.len() == 1;
            let sound = features.has(Feature::PLACE_LAG)
                && features.has(Feature::DELAY_DEQUEUE)
                && (release == Release::V6_12 || alone);
            let custom = sched
                .ses
                .iter()
                .filter(|se| se.custom_slice)
                .map(|se| se.slice)
                .max()
                .unwrap_or(0);
            sound.then(|| levels * 4 * (custom.max(tunables.base_slice_ns) + tick))
        }
        Release::V6_1 => {
            let tasks = sched.tasks.len() as u64;
            let period = tunables.latency_ns.max(tasks * tunables.min_granularity_ns);
            (levels == 1 || sched.nr_cpus() == 1).then(|| 4 * (tasks + 1) * (period + tick))
        }
    }
}

impl Starvation {
    /// The task's share of its CPU; 0 if it does not wait for the fair class.
    fn share(&self, sched: &Sched, task: TaskId) -> u64 {
        let mut se: SeId = sched.tasks[task].se;
        let mut share = 1u64 << SHARE_SHIFT;
        while se.is_some() {
            let entity = &sched.ses[se];
            if !entity.on_rq {
                return 0;
            }
            let whole = self.weights[entity.cfs_rq.idx()].max(1);
            share = (u128::from(share) * u128::from(entity.weight()) / u128::from(whole)) as u64;
            se = entity.parent;
        }
        share
    }

    fn look(&mut self, sched: &Sched, task: TaskId) {
        let t = &sched.tasks[task];
        let cpu_class = sched.tasks[sched.rqs[t.cpu].curr].class;
        let waits =
            t.class == Class::Fair && t.is_queued() && t.state == TaskState::Running && !t.on_cpu;
        let moves = sched.ses[t.se].nr_migrations;
        if !waits || self.tasks[task.idx()].moves != moves {
            self.tasks[task.idx()] = Waiting {
                moves,
                ..Waiting::default()
            };
        }
        if !waits {
            return;
        }
        let now = (sched.ses[t.se].weight(), sched.ses[t.se].slice);
        let began = *self.tasks[task.idx()].began.get_or_insert(now);
        let fair = matches!(cpu_class, Class::Fair | Class::Idle);
        self.tasks[task.idx()].share = if fair && began == now {
            self.share(sched, task)
        } else {
            0
        };
    }
}

impl Monitor for Starvation {
    fn name(&self) -> &'static str {
        "starvation"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        let elapsed = u128::from(simulation.now - self.last);
        self.last = simulation.now;
        self.tasks.resize(sched.tasks.len(), Waiting::default());
        self.weights.clear();
        self.weights.extend(
            sched
                .cfs_rqs
                .ids()
                .map(|cfs_rq| queue_weight(sched, cfs_rq)),
        );
        for task in sched.tasks.ids() {
            let waiting = &mut self.tasks[task.idx()];
            waiting.owed += elapsed * u128::from(waiting.share);
            let owed = (waiting.owed >> SHARE_SHIFT) as u64;
            self.look(sched, task);
            if owed > 0 && bound(sched, task).is_some_and(|bound| owed > bound) {
                let what = format!(
                    "{task:?} on cpu {} is owed {owed} ns and still waits",
                    sched.tasks[task].cpu.0
                );
                return broken(self.name(), simulation, what);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{mixed, running};
    use super::*;
    use fairwind_sched::CpuId;

    const HOGS: &str = r#"{ "tasks": { "hog": { "instance": 2, "loop": -1, "run": 1000 } } }"#;

    #[test]
    fn a_task_that_never_gets_its_turn_is_seen() {
        for release in Release::ALL {
            let mut simulation = running(release, "1x1x1", HOGS, 20_000_000);
            let mut monitor = Starvation::default();
            assert_eq!(monitor.check(&simulation), Ok(()));
            let waits = simulation
                .live_tasks()
                .into_iter()
                .find(|&t| !simulation.sched.tasks[t].on_cpu)
                .unwrap();
            let bound = bound(&simulation.sched, waits).unwrap();
            // It is owed half of the CPU.
            simulation.now += 2 * bound;
            assert_eq!(monitor.check(&simulation), Ok(()));
            simulation.now += 2;
            assert_eq!(monitor.check(&simulation).unwrap_err().rule, "starvation");
        }
    }

    #[test]
    fn a_task_that_is_reniced_while_it_waits_is_let_be() {
        let mut simulation = running(Release::V6_12, "1x1x1", HOGS, 20_000_000);
        let mut monitor = Starvation::default();
        assert_eq!(monitor.check(&simulation), Ok(()));
        let waits = simulation
            .live_tasks()
            .into_iter()
            .find(|&t| !simulation.sched.tasks[t].on_cpu)
            .unwrap();
        simulation.sched.set_user_nice(waits, -17, simulation.now);
        assert_eq!(monitor.check(&simulation), Ok(()));
        simulation.now += 100_000_000_000;
        assert_eq!(monitor.check(&simulation), Ok(()));
    }

    #[test]
    fn time_taken_by_rt_is_not_owed() {
        let mut simulation = running(Release::V6_12, "1x1x1", HOGS, 20_000_000);
        let curr = simulation.sched.rqs[CpuId(0)].curr;
        simulation.sched.tasks[curr].class = Class::Rt;
        let mut monitor = Starvation::default();
        assert_eq!(monitor.check(&simulation), Ok(()));
        simulation.now += 100_000_000_000;
        assert_eq!(monitor.check(&simulation), Ok(()));
    }

    #[test]
    fn nobody_starves_in_a_mixed_workload() {
        for release in Release::ALL {
            let mut simulation = mixed(release);
            simulation.add_monitor(Box::new(Starvation::default()));
            simulation.run_until(3_000_000_000);
            assert_eq!(simulation.violation(), None);
        }
    }
}
