//! Ids and time: the scheduler's small types.
//!
//! Units. Every time is in nanoseconds. [`Nanos`] is wall (sched_clock) time or a length of it; virtual
//!        time ([`Vruntime`]) wraps around and is compared through signed differences, as the kernel does.

use crate::table::Id;

/// Wall-clock time since the start of the run, or a length of it, in nanoseconds.
pub type Nanos = u64;

/// Virtual runtime in nanoseconds of a nice-0 task; wraps around.
pub type Vruntime = u64;

/// Declares an id: a number that names a row of one [`Table`](crate::table::Table).
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Marks "none" where an `Option` would double the size of a hot field.
            pub const NONE: Self = Self(u32::MAX);

            /// The id as an index into its table.
            #[inline(always)]
            pub fn idx(self) -> usize {
                self.0 as usize
            }

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

        impl Id for $name {
            #[inline(always)]
            fn from_idx(idx: usize) -> Self {
                Self(idx as u32)
            }

            #[inline(always)]
            fn to_idx(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(crate) use id;

id!(
    /// A logical CPU (a hardware thread), counted from 0.
    CpuId
);
id!(
    /// A task; ids are given in order of creation and never reused within a run.
    TaskId
);
id!(
    /// A task group (a cpu cgroup); 0 is the root group.
    GroupId
);
id!(
    /// A scheduling entity: a task's own, or a group's on one CPU.
    SeId
);
id!(
    /// A fair run queue: one for each (group, CPU).
    CfsRqId
);

impl GroupId {
    /// The root task group.
    pub const ROOT: GroupId = GroupId(0);
}
