//! Matrices and stores: results are those of the experiments, whoever runs them and when.

use fairwind_lab::{Experiment, Run, Store, StoreError, run_all};
use fairwind_machine::Machine;
use fairwind_sched::{KernelProfile, Release};
use fairwind_workload::{parse, programs};
use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const LIMITED: &str = r#"{
    "cgroups": { "/a": { "cpu.max": "20000 100000" } },
    "tasks": { "worker": { "instance": 3, "taskgroup": "/a", "run": 3000, "sleep": 7000 },
               "hog": { "run": 10000 } } }"#;

/// Two kernels, three seeds.
fn experiments() -> Vec<Experiment> {
    let workload = Arc::new(parse(LIMITED, "limited.json").unwrap());
    let machine = Arc::new(Machine::load("1x2x2").unwrap());
    let mut experiments = Vec::new();
    for seed in 1..4 {
        for release in Release::ALL {
            experiments.push(Experiment {
                label: format!("limited, {}, seed {seed}", release.name()),
                workload: Arc::clone(&workload),
                programs: Arc::default(),
                machine: Arc::clone(&machine),
                profile: KernelProfile::new(release, machine.nr_cpus()),
                duration: Some(1_000_000_000),
                seed,
            });
        }
    }
    experiments
}

fn all(experiments: &[Experiment], threads: usize, store: Option<&Store>) -> Vec<Run> {
    let threads = NonZero::new(threads).unwrap();
    let runs = run_all(experiments, threads, store, || true, |_| {}).unwrap();
    runs.into_iter().map(Option::unwrap).collect()
}

/// A file of one test, which goes away with it.
struct File(PathBuf);

impl File {
    fn new(test: &str) -> File {
        let name = format!("fairwind-lab-{}-{test}.jsonl", std::process::id());
        File(std::env::temp_dir().join(name))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn results_depend_neither_on_threads_nor_on_order() {
    let mut experiments = experiments();
    let alone = all(&experiments, 1, None);
    assert_eq!(alone, all(&experiments, 4, None));
    experiments.reverse();
    let mut reversed = all(&experiments, 2, None);
    reversed.reverse();
    assert_eq!(alone, reversed);
    // 6.12 draws where a group's periods begin, so that its runs are not the same run three times.
    assert_ne!(alone[1], alone[3]);
}

#[test]
fn what_a_store_has_is_not_run_again() {
    let file = File::new("resume");
    let experiments = experiments();
    let fresh = all(&experiments, 1, None);
    let store = Store::open(&file.0, "1").unwrap();
    assert_eq!(all(&experiments[..4], 2, Some(&store)), fresh[..4]);

    // A crash cut the last line off; and the file went on from there.
    let mut text = fs::read_to_string(&file.0).unwrap();
    text.truncate(text.len() - 20);
    fs::write(&file.0, &text).unwrap();
    let store = Store::open(&file.0, "1").unwrap();
    assert_eq!(store.len(), 3);
    let kept = AtomicUsize::new(0);
    let tell = |progress: fairwind_lab::Progress| kept.store(progress.kept, Ordering::Relaxed);
    let runs = run_all(
        &experiments,
        NonZero::<usize>::MIN,
        Some(&store),
        || true,
        tell,
    )
    .unwrap();
    assert_eq!(
        runs.into_iter().map(Option::unwrap).collect::<Vec<_>>(),
        fresh
    );
    assert_eq!(kept.into_inner(), 3);

    // Numbers come back to the last bit, and another version knows none of them.
    let store = Store::open(&file.0, "1").unwrap();
    assert_eq!(store.len(), experiments.len());
    assert_eq!(store.get(store.key(&experiments[5])), Some(&fresh[5]));
    let other = Store::open(&file.0, "2").unwrap();
    assert_eq!(other.get(other.key(&experiments[5])), None);
}

#[test]
fn every_part_of_a_scenario_is_in_its_key() {
    let first = experiments().remove(0);
    let changed: [fn(&mut Experiment); 5] = [
        |e| e.seed += 1,
        |e| e.duration = None,
        |e| e.profile.hz = 1000,
        |e| Arc::make_mut(&mut e.machine).costs.kernel.tick_ns += 1,
        |e| Arc::make_mut(&mut e.workload).tasks[0].instances += 1,
    ];
    for (idx, change) in changed.into_iter().enumerate() {
        let mut other = first.clone();
        change(&mut other);
        assert_ne!(first.key("1"), other.key("1"), "{idx}");
    }
    let mut renamed = first.clone();
    renamed.label.clear();
    assert_eq!(first.key("1"), renamed.key("1"));
}

#[test]
fn a_file_of_something_else_is_refused_and_left_alone() {
    for (text, bad) in [
        ("{ \"tasks\": {} }\n", 1),
        ("hello", 1),
        ("{\"key\":\"1\"}\n", 1),
    ] {
        let file = File::new("foreign");
        fs::write(&file.0, text).unwrap();
        match Store::open(&file.0, "1").unwrap_err() {
            StoreError::Foreign { line, .. } => assert_eq!(line, bad),
            other => panic!("{other}"),
        }
        assert_eq!(fs::read_to_string(&file.0).unwrap(), text);
    }
}

/// What a program prints is measured like everything else.
#[test]
fn programs_print_what_they_measure() {
    let program = programs::parse("netperf:pairs=3,duration=20ms").unwrap();
    let (workload, programs) = programs::join(None, vec![program]);
    let mut experiment = experiments().remove(0);
    experiment.workload = Arc::new(workload);
    experiment.programs = Arc::new(programs);
    experiment.duration = None;
    let run = &all(&[experiment], 1, None)[0];
    let rate = run.measures.get("netperf.trans_rate").unwrap();
    // Each transaction is a loop of netperf's test phase.
    assert!(rate > 1000.0);
    assert!(run.measures.get("loops:netperf").unwrap() > 0.0);
}

#[test]
fn when_it_is_stopped_what_is_done_stays() {
    let file = File::new("stopped");
    let experiments = experiments();
    let store = Store::open(&file.0, "1").unwrap();
    let done = AtomicUsize::new(0);
    let go_on = || done.load(Ordering::Relaxed) < 2;
    let tell = |progress: fairwind_lab::Progress| done.store(progress.done, Ordering::Relaxed);
    let runs = run_all(
        &experiments,
        NonZero::<usize>::MIN,
        Some(&store),
        go_on,
        tell,
    )
    .unwrap();
    let have: Vec<bool> = runs.iter().map(Option::is_some).collect();
    let first_two: Vec<bool> = (0..experiments.len()).map(|at| at < 2).collect();
    assert_eq!(have, first_two);
    assert_eq!(Store::open(&file.0, "1").unwrap().len(), 2);
}

#[test]
fn an_impossible_workload_is_an_error() {
    let mut experiments = experiments();
    let bad = r#"{ "cgroups": { "/a": { "cpuset.cpus": "9" } }, "tasks": { "t": { "run": 1 } } }"#;
    experiments[3].workload = Arc::new(parse(bad, "bad.json").unwrap());
    let error = run_all(
        &experiments,
        NonZero::new(2).unwrap(),
        None,
        || true,
        |_| {},
    )
    .unwrap_err();
    assert!(error.to_string().contains("asks for CPU 9"), "{error}");
}
