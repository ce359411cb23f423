//! From `--kernel`, `--feature` and `--set` to a kernel profile.

use crate::error::Error;
use crate::suggest::nearest;
use fairwind_sched::{KernelProfile, Release};
use fairwind_sim::{Choice, SwitchError, SwitchKind};

/// Builds the profile of `release` on a machine of `nr_cpus`.
pub(crate) fn choose(
    release: Release,
    nr_cpus: usize,
    features: &[String],
    settings: &[String],
) -> Result<Choice, Error> {
    change(KernelProfile::new(release, nr_cpus), features, settings)
}

/// Changes a profile.
pub(crate) fn change(
    profile: KernelProfile,
    features: &[String],
    settings: &[String],
) -> Result<Choice, Error> {
    let mut choice = Choice::of(profile);
    for feature in features {
        choice.feature(feature.trim())?;
    }
    for setting in settings {
        choice.setting(setting)?;
    }
    Ok(choice)
}

/// What is warned of in a choice.
pub(crate) fn warnings(choice: &Choice) -> impl Iterator<Item = String> {
    { choice.warnings.iter() }.map(|(kind, what)| format!("{} {what}", option(*kind)))
}

/// The option that sets a switch.
fn option(kind: SwitchKind) -> &'static str {
    match kind {
        SwitchKind::Feature => "--feature",
        SwitchKind::Setting => "--set",
    }
}

impl From<SwitchError> for Error {
    fn from(error: SwitchError) -> Self {
        let mut failure = Error::input(format!("{} {}", option(error.kind), error.what));
        if let Some((prefix, name, known)) = error.unknown
            && let Some(near) = nearest(&name, known)
        {
            failure = failure.hint(format!("did you mean {prefix}{near}?"));
        }
        error.hints.into_iter().fold(failure, Error::hint)
    }
}
