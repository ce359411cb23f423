//! The numbers of a machine as rows of a table: name, value, unit, source.

use crate::costs::{CallCosts, KernelCosts};
use crate::distance::ByDistance;
use crate::machine::Machine;

/// One number, or one small table of numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryRow {
    /// Its name, as in a machine file.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The unit of the value.
    pub unit: &'static str,
    /// Where it comes from; `-` where that is not known.
    pub source: String,
}

impl Machine {
    /// Caches and costs as rows, in a fixed order.
    pub fn summary(&self) -> Vec<SummaryRow> {
        let mut rows = Rows {
            machine: self,
            rows: Vec::new(),
        };
        rows.caches();
        rows.kernel(&self.costs.kernel);
        rows.calls(&self.costs.calls);
        rows.by_distance("distance.search_ns", &self.costs.search_ns);
        rows.by_distance("distance.ipi_ns", &self.costs.ipi_ns);
        rows.by_distance("distance.lock_handover_ns", &self.costs.lock_handover_ns);
        rows.core();
        rows.rows
    }
}

struct Rows<'a> {
    machine: &'a Machine,
    rows: Vec<SummaryRow>,
}

impl Rows<'_> {
    fn push(&mut self, name: &str, value: impl ToString, unit: &'static str) {
        let source = self.machine.costs.sources.get(name);
        self.rows.push(SummaryRow {
            name: name.to_string(),
            value: value.to_string(),
            unit,
            source: source.cloned().unwrap_or_else(|| "-".to_string()),
        });
    }

    fn caches(&mut self) {
        let caches = self.machine.caches;
        self.push("caches.line_bytes", caches.line_bytes, "B");
        self.push("caches.l1d_bytes", caches.l1d_bytes, "B");
        self.push("caches.l2_bytes", caches.l2_bytes, "B");
        self.push("caches.llc_bytes", caches.llc_bytes, "B");
        let refill = self.machine.costs.refill;
        self.push("refill.l2_line_ps", refill.l2_line_ps, "ps");
        self.push("refill.llc_line_ps", refill.llc_line_ps, "ps");
        self.push("refill.other_llc_line_ps", refill.other_llc_line_ps, "ps");
        self.push(
            "refill.memory_local_line_ps",
            refill.memory_local_line_ps,
            "ps",
        );
        let remote = join(&refill.memory_remote_line_ps);
        self.push("refill.memory_remote_line_ps", remote, "ps");
        self.push(
            "refill.outstanding_misses",
            refill.outstanding_misses,
            "lines",
        );
        self.push("refill.typical_overlap", refill.typical_overlap, "lines");
    }

    fn kernel(&mut self, kernel: &KernelCosts) {
        for (name, ns) in [
            ("kernel.syscall_ns", kernel.syscall_ns),
            ("kernel.wakeup_ns", kernel.wakeup_ns),
            ("kernel.schedule_ns", kernel.schedule_ns),
            ("kernel.sleep_ns", kernel.sleep_ns),
            ("kernel.context_switch_ns", kernel.context_switch_ns),
            ("kernel.mm_switch_ns", kernel.mm_switch_ns),
            ("kernel.interrupt_ns", kernel.interrupt_ns),
            ("kernel.tick_ns", kernel.tick_ns),
            ("kernel.timer_ns", kernel.timer_ns),
            ("kernel.ipi_send_ns", kernel.ipi_send_ns),
            ("kernel.migrate_ns", kernel.migrate_ns),
            ("kernel.group_level_ns", kernel.group_level_ns),
            ("kernel.atomic_ns", kernel.atomic_ns),
            ("kernel.vm_exit_ns", kernel.vm_exit_ns),
        ] {
            self.push(name, ns, "ns");
        }
    }

    fn calls(&mut self, calls: &CallCosts) {
        for (name, ns) in [
            ("calls.copy_kib_ns", calls.copy_kib_ns),
            ("calls.pipe_ns", calls.pipe_ns),
            ("calls.unix_ns", calls.unix_ns),
            ("calls.tcp_send_ns", calls.tcp_send_ns),
            ("calls.tcp_receive_ns", calls.tcp_receive_ns),
            ("calls.poll_ns", calls.poll_ns),
            ("calls.fork_ns", calls.fork_ns),
            ("calls.clone_ns", calls.clone_ns),
            ("calls.exec_ns", calls.exec_ns),
            ("calls.exit_process_ns", calls.exit_process_ns),
            ("calls.exit_thread_ns", calls.exit_thread_ns),
        ] {
            self.push(name, ns, "ns");
        }
    }

    fn by_distance(&mut self, name: &str, cost: &ByDistance) {
        let value = format!(
            "same {}, smt {}, cluster {}, llc {}, node {}, remote {}",
            cost.same_cpu,
            cost.smt,
            cost.cluster,
            cost.llc,
            cost.node,
            join(&cost.remote)
        );
        self.push(name, value, "ns");
    }

    fn core(&mut self) {
        let costs = &self.machine.costs;
        let speeds: Vec<String> = costs
            .smt_speed_per_1024
            .iter()
            .map(u32::to_string)
            .collect();
        self.push("smt.speed_per_1024", speeds.join(" "), "per 1024");
        let states: Vec<String> = costs
            .idle
            .states()
            .iter()
            .map(|s| {
                let polling = if s.polling { " polling" } else { "" };
                let times = format!("{}/{}", s.exit_latency_ns, s.target_residency_ns);
                format!("{} {times}{polling}", s.name)
            })
            .collect();
        self.push("idle.states", states.join(", "), "ns exit/residency");
        let powers: Vec<String> = costs
            .idle
            .states()
            .iter()
            .map(|s| format!("{} {}", s.name, s.power_mw))
            .collect();
        self.push("idle.power_mw", powers.join(", "), "mW a core");
        self.push("frequency.base_khz", costs.frequency.base_khz, "kHz");
        let turbo: Vec<String> = costs
            .frequency
            .turbo
            .iter()
            .map(|(n, khz)| format!("{n}:{khz}"))
            .collect();
        if !turbo.is_empty() {
            self.push("frequency.turbo", turbo.join(" "), "cores:kHz");
        }
        if costs.frequency.invariance_cores > 0 {
            let cores = costs.frequency.invariance_cores;
            self.push("frequency.invariance_cores", cores, "cores");
        }
        if costs.frequency.kernel_khz > 0 {
            self.push("frequency.kernel_khz", costs.frequency.kernel_khz, "kHz");
        }
        self.push("power.package_idle_mw", costs.power.package_idle_mw, "mW");
        self.push("power.uncore_mw", costs.power.uncore_mw, "mW");
        self.push("power.core_active_mw", costs.power.core_active_mw, "mW");
        self.push("power.thread_extra_mw", costs.power.thread_extra_mw, "mW");
    }
}

/// Classes of remote distance; a tail of equal ones is written once.
fn join(remote: &[u64]) -> String {
    let same_tail = remote
        .iter()
        .rev()
        .take_while(|n| Some(*n) == remote.last())
        .count();
    let shown = &remote[..remote.len() + 1 - same_tail.max(1)];
    shown
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join("/")
}
