//! Many runs at once: threads, progress, Ctrl-C, and the file that keeps what is done.

use crate::error::Error;
use crate::interrupt;
use fairwind_lab::{Experiment, Run, Store, StoreError, run_all};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::hash::{DefaultHasher, Hasher};
use std::num::NonZero;
use std::path::Path;
use std::time::Duration;
use std::{env, fmt, fs, thread};

/// Does the experiments, `jobs` at a time or one a core. Those that Ctrl-C prevents have no result.
pub(crate) fn run(
    experiments: &[Experiment],
    jobs: Option<NonZero<usize>>,
    store: Option<&Store>,
) -> Result<Vec<Option<Run>>, Error> {
    let threads = jobs.or_else(|| thread::available_parallelism().ok());
    let bar =
        ProgressBar::with_draw_target(Some(experiments.len() as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("[{bar:30}] {pos} of {len} runs{left}")
        .expect("the template is well-formed")
        .progress_chars("=> ")
        .with_key("left", |state: &ProgressState, out: &mut dyn fmt::Write| {
            _ = out.write_str(&left(state.pos(), state.eta()));
        });
    bar.set_style(style);
    bar.enable_steady_tick(Duration::from_secs(1));
    let runs = run_all(
        experiments,
        threads.unwrap_or(NonZero::<usize>::MIN),
        store,
        || !interrupt::asked(),
        |progress| bar.set_position(progress.done as u64),
    );
    bar.finish_and_clear();
    Ok(runs?)
}

/// Real time to go, which is known when a run is done.
fn left(done: u64, eta: Duration) -> String {
    if done == 0 {
        return String::new();
    }
    format!(", {:#} left", HumanDuration(eta))
}

/// Opens the file of `--resume`.
pub(crate) fn store(path: &Path) -> Result<Store, Error> {
    Store::open(path, &version()?).map_err(|error| {
        let foreign = matches!(error, StoreError::Foreign { .. });
        let error = Error::input(format!("--resume {error}"));
        if foreign {
            error.hint("name a file of its own: it is made if it is not there")
        } else {
            error
        }
    })
}

/// The version of this command, and a hash of the command itself: builds of one version may differ.
fn version() -> Result<String, Error> {
    let program = env::current_exe().and_then(fs::read);
    let program = program
        .map_err(|error| Error::failed(format!("cannot read the command's own file: {error}")))?;
    let mut hash = DefaultHasher::new();
    hash.write(&program);
    Ok(format!(
        "{} {:016x}",
        env!("CARGO_PKG_VERSION"),
        hash.finish()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_a_run_is_done_nothing_is_said_of_the_time_left() {
        assert_eq!(left(0, Duration::ZERO), "");
        assert_eq!(left(1, Duration::from_secs(30)), ", 30s left");
    }
}
