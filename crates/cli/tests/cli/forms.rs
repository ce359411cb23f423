//! JSON and CSV.

use crate::command::Folder;
use serde_json::Value;
use std::collections::BTreeSet;

const TASKS: &str = r#"{
    "cgroups": { "/a": { "cpu.max": "20000 100000" } },
    "tasks": {
        "pair": { "instance": 2, "taskgroup": "/a", "run": 500, "sleep": 1500 },
        "hog": { "run": 10000 } } }"#;

fn json(folder: &Folder, args: &str) -> Value {
    serde_json::from_str(&folder.run(args).clean()).unwrap()
}

#[test]
fn json_holds_the_report_its_version_and_the_settings() {
    let folder = Folder::with("json", TASKS);
    let args = "run w.json -d 100ms -m 1x4x1 -k 6.1 --seed 7 --format json \
                -f NO_SIS_UTIL -f SIS_UTIL,NO_WA_BIAS --set hz=1000 --set latency_ns=6ms";
    let report = json(&folder, args);
    assert_eq!(report["version"], 1);
    assert_eq!(report["kernel"], "6.1");
    assert_eq!(report["seed"], 7);
    assert_eq!(report["duration_ns"], 100_000_000);
    assert_eq!(report["interrupted"], false);
    let settings = serde_json::json!(["SIS_UTIL", "NO_WA_BIAS", "hz=1000", "latency_ns=6000000"]);
    assert_eq!(report["settings"], settings);
    let names = |table: &str, field: &str| -> Vec<String> {
        let rows = report[table].as_array().unwrap().iter();
        rows.map(|row| row[field].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(names("tasks", "name"), ["pair-0", "pair-1", "hog-2"]);
    assert_eq!(names("specs", "name"), ["pair", "hog"]);
    assert_eq!(names("groups", "path"), ["/", "/a"]);
    assert_eq!(names("group_tasks", "name"), ["/", "/a"]);
    assert_eq!(report["group_tasks"][1]["tasks"], 2);
    for cpu in report["cpus"].as_array().unwrap() {
        assert_eq!(
            cpu["busy_ns"].as_u64().unwrap() + cpu["idle_ns"].as_u64().unwrap(),
            100_000_000
        );
    }
}

/// Every key of the document.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                found.insert(key.clone());
                keys(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

#[test]
fn every_field_is_documented() {
    let folder = Folder::with("json_fields", TASKS);
    let mut found = BTreeSet::new();
    keys(
        &json(&folder, "run w.json -d 50ms --format json"),
        &mut found,
    );
    let documented = include_str!("../../../../docs/report.md");
    for key in &found {
        assert!(
            documented.contains(&format!("`{key}`")),
            "docs/report.md does not describe {key}"
        );
    }
    assert!(found.len() > 50);
}

#[test]
fn each_csv_table_has_its_columns_and_a_line_for_each_row() {
    let folder = Folder::with("csv", TASKS);
    let csv = |table: &str| {
        let args = format!("run w.json -d 100ms -m 1x4x1 --format csv {table}");
        let text = folder.run(&args).clean();
        let mut lines = csv::Reader::from_reader(text.as_bytes());
        let header: Vec<String> = lines
            .headers()
            .unwrap()
            .iter()
            .map(str::to_string)
            .collect();
        let rows: Vec<csv::StringRecord> = lines.records().map(Result::unwrap).collect();
        (header, rows)
    };
    let column = |header: &[String], name: &str| header.iter().position(|h| h == name).unwrap();

    let (header, rows) = csv("");
    assert_eq!(
        (&header, &rows),
        (&csv("--csv-table tasks").0, &csv("--csv-table tasks").1)
    );
    assert_eq!(rows.len(), 3);
    assert_eq!(&rows[0][column(&header, "name")], "pair-0");
    assert_eq!(&rows[0][column(&header, "group")], "/a");
    assert!(
        rows[0][column(&header, "wakeup_latency_p99_ns")]
            .parse::<u64>()
            .is_ok()
    );

    let (header, rows) = csv("--csv-table groups");
    let quotas: Vec<&str> = rows
        .iter()
        .map(|row| &row[column(&header, "quota_usec")])
        .collect();
    assert_eq!(quotas, ["max", "20000"]);
    assert_eq!(&rows[1][column(&header, "tasks")], "2");

    let (header, rows) = csv("--csv-table cpus");
    assert_eq!(rows.len(), 4);
    assert_eq!(&rows[3][column(&header, "cpu")], "3");
}

#[test]
fn equal_commands_give_equal_bytes_and_the_order_of_options_does_not_matter() {
    let folder = Folder::with("forms_equal", TASKS);
    let first = folder
        .run("run w.json -d 300ms --format json --seed 3")
        .clean();
    assert_eq!(
        first,
        folder
            .run("run --seed 3 --format json -d 300ms w.json")
            .clean()
    );
    assert_ne!(
        first,
        folder
            .run("run w.json -d 300ms --format json --seed 4")
            .clean()
    );
}
