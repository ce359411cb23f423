//! `fairwind compare`.

use crate::command::Folder;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// On 6.12 a group's periods begin at a random point, so that seeds matter.
const LIMITED: &str = r#"{
    "cgroups": { "/a": { "cpu.max": "20000 100000" } },
    "tasks": { "worker": { "instance": 3, "taskgroup": "/a", "run": 3000, "sleep": 7000 },
               "hog": { "run": 10000 } } }"#;
/// 5 × (10 + 10) ms of a task that is alone on its CPU.
const ENDING: &str = r#"{ "tasks": { "a": { "loop": 5, "run": 10000, "sleep": 10000 } } }"#;

#[test]
fn a_table_has_every_kernel_and_says_what_is_certain() {
    let folder = Folder::with("compare_table", ENDING);
    let text = folder
        .run("compare w.json -m 1x1x1 --costs none --with NO_RUN_TO_PARITY --with 6.1,hz=1000 -n 3")
        .clean();
    let expected = "\
machine  1x1x1, 1 CPU: regular machine 1x1x1
base     6.12 (6.12, EEVDF)
with     NO_RUN_TO_PARITY (6.12, EEVDF: NO_RUN_TO_PARITY)
with     6.1,hz=1000 (6.1, CFS: hz=1000)
runs     3 a kernel, seeds 1 to 3, costs=none

w elapsed (s), lower is better
kernel            runs    mean  std %  change %  95 % interval  p  verdict
6.12                 3  0.1000   0.00
NO_RUN_TO_PARITY     3  0.1000   0.00     +0.00              -  -  same
6.1,hz=1000          3  0.1000   0.00     +0.00              -  -  same

w p99 (us), lower is better
";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("The seed changes nothing here"), "{text}");
}

/// What a group's file says can differ as a kernel can, and is what --cgroup of a run sets.
#[test]
fn settings_of_groups_are_compared() {
    let folder = Folder::with("compare_groups", LIMITED);
    let json = |args: &str| -> Value { serde_json::from_str(&folder.run(args).clean()).unwrap() };
    let compared = json(
        "compare w.json -m 1x2x2 -d 1s --with 6.1,/a/cpu.max=40000 --with /a/cpu.max=max -n 1 --format json",
    );
    let throttled = { compared["rows"].as_array().unwrap().iter() }
        .find(|row| row["metric"] == "throttled")
        .expect("it is compared without being asked for where there are limits");
    let values = |kernel: usize| throttled["kernels"][kernel]["values"][0].as_f64().unwrap();
    let run = json("run w.json -m 1x2x2 -d 1s -k 6.1 --cgroup /a/cpu.max=40000 --format json");
    assert_eq!(run["settings"], serde_json::json!(["/a/cpu.max=40000"]));
    assert_eq!(run["groups"][1]["quota_usec"], 40000);
    let all = run["group_tasks"][0]["throttled_ns"].as_f64().unwrap() / 1e6;
    assert_eq!(values(1), all);
    assert!(values(0) > values(1) && values(1) > 0.0);
    assert_eq!(values(2), 0.0);
}

/// One report of `fairwind run` a seed, from which the numbers must come.
#[test]
fn numbers_are_those_of_single_runs() {
    let folder = Folder::with("compare_numbers", LIMITED);
    let json = |args: &str| -> Value { serde_json::from_str(&folder.run(args).clean()).unwrap() };
    let compared = json(
        "compare w.json -m 1x2x2 -d 1s --base 6.1 --with 6.12 --seed 4 -n 2 --metric throttled:/a,loops:worker,p99:worker --format json",
    );
    assert_eq!(compared["version"], 1);
    assert_eq!(compared["kernels"][1]["spec"], "6.12");
    for (kernel, release) in ["6.1", "6.12"].into_iter().enumerate() {
        for (nth, seed) in [4, 5].into_iter().enumerate() {
            let run = json(&format!(
                "run w.json -m 1x2x2 -d 1s --kernel {release} --seed {seed} --format json"
            ));
            let worker = &run["specs"][0];
            let expected = [
                run["group_tasks"][1]["throttled_ns"].as_f64().unwrap() / 1e6,
                worker["loops"].as_f64().unwrap(),
                worker["wakeup_latency"]["p99_ns"].as_f64().unwrap() / 1e3,
            ];
            for (row, expected) in expected.into_iter().enumerate() {
                let value = &compared["rows"][row]["kernels"][kernel]["values"][nth];
                assert_eq!(value.as_f64(), Some(expected), "{release} {seed} {row}");
            }
        }
    }
    let throttled = &compared["rows"][0]["kernels"];
    assert_eq!(throttled[0]["comparison"], Value::Null);
    // 6.1 never varies and 6.12 does, so there is something to test.
    assert_eq!(throttled[0]["std"], 0.0);
    assert!(throttled[1]["std"].as_f64().unwrap() > 0.0);
    assert!(throttled[1]["comparison"]["p"].is_number());
}

#[test]
fn csv_has_the_numbers_of_the_json() {
    let folder = Folder::with("compare_csv", LIMITED);
    let args = "compare w.json -m 1x2x2 -d 500ms --with hz=1000 -n 3 --metric throttled:/a";
    let csv = folder.run(&format!("{args} --format csv")).clean();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 3);
    let json = folder.run(&format!("{args} --format json")).clean();
    let json: Value = serde_json::from_str(&json).unwrap();
    let with = &json["rows"][0]["kernels"][1];
    let column = |name: &str| {
        let at = lines[0].iter().position(|column| *column == name);
        lines[2][at.unwrap()]
    };
    assert_eq!(column("mean"), with["mean"].to_string());
    assert_eq!(column("p"), with["comparison"]["p"].to_string());
    assert_eq!(column("spec"), "hz=1000");
}

#[test]
fn threads_change_nothing_and_a_kept_run_is_as_good_as_a_new_one() {
    let folder = Folder::with("compare_resume", LIMITED);
    let args = "compare w.json -m 1x2x2 -d 500ms --with hz=1000 -n 3 --format json";
    let alone = folder.run(&format!("{args} --jobs 1")).clean();
    assert_eq!(folder.run(&format!("{args} --jobs 4")).clean(), alone);
    let part = args.replace("-n 3", "-n 2");
    folder.run(&format!("{part} --resume kept.jsonl")).clean();
    let kept = || std::fs::read_to_string(folder.0.join("kept.jsonl")).unwrap();
    assert_eq!(kept().lines().count(), 4);
    let resumed = folder.run(&format!("{args} --resume kept.jsonl")).clean();
    assert_eq!(resumed, alone);
    assert_eq!(kept().lines().count(), 6);
    folder.run(&format!("{args} --resume kept.jsonl")).clean();
    assert_eq!(kept().lines().count(), 6);
}

#[test]
fn every_style_and_the_counters_are_there() {
    let folder = Folder::with("compare_styles", LIMITED);
    let text = |more: &str| {
        let args = "compare w.json -m 1x2x2 -d 100ms --with hz=1000 -n 2 --metric loops";
        folder.run(&format!("{args} {more}")).clean()
    };
    assert!(text("--style intel").contains("\ncase            \tload    \tbaseline(std%)"));
    assert!(text("--style amd").contains("base[pct imp](CV)     hz=1000[pct imp](CV)\n"));
    assert!(text("--style markdown").contains("\n| --- | --- | ---: |"));
    let counters = text("--counters");
    assert!(
        counters.contains("w how wakeups were placed\nmetric "),
        "{counters}"
    );
    assert!(counters.contains("\nsearch.scans "), "{counters}");
}

/// A row a load; the seed changes what programs' steps take, so that there is a spread.
#[test]
fn programs_run_at_several_loads() {
    let folder = Folder::new("compare_loads");
    let args = "compare netperf:duration=10ms+perf-pipe:loops=100 -m 1x2x2 --with NO_SIS_UTIL --load 1,3 -n 3";
    let json: Value =
        serde_json::from_str(&folder.run(&format!("{args} --format json")).clean()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let name = |row: &Value| {
        let text = |field: &str| row[field].as_str().unwrap().to_string();
        (text("load"), text("metric"))
    };
    let names: Vec<_> = rows.iter().map(name).collect();
    let expected = [
        ("1-pairs", "netperf.trans_rate"),
        ("3-pairs", "netperf.trans_rate"),
        ("1-pairs", "perf-pipe.usecs_op"),
        ("3-pairs", "perf-pipe.usecs_op"),
    ];
    assert_eq!(names.len(), 4, "{names:?}");
    for ((load, metric), (expected_load, program)) in names.iter().zip(expected) {
        assert_eq!(load, expected_load);
        assert_eq!(metric.split('.').next(), program.split('.').next());
    }
    // Whole transactions in 10 ms may be as many whatever the seed; times are not.
    for row in &rows[2..] {
        assert!(row["kernels"][0]["std"].as_f64().unwrap() > 0.0, "{row}");
    }
    let intel = folder.run(&format!("{args} --style intel")).clean();
    assert!(
        intel.contains("\nTrans. Rate     \t3-pairs \t 1.00 ("),
        "{intel}"
    );
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_run() {
    let folder = Folder::with("compare_errors", LIMITED);
    folder.write("other.txt", "mine\n");
    let tasks = (0..30).map(|n| format!("\"task-{n}\": {{ \"run\": 10 }}"));
    let tasks = tasks.collect::<Vec<_>>().join(", ");
    folder.write("many.json", format!("{{ \"tasks\": {{ {tasks} }} }}"));
    for (args, message, hint) in [
        (
            "w.json --with 6.2",
            "--with 6.2: no kernel \"6.2\"",
            "6.12,NO_SIS_UTIL",
        ),
        (
            "w.json --with SIS_UTLI",
            "--with SIS_UTLI: --feature SIS_UTLI: unknown",
            "SIS_UTIL?",
        ),
        (
            "w.json --base hz=100 --with 6.1",
            "--base hz=100: no kernel",
            "KERNEL[,SWITCH]",
        ),
        (
            "w.json --with 6.1 --with 6.1",
            "--with 6.1: given twice",
            "",
        ),
        (
            "w.json w.json --with 6.1",
            "WORKLOAD w.json: there is another one",
            "",
        ),
        (
            "w.json --with 6.1 --metric p98",
            "--metric p98: there is no such metric",
            "did you mean p9",
        ),
        (
            "w.json --with 6.1 --metric p99:b",
            "--metric p99:b: no workload has such a task or group",
            "worker, hog, /a",
        ),
        (
            "w.json --with 6.1 --resume other.txt",
            "--resume other.txt:1: not a result",
            "file of its own",
        ),
        (
            "many.json --with 6.1 --metric p99:k-2",
            "--metric p99:k-2: no workload has such a task or group",
            "task-28, task-29, task-0, task-1, task-3, task-4, task-5, task-6, task-7, task-8, task-9 and 10 more",
        ),
        ("no.json --with 6.1", "no.json: cannot read", "rt-app"),
    ] {
        let outcome = folder.run(&format!("compare {args} -m 1x2x1 -d 10ms"));
        assert_eq!(outcome.code, Some(2), "{args}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty(), "{args}");
        assert!(
            outcome.stderr.contains(message),
            "{args}: {}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(hint), "{args}: {}", outcome.stderr);
    }
    // clap says this one.
    assert_eq!(folder.run("compare w.json").code, Some(2));
    assert_eq!(folder.names(), ["many.json", "other.txt", "w.json"]);
}

/// The first seed's runs end soon; a second one of years does not begin to end.
#[test]
fn ctrl_c_prints_what_is_done() {
    let endless = r#"{ "tasks": { "pair": { "instance": 200, "run": 50, "sleep": 50 } },
        "global": { "duration": 77760000 } }"#;
    let folder = Folder::with("compare_interrupt", ENDING);
    folder.write("endless.json", endless);
    let mut child = folder
        .command("compare w.json endless.json -m 2x8x2 --with 6.1 --jobs 1 -n 1 --resume kept.jsonl --format json --metric p99")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let kept = || std::fs::read_to_string(folder.0.join("kept.jsonl")).unwrap_or_default();
    let started = Instant::now();
    while kept().lines().count() < 2 {
        if started.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("two short runs take a minute: {:?}", child.wait());
        }
        sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-s", "INT", &pid]).status();
    assert!(killed.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["interrupted"], true);
    assert!(json["rows"][0]["kernels"][1]["mean"].is_number());
    assert_eq!(json["rows"][1]["kernels"][0], Value::Null);
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
}

#[test]
fn what_guests_do_is_compared() {
    let folder = Folder::with(
        "compare_guests",
        r#"{ "guests": { "vm": { "vcpus": 1, "workload": { "tasks": { "hog": { "run": 1000 } } } } } }"#,
    );
    folder.write(
        "p.json",
        r#"{ "guests": { "vm": { "vcpus": 2, "programs": ["netperf:duration=10ms"] } } }"#,
    );
    let names = |command: &str| -> Vec<String> {
        let printed = folder.run(&format!("{command} -n 1 --format json")).clean();
        let compared: Value = serde_json::from_str(&printed).unwrap();
        let rows = compared["rows"].as_array().unwrap().iter();
        rows.map(|row| row["metric"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        names("compare w.json -m 1x1x1 -d 50ms --with 6.1"),
        ["loops", "guest.loops", "p99"]
    );
    let of_program = ["guests.netperf.trans_rate"];
    assert_eq!(names("compare p.json -m 1x2x1 --with 6.1"), of_program);
    let asked = "compare p.json -m 1x2x1 --with 6.1 --metric guests.netperf.trans_rate";
    assert_eq!(names(asked), of_program);
    for (file, metric, word) in [
        ("w.json", "guest.spins", "guest.spin"),
        ("none.json", "guest.spin", "there is no such metric"),
    ] {
        folder.write("none.json", r#"{ "tasks": { "hog": { "run": 1000 } } }"#);
        let outcome = folder.run(&format!(
            "compare {file} -d 1ms --with 6.1 --metric {metric}"
        ));
        assert_eq!(outcome.code, Some(2));
        assert!(outcome.stderr.contains(word), "{}", outcome.stderr);
    }
}
