//! Words that must not appear where results are decided: floats, and maps whose order is that of a hash.

use crate::source_tree::{code_lines, files_below, must_be_empty, text, words};

fn uses(folders: &[&str], banned: &[&str]) -> Vec<String> {
    let mut broken = Vec::new();
    for folder in folders {
        for path in files_below(folder, ".rs") {
            for (number, line) in code_lines(&text(&path)) {
                if let Some(word) = words(line).find(|word| banned.contains(word)) {
                    broken.push(format!("{path}:{number}: {word}"));
                }
            }
        }
    }
    broken
}

#[test]
fn scheduler_and_engine_have_no_floats() {
    let broken = uses(&["crates/sched/", "crates/engine/"], &["f32", "f64"]);
    must_be_empty(
        "use fixed point: floats may differ between machines",
        &broken,
    );
}

#[test]
fn what_decides_results_has_no_hash_order() {
    let folders = [
        "crates/sched/",
        "crates/engine/",
        "crates/sim/",
        "crates/workload/",
    ];
    let banned = ["HashMap", "HashSet", "RandomState", "DefaultHasher"];
    must_be_empty("use a Vec or a BTreeMap", &uses(&folders, &banned));
}

#[test]
fn no_clock_thread_or_environment_where_results_are_decided() {
    let banned = [
        "std::env",
        "std::thread",
        "std::sync::atomic",
        "SystemTime",
        "Instant::now",
    ];
    let mut broken = Vec::new();
    for folder in [
        "crates/sched/src/",
        "crates/engine/src/",
        "crates/sim/src/",
        "crates/workload/src/",
    ] {
        for path in files_below(folder, ".rs") {
            for (number, line) in code_lines(&text(&path)) {
                if let Some(way) = banned.iter().find(|way| line.contains(*way)) {
                    broken.push(format!("{path}:{number}: {way}"));
                }
            }
        }
    }
    must_be_empty("time and choices come from the caller", &broken);
}
