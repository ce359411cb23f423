//! `/proc/schedstat`.
//!
//! Model.      A line with nine numbers for each CPU that is up; below it one for each of its domains, from the smallest:
//!             its CPUs as a bitmap, then 36 numbers. Version 16 differs from 15 in the order of the idle types; version 17
//!             tells the domain's name, and imbalances by what was to be moved.
//! Units.      Running and waiting times in ns; the timestamp in jiffies.
//! Source.     kernel/sched/stats.c `show_schedstat` @ 6.1, 6.12, 6.18; Documentation/scheduler/sched-stats.rst.
//! Deviations. The timestamp counts from the start of the run; a kernel's begins 300 s before 2³². The second number of
//!             a CPU is 0 in every kernel.

use crate::simulation::Simulation;
use fairwind_sched::{CpuMask, Release};
use std::fmt::Write;

/// `SCHEDSTAT_VERSION`.
fn version(release: Release) -> u32 {
    match release {
        Release::V6_1 => 15,
        Release::V6_12 => 16,
        Release::V6_18 => 17,
    }
}

/// A set of CPUs as `%*pb` prints it: hexadecimal, 32 CPUs a word, the highest word first and no longer than needed for
/// the machine's CPUs.
fn bitmap(mask: &CpuMask, nr_cpus: usize) -> String {
    let mut text = String::new();
    for word in (0..nr_cpus.div_ceil(32)).rev() {
        let bits = (mask.words()[word / 2] >> (word % 2 * 32)) as u32;
        let digits = (nr_cpus - word * 32).min(32).div_ceil(4);
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}{bits:0digits$x}");
    }
    text
}

impl Simulation {
    /// `/proc/schedstat`.
    pub fn schedstat(&self) -> String {
        let sched = &self.sched;
        let jiffies = sched.jiffies_base + self.now / sched.tick_nsec();
        let mut text = format!(
            "version {}\ntimestamp {jiffies}\n",
            version(sched.profile.release)
        );
        let tells_names = sched.profile.release == Release::V6_18;
        for cpu in sched.rqs.ids().filter(|&cpu| sched.rqs[cpu].online) {
            let s = &sched.rqs[cpu].stats;
            // Counts have 32 bits in the kernel and wrap; times have 64.
            let counts = [
                s.yld_count,
                0,
                s.sched_count,
                s.sched_goidle,
                s.ttwu_count,
                s.ttwu_local,
            ]
            .map(|n| n as u32);
            let _ = write!(text, "cpu{}", cpu.0);
            for count in counts {
                let _ = write!(text, " {count}");
            }
            let _ = writeln!(text, " {} {} {}", s.rq_cpu_time, s.run_delay, s.pcount);
            for (height, sd) in sched.domains.for_each_domain(cpu).enumerate() {
                let span = bitmap(sched.domains.sched_domain_span(sd), sched.nr_cpus());
                let _ = write!(text, "domain{height}");
                if tells_names {
                    let _ = write!(text, " {}", sched.domains.sd[sd].name);
                }
                let _ = write!(text, " {span}");
                for count in sched.schedstat_domain(sd) {
                    let _ = write!(text, " {}", count as u32);
                }
                text.push('\n');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_sched::CpuId;

    #[test]
    fn bitmaps_have_a_digit_for_four_cpus() {
        let of = |nr_cpus, cpus: &[u32]| {
            bitmap(
                &CpuMask::of(nr_cpus, cpus.iter().map(|&c| CpuId(c))),
                nr_cpus,
            )
        };
        assert_eq!(of(1, &[0]), "1");
        assert_eq!(of(4, &[2, 3]), "c");
        assert_eq!(of(8, &[0, 1]), "03");
        assert_eq!(of(32, &[31]), "80000000");
        assert_eq!(of(40, &[0, 33]), "02,00000001");
        assert_eq!(of(66, &[0, 32, 64]), "1,00000001,00000001");
    }
}
