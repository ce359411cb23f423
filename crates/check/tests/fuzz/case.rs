//! A recording in memory: a trace and the kernel's own files.

use fairwind_check::{Given, Recording, check};
use fairwind_sched::Release;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use xz4rust::XzReader;

/// Lines of a recording that make a case.
const WINDOW: usize = 250;
/// Between the first lines of two windows.
const STEP: usize = 6000;

thread_local! {
    /// The last panic of this thread.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on panics are noted and not printed.
pub(crate) fn note_panics() {
    std::panic::set_hook(Box::new(|panic| {
        PANIC.with_borrow_mut(|text| *text = panic.to_string());
    }));
}

/// A recording in memory.
#[derive(Clone)]
pub(crate) struct Case {
    /// Name and bytes of each file; the trace is `trace.txt`, `trace.dat` or `perf.data`.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

impl Case {
    /// Checks it; where a panic was and what it said, if it ends in one.
    pub(crate) fn run(&self) -> Result<(), String> {
        let folder = self.write(&scratch("case"));
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let as_6_12 = Given {
                release: Some(Release::V6_12),
                ..Given::default()
            };
            let told = Recording::open(&folder, Given::default());
            let Ok(recording) = told.or_else(|_| Recording::open(&folder, as_6_12)) else {
                return;
            };
            let report = check(&recording);
            for (measure, score) in &report.scores {
                assert!(score.count.agree <= score.count.decisions, "{measure:?}");
            }
            assert!(!report.table().is_empty());
        }));
        checked.map_err(|_| PANIC.with_borrow(Clone::clone))
    }

    /// Writes the files.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).unwrap();
        for (name, bytes) in &self.files {
            fs::write(folder.join(name), bytes).unwrap();
        }
        folder.to_owned()
    }

    /// Writes it where it can be looked at, and copied into the corpus.
    pub(crate) fn save(&self, number: usize) -> PathBuf {
        self.write(&scratch(&format!("found-{number}")))
    }

    fn read(folder: &Path) -> Case {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            files.insert(name, fs::read(&path).unwrap());
        }
        Case { files }
    }
}

/// Of this process alone: several may run at once.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}-{}", std::process::id()))
}

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Cases that once went wrong.
pub(crate) fn corpus() -> Vec<(String, Case)> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(project("crates/check/tests/corpus")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            cases.push((path.display().to_string(), Case::read(&path)));
        }
    }
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

/// What is changed: windows of recordings with their files, and the readers' test files.
pub(crate) fn originals() -> Vec<Case> {
    let mut cases: Vec<Case> = corpus().into_iter().map(|(_, case)| case).collect();
    let mut recordings: Vec<PathBuf> = fs::read_dir(project("recordings"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    recordings.sort();
    for folder in recordings {
        let Ok(packed) = fs::read(folder.join("trace.txt.xz")) else {
            continue;
        };
        let mut text = Vec::new();
        let mut reader = XzReader::new(Cursor::new(packed));
        reader.read_to_end(&mut text).unwrap();
        let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        let mut facts = Case::read(&folder);
        facts.files.remove("trace.txt.xz");
        for window in lines.windows(WINDOW).step_by(STEP) {
            let mut case = facts.clone();
            case.files.insert("trace.txt".into(), window.concat());
            cases.push(case);
        }
    }
    for (file, name) in [
        ("perf.data", "perf.data"),
        ("perf-pipe.data", "perf.data"),
        ("perf-zstd.data", "perf.data"),
        ("perf.txt", "trace.txt"),
        ("ftrace.txt", "trace.txt"),
        ("trace-v7-zstd.dat", "trace.dat"),
    ] {
        let bytes = fs::read(project("crates/trace/tests/data").join(file)).unwrap();
        let files = BTreeMap::from([(name.to_owned(), bytes)]);
        cases.push(Case { files });
    }
    cases
}
