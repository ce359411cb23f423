//! The scheduler as it stands when the recording begins.
//!
//! Model.      The kernel's features, tunables and domains; the root queues' virtual runtimes and
//!             averages as the debug file showed them a little earlier: the averages decay since then.
//! Deviations. CPUs start idle but for who is first switched from (but see `waiting_before`), and every domain as if it was
//!             just balanced; only when a CPU is to balance next is told. Groups appear when a record names them.

use crate::facts::Facts;
use fairwind_sched::pelt::SchedAvg;
use fairwind_sched::{CpuId, KernelProfile, Sched};

/// A scheduler at the start of a recording.
pub(super) fn scheduler(facts: &Facts, profile: &KernelProfile, start: u64, jiffies: u64) -> Sched {
    let mut sched = Sched::new(profile.clone(), facts.topology.clone());
    sched.rt_balancing = false;
    sched.follow_jiffies(jiffies);
    sched.set_time(start);
    for &cpu in &facts.offline {
        // One of them is up, or nothing is recorded.
        if sched.follow_cpu_leaves(cpu, start).is_ok() {
            sched.follow_cpu_left(cpu, start);
            sched.follow_domains(Some(cpu));
        }
    }
    // Times are told as they are without these.
    let scaled_cpus = sched.profile.scaled_cpus;
    sched.profile = profile.clone();
    sched.profile.scaled_cpus = scaled_cpus;
    if !facts.isolated.is_empty() {
        sched.isolate(&facts.isolated);
    }
    for cpu in sched.rqs.ids() {
        set_clock(&mut sched, cpu, start);
        let rq = &mut sched.rqs[cpu];
        rq.clock_pelt_idle = start;
        rq.clock_idle = start;
        rq.next_balance = jiffies;
        // Of two idle CPUs, most likely the one that was brought up later became idle later.
        rq.idle_stamp = idle_stamp(start, cpu.idx());
    }
    for facts in &facts.cpus {
        if facts.cpu as usize >= sched.nr_cpus() || facts.next_balance == 0 {
            continue;
        }
        let rq = &mut sched.rqs[CpuId(facts.cpu)];
        rq.next_balance = facts.next_balance;
        rq.avg_idle = facts.avg_idle;
        rq.max_idle_balance_cost = facts.max_idle_balance_cost;
    }
    let shown_at = facts.clock.map_or(start, |clock| clock.cpu_clock);
    for queue in facts.queues.iter().filter(|queue| queue.path == "/") {
        if queue.cpu as usize >= sched.nr_cpus() {
            continue;
        }
        let cfs_rq = sched.rqs[CpuId(queue.cpu)].cfs;
        let cfs = &mut sched.cfs_rqs[cfs_rq];
        cfs.zero_vruntime = queue.min_vruntime;
        let avg = &mut cfs.avg;
        set_update_time(avg, shown_at.min(start));
        let divider = u64::from(avg.divider());
        avg.load_avg = queue.load_avg;
        avg.runnable_avg = queue.runnable_avg;
        avg.util_avg = queue.util_avg;
        avg.load_sum = queue.load_avg * divider;
        avg.runnable_sum = queue.runnable_avg * divider;
        avg.util_sum = (queue.util_avg * divider) as u32;
        sched.list_leaf(cfs_rq);
    }
    sched.follow_idle_start();
    sched
}

/// When a CPU became idle that is so from the beginning, of which only an order is known.
pub(super) fn idle_stamp(start: u64, place: usize) -> u64 {
    start.max(1) + place as u64
}

/// Sets a CPU's clocks. Load averages are from before that.
pub(super) fn set_clock(sched: &mut Sched, cpu: CpuId, clock: u64) {
    let rq = &mut sched.rqs[cpu];
    rq.clock = clock;
    rq.clock_task = clock;
    rq.clock_pelt = clock;
    let avg = &mut sched.cfs_rqs[rq.cfs].avg;
    if avg.last_update_time == 0 || avg.last_update_time > clock {
        set_update_time(avg, clock);
    }
}

/// Sets up to when load averages are. Their periods are multiples of their length, counted from 0.
fn set_update_time(avg: &mut SchedAvg, clock: u64) {
    avg.last_update_time = clock & !1023;
    avg.period_contrib = (clock >> 10) as u32 & 1023;
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_sched::{KernelProfile, Release, Topology};

    #[test]
    fn averages_stay_as_old_as_they_are() {
        let profile = KernelProfile::new(Release::V6_12, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        let cpu = CpuId(0);
        let cfs_rq = sched.rqs[cpu].cfs;
        let age = |sched: &Sched| sched.cfs_rqs[cfs_rq].avg.last_update_time >> 20;
        set_clock(&mut sched, cpu, 9 << 20);
        assert_eq!(age(&sched), 9, "none were shown");
        set_update_time(&mut sched.cfs_rqs[cfs_rq].avg, 3 << 20);
        set_clock(&mut sched, cpu, 7 << 20);
        assert_eq!(age(&sched), 3);
        set_clock(&mut sched, cpu, 2 << 20);
        assert_eq!(age(&sched), 2, "they are not from later");
    }

    #[test]
    fn periods_of_averages_begin_at_multiples_of_their_length() {
        let period = 1 << 20;
        let mut avg = SchedAvg::default();
        set_update_time(&mut avg, 7 * period + 5000);
        assert_eq!(avg.last_update_time, 7 * period + 4096);
        assert_eq!(avg.period_contrib, 4);
    }
}
