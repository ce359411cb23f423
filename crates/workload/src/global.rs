//! Settings of a whole run.
//!
//! Source.      rt-app doc/tutorial.txt "global object", src/rt-app_parse_config.c `parse_global`.

use crate::spec::Policy;

/// Settings of the whole run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// Seconds after which all tasks are ended; none: the run ends with its last task.
    pub duration_s: Option<u32>,
    /// Policy of tasks that state none.
    pub default_policy: Policy,
    /// Mutexes lend their waiters' priority to their owner.
    pub pi_enabled: bool,
    /// File that `iorun` writes to.
    pub io_device: String,
    /// Size of the buffer of `mem` and `iorun` in bytes.
    pub mem_buffer_size: u64,
    /// Slack of a phase is the sum over its timers, not that of the last one.
    pub cumulative_slack: bool,
    /// Settings that only a real rt-app uses; kept for writing the workload back.
    pub real_run: RealRun,
}

impl Default for Global {
    fn default() -> Self {
        Global {
            duration_s: None,
            default_policy: Policy::Other,
            pi_enabled: false,
            io_device: "/dev/null".to_string(),
            mem_buffer_size: 4 << 20,
            cumulative_slack: false,
            real_run: RealRun::default(),
        }
    }
}

/// Global settings without effect in a simulation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RealRun {
    /// How rt-app learns how long its busy loop takes.
    pub calibration: Option<Calibration>,
    /// Lock pages in memory.
    pub lock_pages: Option<bool>,
    /// Folder of the logs.
    pub logdir: Option<String>,
    /// How names of logs begin.
    pub log_basename: Option<String>,
    /// How much is logged.
    pub log_size: Option<LogSize>,
    /// Categories of ftrace marks.
    pub ftrace: Option<String>,
    /// Write gnuplot files.
    pub gnuplot: Option<bool>,
}

/// How rt-app learns how long its busy loop takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calibration {
    /// Measured on this CPU.
    Cpu(u32),
    /// Given: ns per loop.
    NsPerLoop(u32),
}

/// How much rt-app logs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogSize {
    /// A ring buffer of so many MB per thread.
    Megabytes(u32),
    /// `file`, `disable` or `auto`.
    Mode(String),
}
