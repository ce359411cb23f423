//! Hardware as facts and costs.
//!
//! Model.       A [`Machine`] is a [`Topology`](fairwind_sched::topology::Topology) (which CPUs
//!              share what), the sizes of its caches, and its [`Costs`]: what each step of the
//!              scheduler and each distance costs. [`Machine::load`] reads one from a preset, a
//!              shorthand, a file or the running system.
//! Invariants.  A `Machine` that exists is consistent: ids in the topology are dense, tables have
//!              the lengths that their readers expect, no method of it fails.
//! Units.       Names end in the unit: `_ns`, `_ps`, `_bytes`, `_khz`, `_mw`; fractions are per
//!              1024.
//! Not here.    Time, events and randomness; what tasks do; every decision of the scheduler.

mod caches;
mod constants;
mod costs;
mod cpulist;
mod distance;
mod draw;
mod error;
mod hwloc;
mod idle;
mod load;
mod lscpu;
mod machine;
mod places;
mod power;
mod preset;
mod settings;
mod shorthand;
mod summary;
mod sysfs;
mod toml_file;

pub use caches::{Caches, Footprint, RefillCosts, WorkingSet};
pub use costs::{CallCosts, Costs, KernelCosts};
pub use distance::{ByDistance, Distance, REMOTE_CLASSES};
pub use draw::draw;
pub use error::Error;
pub use idle::{IdleState, IdleStates};
pub use machine::{Labels, Machine};
pub use power::{Frequency, Power};
pub use preset::{PresetLine, preset_list};
pub use summary::SummaryRow;
