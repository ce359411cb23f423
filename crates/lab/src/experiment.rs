//! One run: a workload on a machine under a kernel, with a seed.

use crate::drive::{Ending, drive};
use crate::measures::Measures;
use crate::store::Key;
use fairwind_machine::Machine;
use fairwind_sched::{KernelProfile, Nanos};
use fairwind_sim::{Config, SetupError, Simulation};
use fairwind_workload::Workload;
use fairwind_workload::programs::Program;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One run, before it is done. Machine and workload are shared by the runs of a matrix.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// What it is called in a store. Two experiments that differ in nothing else are the same.
    pub label: String,
    /// What runs.
    pub workload: Arc<Workload>,
    /// The programs in it, for what they print.
    pub programs: Arc<Vec<Program>>,
    /// On what.
    pub machine: Arc<Machine>,
    /// Under which kernel.
    pub profile: KernelProfile,
    /// When to end, at the latest; none: when the workload says.
    pub duration: Option<Nanos>,
    /// Seed of what is drawn at random.
    pub seed: u64,
}

/// One run, done.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// What it measured.
    pub measures: Measures,
    /// All tasks waited for what never came since this time; none: it ended as it should.
    pub stuck_since: Option<Nanos>,
}

impl Experiment {
    /// The simulation, at time 0.
    ///
    /// # Errors
    /// If the workload asks for what the machine does not have.
    pub fn simulation(&self) -> Result<Simulation, SetupError> {
        let config = Config {
            machine: Machine::clone(&self.machine),
            profile: self.profile.clone(),
            duration: self.duration,
            seed: self.seed,
        };
        Simulation::new(config, Workload::clone(&self.workload))
    }

    /// Does it, unless `go_on` refuses in between.
    ///
    /// # Errors
    /// If the workload asks for what the machine does not have.
    pub fn run(&self, go_on: impl Fn() -> bool) -> Result<Option<Run>, SetupError> {
        let mut simulation = self.simulation()?;
        let ending = drive(&mut simulation, |_| go_on());
        if ending == Ending::Stopped {
            return Ok(None);
        }
        simulation
            .finish()
            .expect("only a trace can fail, and there is none");
        let stuck_since = match ending {
            Ending::Stuck { since } => Some(since),
            _ => None,
        };
        let measures = Measures::of(&simulation, &self.programs, &self.workload.guests);
        Ok(Some(Run {
            measures,
            stuck_since,
        }))
    }

    /// What it is kept under: the same for equal experiments of one `version` of the program.
    pub fn key(&self, version: &str) -> Key {
        Key::of(&(
            version,
            &self.workload,
            &self.programs,
            &self.machine,
            &self.profile,
            self.duration,
            self.seed,
        ))
    }
}
