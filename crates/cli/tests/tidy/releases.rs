//! Which release it is, is asked only where a scheduler is built: the algorithms call what the release's tables name.

use crate::source_tree::{code_lines, files_below, must_be_empty, text};

/// Where releases may be named: their list, and the places that choose tables and defaults.
const MAY_NAME: [&str; 5] = [
    "crates/sched/src/profile.rs",
    "crates/sched/src/features.rs",
    "crates/sched/src/sched.rs",
    "crates/sched/src/balance/rules.rs",
    "crates/sched/src/rt/rules.rs",
];

#[test]
fn no_algorithm_asks_which_release_it_is() {
    let mut broken = Vec::new();
    for path in files_below("crates/sched/src/", ".rs") {
        if MAY_NAME.contains(&path.as_str())
            || path.contains("/tests/")
            || path.ends_with("/tests.rs")
        {
            continue;
        }
        let text = text(&path);
        let algorithm = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code_lines(algorithm) {
            if line.contains("Release::") || line.contains(".release") {
                broken.push(format!("{path}:{number}: {}", line.trim()));
            }
        }
    }
    must_be_empty(
        "make it an entry of FairClass, BalanceRules, RtRules or DomainProfile",
        &broken,
    );
}

#[test]
fn files_that_may_name_releases_exist_and_do() {
    for path in MAY_NAME {
        assert!(
            text(path).contains("Release::"),
            "{path} names no release: take it off the list"
        );
    }
}
