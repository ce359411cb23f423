//! Two runs, same bytes: twice, in two threads, and on every machine and in every build profile.
//!
//! Model. A case is run to a trace and a report; both go through one hash. The hashes of all cases are kept in
//!        `golden.txt`, so that another build profile, compiler or machine must arrive at the same. After a change that is
//!        meant to change results: `FAIRWIND_BLESS=1 cargo test -p fairwind-sim --test determinism`, and read the diff.

#[path = "random/case.rs"]
mod case;
#[path = "random/change.rs"]
mod change;
#[path = "random/draw.rs"]
mod draw;
#[path = "random/workload.rs"]
mod workload;

use case::{Case, FIRST_OF_6_18, Theme};
use fairwind_sim::Report;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::thread;

/// FNV-1a, 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A file that goes away.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        Temporary(std::env::temp_dir().join(format!("fairwind-{}-{name}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Numbers that reports have been given since the hashes were kept. They are not hashed, so that a report may grow; what
/// they count shows in the trace.
const NOT_HASHED: [&str; 5] = [
    "migrated",
    "scan_cores",
    "cache_hot",
    "empty_cfs_rq",
    "guests",
];

/// A report as text, without what is not hashed.
fn text(report: &Report) -> String {
    let text = format!("{report:?}");
    let fields = text.split(", ");
    let kept: Vec<&str> = fields
        .filter(|field| !NOT_HASHED.contains(&field.split(':').next().unwrap_or_default()))
        .collect();
    kept.join(", ")
}

/// Trace and report of a case.
fn bytes(theme: Theme, seed: u64, name: &str) -> Vec<u8> {
    let file = Temporary::new(&format!("{name}-{theme:?}-{seed}.txt"));
    let report = Case::new(theme, seed).run(Some(&file.0)).unwrap();
    let mut bytes = std::fs::read(&file.0).unwrap();
    bytes.extend_from_slice(text(&report).as_bytes());
    bytes
}

const CASES: [(Theme, u64); 5] = [
    (Theme::Small, 12),
    (Theme::Limits, 12),
    (Theme::Hotplug, 12),
    (Theme::Large, 6),
    (Theme::Long, 2),
];

/// All cases of a theme: of the older releases, and half as many of 6.18.
fn seeds(count: u64) -> impl Iterator<Item = u64> {
    (0..count).chain((0..count / 2).map(|n| FIRST_OF_6_18 + n))
}

#[test]
fn twice_gives_the_same_bytes() {
    for (theme, count) in CASES {
        for seed in seeds(count) {
            assert!(
                bytes(theme, seed, "a") == bytes(theme, seed, "b"),
                "{theme:?}:{seed}"
            );
        }
    }
}

#[test]
fn two_threads_at_once_give_the_same_bytes() {
    let all = |name: &str| -> Vec<Vec<u8>> {
        CASES
            .iter()
            .flat_map(|&(theme, count)| (0..count / 2).map(move |seed| bytes(theme, seed, name)))
            .collect()
    };
    let alone = all("alone");
    let (one, other) = thread::scope(|scope| {
        let one = scope.spawn(|| all("one"));
        let other = scope.spawn(|| all("other"));
        (one.join().unwrap(), other.join().unwrap())
    });
    assert!(alone == one && one == other);
}

#[test]
fn every_build_gives_the_same_bytes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.txt");
    let mut text = String::new();
    let (older, newest): (Vec<_>, Vec<_>) = CASES
        .iter()
        .flat_map(|&(theme, count)| seeds(count).map(move |seed| (theme, seed)))
        .partition(|&(_, seed)| seed < FIRST_OF_6_18);
    for cases in [older, newest] {
        for (theme, seed) in cases {
            writeln!(
                text,
                "{theme:?}:{seed} {:016x}",
                hash(&bytes(theme, seed, "golden"))
            )
            .unwrap();
        }
    }
    if std::env::var_os("FAIRWIND_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    for (got, want) in text.lines().zip(golden.lines()) {
        assert_eq!(
            got, want,
            "if results were meant to change, see the head of this file"
        );
    }
    assert_eq!(
        text.lines().count(),
        golden.lines().count(),
        "cases were added or removed"
    );
}
