//! `fairwind kernel`: the kernels, and what can be switched and tuned in one.

use crate::args::KernelArgs;
use crate::error::Error;
use crate::output::{self, HEADING};
use crate::text_table::Columns;
use fairwind_machine::Machine;
use fairwind_sched::features::{FeatureInfo, Origin};
use fairwind_sched::levels::LEVEL_TUNABLES;
use fairwind_sched::profile::TunableInfo;
use fairwind_sched::{FEATURES, KernelProfile, Release, TUNABLES};
use fairwind_sim::BUILD_SETTINGS;
use std::fmt::Write;
use std::process::ExitCode;

/// What the fair class of a release is called.
pub(crate) fn algorithm(release: Release) -> &'static str {
    match release {
        Release::V6_1 => "CFS",
        Release::V6_12 | Release::V6_18 => "EEVDF",
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

/// The table of the features of one origin.
fn features(release: Release, origin: Origin) -> String {
    let features: Vec<&FeatureInfo> = FEATURES
        .iter()
        .filter(|info| info.origin == origin && info.default_in(release).is_some())
        .collect();
    Columns::of(&features)
        .text("feature", |info| info.name.to_string())
        .text("default", |info| {
            if info.default_in(release) == Some(true) {
                "on"
            } else {
                "off"
            }
            .to_string()
        })
        .text("what it does", |info| info.help.to_string())
        .layout()
}

/// Whose configuration the defaults are.
fn configured_as(release: Release) -> &'static str {
    match release {
        Release::V6_1 | Release::V6_12 => "as Debian configures it",
        Release::V6_18 => "configured as Debian's 6.12",
    }
}

fn show(release: Release, machine: &Machine) -> String {
    let nr_cpus = machine.nr_cpus();
    let mut text = format!(
        "Linux {} ({}), from the source of {}, {}\n",
        release.name(),
        algorithm(release),
        release.point_release(),
        configured_as(release)
    );
    let parts = [
        (Origin::Kernel, "Features"),
        (Origin::Change, "Published changes and build options"),
    ];
    for (origin, heading) in parts {
        _ = writeln!(
            text,
            "\n{HEADING}{heading}{HEADING:#} (--feature NAME or NO_NAME)"
        );
        text.push_str(&features(release, origin));
    }

    _ = writeln!(
        text,
        "\n{HEADING}Tunables{HEADING:#} (--set TUNABLE=V), defaults on {} ({nr_cpus} CPUs)",
        machine.name
    );
    let defaults = KernelProfile::new(release, nr_cpus);
    let tunables: Vec<&TunableInfo> = TUNABLES
        .iter()
        .filter(|info| info.default_in(release).is_some())
        .collect();
    let table = Columns::of(&tunables)
        .text("tunable", |info| info.name.to_string())
        .number("default", |info| {
            defaults
                .tunables
                .get(info.name)
                .map_or_else(String::new, |value| value.to_string())
        })
        .text("unit", |info| info.unit.to_string())
        .text("what it does", |info| info.help.to_string());
    text.push_str(&table.layout());

    let levels = LEVEL_TUNABLES.iter().filter(|&&name| {
        let mut there = tunables.iter();
        there.any(|info| info.name == name)
    });
    let levels: Vec<&str> = levels.copied().collect();
    _ = writeln!(
        text,
        "For one level of the group tree: --set NAME@DEPTH=V, 0 in the root: {}",
        levels.join(", ")
    );

    _ = writeln!(text, "\n{HEADING}Configuration{HEADING:#} (also by --set)");
    let table = Columns::of(&BUILD_SETTINGS)
        .text("setting", |setting| setting.name.to_string())
        .text("default", |setting| (setting.default)(&defaults))
        .text("values", |setting| setting.values.to_string())
        .text("what it does", |setting| setting.help.to_string());
    text.push_str(&table.layout());
    text
}
