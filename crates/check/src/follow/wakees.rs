//! How often tasks switched whom they wake, before the recording: told by where the kernel puts tasks.
//!
//! Model.      A waker of many different tasks does not draw them to its cache (`wake_wide`). Each task counts how often
//!             it switched, a child begins with its parent's count, and counts are halved once a second. So all
//!             relatives have a part of what their first forefather had counted before the recording, and when theirs are
//!             first halved depends on when its own was. Where it matters to a placement whether `wake_wide` says yes, the
//!             kernel's choice tells it. Ours takes the first count, and the time since it was halved, that
//!             agree with most placements so far, and in a second walk with most of the first. Tasks that were forked
//!             between the debug file and the recording are relatives, too: children of who records. Where several
//!             placements in a row tell that a task's count is another one, whatever the reason, ours takes the nearest.
//! Invariants. A placement is answered by what others told, never by itself alone.
//! Deviations. Wakees from before the recording are not recorded: ours needs disagreements to learn of them.
//! Source.     kernel/sched/fair.c `record_wakee`, `wake_wide` @ 6.1, 6.12.

use super::Follower;
use fairwind_sched::replay::BeforePlacement;
use fairwind_sched::{CpuId, Sched, TaskId};
use std::collections::BTreeMap;

/// The largest first count that is tried.
const MOST: u32 = 64;
/// Some of the first counts up to [`MOST`]: a bit each.
type FirstCounts = u128;
const EACH: FirstCounts = (1 << (MOST + 1)) - 1;
/// Nothing is left of a first count once it was halved so often.
const MOST_HALVED: u32 = 32;
/// The times since the first count was halved that are tried: parts of a second, and more than one. Finer ones tell no more.
const PHASES: usize = 51;

/// What is known of the counts.
#[derive(Debug)]
pub(super) struct Wakees {
    /// Jiffies when the recording begins.
    start: u64,
    hz: u64,
    /// The first forefather of each task that was forked in the recording.
    forefathers: BTreeMap<TaskId, TaskId>,
    /// The first task that was forked between the debug file and the recording.
    of_recorder: Option<TaskId>,
    counts: BTreeMap<TaskId, Counts>,
    families: BTreeMap<TaskId, Family>,
    /// Of tasks whose counts do not give the kernel's answer.
    astray: BTreeMap<TaskId, Astray>,
}

/// How many placements in a row have told that `wake_wide` says something else of a task.
#[derive(Clone, Copy, Debug, Default)]
struct Astray {
    wide: bool,
    times: u32,
}

impl Astray {
    /// So many have to tell that a task's count is another one.
    const TELLING: u32 = 3;

    /// With one more.
    fn with(self, wide: bool) -> Astray {
        let before = if self.wide == wide { self.times } else { 0 };
        let times = before + 1;
        Astray { wide, times }
    }

    /// The count that they tell of a task, if another one has switched `most` times.
    fn count(self, most: u32, factor: u32) -> Option<u32> {
        let nearest = if self.wide {
            factor
        } else {
            factor.saturating_sub(1)
        };
        let tells = self.times >= Astray::TELLING;
        (tells && is_wide([most, nearest], factor) == self.wide).then_some(nearest)
    }
}

/// A first count, and the time since it had been halved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct First {
    count: u32,
    phase: usize,
}

/// So many placements more have to tell a first count from the beginning.
const TELLING: u32 = 2;

/// Before anything tells.
const UNTOLD: First = First {
    count: 0,
    phase: PHASES / 2,
};

/// The descendants of a task from before the recording.
#[derive(Debug)]
struct Family {
    first: First,
    /// An earlier walk has learned that.
    learned: bool,
    /// With how many placements each count up to [`MOST`] agrees, for each phase.
    agree: Vec<[u32; PHASES]>,
}

/// What a task has counted since the recording began, for each phase.
#[derive(Clone, Debug)]
struct Counts {
    last_wakee: TaskId,
    phases: [Counted; PHASES],
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    /// What was added to the first count, each time times two for each time that it had been halved before: rounded down once
    /// all are added, halves are what rounding down each time gives.
    added: u64,
    /// How often it was halved.
    halved: u32,
    decay_ts: u64,
}

impl Counted {
    /// With what is left of a first count.
    fn with(self, first_count: u32) -> u32 {
        ((u64::from(first_count) + self.added) >> self.halved) as u32
    }

    /// What decides how much that is.
    fn left(&self) -> (u64, u32) {
        (self.added, self.halved)
    }

    fn halve(&mut self, jiffies: u64) {
        self.decay_ts = jiffies;
        if self.halved < MOST_HALVED {
            self.halved += 1;
        } else {
            self.added >>= 1;
        }
    }
}

impl Counts {
    fn from_before(start: u64, hz: u64) -> Counts {
        let since = |phase| {
            let longer = u64::from(phase + 1 == PHASES);
            hz * phase as u64 / (PHASES as u64 - 1) + longer
        };
        Counts {
            last_wakee: TaskId::NONE,
            phases: std::array::from_fn(|phase| Counted {
                decay_ts: start.saturating_sub(since(phase)),
                ..Counted::default()
            }),
        }
    }

    /// The task wakes another one.
    fn record(&mut self, wakee: TaskId, jiffies: u64, hz: u64) {
        let switches = self.last_wakee != wakee;
        self.last_wakee = wakee;
        for counted in &mut self.phases {
            if jiffies > counted.decay_ts + hz {
                counted.halve(jiffies);
            }
            counted.added += u64::from(switches) << counted.halved;
        }
    }
}

impl Wakees {
    pub(super) fn new(start: u64, hz: u32) -> Wakees {
        Wakees {
            start,
            hz: hz.into(),
            forefathers: BTreeMap::new(),
            of_recorder: None,
            counts: BTreeMap::new(),
            families: BTreeMap::new(),
            astray: BTreeMap::new(),
        }
    }

    /// A child begins with its parent's count.
    pub(super) fn forked(&mut self, parent: TaskId, child: TaskId) {
        let first = self.forefather(parent);
        self.forefathers.insert(child, first);
        let counts = self.counts(parent).clone();
        self.counts.insert(child, counts);
    }

    pub(super) fn forefather(&self, task: TaskId) -> TaskId {
        self.forefathers.get(&task).copied().unwrap_or(task)
    }

    fn counts(&mut self, task: TaskId) -> &mut Counts {
        let (start, hz) = (self.start, self.hz);
        let from_before = || Counts::from_before(start, hz);
        self.counts.entry(task).or_insert_with(from_before)
    }

    fn family(&mut self, first: TaskId) -> &mut Family {
        self.families.entry(first).or_insert_with(|| Family {
            first: UNTOLD,
            learned: false,
            agree: vec![[0; PHASES]; MOST as usize + 1],
        })
    }
}

impl Follower<'_> {
    /// Gives a task from before the recording the count that an earlier walk has learned of its family. Tasks that the debug
    /// file does not know yet are one: children of who records.
    pub(super) fn begin_counting(&mut self, pid: i32, task: TaskId) {
        if self.names.is_younger(pid) {
            let eldest = *self.wakees.of_recorder.get_or_insert(task);
            if eldest != task {
                self.wakees.forefathers.insert(task, eldest);
            }
        }
        let eldest = self.wakees.forefather(task);
        let learned = self.pid(eldest).or(Some(pid));
        let learned = learned.and_then(|pid| self.learned.first_counts.get(&pid));
        if let Some(&first) = learned {
            let family = self.wakees.family(eldest);
            (family.first, family.learned) = (first, true);
        }
        let first = self.wakees.family(eldest).first;
        self.give_first(task, first);
    }

    /// First counts that placements have told, by the forefather's thread id.
    pub(super) fn first_counts(&self) -> BTreeMap<i32, First> {
        let families = self.wakees.families.iter();
        let told = families.filter(|(_, family)| family.is_told());
        told.filter_map(|(task, family)| Some((self.pid(*task)?, family.first)))
            .collect()
    }

    /// A task was woken as it went to sleep. Who wakes it waits for that and then chooses a CPU, if it does not leave that to the
    /// task's own CPU, and the task is not still queued there.
    pub(super) fn count_early_wakeup(&mut self, waker: TaskId, task: TaskId) {
        if self.is_ordinary(task) && !self.sched.tasks[task].is_queued() {
            let (jiffies, hz) = (self.sched.jiffies, self.wakees.hz);
            self.wakees.counts(waker).record(task, jiffies, hz);
            self.sched.record_wakee(waker, task);
        }
    }

    /// Learns from a placement that ours has just answered. True if the kernel's answer is the one with the other
    /// width; then ours goes on from that.
    pub(super) fn learn_wakees(
        &mut self,
        task: TaskId,
        here: CpuId,
        [kernel, ours]: [CpuId; 2],
        before: &BeforePlacement,
        ask: impl Fn(&mut Sched) -> CpuId,
    ) -> bool {
        // Who may use one CPU only is not asked for.
        if self.sched.tasks[task].nr_cpus_allowed <= 1 {
            return false;
        }
        let waker = self.sched.rqs[here].curr;
        let (jiffies, hz) = (self.sched.jiffies, self.wakees.hz);
        self.wakees.counts(waker).record(task, jiffies, hz);
        let wide = self.sched.wake_wide(here, waker, task);
        let counts = [waker, task].map(|task| self.sched.tasks[task].wakee_flips);
        let after = self.sched.before_placement(here, task);
        self.sched.take_back(before);
        let sched = &mut self.sched;
        // Enough for `wake_wide` to say the contrary, whatever is added or halved before it is asked.
        let factor = sched.domains.sd_llc_size[here.idx()].saturating_add(1);
        let (many, few) = if wide {
            (0, 0)
        } else {
            (factor * factor * 4, factor)
        };
        sched.tasks[waker].wakee_flips = many;
        sched.tasks[task].wakee_flips = few;
        let otherwise = ask(sched);
        let matters = ours != otherwise && sched.wake_wide(here, waker, task) != wide;
        let told = wide == (ours == kernel);
        let pair = [(waker, counts[0]), (task, counts[1])];
        let wide_by_first = matters.then(|| self.wide_by_first(pair, here));
        let can_be = |wide: &FirstCounts| *wide != if told { 0 } else { EACH };
        let explains = otherwise == kernel
            && wide_by_first.is_some_and(|by_first| by_first.iter().any(can_be));
        let sched = &mut self.sched;
        if explains {
            sched.tasks[waker].wakee_flips = counts[0];
            sched.tasks[task].wakee_flips = counts[1];
        } else {
            sched.take_back(&after);
        }
        if matters && (ours == kernel || otherwise == kernel) {
            self.correct_count(pair, here, (wide, told));
        }
        let Some(wide_by_first) = wide_by_first.filter(|_| ours == kernel || explains) else {
            return false;
        };
        self.count_agreement(task, &wide_by_first, told);
        ours != kernel
    }

    /// Who switched less often has another count, if several placements in a row tell that. A task that has got the memory of one
    /// that is gone, for one, is to the kernel the wakee that the waker had before.
    fn correct_count(&mut self, pair: [(TaskId, u32); 2], here: CpuId, (wide, told): (bool, bool)) {
        let [(_, most), (task, _)] = if pair[0].1 < pair[1].1 {
            [pair[1], pair[0]]
        } else {
            pair
        };
        if wide == told {
            self.wakees.astray.remove(&task);
            return;
        }
        let astray = self.wakees.astray.entry(task).or_default();
        *astray = astray.with(told);
        let factor = self.sched.domains.sd_llc_size[here.idx()];
        if let Some(count) = astray.count(most, factor) {
            self.sched.tasks[task].wakee_flips = count;
        }
    }

    /// With which first counts `wake_wide` says yes of two tasks that hold some counts, for each phase.
    fn wide_by_first(&mut self, pair: [(TaskId, u32); 2], here: CpuId) -> [FirstCounts; PHASES] {
        let first = self.wakees.forefather(pair[1].0);
        let factor = self.sched.domains.sd_llc_size[here.idx()];
        for (task, _) in pair {
            self.wakees.counts(task);
        }
        let counted = pair.map(|(task, held)| {
            let related = self.wakees.forefather(task) == first;
            (related.then(|| &self.wakees.counts[&task].phases), held)
        });
        let mut wide = [0; PHASES];
        for phase in 0..PHASES {
            // Most phases lead to what the one before does.
            let same = |(phases, _): &(Option<&[Counted; PHASES]>, u32)| {
                phases.is_none_or(|phases| phases[phase].left() == phases[phase - 1].left())
            };
            if phase != 0 && counted.iter().all(same) {
                wide[phase] = wide[phase - 1];
                continue;
            }
            for count in 0..=MOST {
                let [a, b] = counted;
                let flips = |(phases, held): (Option<&[Counted; PHASES]>, u32)| {
                    phases.map_or(held, |phases| phases[phase].with(count))
                };
                wide[phase] |= FirstCounts::from(is_wide([flips(a), flips(b)], factor)) << count;
            }
        }
        wide
    }

    /// Notes which first counts agree with what was told, and takes the best.
    fn count_agreement(&mut self, task: TaskId, wide: &[FirstCounts; PHASES], told: bool) {
        let first = self.wakees.forefather(task);
        let family = self.wakees.family(first);
        for (count, agree) in family.agree.iter_mut().enumerate() {
            for (agree, wide) in agree.iter_mut().zip(wide) {
                *agree += u32::from((wide >> count & 1 != 0) == told);
            }
        }
        let best = family.best();
        if best != family.first && !family.learned {
            family.first = best;
            self.take_first(first, best);
        }
    }

    /// Gives a family the counts that follow from its first one.
    fn take_first(&mut self, forefather: TaskId, first: First) {
        let relatives = self.wakees.forefathers.iter();
        let relatives = relatives.filter(|(_, its)| **its == forefather);
        let relatives: Vec<TaskId> = relatives.map(|(task, _)| *task).collect();
        for task in relatives.into_iter().chain([forefather]) {
            self.give_first(task, first);
        }
    }

    fn give_first(&mut self, task: TaskId, first: First) {
        let counted = self.wakees.counts(task).phases[first.phase];
        let task = &mut self.sched.tasks[task];
        task.wakee_flips = counted.with(first.count);
        task.wakee_flip_decay_ts = counted.decay_ts;
    }
}

impl Family {
    /// Do so many more placements agree with its first count than with the untold one that it does not hang on any one of them?
    fn is_told(&self) -> bool {
        let agree = |first: First| self.agree[first.count as usize][first.phase];
        agree(self.first) >= agree(UNTOLD) + TELLING
    }

    /// What agrees with most placements; the present first count, if that does.
    fn best(&self) -> First {
        let most = self.agree.iter().flatten().max().copied().unwrap_or(0);
        let First { count, phase } = self.first;
        if self.agree[count as usize][phase] == most {
            return self.first;
        }
        let all = (0..).zip(&self.agree);
        let best = all.filter_map(|(count, agree)| {
            let phase = agree.iter().position(|&agree| agree == most)?;
            Some(First { count, phase })
        });
        best.min_by_key(|first| first.count).unwrap_or(self.first)
    }
}

/// The rule of `wake_wide`.
fn is_wide(flips: [u32; 2], factor: u32) -> bool {
    let (master, slave) = (flips[0].max(flips[1]), flips[0].min(flips[1]));
    slave >= factor && master >= slave.wrapping_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_count_is_halved_with_what_was_added() {
        let mut counts = Counts::from_before(1000, 256);
        counts.record(TaskId(1), 1100, 256);
        counts.record(TaskId(1), 1101, 256);
        counts.record(TaskId(2), 1130, 256);
        let flips = |counts: &Counts, phase: usize| counts.phases[phase].with(20);
        assert_eq!(flips(&counts, 0), 22, "halved at 1000, and not before 1257");
        assert_eq!(flips(&counts, 19), 22, "halved at 903, and not before 1160");
        assert_eq!(
            flips(&counts, 25),
            11,
            "halved at 872 and at 1130: ((20 + 1) >> 1) + 1"
        );
        assert_eq!(counts.phases[25].decay_ts, 1130);
        let longer = PHASES - 1;
        assert_eq!(counts.phases[longer].decay_ts, 1100, "the first time");
        assert_eq!(flips(&counts, longer), 12, "(20 >> 1) + 2");
        counts.record(TaskId(1), 1400, 256);
        assert_eq!(flips(&counts, 25), 6, "11 >> 1, and 1");
        assert_eq!(counts.phases[25].with(19), 6, "(10 + 1) >> 1, and 1");
    }

    #[test]
    fn a_grandchild_has_the_first_forefather_of_its_parent() {
        let [first, child, grandchild] = [1, 2, 3].map(TaskId);
        let mut wakees = Wakees::new(1000, 250);
        wakees.counts(first).record(TaskId(9), 1001, 250);
        wakees.forked(first, child);
        wakees.forked(child, grandchild);
        assert_eq!(wakees.forefather(grandchild), first);
        assert_eq!(wakees.counts(grandchild).phases[0].with(0), 1);
    }

    #[test]
    fn an_earlier_walk_tells_first_counts_that_more_than_one_placement_tells() {
        let told_by = |more: u32| {
            let mut family = Family {
                first: First { count: 2, phase: 3 },
                learned: false,
                agree: vec![[5; PHASES]; 3],
            };
            family.agree[2][3] += more;
            family.is_told()
        };
        assert!(!told_by(1));
        assert!(told_by(2));
    }

    #[test]
    fn three_placements_in_a_row_tell_another_count() {
        let (most, factor) = (16, 4);
        let told = |ways: &[bool]| {
            let astray = ways.iter().fold(Astray::default(), |a, wide| a.with(*wide));
            astray.count(most, factor)
        };
        assert_eq!(told(&[false, false]), None);
        assert_eq!(told(&[true, false, false]), None);
        assert_eq!(told(&[false, false, false]), Some(3));
        assert_eq!(told(&[true, true, true]), Some(4));
        let (wide, times) = (true, 3);
        let too_few = 15;
        assert_eq!(Astray { wide, times }.count(too_few, factor), None);
    }

    #[test]
    fn what_agrees_most_is_taken() {
        let mut family = Family {
            first: UNTOLD,
            learned: false,
            agree: vec![[0; PHASES]; 3],
        };
        assert_eq!(family.best(), UNTOLD);
        family.agree[2][3] = 2;
        family.agree[1][6] = 2;
        assert_eq!(family.best(), First { count: 1, phase: 6 });
        family.agree[0][UNTOLD.phase] = 2;
        assert_eq!(family.best(), UNTOLD, "it does as well");
    }
}
