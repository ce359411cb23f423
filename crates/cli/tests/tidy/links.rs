//! Links between documents lead somewhere.

use crate::source_tree::{files, files_below, must_be_empty, text};

/// The targets of Markdown links of a text, code blocks left out.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let ends = line
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split_once(')'));
            found.extend(ends.map(|(target, _)| target.to_string()));
        }
    }
    found
}

/// A heading as the fragment that links to it.
fn fragment(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// A path with `..` taken away.
fn resolved(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn links_between_documents_resolve() {
    let files = files();
    let mut broken = Vec::new();
    for document in files_below("", ".md") {
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in targets(&text(&document)) {
            if target.contains("://") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if path.is_empty() {
                document.clone()
            } else {
                resolved(folder, path)
            };
            let below = format!("{}/", path.trim_end_matches('/'));
            if !files.contains(&path) && !files.iter().any(|file| file.starts_with(&below)) {
                broken.push(format!("{document}: {target}: no such file"));
            } else if !anchor.is_empty() {
                let linked = text(&path);
                let mut headings = linked.lines().filter(|line| line.starts_with('#'));
                if !headings.any(|heading| fragment(heading) == anchor) {
                    broken.push(format!("{document}: {target}: no such heading"));
                }
            }
        }
    }
    must_be_empty("these links lead nowhere", &broken);
}

#[test]
fn links_and_headings_are_found() {
    assert_eq!(
        targets("[a](b.md#c), [d](e)\n```\n[f](g)\n```\n"),
        ["b.md#c", "e"]
    );
    assert_eq!(
        fragment("## Why is this `container` throttled?"),
        "why-is-this-container-throttled"
    );
    assert_eq!(resolved("docs", "../README.md"), "README.md");
}
