//! Rows by number.
//!
//! Invariants. A row is put before it is read. Reading one that is not there is a bug of the
//!             producer, and panics.

/// Rows under numbers that need not be dense, but are small.
#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    /// What a row is, for the panic.
    what: &'static str,
    rows: Vec<Option<T>>,
}

impl<T> Table<T> {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self {
            what,
            rows: Vec::new(),
        }
    }

    /// Puts a row under `id`, in place of the one there.
    pub(crate) fn put(&mut self, id: u32, row: T) {
        let at = id as usize;
        if self.rows.len() <= at {
            self.rows.resize_with(at + 1, || None);
        }
        self.rows[at] = Some(row);
    }

    /// The row under `id`.
    pub(crate) fn get(&self, id: u32) -> &T {
        match self.rows.get(id as usize) {
            Some(Some(row)) => row,
            _ => panic!("{} {id} was not announced", self.what),
        }
    }
}
