//! Which CPUs a task may use: not recorded, and so inferred from where the kernel puts it.
//!
//! Model.      Where ours chooses one CPU and the kernel another one, the task may be bound to the CPUs
//!             on which the kernel has put it from then on. Both suppositions, bound and free, are asked
//!             again at its next placements; where their answers differ, the kernel's tells which holds.
//!             Ours takes a task for bound once two such placements in a row have told so, and for free
//!             again when one tells the contrary, or balancing moves it to another CPU. That a new task
//!             goes to an idle CPU tells half as much: which of several it gets hangs on when each became idle. So does
//!             a placement where ours chooses a busy CPU, which hangs on loads.
//!             Children are bound as their parent is. So are all tasks of one program and one forefather, once their
//!             placements tell that: to the CPUs on which the kernel has put any of them or their children. So are tasks
//!             that ours would move, if two passes of balancing are the kernel's once they and those beside them stay where
//!             they have been lately. Where the kernel takes a waiting task off a CPU other than by balancing, that is told
//!             to be no longer among those the task may use. A running one that a stopper takes elsewhere, after whoever woke
//!             the stopper had charged it, is taken for bound to where it goes; where its family goes does not change that.
//!             One of a family may be bound to fewer CPUs than that: those where it has been lately, if three placements are the
//!             kernel's with that only, and none takes it elsewhere meanwhile.
//!             What a whole walk has told of a task (see `allowed`) holds in the next one, but for that.
//! Invariants. A placement is answered by what others told, never by itself alone.
//! Deviations. Allowed CPUs are not recorded: unless a whole walk tells them, ours needs two disagreements to take a task for
//!             bound, one more for each CPU on which it has not been yet, and one to take it for free again.

use super::Follower;
use fairwind_sched::replay::BeforePlacement;
use fairwind_sched::{CpuId, CpuMask, Sched, TaskId};

/// What a placement tells of bounds, and that of a new task on an idle CPU, or where ours chooses a busy one.
const PLACED: u32 = 2;
const FORKED: u32 = 1;
/// So much has to be told in a row before a task is taken for bound.
const TELLING: u32 = 2 * PLACED;

/// So many placements have to tell that a task that is taken for bound is bound to fewer CPUs.
const NARROWER: u32 = 3;

/// So many passes of balancing have to tell it of a task.
const TELLING_PASSES: u32 = 2;
/// How often a task ran is looked back.
const LATELY: usize = 12;

/// A task that may be bound.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Where the kernel has put it.
    cpus: CpuMask,
    /// Placements in a row that only this explains.
    streak: u32,
    /// The kernel took it off a CPU that it may no longer use. Where others of its family go says nothing against that.
    taken_off: bool,
}

impl Bounds {
    fn new(cpus: CpuMask, streak: u32) -> Bounds {
        Bounds {
            cpus,
            streak,
            taken_off: false,
        }
    }

    fn holds(&self) -> bool {
        self.streak >= TELLING
    }
}

impl Follower<'_> {
    /// Has an earlier walk told to which CPUs the task is bound?
    fn is_bound_known(&self, task: TaskId) -> bool {
        self.pid(task)
            .is_some_and(|pid| self.known_bounds.contains_key(&pid))
    }

    /// Tasks get the CPUs that an earlier walk has told them to have from this record on.
    pub(super) fn begin_bounds(&mut self) {
        while let Some(bound) = self.learned.bounds.get(self.bounds_begun)
            && bound.from <= self.at
        {
            self.bounds_begun += 1;
            let (pid, task) = (bound.pid, self.known(bound.pid));
            if let Some(cpus) = bound.cpus.clone() {
                self.known_bounds.insert(pid, cpus);
                self.bind_as_known(pid);
            } else if self.known_bounds.remove(&pid).is_some()
                && let Some(task) = task
            {
                self.take_for_free(task);
            }
        }
    }

    /// A task gets the CPUs that an earlier walk has told, if there are some.
    pub(super) fn bind_as_known(&mut self, pid: i32) {
        if let (Some(cpus), Some(task)) = (self.known_bounds.get(&pid).cloned(), self.known(pid)) {
            self.bind_to(task, cpus);
        }
    }

    /// A task is taken for bound to some CPUs.
    fn bind_to(&mut self, task: TaskId, cpus: CpuMask) {
        self.allow(task, &cpus);
        self.bounds.insert(task, Bounds::new(cpus, TELLING));
    }

    /// As it is where the kernel took the task off a CPU because of that.
    fn bind_taken_off(&mut self, task: TaskId, cpus: CpuMask) {
        self.bind_to(task, cpus);
        if let Some(bounds) = self.bounds.get_mut(&task) {
            bounds.taken_off = true;
        }
    }

    fn take_for_free(&mut self, task: TaskId) {
        self.bounds.remove(&task);
        self.allow(task, &CpuMask::all(self.sched.nr_cpus()));
    }

    /// The kernel puts a task on a CPU, which it thus may use.
    fn may_use(&mut self, task: TaskId, cpu: CpuId) {
        let bounds = self.bounds.get_mut(&task);
        if let Some(bounds) = bounds.filter(|bounds| !bounds.cpus.test(cpu)) {
            bounds.cpus.set(cpu);
            let cpus = bounds.cpus.clone();
            self.allow(task, &cpus);
        }
    }

    /// Is the task taken to be bound to one CPU, so that there was nothing to choose?
    pub(super) fn is_pinned(&self, task: TaskId) -> bool {
        self.bounds
            .get(&task)
            .is_some_and(|bounds| bounds.holds() && bounds.cpus.weight() == 1)
    }

    /// Is the task taken to be bound to no CPUs?
    pub(super) fn is_free(&self, task: TaskId) -> bool {
        self.bounds.get(&task).is_none_or(|bounds| !bounds.holds())
    }

    /// Learns from the placement of `asked`, a task or its new child: ours under the present supposition,
    /// and `ask` for the other one.
    pub(super) fn learn_bounds(
        &mut self,
        task: TaskId,
        asked: TaskId,
        [kernel, ours]: [CpuId; 2],
        before: &BeforePlacement,
        ask: impl Fn(&mut Sched) -> CpuId,
    ) {
        if task == asked && self.learn_narrower(task, [kernel, ours], before, &ask) {
            return;
        }
        if self.is_bound_known(task) {
            self.may_use(task, kernel);
            return;
        }
        if task == asked {
            self.learn_family(task, [kernel, ours], before, &ask);
        } else {
            self.comes_to(task, kernel);
        }
        let nr_cpus = self.sched.nr_cpus();
        let prev = self.sched.tasks[asked].cpu;
        let mut bounds = match self.bounds.remove(&task) {
            Some(bounds) => bounds,
            None if ours == kernel => return,
            None => Bounds::new(CpuMask::of(nr_cpus, [prev, kernel]), 0),
        };
        let mut under = |cpus: &CpuMask| {
            self.sched
                .ask_otherwise(before, |sched| sched.ask_within(asked, cpus, &ask))
        };
        let held_before = bounds.holds();
        let (bound, free) = if held_before {
            (Some(ours), under(&CpuMask::all(nr_cpus)))
        } else {
            (under(&bounds.cpus), Some(ours))
        };
        let idle = |cpu| self.sched.idle_cpu(cpu);
        let tells = if asked == task || !idle(kernel) {
            PLACED
        } else {
            FORKED
        };
        match (bound == Some(kernel), free == Some(kernel)) {
            (true, false) if free.is_some_and(idle) => bounds.streak += tells,
            (true, false) => bounds.streak += FORKED,
            (false, true) => bounds.streak = 0,
            _ => {}
        }
        if let Some(free) = free.filter(|&free| bound == Some(kernel) && free != kernel) {
            self.hint(task, free);
        }
        bounds.cpus.set(kernel);
        let allowed = if bounds.holds() {
            Some(bounds.cpus.clone())
        } else if held_before {
            Some(CpuMask::all(nr_cpus))
        } else {
            None
        };
        if let Some(allowed) = allowed {
            self.allow(task, &allowed);
            self.allow(asked, &allowed);
        }
        if bounds.streak != 0 {
            self.bounds.insert(task, bounds);
        }
    }

    /// Learns from the placement of a task that is taken for bound whether it is bound to fewer CPUs, those where it has been
    /// lately. True if that is told: it is from now on.
    fn learn_narrower(
        &mut self,
        task: TaskId,
        [kernel, ours]: [CpuId; 2],
        before: &BeforePlacement,
        ask: impl Fn(&mut Sched) -> CpuId,
    ) -> bool {
        if self.is_free(task) {
            return false;
        }
        let lately = self.been.get(&task).into_iter().flatten().copied();
        let lately = CpuMask::of(self.sched.nr_cpus(), lately);
        if !lately.test(kernel) {
            self.narrower.remove(&task);
            return false;
        }
        let within = |sched: &mut Sched| sched.ask_within(task, &lately, &ask);
        if ours == kernel || self.sched.ask_otherwise(before, within) != Some(kernel) {
            return false;
        }
        let told = self.narrower.entry(task).or_default();
        *told += 1;
        if *told < NARROWER {
            return false;
        }
        self.bind_to(task, lately);
        true
    }

    /// Learns from the same placement whether all tasks of one program and one forefather are bound to the CPUs on which the
    /// kernel has put any of them. If so, and the task is not taken for bound itself, it is from now on.
    fn learn_family(
        &mut self,
        task: TaskId,
        [kernel, ours]: [CpuId; 2],
        before: &BeforePlacement,
        ask: impl Fn(&mut Sched) -> CpuId,
    ) {
        let Some(key) = self.family_of(task) else {
            return;
        };
        let all = CpuMask::all(self.sched.nr_cpus());
        let family = self.families.remove(&key);
        let mut family =
            family.unwrap_or_else(|| Bounds::new(CpuMask::none(self.sched.nr_cpus()), 0));
        let held = !self.is_free(task);
        let held_before = family.holds();
        if family.cpus.weight() > 1 && family.cpus != all {
            let mut under = |cpus: &CpuMask| {
                self.sched
                    .ask_otherwise(before, |sched| sched.ask_within(task, cpus, &ask))
            };
            let bound = under(&family.cpus);
            let free = if held { under(&all) } else { Some(ours) };
            match (bound == Some(kernel), free == Some(kernel)) {
                (true, false) => family.streak += FORKED,
                (false, true) => family.streak = 0,
                _ => {}
            }
        }
        if held_before && !family.cpus.test(kernel) {
            self.allow_family(&key, kernel);
        }
        family.cpus.set(kernel);
        if !held && family.holds() && family.cpus != all {
            self.bind_to(task, family.cpus.clone());
        }
        self.families.insert(key, family);
    }

    /// The kernel puts a child of a task on a CPU, which all of the task's family thus may use.
    fn comes_to(&mut self, task: TaskId, cpu: CpuId) {
        let Some(key) = self.family_of(task) else {
            return;
        };
        let Some(family) = self.families.get_mut(&key).filter(|f| !f.cpus.test(cpu)) else {
            return;
        };
        family.cpus.set(cpu);
        if family.holds() {
            self.allow_family(&key, cpu);
        }
    }

    /// The first forefather of a task, and its program.
    fn family_of(&self, task: TaskId) -> Option<(TaskId, String)> {
        let comm = self.names.comm(task)?;
        Some((self.wakees.forefather(task), comm.to_owned()))
    }

    /// All of a family that are bound may use a CPU, too.
    fn allow_family(&mut self, key: &(TaskId, String), cpu: CpuId) {
        let bound: Vec<TaskId> = self.bounds.keys().copied().collect();
        for task in bound {
            let is_kin = self.family_of(task).as_ref() == Some(key);
            let bounds = self.bounds.get_mut(&task);
            let Some(bounds) = bounds.filter(|bounds| is_kin && !bounds.taken_off) else {
                continue;
            };
            bounds.cpus.set(cpu);
            if bounds.holds() {
                let cpus = bounds.cpus.clone();
                self.allow(task, &cpus);
            }
        }
    }

    /// Balancing moved a task to a CPU, which it thus may use: one more of those where it is taken to stay, if balancing told
    /// that, too; else any.
    pub(super) fn moves_to(&mut self, task: TaskId, dest: CpuId) {
        if self.is_bound_known(task) {
            self.may_use(task, dest);
            return;
        }
        if self.sched.cpu_allowed(task, dest) {
            return;
        }
        let passes = self.suspected.get(&task);
        let by_passes = passes.is_some_and(|&passes| passes >= TELLING_PASSES);
        if let Some(bounds) = self.bounds.get_mut(&task).filter(|_| by_passes) {
            bounds.cpus.set(dest);
            let cpus = bounds.cpus.clone();
            self.allow(task, &cpus);
            return;
        }
        self.take_for_free(task);
    }

    /// A task may use these CPUs, and that is no news: nothing happens to it now.
    fn allow(&mut self, task: TaskId, cpus: &CpuMask) {
        if !self.sched.follow_cpus_allowed(task, cpus) {
            self.judge.mended("tasks bound to CPUs that are not there");
        }
    }

    /// The kernel took the task off a CPU, which it may not use from now on.
    pub(super) fn forbid(&mut self, task: TaskId, cpu: CpuId) {
        if self.is_bound_known(task) {
            return;
        }
        let cpus = allowed_others(&self.sched, task, cpu);
        if cpus.weight() != 0 {
            self.bind_taken_off(task, cpus);
        }
    }

    /// A pass of the kernel's is explained by tasks that are bound to CPUs.
    pub(super) fn suspect_bound(&mut self, tasks: Vec<(TaskId, CpuMask)>) {
        for (task, cpus) in tasks {
            if self.is_bound_known(task) {
                continue;
            }
            let passes = self.suspected.entry(task).or_default();
            *passes += 1;
            if *passes >= TELLING_PASSES {
                self.bind_to(task, cpus);
            }
        }
    }

    /// The CPUs on which a task has run lately, and those on which the kernel has put any of its family, if any of that has run
    /// there lately.
    pub(super) fn been(&self, task: TaskId) -> CpuMask {
        let nr_cpus = self.sched.nr_cpus();
        let last = |task: TaskId| self.been.get(&task).into_iter().flatten().copied();
        let mut been = CpuMask::of(nr_cpus, last(task));
        let Some(key) = self.family_of(task) else {
            return been;
        };
        if let Some(family) = self.families.get(&key) {
            let (forefather, comm) = &key;
            let is_kin = |&&other: &&TaskId| {
                self.names.comm(other) == Some(comm) && self.wakees.forefather(other) == *forefather
            };
            let of_kin = self.been.keys().filter(is_kin);
            let of_kin = CpuMask::of(nr_cpus, of_kin.flat_map(|&kin| last(kin)));
            let placed = of_kin.iter().filter(|&cpu| family.cpus.test(cpu));
            placed.for_each(|cpu| been.set(cpu));
        }
        been
    }

    /// A task runs on a CPU.
    pub(super) fn note_been(&mut self, task: TaskId, cpu: CpuId) {
        let been = self.been.entry(task).or_default();
        if been.len() == LATELY {
            been.pop_front();
        }
        been.push_back(cpu);
    }

    /// The kernel took a running task to a CPU because it may no longer use its own: it is bound to the new one, as far as
    /// that tells.
    pub(super) fn take_for_bound(&mut self, task: TaskId, cpu: CpuId) {
        if self.is_bound_known(task) {
            self.may_use(task, cpu);
            return;
        }
        self.bind_taken_off(task, CpuMask::of(self.sched.nr_cpus(), [cpu]));
    }

    /// A child may use the CPUs that its parent may.
    pub(super) fn inherit_bounds(&mut self, parent: TaskId, child: TaskId) {
        if self.is_bound_known(child) {
            return;
        }
        if let Some(bounds) = self.bounds.get(&parent).cloned() {
            self.bounds.insert(child, bounds);
        }
    }
}

/// The CPUs that a task may use, without one of them.
pub(super) fn allowed_others(sched: &Sched, task: TaskId, cpu: CpuId) -> CpuMask {
    let others = sched.rqs.ids().filter(|&other| other != cpu);
    let allowed = others.filter(|&other| sched.cpu_allowed(task, other));
    CpuMask::of(sched.nr_cpus(), allowed)
}
