//! A simulated machine: runs workloads under the scheduler and measures what happens.
//!
//! Model. Each CPU executes its running task's program step by step: kernel work, stalls for cold caches, computation at
//!        the speed the core has at the moment. What the scheduler asks for (interrupts, timers, stopper work) comes back
//!        to it as events with the machine's latencies. Everything at one time happens in the order it was caused.
//! Invariants. CPU time is conserved: each CPU's idle time and the run times of the tasks on it add up to the time that
//!        passed. Two runs of the same configuration are equal to the byte.
//! Units. ns; computation in 1/1024 ns of the reference speed.
//! Deviations. A switch takes effect at once and is paid for afterwards by whoever runs; so does a wakeup by an interrupt or
//!        on the waker's own CPU. Turbo and SMT speeds are those of the moment a stretch of execution begins or a sibling changes, not continuous. There is no
//!        timer slack.
//! Not here. Scheduling decisions (see `sched`), what things cost (see `machine`), what tasks do (see `workload`).

mod attrs;
mod calls;
mod change;
mod cpu;
mod event;
mod execute;
mod idle;
mod interrupt;
mod kernel_choice;
mod kernel_files;
mod latency;
mod locks;
mod measure;
pub mod monitor;
mod notice;
mod power;
mod program;
mod psi;
mod report;
mod setup;
mod simulation;
mod spec_report;
mod speed;
mod spinlock;
mod stopper;
mod switch;
mod task_run;
mod tracing;
mod virt;
mod waking;
mod warmth;

pub use kernel_choice::{BUILD_SETTINGS, BuildSetting, Choice, SwitchError, SwitchKind};
pub use kernel_files::KernelFile;
pub use monitor::{Monitor, Violation};
pub use psi::PressureReport;
pub use report::{
    CpuReport, GroupReport, LatencyReport, REPORT_VERSION, Report, RunTotals, SearchReport,
    TaskReport,
};
pub use setup::SetupError;
pub use simulation::{Config, Outcome, Simulation};
pub use spec_report::MergedReport;
pub use virt::{GuestReport, VcpuReport, YieldReport};
