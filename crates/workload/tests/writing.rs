//! What the writer writes, and what it refuses.

use fairwind_workload::*;

fn read(text: &str) -> Workload {
    parse(text, "w.json").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_small_workload_in_full() {
    let text = r#"{
        "tasks": {"tick": {"instance": 2, "priority": -5, "cpus": "0-1", "loop": 3, "run": 100,
            "run": 200, "suspend", "timer": {"ref": "unique", "period": 1000}}},
        "global": {"duration": 2, "calibration": "CPU0"}}"#;
    let expected = r#"{
  "tasks": {
    "tick": {
      "instance": 2,
      "loop": 1,
      "policy": "SCHED_OTHER",
      "priority": -5,
      "cpus": [0, 1],
      "phases": {
        "phase0": {
          "loop": 3,
          "run0": 100,
          "run1": 200,
          "suspend2": "tick",
          "timer3": {
            "ref": "unique",
            "period": 1000
          }
        }
      }
    }
  },
  "global": {
    "duration": 2,
    "default_policy": "SCHED_OTHER",
    "pi_enabled": false,
    "io_device": "/dev/null",
    "mem_buffer_size": 4194304,
    "cumulative_slack": false,
    "calibration": "CPU0"
  }
}
"#;
    assert_eq!(write(&read(text)).as_deref(), Ok(expected));
}

#[test]
fn what_rt_app_lacks_is_refused_by_name() {
    let refused = |text: &str| match write(&read(text)) {
        Err(error) => error,
        Ok(text) => panic!("written:\n{text}"),
    };
    let task = r#""tasks": {"a": {"run": 1}}"#;
    for (settings, key) in [
        (r#""cpu.weight": 5"#, "cpu.weight"),
        (r#""cpu.shares": 5"#, "cpu.shares"),
        (r#""cpu.weight.nice": 5"#, "cpu.weight.nice"),
        (r#""cpu.max": 5000"#, "cpu.max"),
        (r#""cpu.idle": 1"#, "cpu.idle"),
        (r#""cpuset.cpus": "1""#, "cpuset.cpus"),
        (r#""cpu.uclamp.min": 1"#, "cpu.uclamp.min"),
        (r#""cpu.uclamp.max": 1"#, "cpu.uclamp.max"),
    ] {
        let error = refused(&format!(
            r#"{{{task}, "cgroups": {{"/g": {{{settings}}}}}}}"#
        ));
        assert_eq!(
            error,
            WriteError::GroupSetting {
                group: "/g".to_string(),
                key
            }
        );
        assert!(
            error.to_string().contains(key) && error.to_string().contains("/g"),
            "{error}"
        );
    }
    let error = refused(r#"{"tasks": {"a": {"run": 1, "working_set": 5}}}"#);
    assert_eq!(
        error,
        WriteError::WorkingSet {
            task: "a".to_string()
        }
    );
    assert_eq!(refused("{}"), WriteError::NoTasks);
    let tasks: Vec<_> = (0..33)
        .map(|i| format!(r#""t{i}": {{"run": 1, "taskgroup": "/g{i}"}}"#))
        .collect();
    let error = refused(&format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", ")));
    assert_eq!(error, WriteError::TooManyGroups { groups: 33 });
    let mut workload = read(&format!("{{{task}}}"));
    workload.tasks[0].attrs.cpus = Some(Affinity::Inherited);
    let error = write(&workload).unwrap_err();
    assert_eq!(
        error,
        WriteError::InheritedCpus {
            task: "a".to_string()
        }
    );
}

#[test]
fn a_group_that_only_is_a_place_can_be_written() {
    let text = r#"{"tasks": {"a": {"run": 1, "taskgroup": "/x/y"}}}"#;
    let workload = read(text);
    let again = read(&write(&workload).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(again.groups, workload.groups);
}
