//! The files of the checkout, as the rules see them.
//!
//! Model. What version control would keep: everything but hidden folders and build products. Paths are relative to the
//!        root and have `/` on every system.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize()
        .expect("the crate lies two folders below the root")
}

/// Every file, sorted.
pub(crate) fn files() -> Vec<String> {
    let root = root();
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    found.sort();
    assert!(
        found.iter().any(|path| path == "Cargo.toml"),
        "not the root: {}",
        root.display()
    );
    found
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of the checkout can be read") {
        let entry = entry.expect("a folder of the checkout can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !name.starts_with('.') && name != "target" {
            walk(root, &entry.path(), found);
        } else if !is_folder && !name.starts_with('.') {
            let path = entry.path();
            let relative = path.strip_prefix(root).expect("found below the root");
            found.push(relative.to_string_lossy().replace('\\', "/"));
        }
    }
}

/// Every file with an extension below a prefix.
pub(crate) fn files_below(prefix: &str, extension: &str) -> Vec<String> {
    let mut files = files();
    files.retain(|path| path.starts_with(prefix) && path.ends_with(extension));
    assert!(
        !files.is_empty(),
        "no {extension} file below {prefix:?}: has the folder moved?"
    );
    files
}

/// The text of a file.
pub(crate) fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The header of a Rust file: its first lines that begin with `//!`, without that.
pub(crate) fn header(text: &str) -> Vec<&str> {
    text.lines()
        .map_while(|line| line.strip_prefix("//!"))
        .collect()
}

/// Lines of code, with their numbers from 1: comments, and strings that fill a line, are left out.
pub(crate) fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default()))
        .filter(|(_, line)| !line.trim().is_empty())
}

/// Words of a line: runs of letters, digits and underscores.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// Fails with every place that breaks a rule.
pub(crate) fn must_be_empty(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n  {}\n", broken.join("\n  "));
}

#[test]
fn code_is_told_from_comments_and_words_from_their_parts() {
    let text = "//! f64\nlet x = 1; // f64\n\nlet big_f64x = y;\n";
    let lines: Vec<_> = code_lines(text).collect();
    assert_eq!(lines, [(2, "let x = 1; "), (4, "let big_f64x = y;")]);
    assert!(
        !lines
            .iter()
            .any(|(_, line)| words(line).any(|word| word == "f64"))
    );
    assert_eq!(header(text), [" f64"]);
}
