//! What a format writes for each task, prepared when the task is announced.

use crate::event::SWAPPER;
use crate::roster::{Comm, Task};
use crate::table::Table;

/// Rows of `T` for the tasks announced so far, and for the idle tasks.
#[derive(Debug)]
pub(crate) struct Names<T> {
    tasks: Table<T>,
    /// `[nr_cpus]`.
    idle: Vec<T>,
}

impl<T> Names<T> {
    /// Only the idle tasks, each as `of` prepares it.
    pub(crate) fn new(nr_cpus: u32, of: impl Fn(&Task) -> T) -> Self {
        let idle = |cpu| Task {
            pid: 0,
            tgid: 0,
            comm: Comm::swapper(cpu),
        };
        Names {
            tasks: Table::new("task"),
            idle: (0..nr_cpus).map(|cpu| of(&idle(cpu))).collect(),
        }
    }

    /// Puts the row of task `id`.
    pub(crate) fn put(&mut self, id: u32, row: T) {
        self.tasks.put(id, row);
    }

    /// That of task `id`; [`SWAPPER`] is the idle task of `cpu`.
    #[inline(always)]
    pub(crate) fn get(&self, id: u32, cpu: u32) -> &T {
        if id == SWAPPER {
            &self.idle[cpu as usize]
        } else {
            self.tasks.get(id)
        }
    }
}
