//! The "guests" section: what it becomes, and what is wrong with it, where.

use fairwind_workload::*;

fn read(guest: &str) -> Workload {
    parse(
        &format!("{{ \"guests\": {{ \"vm\": {guest} }} }}"),
        "w.json",
    )
    .unwrap()
}

fn error(guest: &str) -> String {
    parse(
        &format!("{{ \"guests\": {{\n\"vm\": {guest} }} }}"),
        "w.json",
    )
    .unwrap_err()
    .to_string()
}

const INSIDE: &str = r#""workload": { "tasks": { "hog": { "run": 1000 } } }"#;

#[test]
fn a_guest_s_vcpus_are_threads_of_the_host() {
    let workload = read(&format!(
        r#"{{ "topology": "2x3x1", "taskgroup": "/a/vm", "priority": -5, "delay": 7, "kernel": "6.1",
              "halt_poll_ns": 0, "ple_gap": 64, "ple_window": 100, "ple_window_grow": 3, "spinlocks": "ticket", "paravirt": true, {INSIDE} }}"#
    ));
    let [guest] = &workload.guests[..] else {
        panic!("one guest")
    };
    assert_eq!(guest.name, "vm");
    assert_eq!(guest.topology.nr_vcpus(), 6);
    let kernel = guest.kernel.as_ref().unwrap();
    assert_eq!(kernel.text, "6.1");
    assert!(kernel.place.ends_with(", in guests/vm/kernel"));
    assert_eq!(guest.workload.tasks[0].name, "hog");
    let kvm = KvmParams {
        halt_poll_ns: Some(0),
        ple_gap: Some(64),
        ple_window: Some(100),
        ple_window_grow: Some(3),
    };
    assert_eq!(guest.kvm, kvm);
    assert_eq!(guest.spinlocks.kind, SpinlockKind::Ticket);
    assert!(guest.spinlocks.paravirt);
    let threads = &workload.tasks[guest.vcpus.idx()];
    assert_eq!((threads.name.as_str(), threads.instances), ("vm.vcpu", 6));
    assert_eq!((threads.delay_us, threads.attrs.priority), (7, Some(-5)));
    let group = threads.attrs.group.unwrap();
    assert_eq!(workload.groups[group.idx()].path, "/a/vm");
    assert!(threads.background, "a run does not wait for them");
}

#[test]
fn instances_are_guests_of_their_own() {
    let workload = read(&format!("{{ \"vcpus\": 2, \"instance\": 3, {INSIDE} }}"));
    let names: Vec<_> = workload.guests.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["vm-0", "vm-1", "vm-2"]);
    let threads = workload.guests.iter().map(|g| g.vcpus.0);
    assert_eq!(threads.collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn programs_run_in_guests_and_measure_there() {
    let workload =
        read(r#"{ "vcpus": 2, "programs": ["tbench:clients=2", "hackbench:groups=1"] }"#);
    let guest = &workload.guests[0];
    let programs = guest.programs();
    assert_eq!(
        programs.iter().map(|p| p.name).collect::<Vec<_>>(),
        ["tbench", "hackbench"]
    );
    assert!(guest.workload.tasks.len() > 2);
}

#[test]
fn joined_workloads_keep_their_guests() {
    let files = read(&format!("{{ \"vcpus\": 2, {INSIDE} }}"));
    let program = programs::parse("hackbench:groups=1").unwrap();
    let (whole, _) = programs::join(Some(files), vec![program]);
    let threads = &whole.tasks[whole.guests[0].vcpus.idx()];
    assert_eq!(threads.name, "vm.vcpu");
}

#[test]
fn what_is_wrong_with_a_guest_is_told_with_its_place() {
    let told = [
        (
            r#"{ "vcpus": 2 }"#.to_string(),
            "w.json:2:1: no key \"workload\", in guests/vm",
        ),
        (format!("{{ {INSIDE} }}"), "no key \"vcpus\""),
        (
            format!("{{ \"vcpus\": 0, {INSIDE} }}"),
            "bad value 0, in guests/vm/vcpus; expected a number of vCPUs, 1 to 1024",
        ),
        (
            format!("{{ \"topology\": \"2x2\", {INSIDE} }}"),
            "in guests/vm/topology; expected SOCKETSxCORESxTHREADS",
        ),
        (
            format!("{{ \"vcpus\": 3, \"topology\": \"1x2x1\", {INSIDE} }}"),
            "\"topology\" has 2 vCPUs and \"vcpus\" is 3",
        ),
        (
            format!("{{ \"vcpus\": 1, \"kernel\": 6.1, {INSIDE} }}"),
            "expected KERNEL[,SWITCH]..., such as \"6.1,NO_SIS_UTIL\"",
        ),
        (
            format!("{{ \"vcpus\": 2, \"virtqueues\": {{ \"rx\": 2 }}, {INSIDE} }}"),
            "expected the vCPU that takes its interrupts, 0 to 1",
        ),
        (
            format!("{{ \"vcpus\": 1, \"virtqueues\": {{ \"rx\": 0 }}, {INSIDE} }}"),
            "unknown name \"rx\", in guests/vm/virtqueues; expected a semaphore that a task in the guest posts to or waits for",
        ),
        (
            "{ \"vcpus\": 1, \"virtqueues\": { \"rx\": 0 }, \"workload\": { \"tasks\": { \"a\": { \"sem_wait\": \"rx\" } } } }".to_string(),
            "unknown name \"vm.rx\", in guests/vm/virtqueues; expected a semaphore that a task of the host posts to or waits for",
        ),
        (
            format!("{{ \"vcpus\": 1, \"spinlocks\": \"fast\", {INSIDE} }}"),
            "expected \"ticket\" or \"queued\"",
        ),
        (
            r#"{ "vcpus": 1, "programs": ["hackbnch"] }"#.to_string(),
            "did you mean \"hackbench\"?",
        ),
        (
            r#"{ "vcpus": 1, "workload": { "tasks": { "a": { "runn": 1, "rum": 2 } } } }"#
                .to_string(),
            "in guests/vm/workload/tasks/a",
        ),
        (
            r#"{ "vcpus": 1, "workload": { "guests": {} } }"#.to_string(),
            "unknown key \"guests\"",
        ),
    ];
    for (guest, expected) in told {
        let text = error(&guest);
        assert!(text.contains(expected), "{guest}: {text}");
        assert!(text.starts_with("w.json:2:"), "{text}");
    }
}

#[test]
fn spinlocks_are_unlocked_where_they_are_locked() {
    let refused = |events: &str| {
        let text = format!("{{ \"tasks\": {{ \"a\": {{ {events} }} }} }}");
        parse(&text, "w.json").unwrap_err().to_string()
    };
    for (events, expected) in [
        (
            r#""spin_lock": "l", "run": 1"#,
            "\"spin_lock\" is not unlocked",
        ),
        (
            r#""run": 1, "spin_unlock": "l""#,
            "unlocks what was not locked last",
        ),
        (
            r#""spin_lock": "l", "spin_lock1": "l", "spin_unlock": "l""#,
            "locks what it holds",
        ),
        (
            r#""spin_lock": "l", "sleep": 1, "spin_unlock": "l""#,
            "\"sleep\" under a spinlock",
        ),
    ] {
        let text = refused(events);
        assert!(text.contains(expected), "{events}: {text}");
    }
}

#[test]
fn rt_app_takes_neither_guests_nor_spinlocks() {
    let error = write(&read(&format!("{{ \"vcpus\": 1, {INSIDE} }}"))).unwrap_err();
    assert!(error.to_string().contains("no virtual machines such as vm"));
    let locks = r#"{ "tasks": { "a": { "spin_lock": "l", "run": 1, "spin_unlock": "l" } } }"#;
    let error = write(&parse(locks, "w.json").unwrap()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("has no spinlocks, which task a takes")
    );
}
