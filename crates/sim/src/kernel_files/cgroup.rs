//! The cpu controller's files of a group.
//!
//! Units.      v2: µs, and hundredths of a percent for averages; v1: ns.
//! Source.     kernel/sched/core.c `cpu_extra_stat_show`, `cpu_local_stat_show`, `cpu_cfs_stat_show`, `cpu_max_show`,
//!             `cpu_weight_read_u64`; kernel/sched/psi.c `psi_show` @ 6.1, 6.12; Documentation/admin-guide/cgroup-v2.rst.
//! Deviations. `system_usec` is what the machine's costs of switches, wakeups, interrupts and system calls amount to, and
//!             `user_usec` the rest; a kernel estimates both at ticks. `cpu.stat` has no line for core scheduling.

use crate::measure::GroupUsage;
use crate::psi::PressureReport;
use crate::simulation::Simulation;
use fairwind_sched::cgroup::weight_of_shares;
use fairwind_sched::entity::scale_load_down;
use fairwind_sched::group::RUNTIME_INF;
use fairwind_sched::{GroupId, Release};
use std::fmt::Write;

/// A line of a pressure file.
fn pressure_line(kind: &str, averages: [u64; 3], total_usec: u64) -> String {
    let [avg10, avg60, avg300] =
        averages.map(|centi| format!("{}.{:02}", centi / 100, centi % 100));
    format!("{kind} avg10={avg10} avg60={avg60} avg300={avg300} total={total_usec}\n")
}

fn pressure_text(p: &PressureReport) -> String {
    let some = [p.some_avg10_centi, p.some_avg60_centi, p.some_avg300_centi];
    let full = [p.full_avg10_centi, p.full_avg60_centi, p.full_avg300_centi];
    pressure_line("some", some, p.some_total_usec) + &pressure_line("full", full, p.full_total_usec)
}

impl Simulation {
    /// cgroup v2's `cpu.stat`.
    pub fn cpu_stat(&self, group: GroupId) -> String {
        self.cpu_stat_of(group, self.group_usage_below()[group.idx()])
    }

    pub(super) fn cpu_stat_of(&self, group: GroupId, usage: GroupUsage) -> String {
        let b = &self.sched.groups[group].bandwidth;
        let (total, system) = (usage.cpu_ns / 1000, usage.system_ns / 1000);
        format!(
            "usage_usec {total}\nuser_usec {}\nsystem_usec {system}\n\
             nr_periods {}\nnr_throttled {}\nthrottled_usec {}\nnr_bursts {}\nburst_usec {}\n",
            total - system,
            b.nr_periods,
            b.nr_throttled,
            b.throttled_time / 1000,
            b.nr_burst,
            b.burst_time / 1000,
        )
    }

    /// cgroup v2's `cpu.stat.local`; 6.1 has none.
    pub fn cpu_stat_local(&self, group: GroupId) -> Option<String> {
        match self.sched.profile.release {
            Release::V6_1 => None,
            Release::V6_12 | Release::V6_18 => Some(format!(
                "throttled_usec {}\n",
                self.sched.throttled_time_self(group) / 1000
            )),
        }
    }

    /// cgroup v1's `cpu.stat`, as with `sched_schedstats` on.
    pub fn cpu_stat_v1(&self, group: GroupId) -> String {
        let g = &self.sched.groups[group];
        let b = &g.bandwidth;
        let mut text = format!(
            "nr_periods {}\nnr_throttled {}\nthrottled_time {}\n",
            b.nr_periods, b.nr_throttled, b.throttled_time
        );
        if group != GroupId::ROOT {
            let entities = g.cfs_rq.iter().map(|&cfs_rq| self.sched.cfs_rqs[cfs_rq].se);
            let waited: u64 = entities.map(|se| self.sched.ses[se].stats.wait_sum).sum();
            let _ = writeln!(text, "wait_sum {waited}");
        }
        let _ = write!(
            text,
            "nr_bursts {}\nburst_time {}\n",
            b.nr_burst, b.burst_time
        );
        text
    }

    /// `cpu.pressure`, for the root `/proc/pressure/cpu`; none unless pressure is
    /// [watched](Simulation::watch_pressure).
    pub fn cpu_pressure(&self, group: GroupId) -> Option<String> {
        self.pressure(group).as_ref().map(pressure_text)
    }

    /// cgroup v2's `cpu.weight`; the root has none.
    pub fn cpu_weight(&self, group: GroupId) -> Option<String> {
        if group == GroupId::ROOT {
            return None;
        }
        let shares = scale_load_down(self.sched.groups[group].shares);
        let weight = match self.sched.profile.release {
            // Without bounds: a cpu.idle group shows 0.
            Release::V6_1 => (shares * 100 + 512) / 1024,
            Release::V6_12 | Release::V6_18 => weight_of_shares(shares),
        };
        Some(format!("{weight}\n"))
    }

    /// cgroup v2's `cpu.max`: quota and period; the root has none.
    pub fn cpu_max(&self, group: GroupId) -> Option<String> {
        if group == GroupId::ROOT {
            return None;
        }
        let b = &self.sched.groups[group].bandwidth;
        let quota = if b.quota == RUNTIME_INF {
            "max".to_string()
        } else {
            (b.quota / 1000).to_string()
        };
        Some(format!("{quota} {}\n", b.period / 1000))
    }
}
