//! The machines that come with Fairwind.
//!
//! Model.       Each preset is one of `machines/*.toml`, or one variant of a file that describes a
//!              family.

use crate::error::Error;
use crate::machine::Machine;
use crate::toml_file;

struct Preset {
    name: &'static str,
    file: &'static str,
    text: &'static str,
    variant: Option<&'static str>,
}

macro_rules! presets {
    ($($name:literal = $file:literal $(/ $variant:literal)?),* $(,)?) => {
        &[$(Preset {
            name: $name,
            file: concat!("machines/", $file),
            text: include_str!(concat!("../../../machines/", $file)),
            variant: presets!(@variant $($variant)?),
        }),*]
    };
    (@variant) => { None };
    (@variant $variant:literal) => { Some($variant) };
}

const PRESETS: &[Preset] = presets![
    "generic" = "generic.toml",
    "desktop-8" = "desktop-8.toml",
    "irwindale" = "irwindale.toml",
    "x5570" = "x5570.toml",
    "wsm-ex" = "wsm-ex.toml",
    "spr-2x60" = "spr-2x60.toml",
    "epyc-2s" = "epyc-2s.toml",
    "power-smt8-1" = "power-smt8.toml" / "power-smt8-1",
    "power-smt8-2" = "power-smt8.toml" / "power-smt8-2",
    "power-smt8-4" = "power-smt8.toml" / "power-smt8-4",
    "power-smt8-8" = "power-smt8.toml" / "power-smt8-8",
];

/// One line of the list of presets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PresetLine {
    /// The name by which it is loaded.
    pub name: &'static str,
    /// How many logical CPUs.
    pub nr_cpus: usize,
    /// What it is.
    pub description: String,
}

/// All presets, in the order in which they are shown.
pub fn preset_list() -> Vec<PresetLine> {
    let line = |preset: &Preset| {
        load(preset.name).ok().map(|machine| PresetLine {
            name: preset.name,
            nr_cpus: machine.nr_cpus(),
            description: machine.description,
        })
    };
    PRESETS.iter().filter_map(line).collect()
}

pub(crate) fn exists(name: &str) -> bool {
    PRESETS.iter().any(|preset| preset.name == name)
}

pub(crate) fn names() -> Vec<String> {
    PRESETS
        .iter()
        .map(|preset| preset.name.to_string())
        .collect()
}

/// Loads the preset `name`.
pub(crate) fn load(name: &str) -> Result<Machine, Error> {
    match PRESETS.iter().find(|preset| preset.name == name) {
        Some(preset) => toml_file::read(preset.file, preset.text, preset.variant),
        None => Err(Error::Unknown {
            spec: name.to_string(),
            presets: names(),
        }),
    }
}
