//! CPU time is conserved, and the scheduler charges what the machine executes.
//!
//! Model. On each CPU, busy and idle time add up to the time that passed; over all, the tasks' CPU times add up to the busy
//!        time. The scheduler's `sum_exec_runtime` of a task equals its CPU time, but for this: a CPU that was asked to
//!        reschedule need not read its clock again at the switch (RQCF_REQ_SKIP), so that what ran between the request and
//!        the switch is charged to who comes next. The difference a task may have is the sum of those times over the
//!        switches it took part in.
//! Deviations. 6.12 takes what the running task ran since it was last charged for idle time of the fair server when a fair
//!        task is queued for a CPU that has none (`dl_server_update_idle_time` looks at `rq->curr`, whoever that is). That
//!        happens when a CPU pulls tasks while it switches away from a stopper that sleeps, or from a task whose group was
//!        throttled at a level above its own. Stoppers are therefore not compared, and a throttled task may be charged
//!        less by what it ran.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::task::Class;
use fairwind_sched::{CpuId, Nanos, Release, Sched, TaskId};

#[derive(Clone, Copy, Default)]
struct Seen {
    /// Who ran.
    curr: Option<TaskId>,
    /// schedule() calls.
    calls: u64,
    /// The clock, if the next switch need not read it.
    skips: Option<Nanos>,
    /// Up to when it was charged.
    exec_start: Nanos,
}

/// See the module.
#[derive(Default)]
pub struct CpuTime {
    /// `[nr_cpus]`
    cpus: Vec<Seen>,
    /// `[nr_tasks]`: what the scheduler may charge differently.
    tolerance: Vec<Nanos>,
}

/// What a task has executed, by the machine and by the scheduler.
fn executed(simulation: &Simulation, task: TaskId) -> (Nanos, Nanos) {
    let t = &simulation.sched.tasks[task];
    let se = &simulation.sched.ses[t.se];
    let mut machine = simulation.tasks[task.idx()].cpu_ns;
    let mut charged = se.sum_exec_runtime;
    if t.on_cpu {
        machine += simulation.now - simulation.cpus[t.cpu.idx()].since;
        let behind = simulation.sched.rqs[t.cpu].clock - simulation.sched.rqs[t.cpu].clock_task;
        charged += simulation.now - behind - se.exec_start;
    }
    (machine, charged)
}

/// Is the task held back by a limit (6.12 and later, see above)?
fn throttled(sched: &Sched, task: TaskId) -> bool {
    sched.profile.release != Release::V6_1
        && sched.cfs_rqs[sched.ses[sched.tasks[task].se].cfs_rq].throttle_count != 0
}

impl CpuTime {
    fn compare(&self, simulation: &Simulation, task: TaskId) -> Result<(), Violation> {
        if matches!(
            simulation.sched.tasks[task].class,
            Class::Idle | Class::Stop
        ) {
            return Ok(());
        }
        let (machine, charged) = executed(simulation, task);
        let tolerance = self.tolerance[task.idx()];
        if machine.abs_diff(charged) > tolerance {
            let what = format!(
                "{task:?} executed {machine} ns and was charged {charged}, more than {tolerance} apart"
            );
            return broken(self.name(), simulation, what);
        }
        Ok(())
    }

    fn look(&mut self, simulation: &Simulation, cpu: CpuId) -> Result<(), Violation> {
        let rq = &simulation.sched.rqs[cpu];
        let exec_start = simulation.sched.ses[simulation.sched.tasks[rq.curr].se].exec_start;
        let skips = rq.clock_skip_requested.then_some(rq.clock);
        let now = Seen {
            curr: Some(rq.curr),
            calls: rq.stats.sched_count,
            skips,
            exec_start,
        };
        let seen = std::mem::replace(&mut self.cpus[cpu.idx()], now);
        if let Some(prev) = seen.curr {
            if let Some(clock) = seen.skips.filter(|_| seen.calls != now.calls) {
                let late = simulation.now - clock;
                if now.calls - seen.calls == 1 {
                    self.tolerance[prev.idx()] += late;
                    self.tolerance[rq.curr.idx()] += late;
                } else {
                    // Several switches at once: whoever ran for no time between them is not seen.
                    self.tolerance
                        .iter_mut()
                        .for_each(|tolerance| *tolerance += late);
                }
            }
            if prev != rq.curr && throttled(&simulation.sched, prev) {
                self.tolerance[prev.idx()] += simulation.now - seen.exec_start;
            }
            self.compare(simulation, prev)?;
        }
        self.compare(simulation, rq.curr)
    }
}

impl Monitor for CpuTime {
    fn name(&self) -> &'static str {
        "cpu_time"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        self.cpus.resize(sched.nr_cpus(), Seen::default());
        self.tolerance.resize(sched.tasks.len(), 0);
        let mut busy = 0;
        for cpu in sched.rqs.ids() {
            let c = &simulation.cpus[cpu.idx()];
            busy += c.busy_ns;
            let booked = c.busy_ns + c.idle_ns + (simulation.now - c.since);
            if booked != simulation.now {
                let what = format!("cpu {}: {booked} ns busy or idle in all", cpu.0);
                return broken(self.name(), simulation, what);
            }
            self.look(simulation, cpu)?;
        }
        let tasks: Nanos = simulation.tasks.iter().map(|t| t.cpu_ns).sum();
        if tasks != busy {
            let what = format!("CPUs were busy for {busy} ns, tasks ran for {tasks}");
            return broken(self.name(), simulation, what);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, mixed, task};
    use super::*;

    #[test]
    fn time_lost_by_a_cpu_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        fires(
            CpuTime::default(),
            &mut simulation,
            |s| s.cpus[0].busy_ns -= 1,
            "busy or idle in all",
        );
    }

    #[test]
    fn time_given_to_nobody_is_seen() {
        let mut simulation = mixed(Release::V6_1);
        let (hog, _) = task(&simulation, "hog", 0);
        let waits = !simulation.sched.tasks[hog].on_cpu;
        let tamper = |s: &mut Simulation| s.tasks[hog.idx()].cpu_ns += 1;
        let says = if waits {
            "tasks ran for"
        } else {
            "was charged"
        };
        fires(CpuTime::default(), &mut simulation, tamper, says);
    }

    #[test]
    fn a_wrong_charge_is_seen_to_the_nanosecond() {
        for release in Release::ALL {
            let mut simulation = mixed(release);
            let curr = simulation.sched.rqs[CpuId(0)].curr;
            let se = simulation.sched.tasks[curr].se;
            let tamper = |s: &mut Simulation| s.sched.ses[se].sum_exec_runtime += 1;
            fires(
                CpuTime::default(),
                &mut simulation,
                tamper,
                "more than 0 apart",
            );
        }
    }
}
