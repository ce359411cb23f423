//! Files: each has a header, a name that says what it holds, and a size that can be read.

use crate::source_tree::{files, files_below, header, must_be_empty, root, text};

const MAX_LINES: usize = 800;
const MAX_BYTES: u64 = 100_000;

/// Names that say nothing of what is inside.
const BANNED_STEMS: [&str; 8] = [
    "utils", "util", "helpers", "helper", "misc", "common", "new", "v2",
];

/// Large files by how their paths begin and end, each with its reason.
const LARGE_FILES: [(&str, &str, &str); 3] = [
    ("Cargo.lock", "", "made by cargo"),
    (
        "recordings/",
        "/trace.txt.xz",
        "what a real kernel did, which the scheduler is held against",
    ),
    (
        "recordings/many-cpus-",
        "/sched-debug.before",
        "the queues of 32 CPUs",
    ),
];

#[test]
fn every_rust_file_has_a_header() {
    let mut broken = files_below("crates/", ".rs");
    broken.retain(|path| header(&text(path)).is_empty());
    must_be_empty(
        "begin these files with `//!` and what they are for",
        &broken,
    );
}

#[test]
fn no_rust_file_is_too_long() {
    let mut broken = Vec::new();
    for path in files_below("crates/", ".rs") {
        let lines = text(&path).lines().count();
        if lines > MAX_LINES {
            broken.push(format!("{path}: {lines} lines"));
        }
    }
    must_be_empty(
        &format!("split these files: more than {MAX_LINES} lines"),
        &broken,
    );
}

#[test]
fn names_of_files_and_folders_say_what_is_inside() {
    let is_banned = |part: &str| {
        let stem = part.split('.').next().unwrap_or_default();
        BANNED_STEMS.contains(&stem)
    };
    let mut broken = files();
    broken.retain(|path| path.split('/').any(is_banned));
    must_be_empty("rename these by what they hold", &broken);
}

#[test]
fn no_large_file_comes_in_unnoticed() {
    let is_known = |path: &str| {
        LARGE_FILES
            .iter()
            .any(|(start, end, _)| path.starts_with(start) && path.ends_with(end))
    };
    let mut broken = Vec::new();
    for path in files() {
        let bytes = root().join(&path).metadata().map_or(0, |data| data.len());
        if bytes > MAX_BYTES && !is_known(&path) {
            broken.push(format!("{path}: {bytes} bytes"));
        }
    }
    must_be_empty(
        &format!("list in LARGE_FILES or shrink: more than {MAX_BYTES} bytes"),
        &broken,
    );
}
