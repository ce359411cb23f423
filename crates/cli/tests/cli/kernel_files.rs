//! `--kernel-files`.

use crate::command::Folder;
use std::fs;
use std::path::Path;

const WORKLOAD: &str = r#"{
    "cgroups": { "/pod": { "cpu.max": "20000 100000" }, "/pod/web": { "cpu.weight": 50 } },
    "tasks": {
        "a": { "instance": 2, "loop": -1, "run": 700, "sleep": 1300 },
        "hog": { "taskgroup": "/pod/web", "loop": -1, "run": 50000 } } }"#;

/// Paths of all files below a folder.
fn files(folder: &Path, below: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{below}{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path(), &(path + "/")));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn the_files_are_where_a_kernel_has_them() {
    let folder = Folder::with("kernel_files", WORKLOAD);
    folder
        .run("run w.json -m 1x1x1 -d 5s --kernel-files root")
        .clean();
    assert_eq!(folder.names(), ["root", "w.json"]);
    let root = folder.0.join("root");
    let expected = "\
        proc/1000/sched proc/1000/schedstat proc/1001/sched proc/1001/schedstat \
        proc/1002/sched proc/1002/schedstat proc/pressure/cpu proc/schedstat \
        sys/fs/cgroup/cpu.pressure sys/fs/cgroup/cpu.stat sys/fs/cgroup/cpu.stat.local \
        sys/fs/cgroup/pod/cpu.max sys/fs/cgroup/pod/cpu.pressure sys/fs/cgroup/pod/cpu.stat \
        sys/fs/cgroup/pod/cpu.stat.local sys/fs/cgroup/pod/cpu.weight \
        sys/fs/cgroup/pod/web/cpu.max sys/fs/cgroup/pod/web/cpu.pressure \
        sys/fs/cgroup/pod/web/cpu.stat sys/fs/cgroup/pod/web/cpu.stat.local \
        sys/fs/cgroup/pod/web/cpu.weight";
    assert_eq!(files(&root, "").join(" "), expected);

    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    assert!(read("proc/schedstat").starts_with("version 16\ntimestamp 901250\ncpu0 "));
    assert!(read("proc/1002/sched").starts_with("hog-2 (1002, #threads: 1)\n"));
    assert_eq!(read("sys/fs/cgroup/pod/cpu.max"), "20000 100000\n");
    assert_eq!(read("sys/fs/cgroup/pod/web/cpu.weight"), "50\n");
    // It may run a fifth of the time, and nothing of it runs while it is throttled.
    let pressure = read("sys/fs/cgroup/pod/cpu.pressure");
    let full: u64 = pressure
        .lines()
        .nth(1)
        .unwrap()
        .rsplit('=')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((3_900_000..=4_200_000).contains(&full), "{pressure}");
}

#[test]
fn the_report_has_the_pressure_that_was_watched_for_the_files() {
    let folder = Folder::with("kernel_files_report", WORKLOAD);
    let run = "run w.json -m 1x1x1 -d 1s --format json";
    assert!(folder.run(run).clean().contains("\"pressure\": null"));
    let watched = folder.run(&format!("{run} --kernel-files root")).clean();
    assert!(watched.contains("\"some_total_usec\": ") && !watched.contains("\"pressure\": null"));
}

#[test]
fn an_empty_folder_is_filled_and_any_other_refused() {
    let folder = Folder::with("kernel_files_refused", WORKLOAD);
    let run = |args: &str| folder.run(&format!("run w.json -m 1x1x1 -d 100ms {args}"));
    fs::create_dir(folder.0.join("empty")).unwrap();
    run("--kernel-files empty").clean();
    let names = ["empty", "w.json"];
    assert_eq!(folder.names(), names);
    let filled = files(&folder.0.join("empty"), "");
    for (args, says) in [
        (
            "--kernel-files empty",
            "--kernel-files empty: is a folder that is not empty",
        ),
        ("--kernel-files w.json", "--kernel-files w.json: is a file"),
        (
            "--kernel-files no/where",
            "--kernel-files no/where: cannot make the folder: ",
        ),
        ("--kernel-files new --trace t.unknown", "t.unknown"),
        ("--kernel-files new --feature NO_SUCH", "NO_SUCH"),
    ] {
        let outcome = run(args);
        assert_eq!(outcome.code, Some(2), "{args}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(says), "{args}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{args}");
        assert_eq!(folder.names(), names, "{args}");
    }
    assert_eq!(files(&folder.0.join("empty"), ""), filled);
}

#[test]
fn a_group_that_takes_the_name_of_a_file_fails_and_leaves_nothing() {
    let workload = r#"{ "cgroups": { "/cpu.stat": {} },
        "tasks": { "t": { "taskgroup": "/cpu.stat", "loop": 1, "run": 10 } } }"#;
    let folder = Folder::with("kernel_files_clash", workload);
    let outcome = folder.run("run w.json -m 1x1x1 --kernel-files root");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("root/sys/fs/cgroup/cpu.stat/cpu.stat: cannot write: "),
        "{}",
        outcome.stderr
    );
    assert_eq!(folder.names(), ["w.json"]);
}
