//! RT state of the whole machine: priorities of CPUs, who is overloaded, the period of RT throttling.
//!
//! Model.  Made when RT tasks first need it, so that a machine without them owns none of it; it hangs off the queue of
//!         CPU 0.
//! Source. kernel/sched/sched.h `struct root_domain` (one root domain: no cpuset partitions), rt.c
//!         `struct rt_bandwidth`, lib/cpumask.c `distribute_cpu_mask_prev` @ 6.1, 6.12.

use super::cpupri::CpuPri;
use crate::cpumask::CpuMask;
use crate::sched::Sched;
use crate::units::{CpuId, Nanos};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// The period timer of RT throttling (6.1).
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct RtBandwidth {
    /// The timer is armed.
    pub(crate) period_active: bool,
    /// When it fires, or would have fired next when it was last stopped.
    pub(crate) expires: Nanos,
}

/// Where the chain of push interrupts (RT_PUSH_IPI) is.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PushChain {
    /// The CPU that is to push now.
    pub(crate) cpu: Option<CpuId>,
    /// The round of requests that the chain serves.
    pub(crate) serving: u32,
    /// The latest round asked for.
    pub(crate) asked: u32,
}

/// RT state shared by all CPUs.
#[derive(Clone, Debug)]
pub(crate) struct RtRoot {
    pub(crate) cpupri: CpuPri,
    /// Overloaded CPUs.
    pub(crate) rto_mask: CpuMask,
    /// How many these are.
    pub(crate) rto_count: u32,
    pub(crate) push_chain: PushChain,
    pub(crate) bandwidth: RtBandwidth,
    /// Result of the latest search for a CPU.
    pub(crate) lowest_mask: CpuMask,
    /// `[nr_cpus]`: where each CPU's last evenly spread choice fell.
    distribute_prev: Vec<u32>,
}

impl RtRoot {
    /// No RT task anywhere.
    pub(crate) fn new(nr_cpus: usize) -> RtRoot {
        RtRoot {
            cpupri: CpuPri::new(nr_cpus),
            rto_mask: CpuMask::none(nr_cpus),
            rto_count: 0,
            push_chain: PushChain::default(),
            bandwidth: RtBandwidth::default(),
            lowest_mask: CpuMask::none(nr_cpus),
            distribute_prev: vec![0; nr_cpus],
        }
    }

    /// The next CPU of `mask` (and `within`) after the one that `this_cpu` chose last, around the end; kernel
    /// `cpumask_any_distribute` and `cpumask_any_and_distribute`. A CPU's first choice starts at CPU 1.
    pub(crate) fn distribute(
        &mut self,
        this_cpu: CpuId,
        mask: &CpuMask,
        within: Option<&CpuMask>,
    ) -> Option<CpuId> {
        let prev = &mut self.distribute_prev[this_cpu.idx()];
        let chosen = mask
            .iter_wrap(*prev as usize + 1)
            .find(|&cpu| within.is_none_or(|within| within.test(cpu)))?;
        *prev = chosen.0;
        Some(chosen)
    }
}

impl Sched {
    /// The shared RT state.
    pub(super) fn rt_root(&mut self) -> &mut RtRoot {
        let nr_cpus = self.nr_cpus();
        self.rqs[CpuId(0)]
            .rt
            .root
            .get_or_insert_with(|| Box::new(RtRoot::new(nr_cpus)))
    }

    /// Where the last evenly spread choice of a CPU fell.
    pub(crate) fn rt_choice(&self, this_cpu: CpuId) -> CpuId {
        let root = self.rqs[CpuId(0)].rt.root.as_ref();
        CpuId(root.map_or(0, |root| root.distribute_prev[this_cpu.idx()]))
    }

    /// It fell on another one: later ones are taken back, or another kernel chose otherwise.
    pub fn set_rt_choice(&mut self, this_cpu: CpuId, chosen: CpuId) {
        if let Some(root) = &mut self.rqs[CpuId(0)].rt.root {
            root.distribute_prev[this_cpu.idx()] = chosen.0;
        }
    }

    /// Looks something up in the shared RT state with the rest of the scheduler at hand.
    pub(super) fn with_rt_root<T>(&mut self, look_up: impl FnOnce(&Sched, &mut RtRoot) -> T) -> T {
        self.rt_root();
        let mut root = self.rqs[CpuId(0)]
            .rt
            .root
            .take()
            .expect("the shared RT state was just made");
        let result = look_up(self, &mut root);
        self.rqs[CpuId(0)].rt.root = Some(root);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_go_round_and_skip_cpu_0_at_first() {
        let mut root = RtRoot::new(4);
        let mask = CpuMask::of(4, [0, 1, 3].map(CpuId));
        let mut next = |within| root.distribute(CpuId(2), &mask, within).map(|c| c.0);
        assert_eq!(
            [next(None), next(None), next(None)],
            [Some(1), Some(3), Some(0)]
        );
        let low = CpuMask::of(4, [0, 1].map(CpuId));
        assert_eq!([next(Some(&low)), next(Some(&low))], [Some(1), Some(0)]);
        assert_eq!(next(Some(&CpuMask::of(4, [CpuId(2)]))), None);
        assert_eq!(
            root.distribute(CpuId(0), &mask, None),
            Some(CpuId(1)),
            "each CPU has its own place"
        );
    }
}
