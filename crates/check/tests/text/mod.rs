//! Recordings that a test writes as text.

use fairwind_check::{Given, Recording, Report, check};
use fairwind_sched::Release;
use std::fs;
use std::path::Path;

/// What the check says of a text, as one of a release. No two texts of these tests have the same name.
pub(crate) fn report_on(name: &str, text: &str, release: Release) -> Report {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    let given = Given {
        release: Some(release),
        ..Given::default()
    };
    check(&Recording::open(&path, given).unwrap())
}
