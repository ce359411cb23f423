//! Virtual CPUs: what KVM knows of each and what it decides, without clock or scheduler.
//!
//! Model.       A vCPU is a task of the host and a CPU of its guest. [`Account`] splits its time; [`HaltPoll`] decides how long
//!              it polls before it sleeps; [`PleWindow`] how long it may spin before it exits; [`Round`] whom a spinning vCPU
//!              tries to yield to. The simulation runs both kernels, each with a scheduler of its own, and asks here.
//! Invariants.  Run, idle, steal and exits of a vCPU add up to the time since it began, to the nanosecond.
//! Units.       ns; cycles in the window of pause-loop exits.
//! Not here.    Any scheduling: which task runs is for the schedulers of host and guest. What exits and interrupts cost is
//!              the machine's.

mod account;
mod halt_poll;
mod on_spin;
mod ple_window;

pub use account::{Account, Mode};
pub use halt_poll::{HaltPoll, HaltPollParams};
pub use on_spin::{Round, SpinLoop, VcpuView};
pub use ple_window::{PleParams, PleWindow};
