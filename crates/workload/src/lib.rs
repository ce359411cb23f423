//! Workloads: what tasks do, read from rt-app files and run as a pure state machine.
//!
//! Model.       [`parse`] turns text into a [`Workload`], in which all names are resolved;
//!              [`write`](fn@write) turns it back. [`Runtime`] holds every task's place in its
//!              program and all objects that tasks share, and says step by step what each task
//!              does next.
//! Not here.    Clock, CPUs and scheduling: the caller tells the time and decides who runs.

mod action;
pub mod cgroup;
mod cpu_list;
mod error;
mod global;
mod group_file;
mod guest;
mod id;
mod json;
mod parse;
pub mod programs;
mod runtime;
mod spec;
mod suggest;
mod write;

pub use action::*;
pub use cgroup::{Bandwidth, GroupSpec, GroupWeight};
pub use error::{Error, ErrorKind, Warning};
pub use global::{Calibration, Global, LogSize, RealRun};
pub use group_file::{GROUP_FILES, GroupFileError};
pub use guest::*;
pub use parse::{parse, parse_files};
pub use runtime::*;
pub use spec::*;
pub use write::{WriteError, write};
