//! `fairwind check`: hold the decisions of a recorded kernel against our scheduler.

use crate::args::CheckArgs;
use crate::error::Error;
use crate::output;
use crate::profile::{change, warnings};
use fairwind_check::report::percent;
use fairwind_check::{Given, Measure, Recording, Report, check};
use fairwind_machine::Machine;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::time::Duration;

/// Thousandths of a percent in a percent.
const PERCENT: u64 = 1000;

/// Files of groups that are used.
const CGROUP_FILES: [&str; 8] = [
    "cpu.weight",
    "cpu.max",
    "cpu.max.burst",
    "cpu.idle",
    "cpu.shares",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpu.cfs_burst_us",
];

/// Form of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people
    Table,
    /// Everything, each disagreement included
    Json,
}

/// An agreement that must be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Requirement {
    measure: Measure,
    /// In thousandths of a percent.
    share: u64,
}

/// Takes `pick=99.9`.
pub(crate) fn requirement(text: &str) -> Result<Requirement, String> {
    let names = || Measure::ALL.map(Measure::name).join(", ");
    let expected = || format!("expected MEASURE=PERCENT with one of {}", names());
    let (name, value) = text.split_once('=').ok_or_else(expected)?;
    let measure = Measure::parse(name).ok_or_else(expected)?;
    let share = thousandths(value).filter(|&share| share <= 100 * PERCENT);
    let share = share.ok_or("expected a percentage up to 100 with at most three decimals")?;
    Ok(Requirement { measure, share })
}

/// Takes `/web/cpu.weight=200`, and gives it as the file of a recording has it.
pub(crate) fn cgroup_file(text: &str) -> Result<String, String> {
    let expected = "expected PATH/FILE=VALUE such as /web/cpu.weight=200";
    let (file, value) = text.split_once('=').ok_or(expected)?;
    let (path, name) = file.rsplit_once('/').ok_or(expected)?;
    if !(path.is_empty() || path.starts_with('/')) {
        return Err(expected.into());
    }
    if !CGROUP_FILES.contains(&name) {
        let names = CGROUP_FILES.join(", ");
        return Err(format!("no file '{name}' is used; expected one of {names}"));
    }
    if let Some(expected) = refused(name, value.trim()) {
        return Err(format!("bad value '{value}'; expected {expected}"));
    }
    Ok(format!("{file}: {value}"))
}

/// What the kernel would have taken instead of a value of one of these files, if it takes it not.
fn refused(name: &str, value: &str) -> Option<&'static str> {
    const QUOTA: RangeInclusive<u64> = 1000..=u64::MAX / 1000;
    const PERIOD: RangeInclusive<u64> = 1000..=1_000_000;
    let is =
        |text: &str, range: RangeInclusive<u64>| text.parse().is_ok_and(|n| range.contains(&n));
    let (taken, expected) = match name {
        "cpu.weight" => (is(value, 1..=10_000), "1 to 10000"),
        "cpu.idle" => (is(value, 0..=1), "0 or 1"),
        "cpu.max" => {
            let (quota, period) = value.split_once(' ').unwrap_or((value, "100000"));
            let taken = (quota == "max" || is(quota, QUOTA)) && is(period.trim(), PERIOD);
            let expected = "QUOTA or QUOTA PERIOD in us, the quota from 1000 on or max, the period 1000 to 1000000";
            (taken, expected)
        }
        "cpu.cfs_quota_us" => (value == "-1" || is(value, QUOTA), "us, from 1000 on, or -1"),
        "cpu.cfs_period_us" => (is(value, PERIOD), "us, 1000 to 1000000"),
        "cpu.shares" => (value.parse::<u64>().is_ok(), "a whole number"),
        _ => (value.parse::<u64>().is_ok(), "us, a whole number"),
    };
    (!taken).then_some(expected)
}

/// Takes `nginx=/web`.
pub(crate) fn member(text: &str) -> Result<(String, String), String> {
    let expected = "expected TASK=GROUP such as nginx=/web";
    let (task, group) = text.rsplit_once('=').ok_or(expected)?;
    if task.is_empty() || !group.starts_with('/') {
        return Err(expected.into());
    }
    Ok((task.to_owned(), group.to_owned()))
}

fn thousandths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 3 || decimals.len() > 3 {
        return None;
    }
    if !digits(whole) || !digits(decimals) {
        return None;
    }
    let decimals: u64 = format!("{decimals:0<3}").parse().ok()?;
    Some(whole.parse::<u64>().ok()? * PERCENT + decimals)
}

/// Checks a recording.
pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode, Error> {
    let machine = args.machine.as_deref().map(Machine::load).transpose()?;
    let given = Given {
        release: args.kernel,
        topology: machine.map(|machine| machine.topology),
        folder: args.files.clone(),
        cgroups: args.cgroups.clone(),
        members: args.members.clone(),
    };
    if let Some(folder) = given.folder.as_deref().filter(|folder| !folder.is_dir()) {
        let what = format!("--files {}: no such folder", folder.display());
        return Err(Error::input(what));
    }
    let mut recording = Recording::open(&args.recording, given).map_err(Error::input)?;
    let profile = recording.facts().profile.clone();
    let choice = change(profile, &args.features, &args.settings)?;
    warnings(&choice).for_each(|what| output::warning(&what));
    recording.set_profile(choice.profile);
    let progress = progress();
    let report = check(&recording);
    progress.finish_and_clear();
    match args.format {
        CheckFormat::Table => {
            output::print(&report.explain(args.explain, None))?;
            output::print(&report.table())?;
        }
        CheckFormat::Json => {
            let json = serde_json::to_string_pretty(&report.json()).map_err(Error::failed)?;
            output::print_raw(json.as_bytes())?;
            output::print_raw(b"\n")?;
        }
    }
    Ok(met(&report, &args.require))
}

/// How long it has taken so far: a recording is followed once, or often if settings of groups are to be learned from it.
fn progress() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg}  {elapsed}")
        .expect("the template is well-formed");
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(style);
    bar.set_message("following the recording");
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// A requirement on a measure without decisions is not met: nothing was shown.
fn met(report: &Report, requirements: &[Requirement]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for required in requirements {
        let share = report.share(required.measure);
        if share.is_none_or(|share| share < required.share) {
            let found = share.map_or("no decision".to_owned(), |share| {
                format!("{} %", percent(share))
            });
            let wanted = percent(required.share);
            let name = required.measure.name();
            output::error(&format!("{name}: {found}, {wanted} % required"), &[]);
            code = ExitCode::FAILURE;
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read_to_the_thousandth() {
        let pick = |share| {
            Ok(Requirement {
                measure: Measure::Pick,
                share,
            })
        };
        assert_eq!(requirement("pick=99.9"), pick(99_900));
        assert_eq!(requirement("pick=100"), pick(100_000));
        assert_eq!(requirement("pick=0.001"), pick(1));
        for bad in [
            "pick",
            "luck=9",
            "pick=",
            "pick=100.1",
            "pick=+9",
            "pick=9.0001",
            "pick=-1",
        ] {
            assert!(requirement(bad).is_err(), "{bad}");
        }
    }
}
