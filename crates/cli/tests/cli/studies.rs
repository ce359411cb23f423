//! `fairwind study`.

use crate::command::Folder;
use serde_json::Value;

#[test]
fn studies_are_listed_and_shown_with_what_was_published() {
    let folder = Folder::new("studies_listed");
    let list = folder.run("study list").clean();
    for name in list
        .lines()
        .skip(1)
        .filter_map(|line| line.split(' ').next())
    {
        let shown = folder.run(&format!("study show {name}")).clean();
        assert!(shown.starts_with(&format!("{name}: ")), "{shown}");
        for part in ["\npublished ", "\nkernel ", "\nmachine ", "\nruns "] {
            assert!(shown.contains(part), "{name}: {part}");
        }
    }
    let shown = folder.run("study show bandwidth-timers").clean();
    assert!(
        shown.contains("\nelapsed:/cg1  s     315, 315 -> 277, 244\n"),
        "{shown}"
    );
}

/// A group alone has nobody to be interleaved with: its time is the same whenever its periods begin.
#[test]
fn an_experiment_is_run_and_judged() {
    let folder = Folder::new("studies_run");
    let args = "study run bandwidth-timers --only cores,\u{a0}1\u{a0}group -n 2";
    let run = |format: &str| {
        let mut arguments: Vec<String> =
            args.split(' ').map(|a| a.replace('\u{a0}', " ")).collect();
        arguments.extend(["--resume", "kept.jsonl", "--format", format].map(str::to_string));
        let output = folder.command("").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&run("json")).unwrap();
    let rows = json["studies"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    let times: Vec<_> = rows
        .iter()
        .filter(|row| row["metric"] == "elapsed:/cg1")
        .collect();
    assert_eq!(times.len(), 3);
    for row in times {
        assert!(row["base_mean"].as_f64().unwrap() > 1.0, "{row}");
        assert!(row["change_percent"].as_f64().unwrap().abs() < 1.0, "{row}");
    }
    let table = run("table");
    assert!(table.contains("\n6 rows: "), "{table}");
    let csv = run("csv");
    assert_eq!(csv.lines().count(), 7);
    let kept = std::fs::read_to_string(folder.0.join("kept.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 3 * 2 * 2);
}

/// `--quick` gives every row of a study. Of the largest one, its smallest experiments.
#[test]
fn quick_runs_give_all_rows() {
    let folder = Folder::new("studies_quick");
    for (args, rows) in [
        ("bandwidth-timers", 16),
        ("empty-group-queues", 4),
        ("group-fairness --only lat_ctx", 7),
        ("cache-hot-cpus --only hackbench", 3),
        ("open-questions --only SIS_CACHE", 14),
    ] {
        let args = format!("study run {args} --quick --format markdown");
        let text = folder.run(&args).clean();
        let lines = text.lines().filter(|line| line.starts_with("| "));
        // The head and its rule are not of the rows.
        assert_eq!(lines.count() - 2, rows, "{text}");
        assert!(!text.contains("not measured"), "{text}");
        assert!(text.contains(&format!("{rows} rows: ")), "{text}");
    }
    let args = "study run empty-group-queues --quick -n 3 --format markdown";
    let text = folder.run(args).clean();
    assert!(text.contains("3 runs a kernel."), "{text}");
}

#[test]
fn what_is_no_study_or_experiment_is_refused() {
    let folder = Folder::new("studies_errors");
    for (args, message, hint) in [
        (
            "show bandwidth-timer",
            "study bandwidth-timer: there is none",
            "did you mean bandwidth-timers?",
        ),
        ("run al", "study al: there is none", "did you mean all?"),
        (
            "run all --only 77",
            "--only 77: no experiment of all",
            "study show",
        ),
    ] {
        let outcome = folder.run(&format!("study {args}"));
        assert_eq!(outcome.code, Some(2), "{args}");
        assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(hint), "{}", outcome.stderr);
    }
}
