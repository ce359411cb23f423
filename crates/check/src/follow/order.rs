//! What a pick tells of virtual runtimes that nothing shows.
//!
//! Model.   6.1 picks the entity with the least virtual runtime. Where ours had another one, and the virtual runtime of either is a
//!          guess because nothing has told it since the entity came to this queue, the guess goes as far as the pick tells: to the
//!          other's, and if that was not enough for the next pick, twice as far each time, until a pick speaks against that. Where
//!          no record shows any state, only a group's is a guess. One that yielded gives way to the second, unless that is further
//!          behind than the wakeup granularity: so far apart are they at least, or at most. Other buddies are picked out of order
//!          and tell nothing. Where a charge then tells that a guess that was picked had been further ahead, guesses that waited
//!          beside it were so, too.
//! Not here. Later releases where no record shows any state: see `estimate`.
//! Source.  kernel/sched/fair.c `pick_next_entity` @ 6.1.

use super::Follower;
use fairwind_sched::{CfsRqId, Sched, SeId, TaskId};

/// A guess that was picked: from which queue, when, and where it is taken to have been.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picked {
    cfs_rq: CfsRqId,
    clock: u64,
    vruntime: u64,
}

impl Follower<'_> {
    /// The kernel picked one task, and ours another one of the same CPU.
    pub(super) fn follow_order(&mut self, kernel: TaskId, ours: TaskId) {
        let by_deadline = self.facts.picks_by_deadline() && !self.shows_state;
        if by_deadline || !self.sched.is_fair(kernel) || !self.sched.is_fair(ours) {
            return;
        }
        let Some((kernel, ours)) = self.siblings_above(kernel, ours) else {
            return;
        };
        let cfs_rq = self.sched.ses[kernel].cfs_rq;
        let queue = &self.sched.cfs_rqs[cfs_rq];
        let buddies = [queue.next, queue.last];
        if buddies.contains(&kernel) || buddies.contains(&ours) {
            return;
        }
        // How much further than the one that was picked the other one is at least.
        let yielded = self.yielded.iter().find(|(queue, _)| *queue == cfs_rq);
        let behind = match yielded {
            Some(&(_, se)) if se == kernel => self.sched.wakeup_gran(kernel).wrapping_add(1),
            Some(&(_, se)) if se == ours => self.sched.wakeup_gran(ours).wrapping_neg(),
            _ => 0,
        };
        let vruntime = |se: SeId| self.sched.ses[se].vruntime;
        let (least, most) = (vruntime(kernel).wrapping_add(behind), vruntime(ours));
        let short = least.wrapping_sub(most);
        if short.cast_signed() <= 0 {
            return;
        }
        let guessed = |se: SeId| match self.told_on.get(&se) {
            Some(&told_on) => told_on != cfs_rq,
            None => self.shows_state || !self.sched.ses[se].is_task(),
        };
        let both = guessed(kernel) && guessed(ours);
        let (se, ahead) = if guessed(kernel) {
            (kernel, false)
        } else if guessed(ours) {
            (ours, true)
        } else {
            return;
        };
        let step = match self.steps.get(&se) {
            Some(&(before, step)) if before == ahead => short.max(step.saturating_mul(2)),
            _ => short,
        };
        self.steps.insert(se, (ahead, step));
        self.shift(se, if ahead { step } else { step.wrapping_neg() });
        if both && let Some(picked) = self.picked.get_mut(&kernel) {
            picked.vruntime = self.sched.ses[kernel].vruntime;
        }
    }

    /// Before a pick: where is the picked one taken to be, if it is a guess and no buddy?
    pub(super) fn note_pick(&mut self, kernel: TaskId, clock: u64) {
        let se = self.sched.tasks[kernel].se;
        if !self.sched.is_fair(kernel) || self.facts.picks_by_deadline() || !self.shows_state {
            return;
        }
        let entity = &self.sched.ses[se];
        let (cfs_rq, vruntime) = (entity.cfs_rq, entity.vruntime);
        let queue = &self.sched.cfs_rqs[cfs_rq];
        let buddies = [queue.next, queue.last].contains(&se) || queue.skip.is_some();
        self.picked.remove(&se);
        if !buddies && self.told_on.get(&se) != Some(&cfs_rq) {
            let picked = Picked {
                cfs_rq,
                clock,
                vruntime,
            };
            self.picked.insert(se, picked);
        }
    }

    /// The next charge of an entity that was picked tells where it was: by so much off. Those that waited beside it, if they are
    /// no less of a guess, are not before that.
    pub(super) fn tell_order(&mut self, picked: SeId, off: u64) {
        let at_pick = self.picked.remove(&picked);
        let Some(Picked {
            cfs_rq,
            clock,
            vruntime,
        }) = at_pick.filter(|_| off.cast_signed() > 0)
        else {
            return;
        };
        let least = vruntime.wrapping_add(off);
        for task in self.candidates(self.sched.cfs_rqs[cfs_rq].cpu) {
            let se = self.sched.tasks[task].se;
            let entity = &self.sched.ses[se];
            let waits = entity.cfs_rq == cfs_rq && entity.on_rq && se != picked;
            let waits = waits && self.sched.tasks[task].last_queued <= clock;
            let told = self.told_on.get(&se) == Some(&cfs_rq);
            let short = least.wrapping_sub(entity.vruntime);
            if waits && !told && (1..=off).contains(&short) {
                self.shift(se, short);
            }
        }
    }

    /// A pick was the kernel's. It speaks for guesses that were to come later and were picked, or were to come before others
    /// and wait: they are no longer moved ever further.
    pub(super) fn order_agrees(&mut self, picked: TaskId) {
        let Sched {
            tasks,
            ses,
            cfs_rqs,
            ..
        } = &self.sched;
        let cpu = |se: SeId| cfs_rqs[ses[se].cfs_rq].cpu;
        let task = tasks[picked].se;
        let above = |se: &SeId| Some(ses[*se].parent).filter(|parent| parent.is_some());
        let is_picked = |se| std::iter::successors(Some(task), above).any(|above| above == se);
        self.steps
            .retain(|&se, (later, _)| cpu(se) != cpu(task) || is_picked(se) != *later);
    }

    /// Before a pick: which entities of a CPU's running task have yielded.
    pub(super) fn note_yielded(&mut self, curr: TaskId) {
        self.yielded.clear();
        let mut se = self.sched.tasks[curr].se;
        while self.sched.is_fair(curr) && se.is_some() {
            let cfs_rq = self.sched.ses[se].cfs_rq;
            let skip = self.sched.cfs_rqs[cfs_rq].skip;
            if skip.is_some() {
                self.yielded.push((cfs_rq, skip));
            }
            se = self.sched.ses[se].parent;
        }
    }

    /// Moves an entity in virtual time, its deadline with it.
    fn shift(&mut self, se: SeId, by: u64) {
        let entity = &self.sched.ses[se];
        let (vruntime, deadline) = (entity.vruntime, entity.deadline);
        self.sched
            .follow_entity(se, vruntime.wrapping_add(by), deadline.wrapping_add(by));
    }

    /// The entities of two tasks, or of groups above them, that are on one queue.
    fn siblings_above(&self, a: TaskId, b: TaskId) -> Option<(SeId, SeId)> {
        let mut above = self.sched.tasks[a].se;
        while above.is_some() {
            let queue = self.sched.ses[above].cfs_rq;
            let mut other = self.sched.tasks[b].se;
            while other.is_some() {
                if self.sched.ses[other].cfs_rq == queue {
                    return (above != other).then_some((above, other));
                }
                other = self.sched.ses[other].parent;
            }
            above = self.sched.ses[above].parent;
        }
        None
    }
}
