//! The ids of the domain tree.
//!
//! Model. What the kernel links by pointer is linked here by dense ids into one table a kind, so that a
//!        whole tree can be cloned, dropped and walked without reference counts.

use crate::table::Id;
use crate::units::id;

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
