//! The ids and tables of the domain tree.
//!
//! Model. What the kernel links by pointer is linked here by dense ids into one table a kind, so that a
//!        whole tree can be cloned, dropped and walked without reference counts.

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// An id that indexes an [`Arena`].
pub trait ArenaId: Copy {
    /// The id of the entry at `idx`.
    fn from_idx(idx: usize) -> Self;
    /// The entry's place in the table.
    fn idx(self) -> usize;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Marks "none", the kernel's null pointer.
            pub const NONE: Self = Self(u32::MAX);

            /// True unless this is [`Self::NONE`].
            #[inline(always)]
            pub fn is_some(self) -> bool {
                self.0 != u32::MAX
            }

            /// True for [`Self::NONE`].
            #[inline(always)]
            pub fn is_none(self) -> bool {
                self.0 == u32::MAX
            }

            /// `None` for [`Self::NONE`].
            #[inline(always)]
            pub fn get(self) -> Option<Self> {
                if self.is_some() { Some(self) } else { None }
            }
        }

        impl ArenaId for $name {
            fn from_idx(idx: usize) -> Self {
                assert!(idx < u32::MAX as usize, "more than 2^32 - 2 entries");
                Self(idx as u32)
            }

            #[inline(always)]
            fn idx(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A scheduling domain of one CPU.
    SdId
);
id!(
    /// A group of CPUs within a domain.
    SgId
);
id!(
    /// The capacity record that identical groups share.
    SgcId
);
id!(
    /// The record that all domains of one cache share.
    SdsId
);
id!(
    /// A set of CPUs; equal sets of one tree have equal ids.
    SpanId
);

/// A table indexed by its own kind of id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arena<I, T> {
    entries: Vec<T>,
    id: PhantomData<I>,
}

impl<I, T> Default for Arena<I, T> {
    fn default() -> Self {
        Arena {
            entries: Vec::new(),
            id: PhantomData,
        }
    }
}

impl<I: ArenaId, T> Arena<I, T> {
    /// Adds an entry and tells its id.
    pub fn push(&mut self, entry: T) -> I {
        let id = I::from_idx(self.entries.len());
        self.entries.push(entry);
        id
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// No entry at all?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in order of id.
    pub fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.entries
            .iter()
            .enumerate()
            .map(|(idx, entry)| (I::from_idx(idx), entry))
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.entries.shrink_to_fit();
    }
}

impl<I: ArenaId, T> Index<I> for Arena<I, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.entries[id.idx()]
    }
}

impl<I: ArenaId, T> IndexMut<I> for Arena<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.idx()]
    }
}
