//! Why an entity is queued, dequeued or woken: the kernel's flag words.
//!
//! Source. kernel/sched/sched.h @ 6.12; the values are the kernel's, so that traces can be compared.

/// The task sleeps.
pub const DEQUEUE_SLEEP: u32 = 0x01;
/// Taken off only to change it; it comes right back.
pub const DEQUEUE_SAVE: u32 = 0x02;
/// It comes back at another place.
pub const DEQUEUE_MOVE: u32 = 0x04;
/// The sleep is of a kind that must not be delayed.
pub const DEQUEUE_SPECIAL: u32 = 0x10;
/// Ends a delayed dequeue.
pub const DEQUEUE_DELAYED: u32 = 0x200;

/// The task wakes up.
pub const ENQUEUE_WAKEUP: u32 = 0x01;
/// Comes back after DEQUEUE_SAVE.
pub const ENQUEUE_RESTORE: u32 = 0x02;
/// Comes back at another place.
pub const ENQUEUE_MOVE: u32 = 0x04;
/// At the head of its priority (RT).
pub const ENQUEUE_HEAD: u32 = 0x10;
/// It changed its CPU.
pub const ENQUEUE_MIGRATED: u32 = 0x40;
/// It is new.
pub const ENQUEUE_INITIAL: u32 = 0x80;
/// It was woken while its dequeue was delayed.
pub const ENQUEUE_DELAYED: u32 = 0x200;

/// Placement on exec.
pub const WF_EXEC: u32 = 0x02;
/// Placement on fork.
pub const WF_FORK: u32 = 0x04;
/// Placement on wakeup.
pub const WF_TTWU: u32 = 0x08;
/// The waker is about to sleep.
pub const WF_SYNC: u32 = 0x10;
/// The wakee changed its CPU.
pub const WF_MIGRATED: u32 = 0x20;
/// 6.18: a CPU was chosen for the wakee, rather than that its affinity left none to choose from.
pub const WF_RQ_SELECTED: u32 = 0x80;
/// Ours, outside the kernel's bits: the wakeup comes from an interrupt, not from the running task itself.
pub const WF_FROM_IRQ: u32 = 1 << 31;
