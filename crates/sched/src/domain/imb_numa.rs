//! How many tasks may run on one NUMA node before others must share the load.
//!
//! Model.  With one LLC in a node, an eighth of the node's CPUs; with several, one task an LLC. Domains above
//!         allow as much for each NUMA domain of the first level that fits into them:
//!         `imb_numa_nr = imb × max(1, span_weight / imb_span)`, the quotient rounded down.
//! Source. kernel/sched/topology.c: `build_sched_domains`, the pass after the groups.

use super::build::Builder;
use super::flags::{SD_NUMA, SD_SHARE_LLC};
use super::ids::SdId;

impl Builder<'_> {
    /// Sets `imb_numa_nr` of every domain; 0 up to the LLC.
    pub(super) fn set_imb_numa_nr(&mut self) {
        for cpu in self.input.active.iter() {
            let mut imb = 0;
            let mut imb_span = 1;
            let mut next = self.d.base[cpu.idx()];
            while let Some(sd) = next.get() {
                let span_weight = self.d.sd[sd].span_weight;
                match self.llc_weight_below(sd) {
                    Some(llc_weight) => {
                        let nr_llcs = span_weight / llc_weight;
                        imb = if nr_llcs == 1 {
                            span_weight >> 3
                        } else {
                            nr_llcs
                        }
                        .max(1);
                        self.d.sd[sd].imb_numa_nr = imb;
                        imb_span = self.first_numa_weight(sd).unwrap_or(span_weight);
                    }
                    None => {
                        self.d.sd[sd].imb_numa_nr = imb * (span_weight / imb_span).max(1);
                    }
                }
                next = self.d.sd[sd].parent;
            }
        }
    }

    /// The weight of the LLC below, if this is the first domain above it.
    fn llc_weight_below(&self, sd: SdId) -> Option<u32> {
        let child = &self.d.sd[self.d.sd[sd].child.get()?];
        let is_first_above =
            self.d.sd[sd].flags & SD_SHARE_LLC == 0 && child.flags & SD_SHARE_LLC != 0;
        is_first_above.then_some(child.span_weight)
    }

    /// The weight of the first NUMA domain above.
    fn first_numa_weight(&self, sd: SdId) -> Option<u32> {
        core::iter::successors(self.d.sd[sd].parent.get(), |&sd| self.d.sd[sd].parent.get())
            .map(|sd| &self.d.sd[sd])
            .find(|sd| sd.flags & SD_NUMA != 0)
            .map(|sd| sd.span_weight)
    }
}
