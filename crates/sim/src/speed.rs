//! How fast a CPU executes.
//!
//! Model. A program's work goes at the CPU's size, its core's clock, and its share of the core. Kernel work was measured in
//!        time on a core of its own: it goes at the share of the core, and, where the machine says at which clock that was, at
//!        the core's clock. What a CPU waits for other caches takes its time at any speed.
//! Deviations. At a tick the kernel takes the mean frequency since the last tick, here it is that of the moment.

use crate::cpu::Segment;
use crate::simulation::Simulation;
use crate::virt::Notice;
use fairwind_sched::{CpuId, Nanos};

/// What a CPU does in 1024 ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Speed {
    /// Of a program's work, in ns at the reference speed.
    pub(crate) user: u64,
    /// Of the kernel's, in ns on a core of its own.
    pub(crate) kernel: u64,
}

impl Speed {
    /// That of a CPU alone on its core, at the reference speed.
    pub(crate) const REFERENCE: Speed = Speed {
        user: 1024,
        kernel: 1024,
    };
}

/// How long kernel work takes at a speed.
#[inline]
pub(crate) fn length_at(work: Nanos, speed: u64) -> Nanos {
    if speed == Speed::REFERENCE.kernel {
        return work;
    }
    (work << 10).div_ceil(speed)
}

impl Simulation {
    /// The CPU's speed at present.
    pub(crate) fn speed(&self, cpu: CpuId) -> Speed {
        if let Some(platform) = &self.platform {
            return platform.cpus[cpu.idx()].speed;
        }
        let place = &self.machine.topology.cpus[cpu.idx()];
        let active = self.package_busy[place.package as usize].max(1) as usize;
        let share = self.core_share(place.core);
        let user = (u64::from(place.capacity) * share) >> 10;
        let user = (user * self.frequency_speeds[active]) >> 10;
        Speed {
            user: user.max(1),
            kernel: self.kernel_speed(cpu),
        }
    }

    /// The kernel's part of that.
    #[inline]
    pub(crate) fn kernel_speed(&self, cpu: CpuId) -> u64 {
        if let Some(platform) = &self.platform {
            return platform.cpus[cpu.idx()].speed.kernel;
        }
        if self.kernel_at_reference {
            return Speed::REFERENCE.kernel;
        }
        let place = &self.machine.topology.cpus[cpu.idx()];
        let active = self.package_busy[place.package as usize].max(1) as usize;
        ((self.core_share(place.core) * self.kernel_speeds[active]) >> 10).max(1)
    }

    /// What a thread of a core gets done beside the core's others that are busy, of 1024.
    #[inline]
    fn core_share(&self, core: u32) -> u64 {
        if !self.smt_slows {
            return 1024;
        }
        let busy = self.core_busy[core as usize].max(1);
        u64::from(self.machine.costs.smt_speed_per_1024(busy as usize)).max(1)
    }

    /// What running time counts for in utilisation at the CPU's present frequency (`arch_scale_freq_tick`), of 1024.
    pub(crate) fn freq_scale(&self, cpu: CpuId) -> u64 {
        let package = self.machine.topology.cpus[cpu.idx()].package;
        self.frequency_scales[self.package_busy[package as usize].max(1) as usize]
    }

    /// How long the CPU takes, at its present speed, for kernel work.
    #[inline]
    pub(crate) fn kernel_ns(&self, cpu: CpuId, work: Nanos) -> Nanos {
        length_at(work, self.kernel_speed(cpu))
    }

    /// Kernel work that the CPU would do, at its present speed, while it waits for other caches: a wait takes no longer
    /// beside a busy sibling.
    #[inline]
    pub(crate) fn stall_work(&self, cpu: CpuId, stall: Nanos) -> Nanos {
        (stall * self.kernel_speed(cpu)) >> 10
    }

    /// A CPU became busy or idle: its core's other threads run at another speed from now on.
    pub(crate) fn core_changed(&mut self, cpu: CpuId, busy: bool) {
        let place = &self.machine.topology.cpus[cpu.idx()];
        let (core, package) = (place.core as usize, place.package as usize);
        let core_busy = &mut self.core_busy[core];
        let before = *core_busy;
        let after = if busy { before + 1 } else { before - 1 };
        *core_busy = after;
        if before == 0 {
            self.package_busy[package] += 1;
        } else if after == 0 {
            self.package_busy[package] -= 1;
        }
        self.power
            .change(self.now, &self.machine, package, core, after);
        if !self.smt_slows {
            return;
        }
        for idx in 0..self.core_cpus[core].len() {
            let sibling = self.core_cpus[core][idx];
            if sibling == cpu {
                continue;
            }
            let curr = self.sched.rqs[sibling].curr;
            match self.cpus[sibling.idx()].segment {
                Segment::Guest => {
                    let vcpu = self.tasks[curr.idx()].vcpu;
                    self.hypervisor.notices.push_back(Notice::Speed(vcpu));
                }
                Segment::User { .. } => {
                    self.charge(sibling);
                    if !self.plan_user(sibling, curr) {
                        // It was done at this very moment: its event must still come.
                        self.plan_kernel(sibling, self.tasks[curr.idx()].kernel_left);
                    }
                }
                Segment::Kernel { .. } => {
                    self.charge(sibling);
                    self.plan_kernel(sibling, self.tasks[curr.idx()].kernel_left);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::monitor::testbed::with_costs;
    use fairwind_machine::Costs;
    use fairwind_sched::{CpuId, Release};

    #[test]
    fn kernel_work_takes_longer_beside_a_busy_sibling() {
        for (hogs, ns) in [(1, 100), (2, 200)] {
            let costs = Costs {
                smt_speed_per_1024: vec![1024, 512],
                ..Costs::none()
            };
            let json = format!(
                r#"{{ "tasks": {{ "hog": {{ "instance": {hogs}, "loop": -1, "run": 1000 }} }} }}"#
            );
            let simulation = with_costs(costs, Release::V6_12, "1x1x2", &json, 20_000_000);
            assert_eq!(simulation.kernel_ns(CpuId(0), 100), ns, "{hogs}");
            let stall = simulation.stall_work(CpuId(0), 100);
            assert_eq!(simulation.kernel_ns(CpuId(0), stall), 100, "{hogs}");
        }
    }
}
