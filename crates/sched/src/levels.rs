//! Tunables of the fair class that may differ from level to level of the group tree.
//!
//! Model. A level is an entity's depth: 0 for tasks and groups in the root, 1 for those in a group below it, and so on. Where
//!        the fair class asks a tunable on behalf of an entity, the value for its depth counts, and else the one for all.
//!        A group's entity takes the shortest slice of those below it in 6.12; with a `base_slice_ns` for its depth it
//!        takes that.

use crate::profile::{KernelProfile, TunableError};
use alloc::string::String;

/// The deepest level that can be tuned.
const MAX_DEPTH: usize = 15;

macro_rules! levels {
    ($($field:ident),*) => {
        /// The values of one level; none: as for all.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
        pub struct LevelTunables { $(#[doc = "See [`Tunables`](crate::profile::Tunables)."] pub $field: Option<u64>),* }

        /// The tunables that can be set for a level: `NAME@DEPTH`.
        pub const LEVEL_TUNABLES: &[&str] = &[$(stringify!($field)),*];

        impl LevelTunables {
            fn put(&mut self, name: &str, value: u64) {
                match name { $(stringify!($field) => self.$field = Some(value),)* _ => {} }
            }
        }

        impl KernelProfile {
            $(
                /// The tunable for entities of a depth.
                #[inline]
                pub(crate) fn $field(&self, depth: u32) -> u64 {
                    self.level(depth).and_then(|level| level.$field).unwrap_or(self.tunables.$field)
                }
            )*
        }
    };
}

levels!(
    latency_ns,
    min_granularity_ns,
    idle_min_granularity_ns,
    wakeup_granularity_ns,
    base_slice_ns
);

impl KernelProfile {
    #[inline]
    fn level(&self, depth: u32) -> Option<&LevelTunables> {
        self.levels.get(depth as usize)
    }

    /// The slice of a group's entity whose members ask for no less than `below`.
    #[inline]
    pub(crate) fn group_slice(&self, depth: u32, below: u64) -> u64 {
        self.level(depth)
            .and_then(|level| level.base_slice_ns)
            .unwrap_or(below)
    }

    /// Sets a tunable whose value is in range for one level; `depth` as it was typed.
    pub(crate) fn set_level_tunable(
        &mut self,
        name: &str,
        depth: &str,
        value: u64,
    ) -> Result<(), TunableError> {
        if !LEVEL_TUNABLES.contains(&name) {
            return Err(TunableError::NoLevels);
        }
        let Some(depth) = depth
            .parse()
            .ok()
            .filter(|&depth: &usize| depth <= MAX_DEPTH)
        else {
            return Err(TunableError::Depth(String::from("0 to 15")));
        };
        if self.levels.len() <= depth {
            self.levels.resize(depth + 1, LevelTunables::default());
        }
        self.levels[depth].put(name, value);
        Ok(())
    }

    /// 6.1: from how many entities on the period of a level grows (`sched_nr_latency`).
    pub(crate) fn sched_nr_latency(&self, depth: u32) -> u64 {
        let default = 8;
        let (latency, granularity) = (self.latency_ns(depth), self.min_granularity_ns(depth));
        if granularity == 0 || latency == default * granularity {
            return default;
        }
        latency.div_ceil(granularity)
    }
}
