//! A vector indexed by a typed id, so that a task's id cannot look up a run queue.

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// An id that indexes a [`Table`].
pub trait Id: Copy {
    /// The id of row `idx`.
    fn from_idx(idx: usize) -> Self;
    /// The row of this id.
    fn to_idx(self) -> usize;
}

/// Rows of `T`, each named by an id of type `I`; ids count up from 0 and rows are never removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table<I, T> {
    rows: Vec<T>,
    id: PhantomData<I>,
}

impl<I: Id, T> Table<I, T> {
    /// An empty table.
    pub const fn new() -> Self {
        Table {
            rows: Vec::new(),
            id: PhantomData,
        }
    }

    /// Adds a row and names it.
    pub fn push(&mut self, row: T) -> I {
        self.rows.push(row);
        I::from_idx(self.rows.len() - 1)
    }

    /// The id the next row will get.
    pub fn next_id(&self) -> I {
        I::from_idx(self.rows.len())
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// No rows?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows in order of id.
    pub fn iter(&self) -> core::slice::Iter<'_, T> {
        self.rows.iter()
    }

    /// Takes the memory of so many rows more.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.rows.reserve_exact(rows);
    }

    /// Gives back memory that no row takes.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.rows.shrink_to_fit();
    }

    /// The ids in order.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.rows.len()).map(I::from_idx)
    }
}

impl<I: Id, T> Default for Table<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.rows[id.to_idx()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.to_idx()]
    }
}
