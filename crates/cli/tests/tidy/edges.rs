//! Dependencies between crates and on others are those that ARCHITECTURE.md tells.

use crate::source_tree::{files_below, must_be_empty, text};
use std::collections::{BTreeMap, BTreeSet};

type Names = BTreeSet<String>;

/// The names on the left of the dependency sections of a manifest.
///
/// The manifests here write one dependency a line, which is all that is understood.
fn dependencies(manifest: &str, sections: &[&str]) -> Names {
    let mut names = Names::new();
    let mut in_section = false;
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            in_section = sections.contains(&section.trim_end_matches(']'));
        } else if in_section && let Some((name, _)) = line.split_once(['=', '.']) {
            names.insert(name.trim().to_string());
        }
    }
    names
}

/// Folder of each crate, and its dependencies.
fn crates(sections: &[&str]) -> BTreeMap<String, Names> {
    let mut found = BTreeMap::new();
    for path in files_below("crates/", "/Cargo.toml") {
        let Some(folder) = path
            .strip_prefix("crates/")
            .and_then(|rest| rest.strip_suffix("/Cargo.toml"))
        else {
            continue;
        };
        // Fuzz targets are packages of their own, outside the workspace.
        if folder.contains('/') {
            continue;
        }
        found.insert(folder.to_string(), dependencies(&text(&path), sections));
    }
    found
}

/// The arrows of the block that begins with ```` ```edges ````.
fn arrows(architecture: &str) -> BTreeMap<String, Names> {
    let lines = architecture
        .lines()
        .skip_while(|line| *line != "```edges")
        .skip(1);
    lines
        .take_while(|line| *line != "```")
        .map(|line| {
            let (from, to) = line.split_once("->").expect("an arrow a line");
            (
                from.trim().to_string(),
                to.split_whitespace().map(str::to_string).collect(),
            )
        })
        .collect()
}

#[test]
fn crates_depend_on_each_other_as_architecture_says() {
    let mut found = crates(&["dependencies", "dev-dependencies", "build-dependencies"]);
    for names in found.values_mut() {
        *names = names
            .iter()
            .filter_map(|name| name.strip_prefix("fairwind-"))
            .map(str::to_string)
            .collect();
    }
    assert_eq!(
        found,
        arrows(&text("ARCHITECTURE.md")),
        "left: Cargo.toml; right: ARCHITECTURE.md"
    );
}

#[test]
fn every_foreign_crate_has_its_reason() {
    let architecture = text("ARCHITECTURE.md");
    let reasons = architecture
        .split("## Dependencies")
        .nth(1)
        .expect("a section on dependencies");
    let mut used = Names::new();
    for names in crates(&["dependencies", "dev-dependencies", "build-dependencies"]).into_values() {
        used.extend(
            names
                .into_iter()
                .filter(|name| !name.starts_with("fairwind")),
        );
    }
    let mut broken: Vec<_> = used
        .iter()
        .filter(|name| !reasons.contains(&format!("`{name}`")))
        .cloned()
        .collect();
    must_be_empty("say in ARCHITECTURE.md what these are for", &broken);

    let rows = reasons.lines().filter(|line| line.starts_with("| `"));
    let listed = rows.flat_map(|line| line.split('|').nth(1).unwrap_or_default().split(','));
    broken = listed
        .map(|name| name.trim().trim_matches('`').to_string())
        .filter(|name| !used.contains(name))
        .collect();
    must_be_empty("ARCHITECTURE.md lists what nobody uses", &broken);
}

#[test]
fn the_scheduler_and_the_engine_depend_on_nothing() {
    for (folder, names) in crates(&["dependencies", "build-dependencies"]) {
        let must_be_pure = folder == "sched" || folder == "engine";
        assert!(
            !must_be_pure || names.is_empty(),
            "{folder} depends on {names:?}"
        );
    }
}

#[test]
fn manifests_and_arrows_are_read_line_by_line() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\nb = \"1\"\n\n[lints]\nc = 1\n";
    assert_eq!(
        dependencies(manifest, &["dependencies"]),
        Names::from(["a".into(), "b".into()])
    );
    let arrows = arrows("text\n```edges\nx -> y z\nw ->\n```\nq -> r\n");
    assert_eq!(arrows.len(), 2);
    assert_eq!(arrows["x"], Names::from(["y".into(), "z".into()]));
    assert!(arrows["w"].is_empty());
}
