//! `fairwind kernel`: the kernels, and what can be switched and tuned in one.

use crate::args::KernelArgs;
use crate::error::Error;
use crate::output::{self, HEADING};
use crate::profile::BUILD_SETTINGS;
use crate::text_table::Columns;
use fairwind_machine::Machine;
use fairwind_sched::features::FeatureInfo;
use fairwind_sched::profile::TunableInfo;
use fairwind_sched::{FEATURES, KernelProfile, Release, TUNABLES};
use std::fmt::Write;
use std::process::ExitCode;

/// What the fair class of a release is called.
pub(crate) fn algorithm(release: Release) -> &'static str {
    match release {
        Release::V6_1 => "CFS",
        Release::V6_12 => "EEVDF",
    }
}

/// Carries out `fairwind kernel`.
pub(crate) fn kernel(args: &KernelArgs) -> Result<ExitCode, Error> {
    let text = match args.kernel {
        None => list(),
        Some(release) => show(release, &Machine::load(&args.machine)?),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> String {
    Columns::of(&Release::ALL)
        .text("kernel", |release| release.name().to_string())
        .text("source followed", |release| {
            release.point_release().to_string()
        })
        .text("fair class", |&release| algorithm(release).to_string())
        .layout()
        + "\n'fairwind kernel K' shows the features and tunables of one.\n"
}

fn show(release: Release, machine: &Machine) -> String {
    let nr_cpus = machine.nr_cpus();
    let mut text = format!(
        "Linux {} ({}), from the source of {}, as Debian configures it\n",
        release.name(),
        algorithm(release),
        release.point_release()
    );
    _ = writeln!(
        text,
        "\n{HEADING}Features{HEADING:#} (--feature NAME or NO_NAME)"
    );
    let features: Vec<&FeatureInfo> = FEATURES
        .iter()
        .filter(|info| info.default_in(release).is_some())
        .collect();
    let table = Columns::of(&features)
        .text("feature", |info| info.name.to_string())
        .text("default", |info| {
            if info.default_in(release) == Some(true) {
                "on"
            } else {
                "off"
            }
            .to_string()
        })
        .text("what it does", |info| info.help.to_string());
    text.push_str(&table.layout());

    _ = writeln!(
        text,
        "\n{HEADING}Tunables{HEADING:#} (--set TUNABLE=V), defaults on {} ({nr_cpus} CPUs)",
        machine.name
    );
    let defaults = KernelProfile::new(release, nr_cpus).tunables;
    let tunables: Vec<&TunableInfo> = TUNABLES
        .iter()
        .filter(|info| info.default_in(release).is_some())
        .collect();
    let table = Columns::of(&tunables)
        .text("tunable", |info| info.name.to_string())
        .number("default", |info| {
            defaults
                .get(info.name)
                .map_or_else(String::new, |value| value.to_string())
        })
        .text("unit", |info| info.unit.to_string())
        .text("what it does", |info| info.help.to_string());
    text.push_str(&table.layout());

    _ = writeln!(text, "\n{HEADING}Configuration{HEADING:#} (also by --set)");
    let table = Columns::of(&BUILD_SETTINGS)
        .text("setting", |setting| setting.0.to_string())
        .text("default", |setting| setting.1.to_string())
        .text("values", |setting| setting.2.to_string())
        .text("what it does", |setting| setting.3.to_string());
    text.push_str(&table.layout());
    text
}
