//! The flags of a scheduling domain.
//!
//! Model.  Bits are numbered as in 6.12. 6.1 has no [`SD_CLUSTER`] (never set there) and says
//!         `SD_SHARE_PKG_RESOURCES` for [`SD_SHARE_LLC`]; see [`DomainProfile::flag_names`].
//! Source. include/linux/sched/sd_flags.h.
//!
//! [`DomainProfile::flag_names`]: super::DomainProfile::flag_names

/// A set of `SD_*` flags.
pub type SdFlags = u32;

/// Balance when a CPU is about to become idle.
pub const SD_BALANCE_NEWIDLE: SdFlags = 1 << 0;
/// Choose a CPU at exec.
pub const SD_BALANCE_EXEC: SdFlags = 1 << 1;
/// Choose a CPU at fork.
pub const SD_BALANCE_FORK: SdFlags = 1 << 2;
/// Choose a CPU by balancing at wakeup.
pub const SD_BALANCE_WAKE: SdFlags = 1 << 3;
/// A wakeup may pull the task to the waker's CPU.
pub const SD_WAKE_AFFINE: SdFlags = 1 << 4;
/// The CPUs differ in capacity.
pub const SD_ASYM_CPUCAPACITY: SdFlags = 1 << 5;
/// Every capacity of the machine is found in the domain.
pub const SD_ASYM_CPUCAPACITY_FULL: SdFlags = 1 << 6;
/// The CPUs share one core's capacity (SMT).
pub const SD_SHARE_CPUCAPACITY: SdFlags = 1 << 7;
/// The CPUs share a cluster (an L2, or the tags of the LLC).
pub const SD_CLUSTER: SdFlags = 1 << 8;
/// The CPUs share a last-level cache.
pub const SD_SHARE_LLC: SdFlags = 1 << 9;
/// Only one CPU of the machine balances at this level at a time.
pub const SD_SERIALIZE: SdFlags = 1 << 10;
/// Prefer the CPUs of higher priority.
pub const SD_ASYM_PACKING: SdFlags = 1 << 11;
/// Spread tasks over the groups of the level above.
pub const SD_PREFER_SIBLING: SdFlags = 1 << 12;
/// The groups may overlap.
pub const SD_OVERLAP: SdFlags = 1 << 13;
/// The domain spans NUMA nodes.
pub const SD_NUMA: SdFlags = 1 << 14;

/// Each flag's name in order of its bit, as 6.12 spells it.
pub(super) const NAMES: [&str; 15] = [
    "SD_BALANCE_NEWIDLE",
    "SD_BALANCE_EXEC",
    "SD_BALANCE_FORK",
    "SD_BALANCE_WAKE",
    "SD_WAKE_AFFINE",
    "SD_ASYM_CPUCAPACITY",
    "SD_ASYM_CPUCAPACITY_FULL",
    "SD_SHARE_CPUCAPACITY",
    "SD_CLUSTER",
    "SD_SHARE_LLC",
    "SD_SERIALIZE",
    "SD_ASYM_PACKING",
    "SD_PREFER_SIBLING",
    "SD_OVERLAP",
    "SD_NUMA",
];

/// The flags that mean nothing in a domain of a single group (the kernel's `SDF_NEEDS_GROUPS`): all but
/// [`SD_WAKE_AFFINE`].
pub const SD_DEGENERATE_GROUPS_MASK: SdFlags = ((1 << 15) - 1) & !SD_WAKE_AFFINE;

/// The flags that, where absent, are absent from every domain above too (`SDF_SHARED_CHILD` in 6.12).
pub const SD_SHARED_CHILD_MASK: SdFlags = SD_BALANCE_NEWIDLE
    | SD_BALANCE_EXEC
    | SD_BALANCE_FORK
    | SD_BALANCE_WAKE
    | SD_WAKE_AFFINE
    | SD_SHARE_CPUCAPACITY
    | SD_SHARE_LLC;
