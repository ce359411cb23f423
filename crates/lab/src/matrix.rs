//! Many runs on all cores.
//!
//! Model.       Threads take the next experiment off one queue, an index that all share, until none is left. Runs last
//!              for seconds and share nothing, so that is all it takes: a pool that steals work from itself would bring
//!              nothing but a dependency.
//! Invariants.  Result n is that of experiment n, whoever did it and when.

use crate::experiment::{Experiment, Run};
use crate::store::{Store, StoreError};
use fairwind_sim::SetupError;
use std::fmt;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Why a matrix was given up.
#[derive(Debug)]
pub enum RunError {
    /// A workload asks for what the machine does not have.
    Setup(SetupError),
    /// A result could not be kept.
    Store(StoreError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Setup(error) => error.fmt(f),
            RunError::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

/// How far a matrix has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Runs that are done.
    pub done: usize,
    /// Of these, so many were in the store.
    pub kept: usize,
    /// All runs.
    pub total: usize,
}

/// Does all experiments, in their order as far as one thread goes, on `threads` threads. Those that the store has are
/// taken from it, and the others kept there. When `go_on` refuses, runs that are not done are given up: they have no
/// result. `tell` hears of each run that is done.
///
/// # Errors
/// The first error of any run; the others are given up.
pub fn run_all(
    experiments: &[Experiment],
    threads: NonZero<usize>,
    store: Option<&Store>,
    go_on: impl Fn() -> bool + Sync,
    tell: impl Fn(Progress) + Sync,
) -> Result<Vec<Option<Run>>, RunError> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let go_on = || !failed.load(Ordering::Relaxed) && go_on();
    let state = Mutex::new(State {
        results: vec![None; experiments.len()],
        progress: Progress {
            done: 0,
            kept: 0,
            total: experiments.len(),
        },
        error: None,
    });
    let worker = || {
        while go_on() {
            let idx = next.fetch_add(1, Ordering::Relaxed);
            let Some(experiment) = experiments.get(idx) else {
                break;
            };
            let done = one(experiment, store, go_on);
            let mut state = state.lock().expect("no thread panics while it holds it");
            match done {
                Ok(None) => {}
                Ok(Some((run, kept))) => {
                    state.results[idx] = Some(run);
                    state.progress.done += 1;
                    state.progress.kept += usize::from(kept);
                    tell(state.progress);
                }
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    state.error.get_or_insert(error);
                }
            }
        }
    };
    let threads = threads.get().min(experiments.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(worker);
        }
    });
    let state = state
        .into_inner()
        .expect("every thread has come to its end");
    match state.error {
        Some(error) => Err(error),
        None => Ok(state.results),
    }
}

struct State {
    results: Vec<Option<Run>>,
    progress: Progress,
    error: Option<RunError>,
}

/// One run, and whether the store had it.
fn one(
    experiment: &Experiment,
    store: Option<&Store>,
    go_on: impl Fn() -> bool,
) -> Result<Option<(Run, bool)>, RunError> {
    let Some(store) = store else {
        let run = experiment.run(go_on).map_err(RunError::Setup)?;
        return Ok(run.map(|run| (run, false)));
    };
    let key = store.key(experiment);
    if let Some(run) = store.get(key) {
        return Ok(Some((run.clone(), true)));
    }
    let Some(run) = experiment.run(go_on).map_err(RunError::Setup)? else {
        return Ok(None);
    };
    store
        .keep(key, &experiment.label, &run)
        .map_err(RunError::Store)?;
    Ok(Some((run, false)))
}
