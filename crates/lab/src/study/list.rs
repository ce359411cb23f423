//! The studies that come with Fairwind.

use super::file::Study;

/// Name and text of each file in `studies/`.
const FILES: &[(&str, &str)] = &[
    (
        "bandwidth-timers",
        include_str!("../../../../studies/bandwidth-timers.toml"),
    ),
    (
        "cache-hot-cpus",
        include_str!("../../../../studies/cache-hot-cpus.toml"),
    ),
    (
        "directed-yield",
        include_str!("../../../../studies/directed-yield.toml"),
    ),
    (
        "empty-group-queues",
        include_str!("../../../../studies/empty-group-queues.toml"),
    ),
    (
        "empty-group-queues-guest",
        include_str!("../../../../studies/empty-group-queues-guest.toml"),
    ),
    (
        "group-fairness",
        include_str!("../../../../studies/group-fairness.toml"),
    ),
    (
        "open-questions",
        include_str!("../../../../studies/open-questions.toml"),
    ),
];

/// All of them, in the order in which they are told of.
pub fn studies() -> Vec<Study> {
    let read = |&(name, text): &(&str, &str)| {
        Study::parse(name, text).expect("a test has read the studies that come along")
    };
    FILES.iter().map(read).collect()
}

/// The study of that name.
pub fn study(name: &str) -> Option<Study> {
    studies().into_iter().find(|study| study.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_is_in_the_list_and_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        let files = std::fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let names: BTreeSet<String> = names.filter(|name| name.ends_with(".toml")).collect();
        let listed = FILES.iter().map(|(name, _)| format!("{name}.toml"));
        assert_eq!(names, listed.collect());
        for (name, text) in FILES {
            let study = Study::parse(name, text).unwrap();
            assert!(!study.experiments.is_empty(), "{name}");
        }
    }
}
