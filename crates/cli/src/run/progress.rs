//! A progress bar, for runs that take longer than a second and a terminal that shows it.

use crate::duration;
use fairwind_sched::Nanos;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// Runs shorter than this show nothing.
const DELAY: Duration = Duration::from_secs(1);
/// Time between two pictures.
const INTERVAL: Duration = Duration::from_millis(100);

/// How far a run has come. Dropped, it wipes its line.
pub(crate) struct Progress {
    started: Instant,
    /// Real time into the run at which the next picture is due.
    due: Duration,
    end: Option<Nanos>,
    bar: Option<ProgressBar>,
    wanted: bool,
}

impl Progress {
    /// A run that begins now; `end`: if that is known.
    pub(crate) fn new(end: Option<Nanos>) -> Self {
        Progress {
            started: Instant::now(),
            due: DELAY,
            end,
            bar: None,
            wanted: io::stderr().is_terminal(),
        }
    }

    /// The run has come to `now`.
    pub(crate) fn show(&mut self, now: Nanos) {
        let elapsed = self.started.elapsed();
        if !self.wanted || elapsed < self.due {
            return;
        }
        self.due = elapsed + INTERVAL;
        let bar = self
            .bar
            .get_or_insert_with(|| new_bar(self.started, self.end));
        bar.set_position(now);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Real time to go at the mean pace so far.
fn remaining(elapsed: Duration, now: Nanos, end: Nanos) -> String {
    let left = elapsed.as_nanos() * u128::from(end - now) / u128::from(now.max(1));
    match (left / 1_000_000_000) as u64 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

/// What is told beside the bar.
fn told(elapsed: Duration, now: Nanos, end: Option<Nanos>) -> String {
    let simulated = duration::format(now);
    match end {
        Some(end) => {
            let end_text = duration::format_round(end);
            format!(
                "{simulated} of {end_text}, {} left",
                remaining(elapsed, now, end)
            )
        }
        None => format!("{simulated} simulated"),
    }
}

/// A bar that shows itself when it is first given a position.
fn new_bar(started: Instant, end: Option<Nanos>) -> ProgressBar {
    let template = match end {
        Some(_) => "[{bar:30}] {percent:>3} %  {told}",
        None => "{spinner} {told}",
    };
    // Made from the position at each drawing, so that nothing else has to be set on the bar.
    let write_told = move |state: &ProgressState, out: &mut dyn fmt::Write| {
        _ = out.write_str(&told(started.elapsed(), state.pos(), end));
    };
    let style = ProgressStyle::with_template(template)
        .expect("the template is well-formed")
        .progress_chars("=> ")
        .with_key("told", write_told);
    ProgressBar::with_draw_target(end, ProgressDrawTarget::stderr()).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_goes_at_the_pace_so_far() {
        // A quarter in 10 s: three quarters in 30 s.
        assert_eq!(remaining(Duration::from_secs(10), 250, 1000), "30 s");
        assert_eq!(remaining(Duration::from_secs(10), 1, 100), "16 min");
        assert_eq!(remaining(Duration::from_secs(10), 0, 100_000), "277 h");
    }
}
