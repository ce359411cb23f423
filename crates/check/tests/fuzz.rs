//! Recordings that contradict themselves: whatever they say, the check ends, without a panic.
//!
//! Model.  Windows of the project's recordings, and the readers' own test files, are changed at random: lines, numbers,
//!         bytes, the kernel's own files. What once went wrong is kept in `corpus` and tried first.
//! Units.  `FUZZ_SECONDS` says for how long (3), `FUZZ_SEED` where the random numbers begin. `make fuzz SECONDS=600`
//!         runs it longer; each run of it then begins elsewhere.

#[path = "fuzz/case.rs"]
mod case;
#[path = "fuzz/mutate.rs"]
mod mutate;
#[path = "fuzz/shrink.rs"]
mod shrink;

use case::{corpus, note_panics, originals};
use mutate::{Random, mutate};
use shrink::shrink;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A case that takes longer hangs. They are small: milliseconds are usual.
const HANG: Duration = Duration::from_secs(5);

fn number(name: &str, usual: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(usual, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}: expected a number"))
    })
}

#[test]
fn no_recording_makes_the_check_panic() {
    note_panics();
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for (name, case) in corpus() {
        if let Err(panic) = case.run() {
            found.insert(place(&panic), format!("{name}: {panic}"));
        }
    }
    let end = Instant::now() + Duration::from_secs(number("FUZZ_SECONDS", 3));
    let seed = number("FUZZ_SEED", 1);
    let originals = originals();
    let mut tried = 0;
    while Instant::now() < end || tried < originals.len() as u64 {
        let mut random = Random::new(seed, tried);
        let original = &originals[tried as usize % originals.len()];
        let case = mutate(original, &originals, &mut random);
        let began = Instant::now();
        let checked = case.run();
        let took = began.elapsed();
        if took > HANG {
            let saved = case.save(found.len());
            let text = format!(
                "seed {seed}, case {tried} took {took:?}: {}",
                saved.display()
            );
            found.insert("hang".into(), text);
        }
        if let Err(panic) = checked
            && !found.contains_key(&place(&panic))
        {
            let small = shrink(case, &place(&panic));
            let saved = small.save(found.len());
            let text = format!(
                "seed {seed}, case {tried}, shrunk to {}: {panic}",
                saved.display()
            );
            found.insert(place(&panic), text);
        }
        tried += 1;
    }
    let _ = std::panic::take_hook();
    let found: Vec<String> = found.into_values().collect();
    assert!(
        found.is_empty(),
        "{} kinds of panic:\n{}",
        found.len(),
        found.join("\n\n")
    );
}

/// Where a panic was, which its text begins with.
pub(crate) fn place(panic: &str) -> String {
    panic.lines().next().unwrap_or_default().to_owned()
}
