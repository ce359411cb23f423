//! Clock frequency and electric power: enough to say how fast a core runs and how many watts were
//! drawn.
//!
//! Model.       Frequency depends on the number of active cores of the package (the turbo table).
//!              Power of a package = uncore, or its idle floor, plus each core's: busy by the
//!              number of busy threads, else that of its idle state. Where the kernel knows of the frequency, time at a lower
//!              one counts for less in utilisation.
//! Source.      arch/x86/kernel/cpu/aperfmperf.c `intel_set_max_freq_ratio`, `scale_freq_tick` @ 6.1, 6.12.
//! Deviations.  Turbo is taken as always granted: no thermal or power limit, no ramp, no frequency
//!              governor. Power does not follow frequency or the instruction mix.

/// Clock frequencies of a package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frequency {
    /// The frequency to which run times of workloads refer.
    pub base_khz: u64,
    /// Up to so many active cores of the package → frequency, by rising number of cores. Empty:
    /// always base.
    pub turbo: Vec<(u32, u64)>,
    /// Utilisation counts in full at the turbo of so many active cores (`arch_turbo_freq_ratio`); 0: at any frequency.
    pub invariance_cores: u32,
    /// At which the kernel's times were measured; 0: they hold at any.
    pub kernel_khz: u64,
}

impl Frequency {
    /// Frequency with `active_cores` cores of the package active; beyond the table its last entry
    /// holds.
    pub fn khz(&self, active_cores: u32) -> u64 {
        let step = self.turbo.iter().find(|(cores, _)| active_cores <= *cores);
        step.or(self.turbo.last())
            .map_or(self.base_khz, |(_, khz)| *khz)
    }

    /// Highest frequency.
    pub fn max_khz(&self) -> u64 {
        self.turbo
            .iter()
            .map(|(_, khz)| *khz)
            .chain([self.base_khz])
            .max()
            .unwrap_or(self.base_khz)
    }

    /// Speed with `active_cores` active, relative to the base frequency (1024), rounded down.
    pub fn speed_per_1024(&self, active_cores: u32) -> u64 {
        self.khz(active_cores)
            .saturating_mul(1024)
            .checked_div(self.base_khz)
            .unwrap_or(1024)
    }

    /// Speed of the kernel's work with `active_cores` active, relative to what was measured (1024).
    pub fn kernel_speed_per_1024(&self, active_cores: u32) -> u64 {
        (self.khz(active_cores).saturating_mul(1024))
            .checked_div(self.kernel_khz)
            .unwrap_or(1024)
            .max(1)
    }

    /// What running time counts for in utilisation with `active_cores` active (`arch_scale_freq_capacity`), of 1024:
    ///
    /// ```text
    /// ratio = turbo of invariance_cores / base × 1024
    /// scale = min(1024, khz / base × 1024² / ratio)
    /// ```
    pub fn scale_per_1024(&self, active_cores: u32) -> u64 {
        if self.invariance_cores == 0 {
            return 1024;
        }
        let ratio = self.speed_per_1024(self.invariance_cores);
        let scale = (self.khz(active_cores) << 20).checked_div(self.base_khz.saturating_mul(ratio));
        scale.unwrap_or(1024).min(1024)
    }
}

/// Electric power of one package.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Power {
    /// The package outside its cores while every core is in its deepest state.
    pub package_idle_mw: u64,
    /// The package outside its cores while any core is awake.
    pub uncore_mw: u64,
    /// A core with one busy thread.
    pub core_active_mw: u64,
    /// Each further busy thread of that core adds this.
    pub thread_extra_mw: u64,
}

impl Power {
    /// Power of a core with `busy_threads` busy; `idle_mw` is what its idle state draws.
    pub fn core_mw(&self, busy_threads: u32, idle_mw: u64) -> u64 {
        match busy_threads {
            0 => idle_mw,
            busy => {
                let extra = u64::from(busy - 1).saturating_mul(self.thread_extra_mw);
                self.core_active_mw.saturating_add(extra)
            }
        }
    }

    /// Power of a package whose cores draw `cores_mw` together.
    pub fn package_mw(&self, cores_mw: u64, any_core_awake: bool) -> u64 {
        let rest = if any_core_awake {
            self.uncore_mw
        } else {
            self.package_idle_mw
        };
        cores_mw.saturating_add(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turbo_steps_down_with_active_cores() {
        let frequency = Frequency {
            base_khz: 2000,
            turbo: vec![(2, 3000), (4, 2500)],
            invariance_cores: 0,
            kernel_khz: 0,
        };
        assert_eq!(frequency.khz(0), 3000);
        assert_eq!(frequency.khz(2), 3000);
        assert_eq!(frequency.khz(3), 2500);
        assert_eq!(frequency.khz(9), 2500);
        assert_eq!(frequency.max_khz(), 3000);
        assert_eq!(frequency.speed_per_1024(1), 1536);
        let plain = Frequency {
            base_khz: 2000,
            turbo: vec![],
            invariance_cores: 0,
            kernel_khz: 0,
        };
        assert_eq!(
            (plain.khz(1), plain.max_khz(), plain.speed_per_1024(7)),
            (2000, 2000, 1024)
        );
    }

    #[test]
    fn time_below_the_turbo_of_few_cores_counts_for_less() {
        let scales = |invariance_cores| {
            let frequency = Frequency {
                base_khz: 2000,
                turbo: vec![(2, 3000), (4, 2500), (8, 2400)],
                invariance_cores,
                kernel_khz: 0,
            };
            [1, 2, 4, 8].map(|active| frequency.scale_per_1024(active))
        };
        // 2500 / 2000 is 1280 / 1024: 2400 / 2000 × 1024² / 1280 = 983.04; faster than that is no more than full.
        assert_eq!(scales(4), [1024, 1024, 1024, 983]);
        assert_eq!(scales(0), [1024; 4]);
    }

    #[test]
    fn power_adds_up() {
        let power = Power {
            package_idle_mw: 10,
            uncore_mw: 30,
            core_active_mw: 8,
            thread_extra_mw: 2,
        };
        assert_eq!(power.core_mw(0, 3), 3);
        assert_eq!(power.core_mw(1, 3), 8);
        assert_eq!(power.core_mw(4, 3), 14);
        assert_eq!(power.package_mw(14 + 3, true), 47);
        assert_eq!(power.package_mw(6, false), 16);
    }
}
