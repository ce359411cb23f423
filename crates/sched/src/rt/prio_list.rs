//! Tasks sorted by priority, first come first served among equals.
//!
//! Model.  A vector: lists are short (a CPU seldom has more than a few RT tasks), the first one is asked for all the
//!         time, and an empty list costs no memory.
//! Source. Stands in for `rt_prio_array` (kernel/sched/sched.h) and `plist` (lib/plist.c): the order is the same.

use crate::units::TaskId;
use alloc::vec::Vec;

/// A sorted list of tasks.
#[derive(Clone, Default, Debug)]
pub struct PrioList {
    entries: Vec<(i32, TaskId)>,
}

impl PrioList {
    /// The strongest task; of several, the one that came first.
    #[inline]
    pub fn first(&self) -> Option<(i32, TaskId)> {
        self.entries.first().copied()
    }

    /// No task?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many tasks.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a task behind those of its priority.
    pub fn push_back(&mut self, prio: i32, task: TaskId) {
        let at = self.entries.partition_point(|&(p, _)| p <= prio);
        self.entries.insert(at, (prio, task));
    }

    /// Adds a task before those of its priority.
    pub fn push_front(&mut self, prio: i32, task: TaskId) {
        let at = self.start_of(prio);
        self.entries.insert(at, (prio, task));
    }

    /// Removes a task; false if it was not in the list.
    pub fn remove(&mut self, prio: i32, task: TaskId) -> bool {
        match self.position(prio, task) {
            Some(at) => {
                self.entries.remove(at);
                true
            }
            None => false,
        }
    }

    /// Is the task in the list?
    pub fn contains(&self, prio: i32, task: TaskId) -> bool {
        self.position(prio, task).is_some()
    }

    /// Is there at most one task of this priority?
    pub fn is_alone(&self, prio: i32) -> bool {
        let start = self.start_of(prio);
        self.entries[start..].get(1).is_none_or(|&(p, _)| p != prio)
    }

    /// The tasks, the strongest first.
    pub fn iter(&self) -> impl Iterator<Item = (i32, TaskId)> + '_ {
        self.entries.iter().copied()
    }

    fn start_of(&self, prio: i32) -> usize {
        self.entries.partition_point(|&(p, _)| p < prio)
    }

    fn position(&self, prio: i32, task: TaskId) -> Option<usize> {
        let start = self.start_of(prio);
        self.entries[start..]
            .iter()
            .take_while(|&&(p, _)| p == prio)
            .position(|&(_, t)| t == task)
            .map(|at| start + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(list: &PrioList) -> Vec<u32> {
        list.iter().map(|(_, task)| task.0).collect()
    }

    #[test]
    fn equals_stay_in_order_of_arrival_and_the_head_goes_before_them() {
        let mut list = PrioList::default();
        for (prio, task) in [(50, 1), (49, 2), (50, 3), (-1, 4)] {
            list.push_back(prio, TaskId(task));
        }
        list.push_front(50, TaskId(5));
        assert_eq!(tasks(&list), [4, 2, 5, 1, 3]);
        assert!(list.is_alone(49));
        assert!(!list.is_alone(50));
        assert!(list.remove(50, TaskId(1)));
        assert!(
            !list.remove(49, TaskId(1)),
            "a task is found under its own priority only"
        );
        assert_eq!(tasks(&list), [4, 2, 5, 3]);
    }
}
