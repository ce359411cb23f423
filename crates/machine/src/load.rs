//! From what the user asked for to a machine: which kind of description it is, and which costs go
//! with it.
//!
//! Model.       In this order: `host`; a preset; a shorthand; a path. What a path holds is told by
//!              its content: a directory is a copy of sysfs, `<` starts hwloc XML, `{` starts
//!              lscpu's JSON, all else is our TOML. Costs are those of the TOML file, else of the
//!              `generic` preset; `WHAT@PRESET` takes them from another preset, cache sizes from
//!              the description where it has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::caches::Caches;
use crate::costs::Costs;
use crate::error::Error;
use crate::idle::{IdleState, IdleStates};
use crate::machine::Machine;
use crate::places::{self, FoundCpu, FoundDistances};
use crate::{hwloc, lscpu, preset, settings, shorthand, sysfs, toml_file};

/// What a reader of a foreign format found; sizes of 0 and empty lists mean unknown.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) description: String,
    pub(crate) cpus: Vec<FoundCpu>,
    pub(crate) distances: FoundDistances,
    pub(crate) caches: Caches,
    pub(crate) idle: Vec<IdleState>,
    pub(crate) notes: Vec<String>,
}

/// The preset whose costs serve what has none of its own.
const DEFAULT_COSTS: &str = "generic";

impl Machine {
    /// Loads a machine: the name of a preset, a shorthand (`2x4x2`; `2x8x8x2` with LLCs; see the
    /// crate's documents), the path of a TOML machine file, of hwloc XML, of `lscpu -J` output or
    /// of a copy of sysfs, or `host`. `WHAT@PRESET` takes the costs of a preset. Settings may follow:
    /// `,no_turbo`, `,disable=STATE` (an idle state).
    ///
    /// # Errors
    /// When nothing of that name exists, or its content is wrong.
    pub fn load(spec: &str) -> Result<Machine, Error> {
        let (spec, settings) = settings::split(spec);
        let mut machine = load_as_is(spec)?;
        settings::apply(&mut machine, &settings)?;
        Ok(machine)
    }

    /// Loads a machine from the text of a description; `file` names it in errors.
    ///
    /// # Errors
    /// When the content is wrong.
    pub fn from_text(file: &str, text: &str) -> Result<Machine, Error> {
        read_text(file, text, &preset::load(DEFAULT_COSTS)?).map(|loaded| loaded.machine)
    }
}

/// Loads a machine without settings.
fn load_as_is(spec: &str) -> Result<Machine, Error> {
    match spec.rsplit_once('@') {
        Some((what, name)) if preset::exists(name) => {
            let costs_of = preset::load(name)?;
            let mut loaded = load_with(what, &costs_of)?;
            if loaded.own_costs {
                loaded.machine.costs = costs_of.costs;
            }
            loaded
                .machine
                .notes
                .push(format!("costs of the preset {name}"));
            Ok(loaded.machine)
        }
        _ => load_with(spec, &preset::load(DEFAULT_COSTS)?).map(|loaded| loaded.machine),
    }
}

/// A machine, and whether its description brought the costs.
struct Loaded {
    machine: Machine,
    own_costs: bool,
}

fn foreign(machine: Machine) -> Loaded {
    Loaded {
        machine,
        own_costs: false,
    }
}

fn ours(machine: Machine) -> Loaded {
    Loaded {
        machine,
        own_costs: true,
    }
}

fn load_with(spec: &str, costs_of: &Machine) -> Result<Loaded, Error> {
    if spec == "host" {
        let found = sysfs::read(Path::new(sysfs::HOST))?;
        return Ok(foreign(assemble("host", found, costs_of)));
    }
    if preset::exists(spec) {
        return preset::load(spec).map(ours);
    }
    if let Some(regular) = shorthand::parse(spec) {
        let regular = regular?;
        let topology = regular.topology(regular.default_distances());
        let description = format!("regular machine {spec}");
        let costs = costs_of.costs.clone();
        let machine = Machine::new(spec, description, topology, costs_of.caches, costs);
        return Ok(foreign(machine));
    }
    let path = Path::new(spec);
    if path.is_dir() {
        return Ok(foreign(assemble(&stem(spec), sysfs::read(path)?, costs_of)));
    }
    if !path.exists() {
        if let Some((machine, setting)) = spec.split_once(',')
            && (preset::exists(machine) || shorthand::parse(machine).is_some())
        {
            return Err(Error::Setting {
                machine: machine.to_string(),
                setting: setting.to_string(),
                what: "no such setting; expected no_turbo or disable=STATE".to_string(),
            });
        }
        return Err(Error::Unknown {
            spec: spec.to_string(),
            presets: preset::names(),
        });
    }
    let bytes = fs::read(path).map_err(|error| Error::Read {
        path: spec.to_string(),
        reason: error.to_string(),
    })?;
    let text = String::from_utf8(bytes).map_err(|_| Error::Read {
        path: spec.to_string(),
        reason: "not a text file; expected a machine .toml, hwloc XML or lscpu -J output"
            .to_string(),
    })?;
    read_text(spec, &text, costs_of)
}

fn read_text(file: &str, text: &str, costs_of: &Machine) -> Result<Loaded, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.trim_start().chars().next() {
        Some('<') => Ok(foreign(assemble(
            &stem(file),
            hwloc::read(file, text)?,
            costs_of,
        ))),
        Some('{') => Ok(foreign(assemble(
            &stem(file),
            lscpu::read(file, text)?,
            costs_of,
        ))),
        _ => toml_file::read(file, text, None).map(ours),
    }
}

fn stem(path: &str) -> String {
    let stem = Path::new(path)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| path.to_string())
}

fn assemble(name: &str, mut found: Found, costs_of: &Machine) -> Machine {
    normalise_capacities(&mut found);
    let caches = merge_caches(&mut found, costs_of.caches);
    let mut costs = merge_idle(&mut found, costs_of.costs.clone());
    if caches != costs_of.caches {
        for name in [
            "caches.line_bytes",
            "caches.l1d_bytes",
            "caches.l2_bytes",
            "caches.llc_bytes",
        ] {
            costs
                .sources
                .insert(name.to_string(), "the machine's description".to_string());
        }
    }
    let built = places::build(found.cpus, &found.distances);
    let mut machine = Machine::new(name, found.description, built.topology, caches, costs);
    machine.labels = built.labels;
    machine.notes = found.notes;
    machine.notes.extend(built.notes);
    machine
}

/// A CPU whose capacity is not told has all of it.
fn normalise_capacities(found: &mut Found) {
    for cpu in &mut found.cpus {
        cpu.capacity = cpu
            .capacity
            .min(fairwind_sched::topology::SCHED_CAPACITY_SCALE);
    }
}

fn merge_caches(found: &mut Found, assumed: Caches) -> Caches {
    if found.caches.llc_bytes == 0 {
        found
            .notes
            .push("cache sizes are not told: those of the cost set taken".to_string());
        return assumed;
    }
    let mut caches = found.caches;
    if caches.line_bytes == 0 {
        caches.line_bytes = assumed.line_bytes;
    }
    let mut core_of: BTreeMap<u64, u64> = BTreeMap::new();
    caches.l2_per_cluster = found.cpus.iter().any(|cpu| {
        cpu.cluster
            .is_some_and(|cluster| *core_of.entry(cluster).or_insert(cpu.core) != cpu.core)
    });
    caches
}

/// Idle states that were found replace the cost set's; their power is that of its state with the
/// nearest exit latency.
fn merge_idle(found: &mut Found, mut costs: Costs) -> Costs {
    let mut states = std::mem::take(&mut found.idle);
    for state in &mut states {
        let nearest = costs
            .idle
            .states()
            .iter()
            .min_by_key(|known| known.exit_latency_ns.abs_diff(state.exit_latency_ns));
        state.power_mw = nearest.map_or(0, |known| known.power_mw);
    }
    if let Some(idle) = IdleStates::new(states) {
        costs.sources.insert(
            "idle.states".to_string(),
            "cpuidle of the system".to_string(),
        );
        costs.idle = idle;
    }
    costs
}
