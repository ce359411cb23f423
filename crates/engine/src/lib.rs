//! The event queue of a deterministic simulation; knows no scheduling.
//!
//! Model.      Events come out in order of (time, sequence number): what was pushed first at a time comes first. A source
//!             that has at most one event at a time gets a slot, in which its next event replaces the one before.
//! Invariants. Time never goes back: an event cannot be pushed before the one last popped.
//! Units.      Nanoseconds.
//! Not here.   Cancelling: whoever pushes carries a generation in the event and drops what is stale.
#![no_std]
extern crate alloc;

mod heap;
mod queue;
mod winner_tree;

pub use queue::{Due, EventQueue};
