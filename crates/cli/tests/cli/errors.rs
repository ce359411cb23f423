//! What is refused: a message that says where and how to mend it, exit code 2, nothing written.

use crate::command::Folder;

const GOOD: &str = r#"{ "tasks": { "a": { "run": 1000, "sleep": 1000 } } }"#;

/// Checks the code, that nothing was written, and what the message says.
#[track_caller]
fn refused(folder: &Folder, args: &str, says: &[&str]) {
    let before = folder.names();
    let outcome = folder.run(args);
    assert_eq!(outcome.code, Some(2), "{args}: {}", outcome.stderr);
    assert_eq!(outcome.stdout, "", "{args}");
    assert!(
        outcome.stderr.starts_with("error: "),
        "{args}: {}",
        outcome.stderr
    );
    for says in says {
        assert!(
            outcome.stderr.contains(says),
            "{args}: no '{says}' in {}",
            outcome.stderr
        );
    }
    assert_eq!(folder.names(), before, "{args}");
}

#[test]
fn workloads_that_cannot_be_read() {
    let folder = Folder::with("errors_workload", GOOD);
    folder.write(
        "key.json",
        "{ \"tasks\": { \"a\": {\n  \"run\": 1, \"polcy\": \"SCHED_RR\" } } }",
    );
    folder.write("json.json", "{ \"tasks\": {\n    \"a\": { \"run\": 1 ");
    folder.write(
        "latin.json",
        b"{ \"tasks\": {\n  \"caf\xe9\": { \"run\": 1 } } }",
    );
    folder.write(
        "cpu.json",
        r#"{ "cgroups": { "/g": { "cpuset.cpus": "99" } }, "tasks": { "z": { "taskgroup": "/g", "run": 1 } } }"#,
    );
    folder.write("trace.txt", "# tracer: nop\n");
    refused(&folder, "run trace.txt", &["a recording", "fairwind check"]);
    refused(
        &folder,
        "run key.json",
        &["key.json:2:13: ", "\"polcy\"", "did you mean \"policy\"?"],
    );
    refused(&folder, "run json.json", &["json.json:2:", "expected"]);
    refused(
        &folder,
        "run latin.json",
        &["latin.json:2:7: found byte 0xe9", "UTF-8"],
    );
    refused(&folder, "run cpu.json key.json", &["key.json:2:13: "]);
    refused(&folder, "run w.json w.json", &["w.json:1:14: ", "\"a\""]);
    refused(
        &folder,
        "run missing.json",
        &["missing.json: cannot read", "hint: "],
    );
    refused(&folder, "run .", &["hint: name the files"]);
    refused(&folder, "run - -", &["only once"]);
    refused(&folder, "run cpu.json", &["CPU 99", "0 to 15", "--machine"]);
}

#[test]
fn machines_and_kernels_that_do_not_exist() {
    let folder = Folder::with("errors_machine", GOOD);
    folder.write("bad.toml", "name = \"x\"\nnodes = 3\n");
    refused(
        &folder,
        "run w.json -m desktp-8",
        &["'desktp-8'", "did you mean 'desktop-8'?"],
    );
    refused(&folder, "run w.json -m 2x0x1", &["at least 1"]);
    refused(&folder, "run w.json -m bad.toml", &["bad.toml:"]);
    refused(&folder, "machine show nothing", &["fairwind machine list"]);
    refused(&folder, "run w.json -k 5.10", &["'5.10'", "6.1, 6.12"]);
    refused(&folder, "kernel 5.10", &["'5.10'", "6.1, 6.12"]);
}

#[test]
fn features_and_tunables_that_do_not_exist() {
    let folder = Folder::with("errors_features", GOOD);
    refused(
        &folder,
        "run w.json -f RUN_TO_PARTIY",
        &["did you mean RUN_TO_PARITY?", "SIS_UTIL"],
    );
    refused(
        &folder,
        "run w.json -f NO_sis_util",
        &["did you mean NO_SIS_UTIL?"],
    );
    refused(
        &folder,
        "run w.json -f START_DEBIT",
        &["6.12 has no such feature, 6.1 has"],
    );
    refused(&folder, "run w.json -f WA_BIAS,NO_", &["unknown feature"]);
    refused(
        &folder,
        "run w.json --set base_slice=3ms",
        &["did you mean base_slice_ns?", "hz"],
    );
    refused(
        &folder,
        "run w.json --set base_slice_ns",
        &["TUNABLE=VALUE"],
    );
    refused(
        &folder,
        "run w.json --set base_slice_ns=1ns",
        &["100000 to 1000000000 ns"],
    );
    refused(
        &folder,
        "run w.json --set base_slice_ns=soon",
        &["a time such as 3ms"],
    );
    refused(&folder, "run w.json --set hz=0", &["24 to 1200"]);
    refused(
        &folder,
        "run w.json --set preempt=lazy",
        &["none, voluntary or full"],
    );
}

#[test]
fn files_of_groups_that_cannot_be_written() {
    let folder = Folder::new("errors_groups");
    folder.write(
        "w.json",
        r#"{ "tasks": { "a": { "taskgroup": "/web", "run": 1000 } } }"#,
    );
    refused(
        &folder,
        "run w.json --cgroup /wbe/cpu.max=1000",
        &["--cgroup /wbe", "no group /wbe", "did you mean /web?"],
    );
    refused(
        &folder,
        "run w.json --cgroup /web/cpu.max=1",
        &["--cgroup /web/cpu.max=1", "at least 1000 us"],
    );
    refused(
        &folder,
        "compare w.json --with 6.1,/web/cpu.weight=0",
        &["/web/cpu.weight=0 of w", "1 to 10000"],
    );
    refused(
        &folder,
        "compare w.json --with /web/cpuset.cpus=99",
        &["CPU 99", "/web"],
    );
}

#[test]
fn values_that_make_no_sense() {
    let folder = Folder::with("errors_values", GOOD);
    refused(
        &folder,
        "run w.json -d 10",
        &["the unit is missing", "500ms"],
    );
    refused(&folder, "run w.json -d 0s", &["no time"]);
    refused(&folder, "run w.json --seed -1", &[]);
    refused(&folder, "run w.json --format xml", &["table, json, csv"]);
    refused(&folder, "run", &["WORKLOAD"]);
    refused(&folder, "run w.json --fast", &["--fast"]);
    refused(&folder, "kernl 6.12", &["'kernel'"]);
}

#[test]
fn traces_that_cannot_be_written() {
    let folder = Folder::with("errors_traces", GOOD);
    refused(
        &folder,
        "run w.json -t x.foo",
        &[".pftrace", ".dat", ".txt"],
    );
    refused(
        &folder,
        "run w.json -t no/x.txt",
        &["make the folder first"],
    );
    refused(&folder, "run w.json -t x.txt -t x.txt", &["given twice"]);
    refused(&folder, "run w.json -t x.txt -t y.foo", &[".pftrace"]);
}

#[test]
fn kernels_of_guests_that_there_are_not() {
    let folder = Folder::with("errors_guest_kernel", GOOD);
    for (kernel, says) in [
        (
            "6.2",
            "no kernel \"6.2\"; there are 6.1, 6.12, 6.18; expected KERNEL[,SWITCH]...",
        ),
        ("6.1,", "no kernel \"\"; there are"),
        (
            "6.12,SIS_UTLI",
            "SIS_UTLI: unknown feature; features of 6.12, each also with NO_: ",
        ),
        (
            "6.12,LAST_BUDDY",
            "LAST_BUDDY: Linux 6.12 has no such feature, 6.1 has",
        ),
        ("hz=1", "hz=1: expected ticks a second"),
    ] {
        let guest = format!("\"vcpus\": 1,\n \"kernel\": \"{kernel}\", \"workload\": {GOOD}");
        folder.write(
            "vm.json",
            format!("{{ \"guests\": {{ \"vm\": {{ {guest} }} }} }}"),
        );
        let place = "error: vm.json:2:12, in guests/vm/kernel: ";
        refused(&folder, "run vm.json -m 1x2x1", &[place, says]);
    }
}
