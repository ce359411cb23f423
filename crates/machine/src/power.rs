//! Clock frequency and electric power: enough to say how fast a core runs and how many watts were
//! drawn.
//!
//! Model.       Frequency depends on the number of active cores of the package (the turbo table).
//!              Power of a package = uncore, or its idle floor, plus each core's: busy by the
//!              number of busy threads, else that of its idle state.
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
        };
        assert_eq!(
            (plain.khz(1), plain.max_khz(), plain.speed_per_1024(7)),
            (2000, 2000, 1024)
        );
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
