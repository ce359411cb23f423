//! What rt-app logs of a task: a row for each run through a phase, and their sums.
//!
//! Model.       Logs are kept if [`RunOptions::log_loops`](super::RunOptions::log_loops) asks for them.
//! Units.       Nanoseconds; rt-app's logs have microseconds.
//! Source.      rt-app doc/tutorial.txt "Log and gnuplot", src/rt-app.c `thread_body`.
//! Deviations.  No `perf`, which counts turns of a busy loop that is not simulated.

/// One run through a phase: a row of rt-app's log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoopRow {
    /// The task.
    pub task: usize,
    /// Which of its phases, from 0.
    pub phase: u32,
    /// `start`: when it began.
    pub start_ns: u64,
    /// `end`: when it ended.
    pub end_ns: u64,
    /// `run`: time from the begin to the end of its `run` and `runtime` events.
    pub run_ns: u64,
    /// `slack`: time left when its last timer was reached, or the sum over its timers; negative:
    /// it came too late.
    pub slack_ns: i64,
    /// `c_duration`: what its `run` and `runtime` events asked for.
    pub c_duration_ns: u64,
    /// `c_period`: Σ periods of its timers.
    pub c_period_ns: u64,
    /// `wu_lat`: Σ time from its timers' ends until the task ran; a missed timer sets it to 0.
    pub wu_lat_ns: u64,
    /// Timers it came to.
    pub timers: u32,
    /// Timers that it came to too late.
    pub missed: u32,
}

impl LoopRow {
    /// A timer was come to at `now_ns`; its period ends at `end_ns`.
    pub(super) fn timer(&mut self, period_ns: u64, end_ns: u64, now_ns: u64, cumulative: bool) {
        let slack = end_ns.wrapping_sub(now_ns) as i64;
        self.c_period_ns += period_ns;
        self.timers += 1;
        self.slack_ns = if cumulative {
            self.slack_ns + slack
        } else {
            slack
        };
        if now_ns >= end_ns {
            self.missed += 1;
            self.wu_lat_ns = 0;
        }
    }
}

/// Sums over a task's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskStats {
    /// Runs through a phase.
    pub loops: u64,
    /// Σ length of these.
    pub period_ns: u64,
    /// The longest.
    pub period_max_ns: u64,
    /// Σ `run`.
    pub run_ns: u64,
    /// Σ `c_duration`.
    pub c_duration_ns: u64,
    /// Σ `c_period`.
    pub c_period_ns: u64,
    /// Rows with a timer, over which slack is taken.
    pub slack_rows: u64,
    /// Σ slack.
    pub slack_ns: i64,
    /// The least slack; 0 without rows.
    pub slack_min_ns: i64,
    /// Timers the task came to.
    pub timers: u64,
    /// Timers it came to too late.
    pub missed: u64,
    /// Σ `wu_lat`.
    pub wu_lat_ns: u64,
    /// The largest `wu_lat` of a row.
    pub wu_lat_max_ns: u64,
    /// Wakeups of every kind that the caller told of.
    pub wakeups: u64,
    /// Σ time from due to running over these.
    pub wakeup_latency_ns: u64,
    /// The largest of these.
    pub wakeup_latency_max_ns: u64,
}

impl TaskStats {
    pub(super) fn woke(&mut self, latency_ns: u64) {
        self.wakeups += 1;
        self.wakeup_latency_ns += latency_ns;
        self.wakeup_latency_max_ns = self.wakeup_latency_max_ns.max(latency_ns);
    }

    /// Mean slack, rounded towards zero; none without rows.
    pub fn slack_avg_ns(&self) -> Option<i64> {
        self.slack_ns
            .checked_div(i64::try_from(self.slack_rows).unwrap_or(i64::MAX))
    }

    fn add(&mut self, row: &LoopRow) {
        let period = row.end_ns - row.start_ns;
        self.loops += 1;
        self.period_ns += period;
        self.period_max_ns = self.period_max_ns.max(period);
        self.run_ns += row.run_ns;
        self.c_duration_ns += row.c_duration_ns;
        self.c_period_ns += row.c_period_ns;
        self.wu_lat_ns += row.wu_lat_ns;
        self.wu_lat_max_ns = self.wu_lat_max_ns.max(row.wu_lat_ns);
        if row.timers > 0 {
            let first = self.slack_rows == 0;
            self.slack_rows += 1;
            self.slack_ns += row.slack_ns;
            let least = if first {
                row.slack_ns
            } else {
                self.slack_min_ns
            };
            self.slack_min_ns = least.min(row.slack_ns);
            self.timers += u64::from(row.timers);
            self.missed += u64::from(row.missed);
        }
    }
}

/// The log of one task.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// The present run through a phase.
    pub(super) row: LoopRow,
    pub(super) stats: TaskStats,
}

impl Log {
    /// A run through a phase ends; its row.
    pub(super) fn end(&mut self, now_ns: u64) -> LoopRow {
        self.row.end_ns = now_ns;
        self.stats.add(&self.row);
        self.row
    }
}
