//! `KERNEL[,SWITCH]…`: a kernel and its switches in one word.
//!
//! Model.       What begins with the name of a kernel is that kernel; an item that begins with `/` is a file of a group of
//!              the workload, as --cgroup has it, any other with `=` a tunable, as --set has it, and the rest features, as
//!              --feature has them. In --with the kernel may be left out: then it is the base's, with the base's
//!              switches before its own.

use crate::error::Error;
use crate::profile;
use fairwind_sched::Release;
use fairwind_sim::Choice;

/// A kernel to compare.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// As it was typed.
    pub(crate) label: String,
    /// The release.
    pub(crate) release: Release,
    /// Its profile, and what differs from its defaults.
    pub(crate) choice: Choice,
    /// Files of groups to write before the run: `/web/cpu.max=50000 200000`.
    pub(crate) group_files: Vec<String>,
    switches: Vec<String>,
}

/// Reads `--base`.
pub(crate) fn base(text: &str, nr_cpus: usize) -> Result<Kernel, Error> {
    read("--base", text, None, nr_cpus)
}

/// Reads one `--with`.
pub(crate) fn with(text: &str, base: &Kernel, nr_cpus: usize) -> Result<Kernel, Error> {
    read("--with", text, Some(base), nr_cpus)
}

fn read(option: &str, text: &str, base: Option<&Kernel>, nr_cpus: usize) -> Result<Kernel, Error> {
    let mut items = text.split(',').map(|item| item.trim().to_string());
    let first = items.next().unwrap_or_default();
    let (release, mut switches) = match (Release::parse(&first), base) {
        (Some(release), _) => (release, Vec::new()),
        (None, Some(base)) if !first.starts_with(|c: char| c.is_ascii_digit()) => {
            let mut switches = base.switches.clone();
            switches.push(first);
            (base.release, switches)
        }
        _ => {
            let names = Release::ALL.map(Release::name).join(", ");
            let what = format!("{option} {text}: no kernel \"{first}\"; there are {names}");
            return Err(Error::input(what)
                .hint("SPEC is KERNEL[,SWITCH]..., as in 6.12,NO_SIS_UTIL,hz=1000"));
        }
    };
    switches.extend(items);
    if switches.iter().any(String::is_empty) {
        return Err(
            Error::input(format!("{option} {text}: nothing between two commas"))
                .hint("SPEC is KERNEL[,SWITCH]..., as in 6.12,NO_SIS_UTIL,hz=1000"),
        );
    }
    let (group_files, kernel): (Vec<_>, Vec<_>) =
        { switches.iter().cloned() }.partition(|switch| switch.starts_with('/'));
    let (settings, features): (Vec<_>, Vec<_>) =
        { kernel.into_iter() }.partition(|switch| switch.contains('='));
    let mut choice = profile::choose(release, nr_cpus, &features, &settings)
        .map_err(|error| error.within(&format!("{option} {text}")))?;
    choice.settings.extend(group_files.iter().cloned());
    Ok(Kernel {
        label: text.to_string(),
        release,
        choice,
        group_files,
        switches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_kernel_adds_to_the_base() {
        let base = base("6.1,NO_WAKEUP_PREEMPTION,hz=100", 8).unwrap();
        assert_eq!(base.choice.settings, ["NO_WAKEUP_PREEMPTION", "hz=100"]);
        let same = with("WAKEUP_PREEMPTION, NO_SIS_UTIL", &base, 8).unwrap();
        assert_eq!(same.release, Release::V6_1);
        let settings = ["WAKEUP_PREEMPTION", "NO_SIS_UTIL", "hz=100"];
        assert_eq!(same.choice.settings, settings);
        let other = with("6.12", &base, 8).unwrap();
        assert_eq!(other.release, Release::V6_12);
        assert!(other.choice.settings.is_empty());
        let limited = with("/web/cpu.max=50000 200000,hz=250", &base, 8).unwrap();
        assert_eq!(limited.group_files, ["/web/cpu.max=50000 200000"]);
        assert_eq!(limited.choice.profile.hz, 250);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for wrong in [
            "6.2",
            "NO_SIS_UTIL",
            "",
            "6.12,",
            "6.12,,hz=100",
            "6.12,SIS_UTLI",
        ] {
            assert!(base(wrong, 8).is_err(), "{wrong}");
        }
        let base = base("6.12", 8).unwrap();
        for wrong in ["6.2", "", "SIS_UTLI", "hz=", ",SIS_UTIL"] {
            assert!(with(wrong, &base, 8).is_err(), "{wrong}");
        }
    }
}
