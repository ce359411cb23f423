//! What picks tell of virtual time that nothing shows.
//!
//! Model.   EEVDF picks, of those that are owed CPU time, the one with the earliest deadline. What lag tasks from before the
//!          recording have nothing tells: an unknown each, which the places of all that meet them hang on. The unknowns are
//!          taken for normally distributed. Each pick says of whoever it picked that it was owed CPU time, and of each other one
//!          that it was not, or had a later deadline: a margin is not negative. What is left of the distribution then has
//!          another mean, by which all that hangs on it moves, and another covariance. Only margins that can be negative tell
//!          something. One that is further below zero than can be is in doubt for another reason (a policy that nothing tells,
//!          a group's weight): as far as that goes, both entities are in doubt from then on.
//! Deviations. What is left of a normal distribution is taken for normal. Of the others only those nearest to being picked
//!          are looked at. Of more than a number of unknowns the best known is taken for known.
//! Source.  kernel/sched/fair.c `pick_eevdf`, `entity_eligible` @ 6.12, 6.18. T. Minka, Expectation Propagation for approximate
//!          Bayesian inference, 2001: assumed-density filtering.

use super::Follower;
use fairwind_sched::replay::ONE;
use fairwind_sched::{SeId, TaskId};
use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// Standard deviation of a margin of which nothing is in doubt, in ns: what divisions round.
const ROUNDING: f64 = 100.0;
/// Margins of more standard deviations tell nothing.
const IN_DOUBT: f64 = 4.0;
/// Margins of fewer than minus so many cannot be.
const IMPOSSIBLE: f64 = 3.0;
/// Below that many standard deviations the normal distribution is too small to be divided by.
const LEAST: f64 = -30.0;
/// So many others are looked at.
const NEAREST: usize = 3;
/// So many unknowns are kept.
const MOST: usize = 64;

/// What is thought of the unknowns: by how much they differ from what ours takes them for.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// Covariance, row by row, in ns² of virtual time.
    covariance: Vec<Vec<f64>>,
}

/// Something that is not negative, as a pick tells.
#[derive(Debug)]
struct Margin {
    /// In virtual time, as ours has it.
    ns: f64,
    /// The unknowns that it hangs on, each with its factor.
    hangs_on: Vec<(usize, f64)>,
}

impl Margin {
    /// `a − b` is so many ns, and hangs on what both hang on.
    fn new(ns: u64, a: &[i64], b: &[i64]) -> Margin {
        let of = |factors: &[i64], at| factors.get(at).copied().unwrap_or(0);
        let differ = (0..a.len().max(b.len())).map(|at| (at, of(a, at) - of(b, at)));
        let differ = differ.filter(|(_, factor)| *factor != 0);
        Margin {
            ns: ns.cast_signed() as f64,
            hangs_on: differ
                .map(|(at, factor)| (at, factor as f64 / ONE as f64))
                .collect(),
        }
    }

    fn negated(mut self) -> Margin {
        self.ns = -self.ns;
        for (_, factor) in &mut self.hangs_on {
            *factor = -*factor;
        }
        self
    }

    /// The sum of what belongs to each unknown, times its factor.
    fn sum(&self, of: impl Fn(usize) -> f64) -> f64 {
        let hangs_on = self.hangs_on.iter();
        hangs_on.map(|&(at, factor)| of(at) * factor).sum()
    }
}

impl Estimate {
    /// Begins another unknown with a standard deviation in ns; its number.
    fn begin(&mut self, deviation: f64) -> usize {
        let len = self.covariance.len();
        let unknown = if len < MOST {
            self.covariance.iter_mut().for_each(|row| row.push(0.0));
            self.covariance.push(vec![0.0; len + 1]);
            len
        } else {
            let variance = |at: &usize| self.covariance[*at][*at];
            let known = (0..len).min_by(|a, b| variance(a).total_cmp(&variance(b)));
            let known = known.expect("there are some");
            self.covariance.iter_mut().for_each(|row| row[known] = 0.0);
            self.covariance[known].fill(0.0);
            known
        };
        self.covariance[unknown][unknown] = deviation * deviation;
        unknown
    }

    /// Covariance of a margin with an unknown, in ns².
    fn covariance_with(&self, margin: &Margin, unknown: usize) -> f64 {
        let row = &self.covariance[unknown];
        margin.sum(|at| row[at])
    }

    /// Variance of a margin, in ns².
    fn variance(&self, margin: &Margin) -> f64 {
        let variance = margin.sum(|at| self.covariance_with(margin, at));
        variance.max(0.0) + ROUNDING * ROUNDING
    }

    /// How many standard deviations a margin is above zero.
    fn deviations(&self, margin: &Margin) -> f64 {
        margin.ns / self.variance(margin).sqrt()
    }

    /// Does a margin tell nothing in any case? Its deviation is no more than those together of what it hangs on.
    fn is_sure(&self, margin: &Margin) -> bool {
        let hangs_on = margin.hangs_on.iter();
        let of_each = hangs_on.map(|&(at, factor)| factor.abs() * self.covariance[at][at].sqrt());
        margin.ns > IN_DOUBT * (of_each.sum::<f64>() + ROUNDING)
    }

    /// A margin is not negative. By how many ns the unknowns are more than was thought, if that tells something.
    fn tell(&mut self, margin: &Margin) -> Option<Vec<i64>> {
        let variance = self.variance(margin);
        let deviation = variance.sqrt();
        let above = (margin.ns / deviation).max(LEAST);
        if above > IN_DOUBT {
            return None;
        }
        let unknowns = 0..self.covariance.len();
        let with = unknowns.map(|unknown| self.covariance_with(margin, unknown));
        let with: Vec<f64> = with.collect();
        if with.iter().all(|&with| with == 0.0) {
            return None;
        }
        let normal = Normal::standard();
        // The mean of what is above zero, in standard deviations above the mean of all.
        let higher = normal.pdf(above) / normal.cdf(above);
        let narrower = (higher * (higher + above)).clamp(0.0, 1.0) / variance;
        for (row, &a) in self.covariance.iter_mut().zip(&with) {
            for (cell, &b) in row.iter_mut().zip(&with) {
                *cell -= a * b * narrower;
            }
        }
        let more = with.iter().map(|with| (with / deviation * higher) as i64);
        Some(more.collect())
    }
}

impl Follower<'_> {
    /// A task from before the recording is seen for the first time: its lag is unknown by a slice.
    pub(super) fn doubt_lag(&mut self, task: TaskId) {
        let se = self.sched.tasks[task].se;
        let slice = self.sched.ses[se].slice;
        self.doubt(se, slice as f64);
    }

    /// From now on the place of an entity, or its lag, is in doubt by so many ns.
    pub(super) fn doubt(&mut self, se: SeId, deviation: f64) {
        if self.shows_state || !self.facts.picks_by_deadline() {
            return;
        }
        self.sched.hold_probes();
        let unknown = self.estimate.begin(deviation);
        self.sched.follow_unknown(se, unknown);
    }

    /// The kernel has picked a task, which is its running one by now.
    pub(super) fn estimate(&mut self, picked: TaskId) {
        if self.estimate.covariance.is_empty() {
            return;
        }
        let mut se = self.sched.tasks[picked].se;
        while se.is_some() {
            self.tell(&[se], |follower| follower.is_owed(se));
            for other in self.nearest(se) {
                self.tell(&[se, other], |follower| follower.is_before(se, other));
            }
            se = self.sched.ses[se].parent;
        }
    }

    /// Those that wait beside an entity, and are nearest to being picked before it.
    fn nearest(&self, picked: SeId) -> Vec<SeId> {
        let own = &self.sched.ses[picked];
        let average = self.sched.vruntime_of_queue(own.cfs_rq);
        let waiting = self.sched.cfs_rqs[own.cfs_rq].timeline.iter();
        let others = waiting
            .map(|waiting| &waiting.se)
            .filter(|&&se| se != picked);
        let margin = |&other: &SeId| {
            let other = &self.sched.ses[other];
            let behind = other.vruntime.wrapping_sub(average).cast_signed();
            behind.max(other.deadline.wrapping_sub(own.deadline).cast_signed())
        };
        let mut others: Vec<(i64, SeId)> = others.map(|se| (margin(se), *se)).collect();
        others.sort_unstable();
        others.truncate(NEAREST);
        others.into_iter().map(|(_, se)| se).collect()
    }

    /// An entity is owed CPU time.
    fn is_owed(&self, se: SeId) -> Margin {
        let cfs_rq = self.sched.ses[se].cfs_rq;
        let average = self.sched.vruntime_of_queue(cfs_rq);
        let lag = average.wrapping_sub(self.sched.ses[se].vruntime);
        let of_average = self.sched.factors_of_average(cfs_rq);
        Margin::new(lag, &of_average, self.sched.factors_of_place(se))
    }

    /// Another one is not, or its deadline is later: what is more likely of that.
    fn is_before(&self, picked: SeId, other: SeId) -> Margin {
        let [own, others] = [picked, other].map(|se| self.sched.ses[se].deadline);
        let later = others.wrapping_sub(own);
        let [of_own, of_others] = [picked, other].map(|se| self.sched.factors_of_place(se));
        let is_later = Margin::new(later, of_others, of_own);
        if self.estimate.is_sure(&is_later) {
            return is_later;
        }
        let is_not_owed = self.is_owed(other).negated();
        let likely = |margin| self.estimate.deviations(margin);
        if likely(&is_not_owed) >= likely(&is_later) {
            is_not_owed
        } else {
            is_later
        }
    }

    /// A pick tells that a margin between entities is not negative.
    fn tell(&mut self, entities: &[SeId], margin: impl Fn(&Self) -> Margin) {
        let mut told = margin(self);
        if self.estimate.is_sure(&told) {
            return;
        }
        if self.estimate.deviations(&told) < -IMPOSSIBLE {
            for &se in entities {
                self.doubt(se, -told.ns);
            }
            told = margin(self);
        }
        if let Some(more) = self.estimate.tell(&told) {
            self.sched.follow_unknowns(&more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::without_state;
    use crate::judge::Measure;

    /// Tasks in nested groups on one CPU, where weights hang on nothing: from a few picks on, ours has them where they are.
    #[test]
    fn picks_tell_what_tasks_from_before_have() {
        let picks = without_state::count("nested-1cpu-6.12", Measure::Pick);
        assert!(picks.agree * 1000 > picks.decisions * 980, "{picks:?}");
    }

    /// Groups on many CPUs, whose weights nothing shows either: errors of ours do not last.
    #[test]
    fn picks_tell_where_groups_are() {
        let picks = without_state::count("idle-groups-6.12", Measure::Pick);
        assert!(picks.agree * 1000 > picks.decisions * 970, "{picks:?}");
    }

    fn of(ns: u64, factors: &[f64]) -> Margin {
        Margin {
            ns: ns.cast_signed() as f64,
            hangs_on: factors.iter().copied().enumerate().collect(),
        }
    }

    /// Half of a normal distribution: its mean is √(2/π), its variance 1 − 2/π.
    #[test]
    fn what_is_not_negative_is_half_of_a_distribution() {
        let mut estimate = Estimate::default();
        assert_eq!(estimate.begin(1e6), 0);
        assert_eq!(estimate.begin(1e6), 1);
        let more = estimate.tell(&of(0, &[1.0, 0.0])).unwrap();
        assert!((more[0] - 797_885).abs() < 100, "{more:?}");
        assert_eq!(more[1], 0);
        let variance = estimate.covariance[0][0] / 1e12;
        assert!((variance - 0.3634).abs() < 1e-3, "{variance}");
        assert_eq!(estimate.covariance[1][1], 1e12);
    }

    /// What lies far above zero tells nothing, nor does what hangs on nothing.
    #[test]
    fn what_is_sure_tells_nothing() {
        let mut estimate = Estimate::default();
        estimate.begin(1e3);
        assert_eq!(estimate.tell(&of(10_000, &[1.0])), None);
        assert_eq!(estimate.tell(&of(0, &[])), None);
        assert!(estimate.tell(&of(1_000, &[1.0])).is_some());
    }

    /// Nor is anything lost by a margin that is further below zero than numbers go.
    #[test]
    fn what_cannot_be_goes_as_far_as_it_can() {
        let mut estimate = Estimate::default();
        estimate.begin(1e6);
        let short = (-1_000_000_000_000_i64).cast_unsigned();
        let more = estimate.tell(&of(short, &[1e-3])).unwrap();
        assert!((29_000_000..31_000_000).contains(&more[0]), "{more:?}");
        let variance = estimate.covariance[0][0];
        assert!((0.0..1e12).contains(&variance), "{variance}");
    }

    /// The margin between two tells of their difference, and of neither alone.
    #[test]
    fn a_difference_tells_both() {
        let mut estimate = Estimate::default();
        estimate.begin(1e6);
        estimate.begin(1e6);
        let short = (-1_000_000_i64).cast_unsigned();
        let more = estimate.tell(&of(short, &[1.0, -1.0])).unwrap();
        assert!(more[0] > 500_000 && more[0] == -more[1], "{more:?}");
        assert!(estimate.covariance[0][1] > 0.0);
    }

    #[test]
    fn the_best_known_is_taken_for_known() {
        let mut estimate = Estimate::default();
        for at in 0..MOST {
            estimate.begin(1e3 * (MOST - at) as f64);
        }
        assert_eq!(estimate.begin(5e5), MOST - 1);
        assert_eq!(estimate.covariance.len(), MOST);
        assert_eq!(estimate.covariance[MOST - 1][MOST - 1], 2.5e11);
    }
}
