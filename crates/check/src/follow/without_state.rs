//! For tests: a recording that comes along, without the probes that show its state.

use crate::judge::{Count, Measure};
use crate::record::What;
use crate::{Given, Recording, check};
use std::path::Path;

/// How many of its picks agree, if no record shows any state.
pub(super) fn picks(name: &str) -> Count {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    let opened = Recording::open(&recordings.join(name), Given::default());
    let mut recording = opened.expect("it comes along");
    recording
        .records
        .retain(|r| !matches!(r.what, What::Probe { .. }));
    check(&recording).scores[&Measure::Pick].count
}
