//! Invariants, watched while a simulation runs: one rule a file.
//!
//! Model. A monitor looks at the whole state after each event and says the first thing that is wrong. Each has a test in
//!        which it fires.

use crate::simulation::Simulation;
use fairwind_sched::Nanos;
use std::fmt;

/// A rule that must hold after every event.
pub trait Monitor {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Looks at the state.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation>;
}

/// A broken invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which rule.
    pub rule: &'static str,
    /// When.
    pub time: Nanos,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} ns: {}", self.rule, self.time, self.what)
    }
}
