//! Programs on the command line: `fairwind program`, and what a run of one prints.

use crate::command::Folder;
use fairwind_workload::programs::LIST;

#[test]
fn all_programs_are_listed_and_shown_with_their_parameters() {
    let folder = Folder::new("programs_list");
    let list = folder.run("program list").clean();
    for info in LIST {
        let row = list
            .lines()
            .find(|line| line.starts_with(&format!("{} ", info.name)));
        assert!(row.unwrap().ends_with(info.about));
        let shown = folder.run(&format!("program show {}", info.name)).clean();
        for param in info.params {
            let named = |line: &&str| line.split_whitespace().next() == Some(param.name);
            let row = shown.lines().find(named).unwrap();
            assert!(
                row.contains(param.default) && row.contains(param.help),
                "{row}"
            );
        }
    }
}

#[test]
fn a_program_prints_its_own_line_and_its_json() {
    let folder = Folder::new("programs_run");
    let spec = "hackbench:groups=1,fds=2,loops=3,ipc=pipe";
    let full = "hackbench:groups=1,fds=2,loops=3,datasize=100,ipc=pipe,mode=process";
    let table = folder.run(&format!("run {spec} -m 1x2x1")).clean();
    let at = table
        .find(&format!("\nPrograms\n{full}\n  Time: 0.00"))
        .unwrap();
    assert!(at < table.find("\nTasks").unwrap());

    let json = folder
        .run(&format!("run {spec} -m 1x2x1 --format json"))
        .clean();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let program = &json["programs"][0];
    assert_eq!(
        (&program["name"], &program["spec"]),
        (&"hackbench".into(), &full.into())
    );
    let metric = &program["metrics"][0];
    assert_eq!(
        (&metric["name"], &metric["unit"]),
        (&"Time".into(), &"s".into())
    );
    let seconds = metric["value"].as_f64().unwrap();
    let run = json["duration_ns"].as_u64().unwrap() as f64 / 1e9;
    assert!(seconds > 0.0 && seconds < run, "{seconds} of {run}");
}

#[test]
fn seeds_differ_and_equal_seeds_do_not() {
    let folder = Folder::new("programs_seeds");
    let run = |seed: u32| {
        let command = format!("run perf-pipe:loops=50 -m 1x2x1 --seed {seed}");
        let text = folder.run(&command).clean();
        text.lines()
            .find(|line| line.contains("usecs/op"))
            .unwrap()
            .to_string()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_run_that_ends_before_its_program_prints_no_number() {
    let folder = Folder::new("programs_cut");
    let text = folder.run("run perf-pipe -m 1x2x1 -d 1ms").clean();
    assert!(text.contains("\n  ops/sec: - 1/s\n"), "{text}");
}

#[test]
fn a_wrong_program_is_refused() {
    let folder = Folder::new("programs_wrong");
    for (command, what, hint) in [
        (
            "run hackbench:grups=4",
            "hackbench:grups=4: unknown key \"grups\"",
            "did you mean \"groups\"?",
        ),
        (
            "program show hackbnch",
            "there is no program 'hackbnch'",
            "did you mean 'hackbench'?",
        ),
        (
            "run hackbnch",
            "hackbnch: cannot read",
            "fairwind program list",
        ),
    ] {
        let outcome = folder.run(command);
        assert_eq!((outcome.code, &*outcome.stdout), (Some(2), ""), "{command}");
        assert!(outcome.stderr.contains(what), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(hint), "{}", outcome.stderr);
    }
}
