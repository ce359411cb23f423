//! The numbers of a machine one by one, to ask what a result owes to each.
//!
//! Model.       Every number that stands for time, size, loss or power has a name, that of
//!              [`SummaryRow`](crate::SummaryRow); the entries of a table (distances, idle states, threads of a core)
//!              share one. SMT counts as the speed that is lost beside siblings, turbo as the frequency above the base.
//! Not here.    Counts and addresses: the topology, the size of a cache line, the base frequency, to which work refers.

use crate::caches::{Caches, RefillCosts};
use crate::costs::{CallCosts, Costs, KernelCosts};
use crate::distance::ByDistance;
use crate::idle::IdleStates;
use crate::machine::Machine;
use crate::power::Power;

/// What is done with each number.
type Visit<'a> = &'a mut dyn FnMut(&'static str, &mut u64);

impl Machine {
    /// Names of the numbers that are not all 0, in a fixed order.
    pub fn constants(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        self.clone().each_constant(&mut |name, value| {
            if *value != 0 && !names.contains(&name) {
                names.push(name);
            }
        });
        names
    }

    /// The same machine with one of its [`constants`](Self::constants) times `numerator / denominator`, rounded down.
    ///
    /// # Panics
    /// If the denominator is 0.
    pub fn with_constant_times(
        mut self,
        constant: &str,
        (numerator, denominator): (u64, u64),
    ) -> Machine {
        self.each_constant(&mut |name, value| {
            if name == constant {
                *value = value.saturating_mul(numerator) / denominator;
            }
        });
        self
    }

    fn each_constant(&mut self, visit: Visit<'_>) {
        each_of_caches(&mut self.caches, visit);
        each_of_costs(&mut self.costs, visit);
    }
}

fn each_of_caches(caches: &mut Caches, visit: Visit<'_>) {
    let Caches {
        line_bytes: _,
        l1d_bytes,
        l2_bytes,
        l2_per_cluster: _,
        llc_bytes,
    } = caches;
    visit("caches.l1d_bytes", l1d_bytes);
    visit("caches.l2_bytes", l2_bytes);
    visit("caches.llc_bytes", llc_bytes);
}

fn each_of_costs(costs: &mut Costs, visit: Visit<'_>) {
    let Costs {
        kernel,
        calls,
        search_ns,
        ipi_ns,
        lock_handover_ns,
        idle,
        smt_speed_per_1024,
        refill,
        frequency,
        power,
        sources: _,
    } = costs;
    each_of_refill(refill, visit);
    each_of_kernel(kernel, visit);
    each_of_calls(calls, visit);
    each_distance("distance.search_ns", search_ns, visit);
    each_distance("distance.ipi_ns", ipi_ns, visit);
    each_distance("distance.lock_handover_ns", lock_handover_ns, visit);
    for speed in smt_speed_per_1024 {
        let mut lost = 1024 - u64::from(*speed).min(1024);
        visit("smt.speed_per_1024", &mut lost);
        // A thread that gets nothing done would never end.
        *speed = 1024 - lost.min(1023) as u32;
    }
    each_of_idle(idle, visit);
    for (_, khz) in &mut frequency.turbo {
        let mut above = khz.saturating_sub(frequency.base_khz);
        visit("frequency.turbo", &mut above);
        *khz = frequency.base_khz.min(*khz).saturating_add(above);
    }
    let Power {
        package_idle_mw,
        uncore_mw,
        core_active_mw,
        thread_extra_mw,
    } = power;
    visit("power.package_idle_mw", package_idle_mw);
    visit("power.uncore_mw", uncore_mw);
    visit("power.core_active_mw", core_active_mw);
    visit("power.thread_extra_mw", thread_extra_mw);
}

fn each_of_refill(refill: &mut RefillCosts, visit: Visit<'_>) {
    let RefillCosts {
        l2_line_ps,
        llc_line_ps,
        other_llc_line_ps,
        memory_local_line_ps,
        memory_remote_line_ps,
        outstanding_misses,
        typical_overlap,
    } = refill;
    visit("refill.l2_line_ps", l2_line_ps);
    visit("refill.llc_line_ps", llc_line_ps);
    visit("refill.other_llc_line_ps", other_llc_line_ps);
    visit("refill.memory_local_line_ps", memory_local_line_ps);
    for ps in memory_remote_line_ps {
        visit("refill.memory_remote_line_ps", ps);
    }
    for (name, lines) in [
        ("refill.outstanding_misses", outstanding_misses),
        ("refill.typical_overlap", typical_overlap),
    ] {
        let mut value = u64::from(*lines);
        visit(name, &mut value);
        // At least one miss is under way at a time.
        *lines = value.clamp(u64::from(*lines > 0), u64::from(u32::MAX)) as u32;
    }
}

fn each_of_kernel(kernel: &mut KernelCosts, visit: Visit<'_>) {
    let KernelCosts {
        syscall_ns,
        wakeup_ns,
        schedule_ns,
        sleep_ns,
        context_switch_ns,
        mm_switch_ns,
        interrupt_ns,
        tick_ns,
        timer_ns,
        ipi_send_ns,
        migrate_ns,
        group_level_ns,
        atomic_ns,
        vm_exit_ns,
    } = kernel;
    visit("kernel.syscall_ns", syscall_ns);
    visit("kernel.wakeup_ns", wakeup_ns);
    visit("kernel.schedule_ns", schedule_ns);
    visit("kernel.sleep_ns", sleep_ns);
    visit("kernel.context_switch_ns", context_switch_ns);
    visit("kernel.mm_switch_ns", mm_switch_ns);
    visit("kernel.interrupt_ns", interrupt_ns);
    visit("kernel.tick_ns", tick_ns);
    visit("kernel.timer_ns", timer_ns);
    visit("kernel.ipi_send_ns", ipi_send_ns);
    visit("kernel.migrate_ns", migrate_ns);
    visit("kernel.group_level_ns", group_level_ns);
    visit("kernel.atomic_ns", atomic_ns);
    visit("kernel.vm_exit_ns", vm_exit_ns);
}

fn each_of_calls(calls: &mut CallCosts, visit: Visit<'_>) {
    let CallCosts {
        copy_kib_ns,
        pipe_ns,
        unix_ns,
        tcp_send_ns,
        tcp_receive_ns,
        poll_ns,
        fork_ns,
        clone_ns,
        exec_ns,
        exit_process_ns,
        exit_thread_ns,
    } = calls;
    visit("calls.copy_kib_ns", copy_kib_ns);
    visit("calls.pipe_ns", pipe_ns);
    visit("calls.unix_ns", unix_ns);
    visit("calls.tcp_send_ns", tcp_send_ns);
    visit("calls.tcp_receive_ns", tcp_receive_ns);
    visit("calls.poll_ns", poll_ns);
    visit("calls.fork_ns", fork_ns);
    visit("calls.clone_ns", clone_ns);
    visit("calls.exec_ns", exec_ns);
    visit("calls.exit_process_ns", exit_process_ns);
    visit("calls.exit_thread_ns", exit_thread_ns);
}

fn each_distance(name: &'static str, cost: &mut ByDistance, visit: Visit<'_>) {
    let ByDistance {
        same_cpu,
        smt,
        cluster,
        llc,
        node,
        remote,
    } = cost;
    for ns in [same_cpu, smt, cluster, llc, node]
        .into_iter()
        .chain(remote)
    {
        visit(name, ns);
    }
}

fn each_of_idle(idle: &mut IdleStates, visit: Visit<'_>) {
    let mut states = idle.states().to_vec();
    for state in &mut states {
        visit("idle.exit_latency_ns", &mut state.exit_latency_ns);
        visit("idle.target_residency_ns", &mut state.target_residency_ns);
        visit("idle.power_mw", &mut state.power_mw);
    }
    *idle = IdleStates::new(states).expect("times and powers were changed, not their order");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_constant_changes_and_no_other() {
        let machine = Machine::load("power-smt8-1").unwrap();
        let names = machine.constants();
        assert!(names.contains(&"kernel.tick_ns") && names.contains(&"idle.power_mw"));
        assert!(!names.contains(&"frequency.turbo"), "it has none");
        for &name in &names {
            let doubled = machine.clone().with_constant_times(name, (2, 1));
            assert!(doubled != machine, "{name}");
            // All but SMT, where no more than all speed can be lost, comes back.
            if name != "smt.speed_per_1024" {
                assert!(
                    doubled.with_constant_times(name, (1, 2)) == machine,
                    "{name}"
                );
            }
        }
        assert!(machine.clone().with_constant_times("tick_ns", (2, 1)) == machine);
    }

    /// power-smt8 loses 0, 0, 137, 205 … of 1024 with 1, 2, 3, 4 … busy threads.
    #[test]
    fn smt_counts_as_speed_that_is_lost() {
        let machine = Machine::load("power-smt8-1").unwrap();
        let half = machine
            .clone()
            .with_constant_times("smt.speed_per_1024", (1, 2));
        assert_eq!(half.costs.smt_speed_per_1024[..4], [1024, 1024, 956, 922]);
        let double = machine.with_constant_times("smt.speed_per_1024", (2, 1));
        assert_eq!(double.costs.smt_speed_per_1024[2..4], [750, 614]);
        assert_eq!(double.costs.smt_speed_per_1024[7], 1);
    }

    #[test]
    fn turbo_counts_as_what_is_above_the_base() {
        let machine = Machine::load("desktop-8").unwrap();
        let base = machine.costs.frequency.base_khz;
        let above: Vec<u64> = { machine.costs.frequency.turbo.iter() }
            .map(|(_, khz)| khz - base)
            .collect();
        let half = machine.with_constant_times("frequency.turbo", (1, 2));
        for ((_, khz), above) in half.costs.frequency.turbo.iter().zip(above) {
            assert_eq!(khz - base, above / 2);
        }
    }
}
