//! Random texts and random workloads.

mod executor;

use executor::Executor;
use fairwind_workload::*;
use proptest::prelude::*;

/// One event of a file whose objects have few names, so that they meet.
fn event() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["x", "y", "unique", "t0", "a\\u000ab"]);
    let small = 0u32..40;
    prop_oneof![
        (
            prop::sample::select(vec!["run", "runtime", "sleep", "mem", "iorun"]),
            small.clone()
        )
            .prop_map(|(word, number)| format!(r#""{word}": {number}"#)),
        (
            prop::sample::select(vec![
                "lock", "unlock", "signal", "broad", "barrier", "resume", "suspend", "sem_post",
                "sem_wait", "yield",
            ]),
            name.clone()
        )
            .prop_map(|(word, name)| format!(r#""{word}": "{name}""#)),
        (
            prop::sample::select(vec!["wait", "sync"]),
            name.clone(),
            name.clone()
        )
            .prop_map(|(word, cond, mutex)| format!(
                r#""{word}": {{"ref": "{cond}", "mutex": "{mutex}"}}"#
            )),
        (
            name,
            small.clone(),
            prop::sample::select(vec!["relative", "absolute"])
        )
            .prop_map(|(name, period, mode)| format!(
                r#""timer": {{"ref": "{name}", "period": {period}, "mode": "{mode}"}}"#
            )),
        (
            prop::sample::select(vec!["read", "write", "chase"]),
            128u32..400,
            small,
            prop::sample::select(vec!["random", "sequential"])
        )
            .prop_map(|(kind, size, count, pattern)| format!(
                r#""memrun": {{"type": "{kind}", "size": {size}, "count": {count},
                    "pattern": "{pattern}"}}"#
            )),
        Just(r#""fork": "t1""#.to_string()),
    ]
}

/// Attributes that fit any fair task, with or without a comma behind.
fn attrs() -> impl Strategy<Value = String> {
    (
        prop::option::of(prop::sample::select(vec![
            "SCHED_OTHER",
            "SCHED_BATCH",
            "SCHED_IDLE",
        ])),
        prop::option::of(-20i32..20),
        prop::option::of(prop::collection::vec(0u32..8, 1..4)),
        prop::option::of(prop::sample::select(vec!["/", "/g", "/g/h", ""])),
        prop::option::of(0u32..1025),
        prop::option::of(0u32..100),
    )
        .prop_map(|(policy, priority, cpus, group, clamp, slice)| {
            let mut text = String::new();
            if let Some(policy) = policy {
                text += &format!(r#""policy": "{policy}", "#);
            }
            if let Some(priority) = priority {
                text += &format!(r#""priority": {priority}, "#);
            }
            if let Some(cpus) = cpus {
                text += &format!(r#""cpus": {cpus:?}, "#);
            }
            if let Some(group) = group {
                text += &format!(r#""taskgroup": "{group}", "#);
            }
            if let Some(clamp) = clamp {
                text += &format!(r#""util_min": {clamp}, "util_max": 1024, "#);
            }
            if let Some(slice) = slice {
                text += &format!(r#""dl-runtime": {slice}, "#);
            }
            text
        })
}

fn phase() -> impl Strategy<Value = String> {
    (attrs(), -1i32..4, prop::collection::vec(event(), 1..6)).prop_map(|(attrs, loops, events)| {
        format!(r#"{attrs} "loop": {loops}, {}"#, events.join(", "))
    })
}

fn task() -> impl Strategy<Value = String> {
    let phased = (attrs(), -1i32..4, prop::collection::vec(phase(), 1..4)).prop_map(
        |(attrs, loops, phases)| {
            let phases: Vec<_> = phases
                .iter()
                .map(|phase| format!(r#""p": {{{phase}}}"#))
                .collect();
            format!(
                r#"{attrs} "loop": {loops}, "phases": {{{}}}"#,
                phases.join(", ")
            )
        },
    );
    (0u32..4, 0u32..50, prop_oneof![phase(), phased]).prop_map(|(instances, delay, rest)| {
        format!(r#"{{"instance": {instances}, "delay": {delay}, {rest}}}"#)
    })
}

/// A file with tasks t0, t1, …; t1 always exists, for forks.
fn file() -> impl Strategy<Value = String> {
    (
        prop::collection::vec(task(), 2..5),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(tasks, pi, cumulative)| {
            let tasks: Vec<_> = tasks
                .iter()
                .enumerate()
                .map(|(at, task)| format!(r#""t{at}": {task}"#))
                .collect();
            format!(
                r#"{{"tasks": {{{}}}, "global": {{"duration": 1, "pi_enabled": {pi},
                    "cumulative_slack": {cumulative}, "calibration": 100, "mem_buffer_size": 999,
                    "io_device": "/dev/sda"}}}}"#,
                tasks.join(", ")
            )
        })
}

/// Does any object hold a key twice? Strict JSON may, but rt-app keeps only one of them.
fn has_duplicate_keys(text: &str) -> bool {
    let mut open: Vec<std::collections::BTreeSet<&str>> = Vec::new();
    text.lines().any(|line| {
        let line = line.trim();
        let mut duplicate = false;
        if let (true, Some(end)) = (line.starts_with('"'), line.find("\": "))
            && let Some(keys) = open.last_mut()
        {
            duplicate = !keys.insert(&line[..end]);
        }
        if line.ends_with('{') {
            open.push(Default::default());
        } else if line.starts_with('}') {
            open.pop();
        }
        duplicate
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,80}") {
        let _ = parse(&text, "random");
    }

    #[test]
    fn text_like_json_is_read_or_refused(
        text in r#"[\[\]{}:,"'/*\\ 0-9a-z\n-]{0,60}"#
    ) {
        let _ = parse(&text, "random");
    }

    #[test]
    fn a_damaged_file_is_read_or_refused(
        text in file(), at in any::<prop::sample::Index>(), length in 0usize..12,
        patch in r#"[\[\]{}:,"'/*\\ 0-9a-z-]{0,6}"#
    ) {
        let letters: Vec<char> = text.chars().collect();
        let start = at.index(letters.len());
        let end = (start + length).min(letters.len());
        let damaged: String =
            letters[..start].iter().copied().chain(patch.chars()).chain(letters[end..].iter().copied())
                .collect();
        if let Err(error) = parse(&damaged, "damaged") {
            prop_assert!(error.to_string().starts_with("damaged:"));
        }
    }

    #[test]
    fn a_workload_survives_writing_and_reading(text in file()) {
        let read = |text: &str| match parse(text, "random") {
            Ok(workload) => Ok(Workload { warnings: Vec::new(), ..workload }),
            Err(error) => Err(TestCaseError::fail(format!("{error}\n{text}"))),
        };
        let workload = read(&text)?;
        let groups = workload.groups.len();
        let written = write(&workload).map_err(|error| TestCaseError::fail(error.to_string()))?;
        serde_json::from_str::<serde_json::Value>(&written)
            .map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
        prop_assert!(!has_duplicate_keys(&written), "{}", written);
        prop_assert_eq!(read(&written)?, workload);
        prop_assert!(groups <= 3);
    }

    #[test]
    fn any_workload_runs_in_time_and_the_same_way_twice(text in file(), cpus in 1usize..4) {
        let workload = parse(&text, "random").map_err(|e| TestCaseError::fail(e.to_string()))?;
        let run = || {
            let mut executor = Executor::new(&workload, cpus, RunOptions::default());
            executor.run_until(300_000);
            (executor.log, executor.steps, executor.runtime.nr_tasks() as u64)
        };
        let (log, steps, tasks) = run();
        prop_assert_eq!(&log, &run().0);
        // A run through a phase takes at least 1 us, and has at most 5 events of at most 3 steps.
        let loops = tasks * 301;
        prop_assert!(steps <= loops * 20, "{} steps, {} tasks\n{}", steps, tasks, text);
    }
}

#[test]
fn duplicate_keys_are_found() {
    assert!(has_duplicate_keys("{\n\"a\": {\n\"b\": 1,\n\"b\": 2\n}\n}"));
    assert!(!has_duplicate_keys(
        "{\n\"a\": {\n\"b\": 1\n},\n\"b\": 2\n}"
    ));
}
