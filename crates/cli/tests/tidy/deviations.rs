//! What a header admits under `Deviations.` stands in docs/fidelity.md, too.

use crate::source_tree::{files_below, header, must_be_empty, text};

/// The words that begin a paragraph of a header.
const PARAGRAPHS: [&str; 11] = [
    "Model",
    "Invariants",
    "Units",
    "Source",
    "Deviations",
    "Not here",
    "Exact",
    "Cost",
    "Bits",
    "Bound",
    "Panics",
];

/// The paragraph that a line of a header begins, and the rest of the line.
fn begins(line: &str) -> Option<(&'static str, &str)> {
    PARAGRAPHS
        .into_iter()
        .find_map(|name| Some((name, line.strip_prefix(name)?.strip_prefix('.')?)))
}

/// Each deviation of a header, as one line.
fn deviations(header: &[&str]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut inside = false;
    for line in header.iter().map(|line| line.trim()) {
        if let Some((name, rest)) = begins(line) {
            inside = name == "Deviations";
            if inside {
                texts.push(rest.to_string());
            }
        } else if line.is_empty() {
            inside = false;
        } else if inside && let Some(text) = texts.last_mut() {
            text.push(' ');
            text.push_str(line);
        }
    }
    texts
        .iter()
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// The first sentence of a deviation, without marks.
fn first_sentence(deviation: &str) -> String {
    plain(deviation.split_inclusive(". ").next().unwrap_or(deviation))
}

/// Text without the marks that rustdoc and Markdown put into it, blanks made one.
fn plain(text: &str) -> String {
    let unlinked = text.replace("](super::BalanceCost)", "]");
    let bare: String = unlinked.chars().filter(|c| !"`[]\\".contains(*c)).collect();
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_deviation_is_listed() {
    let fidelity = plain(&text("docs/fidelity.md"));
    let mut broken = Vec::new();
    let mut count = 0;
    for path in files_below("crates/", ".rs") {
        if path.contains("/tests/") {
            continue;
        }
        for deviation in deviations(&header(&text(&path))) {
            count += 1;
            if !fidelity.contains(&first_sentence(&deviation)) {
                let (folder, file) = path.split_once("/src/").unwrap_or(("", &path));
                broken.push(format!("{folder}: | `{file}` | {deviation} |"));
            }
        }
    }
    assert!(
        count > 0,
        "no header has deviations: has their form changed?"
    );
    must_be_empty("add these to docs/fidelity.md", &broken);
}

#[test]
fn every_listed_file_still_deviates() {
    let fidelity = text("docs/fidelity.md");
    let mut folder = "";
    let mut broken = Vec::new();
    for line in fidelity.lines() {
        if line.starts_with("### ") {
            folder = line.split('`').nth(1).unwrap_or_default();
        } else if let Some(row) = line.strip_prefix("| `").filter(|_| !folder.is_empty()) {
            let path = format!("{folder}{}", row.split('`').next().unwrap_or_default());
            let source =
                std::fs::read_to_string(crate::source_tree::root().join(&path)).unwrap_or_default();
            if deviations(&header(&source)).is_empty() {
                broken.push(path);
            }
        }
    }
    must_be_empty("docs/fidelity.md lists files without deviations", &broken);
}

#[test]
fn a_deviation_ends_with_the_next_paragraph() {
    let header = [
        " A thing.",
        "",
        " Deviations. It is [`late`]",
        "             by one. Sometimes two.",
        " Not here. More.",
    ];
    let found = deviations(&header);
    assert_eq!(found, ["It is [`late`] by one. Sometimes two."]);
    assert_eq!(first_sentence(&found[0]), "It is late by one.");
}
