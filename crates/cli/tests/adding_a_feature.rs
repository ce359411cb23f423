//! The page docs/adding-a-feature.md works: its code blocks, applied to a copy of the scheduler, build and pass their tests.
//!
//! Model. A block that begins with ```` ```rust file=PATH ```` is a new file. One that begins with
//!        ```` ```diff file=PATH ```` changes a file: its lines without `+` must stand there, one after another and once, and
//!        give way to its lines without `-`. The copy stays in the target folder, so that a second run has little to build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A code block that names a file.
struct Block {
    is_diff: bool,
    path: String,
    lines: Vec<String>,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if let Some(info) = line.strip_prefix("```") {
            inside = !inside && info.contains(" file=");
            if let Some((language, path)) = info.split_once(" file=") {
                blocks.push(Block {
                    is_diff: language == "diff",
                    path: path.to_string(),
                    lines: Vec::new(),
                });
            }
        } else if inside && let Some(block) = blocks.last_mut() {
            block.lines.push(line.to_string());
        }
    }
    blocks
}

/// A file with a diff applied; none if its context is not there exactly once.
fn apply(text: &str, diff: &[String]) -> Option<String> {
    let side = |other: char| -> String {
        let lines = diff.iter().filter(|line| !line.starts_with(other));
        lines
            .map(|line| format!("\n{}", line.get(1..).unwrap_or_default()))
            .collect()
    };
    let (before, after) = (side('+'), side('-'));
    let text = format!("\n{text}");
    (text.matches(&before).count() == 1).then(|| text.replacen(&before, &after, 1)[1..].to_string())
}

/// Writes a file if it differs, so that what is unchanged is not built again.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    fs::create_dir_all(path.parent().expect("a file is in a folder"))
        .expect("a folder can be made");
    fs::write(path, text).expect("a file can be written");
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the checkout can be read") {
        let path = entry.expect("a folder of the checkout can be read").path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn the_page_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adding-a-feature");
    let page =
        fs::read_to_string(root.join("docs/adding-a-feature.md")).expect("the page is there");
    let blocks = blocks(&page);
    assert!(blocks.len() >= 5, "has the form of the blocks changed?");

    // The scheduler depends on no other crate: it makes a workspace of its own.
    let workspace = fs::read_to_string(root.join("Cargo.toml")).expect("the root has a manifest");
    write(
        &copy.join("Cargo.toml"),
        &workspace.replace("crates/*", "crates/sched"),
    );
    let mut files = Vec::new();
    files_below(&root.join("crates/sched"), &mut files);
    for file in files {
        let relative = file.strip_prefix(&root).expect("found below the root");
        let mut text = fs::read_to_string(&file).expect("sources are text");
        for block in blocks
            .iter()
            .filter(|block| Path::new(&block.path) == relative)
        {
            assert!(block.is_diff, "{} is there already", block.path);
            text = apply(&text, &block.lines).unwrap_or_else(|| {
                panic!(
                    "{}: not there, or not once:\n{}",
                    block.path,
                    block.lines.join("\n")
                )
            });
        }
        write(&copy.join(relative), &text);
    }
    let mut tests = Vec::new();
    for block in blocks.iter().filter(|block| !block.is_diff) {
        write(&copy.join(&block.path), &(block.lines.join("\n") + "\n"));
        tests.extend(block.path.strip_prefix("crates/sched/tests/"));
    }
    assert_eq!(tests.len(), 1, "the page has worked examples");
    let test = tests[0].trim_end_matches(".rs");

    let output = Command::new(env!("CARGO"))
        .args([
            "test",
            "--offline",
            "--quiet",
            "--package",
            "fairwind-sched",
        ])
        .args(["--test", test, "--target-dir"])
        .arg(copy.join("target"))
        .current_dir(&copy)
        .output()
        .expect("cargo can be started");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}{told}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn a_diff_needs_its_context_once() {
    let diff = [" b", "+x", "-c"].map(str::to_string);
    assert_eq!(
        apply("a\nb\nc\nd\n", &diff).as_deref(),
        Some("a\nb\nx\nd\n")
    );
    assert_eq!(apply("a\nb\nd\n", &diff), None);
    assert_eq!(apply("b\nc\nb\nc\n", &diff), None);
}
