//! A wrong rule in the scheduler shows: each one of a list lowers the measure that is named beside it.
//!
//! Model.  The crates are copied, and every `old` of `mutations.txt` becomes a choice between `old` and `new` by a
//!         number that is set at run time. So one build has all wrong rules, and one process tries them in turn.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the copy's scheduler gets to choose by.
const SWITCH: &str = "
/// Which rule is wrong; 0 is none.
pub static WRONG_RULE: ::core::sync::atomic::AtomicUsize = ::core::sync::atomic::AtomicUsize::new(0);
pub(crate) fn wrong(rule: usize) -> bool {
    WRONG_RULE.load(::core::sync::atomic::Ordering::Relaxed) == rule
}
";

/// A program of the copy: for `RULE=RECORDING` words, checks the recording under that rule.
const PROGRAM: &str = r#"
use fairwind_check::{Given, Recording, check};
use std::panic::catch_unwind;
use std::sync::atomic::Ordering;
fn main() {
    for word in std::env::args().skip(1) {
        let (rule, path) = word.split_once('=').unwrap();
        let recording = Recording::open(path.as_ref(), Given::default()).unwrap();
        fairwind_sched::WRONG_RULE.store(rule.parse().unwrap(), Ordering::Relaxed);
        let Ok(report) = catch_unwind(|| check(&recording)) else {
            println!("{rule} panic 1 0");
            continue;
        };
        for (measure, score) in &report.scores {
            println!("{rule} {} {} {}", measure.name(), score.count.decisions, score.count.agree);
        }
    }
}
"#;

struct Mutation {
    keys: BTreeMap<String, String>,
}

impl Mutation {
    fn get(&self, key: &str) -> &str {
        self.keys
            .get(key)
            .unwrap_or_else(|| panic!("mutations.txt: {:?} has no {key}", self.keys))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn mutations() -> Vec<Mutation> {
    let text = fs::read_to_string(root().join("crates/check/tests/mutations.txt")).unwrap();
    let blocks = text.split("\n\n").map(|block| {
        let lines = block.lines().filter(|line| !line.starts_with('#'));
        let keys = lines.map(|line| {
            let (key, value) = line
                .split_once(": ")
                .unwrap_or_else(|| panic!("mutations.txt: {line}: expected KEY: VALUE"));
            (key.to_owned(), value.to_owned())
        });
        Mutation {
            keys: keys.collect(),
        }
    });
    blocks
        .filter(|mutation| !mutation.keys.is_empty())
        .collect()
}

/// A file that did not change keeps its time, so that it is not built again.
fn write(path: &Path, bytes: &[u8]) {
    if fs::read(path).ok().as_deref() != Some(bytes) {
        fs::write(path, bytes).unwrap();
    }
}

/// The scheduler's sources with all choices in them.
fn write_scheduler(folder: &Path, mutations: &[Mutation]) {
    let sources = root().join("crates/sched/src");
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    let mut lost = Vec::new();
    for (number, mutation) in (1..).zip(mutations) {
        let [file, old, new] = ["file", "old", "new"].map(|key| mutation.get(key));
        let text = files
            .entry(file)
            .or_insert_with(|| fs::read_to_string(sources.join(file)).unwrap_or_default());
        if text.matches(old).count() == 1 {
            let choice = format!("(if crate::wrong({number}) {{ {new} }} else {{ {old} }})");
            *text = text.replace(old, &choice);
        } else {
            let name = mutation.get("name");
            lost.push(format!(
                "{name}: crates/sched/src/{file} has no, or more than one, `{old}`"
            ));
        }
    }
    assert!(
        lost.is_empty(),
        "look for what became of these rules, and correct `file` and `old` in crates/check/tests/mutations.txt; remove a \
         mutation whose rule is gone\n{}",
        lost.join("\n")
    );
    let lib = fs::read_to_string(sources.join("lib.rs")).unwrap() + SWITCH;
    files.insert("lib.rs", lib);
    copy(&sources, &folder.join("crates/sched/src"), "", &files);
    for (file, text) in files {
        write(&folder.join("crates/sched/src").join(file), text.as_bytes());
    }
}

/// Copies the files of a folder that are not written otherwise.
fn copy(from: &Path, to: &Path, below: &str, files: &BTreeMap<&str, String>) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let path = format!("{below}{name}");
        if from.join(&name).is_dir() {
            copy(
                &from.join(&name),
                &to.join(&name),
                &format!("{path}/"),
                files,
            );
        } else if !files.contains_key(path.as_str()) {
            write(&to.join(&name), &fs::read(from.join(&name)).unwrap());
        }
    }
}

/// Builds the copy; gives its program.
fn build(folder: &Path, mutations: &[Mutation]) -> PathBuf {
    for file in ["Cargo.toml", "Cargo.lock"] {
        fs::create_dir_all(folder).unwrap();
        write(&folder.join(file), &fs::read(root().join(file)).unwrap());
    }
    for name in ["check", "trace"] {
        let (from, to) = (
            root().join("crates").join(name),
            folder.join("crates").join(name),
        );
        copy(&from.join("src"), &to.join("src"), "", &BTreeMap::new());
        write(
            &to.join("Cargo.toml"),
            &fs::read(from.join("Cargo.toml")).unwrap(),
        );
    }
    write_scheduler(folder, mutations);
    let manifest = fs::read(root().join("crates/sched/Cargo.toml")).unwrap();
    write(&folder.join("crates/sched/Cargo.toml"), &manifest);
    let examples = folder.join("crates/check/examples");
    fs::create_dir_all(&examples).unwrap();
    write(&examples.join("try_rules.rs"), PROGRAM.as_bytes());
    let target = folder.join("target");
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--offline",
            "--quiet",
            "--package",
            "fairwind-check",
            "--example",
            "try_rules",
        ])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", "--cap-lints allow")
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "a wrong rule does not compile where it stands; correct `new` in crates/check/tests/mutations.txt\n{}",
        String::from_utf8_lossy(&built.stderr)
    );
    target.join("debug/examples/try_rules")
}

/// Agreement by rule and measure, in percent.
fn try_rules(program: &Path, words: &[String]) -> BTreeMap<(String, String), f64> {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [decisions, agree] = [words[2], words[3]].map(|word| word.parse::<f64>().unwrap());
        (
            (words[0].to_owned(), words[1].to_owned()),
            100.0 * agree / decisions,
        )
    };
    text.lines().map(line).collect()
}

#[test]
fn every_wrong_rule_lowers_its_measure() {
    let mutations = mutations();
    assert!(mutations.len() >= 10);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong-rules");
    let program = build(&folder, &mutations);
    let path = |name: &str| root().join("recordings").join(name).display().to_string();
    let mut shown = Vec::new();
    let mut failed = false;
    let recordings: BTreeMap<&str, ()> =
        mutations.iter().map(|m| (m.get("recording"), ())).collect();
    for recording in recordings.keys() {
        let right = try_rules(&program, &[format!("0={}", path(recording))]);
        for (number, mutation) in (1..)
            .zip(&mutations)
            .filter(|(_, m)| m.get("recording") == *recording)
        {
            let measure = mutation.get("measure");
            let wrong = try_rules(&program, &[format!("{number}={}", path(recording))]);
            let of = |shares: &BTreeMap<(String, String), f64>, rule: i32| {
                shares.get(&(rule.to_string(), measure.to_owned())).copied()
            };
            let (right, wrong) = (
                of(&right, 0).unwrap_or(f64::NAN),
                of(&wrong, number).unwrap_or(f64::NAN),
            );
            let least: f64 = mutation.get("falls").parse().unwrap();
            let falls = right - wrong;
            // A rule that makes the scheduler panic has no share, and no comparison holds.
            let is_shown = falls >= least;
            failed |= !is_shown;
            shown.push(format!(
                "{} {recording} {measure}: {right:.2} % becomes {wrong:.2} % ({least} less expected): {}",
                if is_shown { "ok  " } else { "FAIL" },
                mutation.get("name")
            ));
        }
    }
    let table = shown.join("\n");
    fs::write(folder.join("table.txt"), &table).unwrap();
    assert!(
        !failed,
        "wrong rules that the check does not show:\n{table}"
    );
}
