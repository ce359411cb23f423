//! The line of waiting entities is sorted and true.
//!
//! Model. Keys never fall along the line, compared as signed differences; each entry repeats its entity's fields; the
//!        running entity does not wait; everybody on the queue but the running entity does.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::{CfsRqId, Release, Sched};

/// See the module.
pub struct TimelineOrder;

/// The first thing wrong with a queue's line.
fn fault(sched: &Sched, cfs_rq: CfsRqId) -> Option<String> {
    let cfs = &sched.cfs_rqs[cfs_rq];
    let eevdf = sched.profile.release != Release::V6_1;
    let mut before: Option<u64> = None;
    for entry in cfs.timeline.iter() {
        let se = &sched.ses[entry.se];
        let key = if eevdf { se.deadline } else { se.vruntime };
        let slice = if eevdf { se.slice } else { 0 };
        if entry.key != key || entry.vruntime != se.vruntime || entry.slice != slice {
            return Some(format!(
                "{entry:?} differs from its entity's vruntime {}, key {key}",
                se.vruntime
            ));
        }
        if before.is_some_and(|before| (entry.key.wrapping_sub(before) as i64) < 0) {
            return Some(format!("{entry:?} stands behind a larger key"));
        }
        if cfs.curr == entry.se {
            return Some(format!("{:?} runs and waits", entry.se));
        }
        if !se.on_rq || se.cfs_rq != cfs_rq {
            return Some(format!(
                "{:?} waits here without being queued here",
                entry.se
            ));
        }
        before = Some(entry.key);
    }
    let runs = cfs.curr.is_some() && sched.ses[cfs.curr].on_rq;
    let waiting = cfs.timeline.len() as u32 + u32::from(runs);
    (waiting != cfs.nr_queued)
        .then(|| format!("{waiting} wait or run, {} are queued", cfs.nr_queued))
}

impl Monitor for TimelineOrder {
    fn name(&self) -> &'static str {
        "timeline_order"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        for cfs_rq in simulation.sched.cfs_rqs.ids() {
            if let Some(what) = fault(&simulation.sched, cfs_rq) {
                return broken(self.name(), simulation, format!("{cfs_rq:?}: {what}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, mixed};
    use super::*;

    #[test]
    fn an_entity_that_moved_behind_its_entrys_back_is_seen() {
        for release in Release::ALL {
            let mut simulation = mixed(release);
            let tamper = |s: &mut Simulation| {
                let first = s.sched.cfs_rqs[CfsRqId(0)].timeline.first().unwrap().se;
                s.sched.ses[first].vruntime += 1;
            };
            fires(
                TimelineOrder,
                &mut simulation,
                tamper,
                "differs from its entity",
            );
        }
    }

    #[test]
    fn a_wrong_order_is_seen() {
        let mut simulation = mixed(Release::V6_1);
        let tamper = |s: &mut Simulation| {
            let line = &mut s.sched.cfs_rqs[CfsRqId(0)].timeline;
            let mut entries: Vec<_> = line.iter().copied().collect();
            assert!(entries.len() >= 2);
            // The first gets a key behind the last one's, without being moved.
            let last = entries.last().unwrap().key;
            let first = entries[0].se;
            for entry in &entries {
                line.remove(entry.se);
            }
            entries[0].key = last;
            entries[0].vruntime = last;
            for entry in entries.iter().rev() {
                line.insert(*entry);
            }
            s.sched.ses[first].vruntime = last + 1;
        };
        fires(TimelineOrder, &mut simulation, tamper, "Entry");
    }

    #[test]
    fn an_entity_that_is_missing_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let tamper = |s: &mut Simulation| {
            let line = &mut s.sched.cfs_rqs[CfsRqId(0)].timeline;
            let first = line.first().unwrap().se;
            line.remove(first);
        };
        fires(TimelineOrder, &mut simulation, tamper, "wait or run");
    }
}
