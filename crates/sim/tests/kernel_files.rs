//! The kernel's files: their shape against lines of stock kernels, their numbers against those of the run.

use fairwind_machine::{Costs, Machine};
use fairwind_sched::{GroupId, KernelProfile, Release};
use fairwind_sim::{Config, Simulation};
use fairwind_workload::parse;

fn run_on(machine: Machine, release: Release, milliseconds: u64, json: &str) -> Simulation {
    let profile = KernelProfile::new(release, machine.nr_cpus());
    let duration = Some(milliseconds * 1_000_000);
    let config = Config {
        machine,
        profile,
        duration,
        seed: 1,
    };
    let mut simulation = Simulation::new(config, parse(json, "test.json").unwrap()).unwrap();
    simulation.watch_pressure();
    simulation.run();
    simulation.finish().unwrap();
    simulation
}

fn run(machine: &str, release: Release, milliseconds: u64, json: &str) -> Simulation {
    run_on(
        Machine::load(machine).unwrap().with_costs(Costs::none()),
        release,
        milliseconds,
        json,
    )
}

fn file(simulation: &Simulation, path: &str) -> Option<String> {
    simulation
        .kernel_files()
        .into_iter()
        .find(|file| file.path == path)
        .map(|file| file.text)
}

/// A CPU and its domains in /proc/schedstat of a stock 6.12 on two sockets of four cores of two threads.
const CPU_2_OF_2X4X2: &str = "\
cpu2 0 0 778 287 322 181 5462509792 931397125 598
domain0 000c 692 690 0 3 3 0 0 690 53 51 2 132 0 0 0 51 21 21 0 0 0 0 0 21 0 0 0 0 0 0 0 0 0 2 0 0
domain1 00ff 291 291 0 0 0 0 0 64 13 13 0 0 0 0 0 0 19 19 0 0 0 0 0 18 0 0 0 0 0 0 0 0 0 12 0 0
domain2 ffff 151 145 6 6 1 0 0 36 8 8 0 0 0 0 0 0 20 20 0 0 0 0 0 20 1 0 1 0 0 0 0 0 0 46 3 0
";

/// One CPU on a socket of two cores of two threads.
const CPU_3_OF_1X2X2: &str = "\
cpu3 0 0 667 158 143 87 6148269662 3145420841 695
domain0 c 67 38 16 12717 13 0 0 38 284 279 3 5 2 0 0 279 8 5 0 3 3 0 0 5 0 0 0 0 0 0 0 0 0 21 1 0
domain1 f 25 25 0 0 0 0 0 0 185 185 0 0 0 0 0 45 13 11 1 2 1 0 0 11 0 0 0 0 0 0 0 0 0 35 7 0
";

/// Name, CPUs and number of fields of each line.
fn shape(lines: &str) -> Vec<(String, String, usize)> {
    let shape = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        assert!(
            fields[2..].iter().all(|field| field.parse::<u64>().is_ok()),
            "{line}"
        );
        let cpus = if fields[0].starts_with("domain") {
            fields[1]
        } else {
            ""
        };
        (fields[0].to_string(), cpus.to_string(), fields.len())
    };
    lines.lines().map(shape).collect()
}

#[test]
fn schedstat_has_the_lines_of_a_stock_kernel() {
    let json = r#"{ "tasks": { "t": { "instance": 20, "loop": -1, "run": 300, "sleep": 500 } } }"#;
    for (release, version) in [(Release::V6_1, 15), (Release::V6_12, 16)] {
        for (machine, nr_cpus, cpu, recorded) in [
            ("2x4x2", 16, 2, CPU_2_OF_2X4X2),
            ("1x2x2", 4, 3, CPU_3_OF_1X2X2),
        ] {
            let text = file(&run(machine, release, 1000, json), "proc/schedstat").unwrap();
            // An hour and a second of 250 ticks each.
            let rest = text
                .strip_prefix(&format!("version {version}\ntimestamp 900250\n"))
                .unwrap();
            let lines: Vec<&str> = rest.lines().collect();
            let per_cpu = recorded.lines().count();
            assert_eq!(lines.len(), nr_cpus * per_cpu);
            let ours = lines[cpu * per_cpu..][..per_cpu].join("\n");
            assert_eq!(shape(&ours), shape(recorded), "{release:?} {machine}");
        }
    }
}

#[test]
fn one_cpu_has_no_domains() {
    let json = r#"{ "tasks": { "t": { "delay": 1000, "loop": 10, "run": 1000, "sleep": 1000 } } }"#;
    let text = file(&run("1x1x1", Release::V6_12, 100, json), "proc/schedstat").unwrap();
    let fields: Vec<&str> = text.lines().nth(2).unwrap().split(' ').collect();
    assert_eq!(text.lines().count(), 3);
    // 10 loops are 10 sleeps and as many wakeups, all by and for this CPU; it ran for 10 ms and nothing waited. The
    // task was given the CPU once more, when it was new.
    assert_eq!(fields[0..3], ["cpu0", "0", "0"]);
    assert_eq!(fields[5..], ["10", "10", "10000000", "0", "11"]);
}

#[test]
fn schedstat_adds_up_over_tasks() {
    let json = r#"{ "cgroups": { "/g": { "cpu.max": "20000 50000" } }, "tasks": {
        "t": { "instance": 9, "loop": -1, "run": 3000, "sleep": 500 },
        "g": { "instance": 3, "taskgroup": "/g", "loop": -1, "run": 3000, "sleep": 500 } } }"#;
    for release in Release::ALL {
        let simulation = run("1x2x2", release, 2000, json);
        let files = simulation.kernel_files();
        let mut sums = [0u64; 3];
        for file in files
            .iter()
            .filter(|file| file.path.ends_with("/schedstat") && file.path != "proc/schedstat")
        {
            let numbers: Vec<u64> = file
                .text
                .trim_end()
                .split(' ')
                .map(|number| number.parse().unwrap())
                .collect();
            assert_eq!(numbers.len(), 3);
            sums.iter_mut()
                .zip(numbers)
                .for_each(|(sum, number)| *sum += number);
        }
        let schedstat = &files[0].text;
        let cpus = schedstat.lines().filter(|line| line.starts_with("cpu"));
        let of_cpus = |field| {
            cpus.clone()
                .map(|line| line.split(' ').nth(field).unwrap().parse::<u64>().unwrap())
                .sum()
        };
        let (waited, given): (u64, u64) = (of_cpus(8), of_cpus(9));
        // Four CPUs for 2 s, and what the last ticks have not yet accounted: at most a tick on each.
        assert!(
            sums[0] <= 8_000_000_000 && sums[0] > 7_000_000_000,
            "{release:?} {sums:?}"
        );
        assert_eq!(sums[1], waited, "{release:?}: run_delay");
        // The stoppers that move running tasks are given CPUs too.
        assert!(
            given >= sums[2] && given - sums[2] < sums[2] / 10,
            "{release:?}: {given} and {}",
            sums[2]
        );
    }
}

/// Names in the order in which 6.12 prints them, as far as they are written.
const SCHED_6_12: &str = "\
se.exec_start se.vruntime se.sum_exec_runtime se.nr_migrations wait_start wait_max wait_sum wait_count \
nr_migrations_cold nr_failed_migrations_affine nr_failed_migrations_running nr_failed_migrations_hot \
nr_forced_migrations nr_wakeups nr_wakeups_sync nr_wakeups_migrate nr_wakeups_local nr_wakeups_remote \
nr_wakeups_affine nr_wakeups_affine_attempts nr_wakeups_passive nr_wakeups_idle avg_atom avg_per_cpu nr_switches \
nr_voluntary_switches nr_involuntary_switches se.load.weight se.avg.load_sum se.avg.runnable_sum se.avg.util_sum \
se.avg.load_avg se.avg.runnable_avg se.avg.util_avg se.avg.last_update_time se.avg.util_est policy prio se.slice \
clock-delta";

#[test]
fn a_tasks_files_say_what_it_did() {
    // A sleeper of nice 5 alone on a CPU: ten times 1 ms, then it ends. At time 0 waiting cannot begin: 0 is "not".
    let json = r#"{ "tasks": { "a-task-of-a-long-name": { "delay": 1000, "priority": 5, "loop": 10, "run": 1000, "sleep": 9000 } } }"#;
    let simulation = run("1x1x1", Release::V6_12, 1000, json);
    assert_eq!(
        file(&simulation, "proc/1000/schedstat").unwrap(),
        "10000000 0 11\n"
    );
    let sched = file(&simulation, "proc/1000/sched").unwrap();
    let mut lines = sched.lines();
    assert_eq!(lines.next().unwrap(), "a-task-of-a-lon (1000, #threads: 1)");
    assert!(lines.next().unwrap().bytes().all(|byte| byte == b'-'));
    let names: Vec<&str> = lines
        .map(|line| line.split([' ', ':']).next().unwrap())
        .collect();
    assert_eq!(names.join(" "), SCHED_6_12);
    for line in [
        "se.sum_exec_runtime                          :            10.000000",
        "se.nr_migrations                             :                    0",
        "wait_sum                                     :             0.000000",
        "nr_wakeups                                   :                   10",
        "nr_wakeups_local                             :                   10",
        // 10 ms in 11 stretches, the last of length 0.
        "avg_atom                                     :             0.909090",
        "avg_per_cpu                                  :             0.000001",
        "nr_switches                                  :                   11",
        "nr_voluntary_switches                        :                   11",
        // 335 << 10.
        "se.load.weight                               :               343040",
        "policy                                       :                    0",
        "prio                                         :                  125",
    ] {
        assert!(
            sched.lines().any(|l| l == line),
            "no line {line:?} in\n{sched}"
        );
    }
    let older = file(&run("1x1x1", Release::V6_1, 1000, json), "proc/1000/sched").unwrap();
    assert!(
        older.contains("\nse.avg.util_est.ewma ") && older.contains("\nse.avg.util_est.enqueued ")
    );
    assert!(!older.contains("\nse.slice "));
}

#[test]
fn a_groups_files_have_its_settings_and_its_time() {
    let json = r#"{ "cgroups": {
        "/a": { "cpu.weight": 200, "cpu.max": "50000 100000" }, "/a/b": {}, "/idle": { "cpu.idle": 1 } },
        "tasks": { "t": { "taskgroup": "/a/b", "loop": -1, "run": 1000 } } }"#;
    for release in Release::ALL {
        let simulation = run("1x1x1", release, 10_000, json);
        let of = |name: &str| file(&simulation, &format!("sys/fs/cgroup/{name}"));
        assert_eq!(of("a/cpu.weight").unwrap(), "200\n");
        assert_eq!(of("a/b/cpu.weight").unwrap(), "100\n");
        assert_eq!(of("a/cpu.max").unwrap(), "50000 100000\n");
        assert_eq!(of("a/b/cpu.max").unwrap(), "max 100000\n");
        // 3 of 1024 shares are 0.3 of a weight of 100; 6.12 keeps it above 0.
        assert_eq!(
            of("idle/cpu.weight").unwrap(),
            if release == Release::V6_1 {
                "0\n"
            } else {
                "1\n"
            }
        );
        assert_eq!(
            (of("cpu.max"), of("cpu.weight")),
            (None, None),
            "the root has no settings"
        );

        let report = simulation.report(false);
        let a = report
            .groups
            .iter()
            .find(|group| group.path == "/a")
            .unwrap();
        assert!(
            a.usage_usec.abs_diff(5_000_000) < 60_000,
            "{release:?} {a:?}"
        );
        let stat = format!(
            "usage_usec {0}\nuser_usec {0}\nsystem_usec 0\nnr_periods {1}\nnr_throttled {2}\nthrottled_usec {3}\n\
             nr_bursts 0\nburst_usec 0\n",
            a.usage_usec, a.nr_periods, a.nr_throttled, a.throttled_usec
        );
        assert_eq!(of("a/cpu.stat").unwrap(), stat);
        let below = of("a/b/cpu.stat").unwrap();
        assert_eq!(
            below.lines().next(),
            stat.lines().next(),
            "all of its time was spent below"
        );
        assert!(below.ends_with(
            "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\nnr_bursts 0\nburst_usec 0\n"
        ));

        let local = of("a/cpu.stat.local");
        assert_eq!(local.is_some(), release != Release::V6_1);
        if let Some(local) = local {
            let waited: u64 = local
                .trim_end()
                .strip_prefix("throttled_usec ")
                .unwrap()
                .parse()
                .unwrap();
            assert!(waited.abs_diff(a.throttled_usec) < 60_000, "{local} {a:?}");
        }
        let v1 = simulation.cpu_stat_v1(simulation.sched().groups[GroupId::ROOT].children[1]);
        let v1: Vec<&str> = v1
            .lines()
            .map(|line| line.split(' ').next().unwrap())
            .collect();
        assert_eq!(
            v1,
            [
                "nr_periods",
                "nr_throttled",
                "throttled_time",
                "wait_sum",
                "nr_bursts",
                "burst_time"
            ]
        );
        let root = simulation.cpu_stat_v1(GroupId::ROOT);
        assert_eq!(
            root,
            "nr_periods 0\nnr_throttled 0\nthrottled_time 0\nnr_bursts 0\nburst_time 0\n"
        );
    }
}

#[test]
fn pressure_is_printed_in_percent() {
    let json = r#"{ "cgroups": { "/g": {} }, "tasks": {
        "hog": { "instance": 2, "taskgroup": "/g", "loop": -1, "run": 10000 } } }"#;
    let simulation = run("1x1x1", Release::V6_12, 3000, json);
    // One sample of 100 %.
    let expected = "some avg10=18.11 avg60=3.27 avg300=0.68 total=3000000\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
    for path in [
        "sys/fs/cgroup/g/cpu.pressure",
        "sys/fs/cgroup/cpu.pressure",
        "proc/pressure/cpu",
    ] {
        assert_eq!(file(&simulation, path).unwrap(), expected, "{path}");
    }
}

#[test]
fn time_is_charged_to_the_group_in_which_it_was_spent() {
    let json = r#"{ "cgroups": { "/a": {}, "/a/x": {}, "/b": {} }, "tasks": { "t": { "loop": 1, "phases": {
        "one": { "taskgroup": "/a/x", "loop": 1, "run": 300000 },
        "two": { "taskgroup": "/b", "loop": 1, "run": 200000 } } } } }"#;
    for release in Release::ALL {
        let simulation = run("1x1x1", release, 1000, json);
        let usage = |name: &str| {
            let text = file(&simulation, &format!("sys/fs/cgroup/{name}cpu.stat")).unwrap();
            text.lines().next().unwrap().to_string()
        };
        assert_eq!(usage("a/x/"), "usage_usec 300000", "{release:?}");
        assert_eq!(usage("a/"), "usage_usec 300000", "{release:?}");
        assert_eq!(usage("b/"), "usage_usec 200000", "{release:?}");
        assert_eq!(usage(""), "usage_usec 500000", "{release:?}");
    }
}

#[test]
fn what_the_kernel_costs_is_system_time() {
    let json = r#"{ "tasks": { "t": { "instance": 3, "loop": -1, "run": 100, "sleep": 100 } } }"#;
    let simulation = run_on(
        Machine::load("desktop-8").unwrap(),
        Release::V6_12,
        1000,
        json,
    );
    let stat = simulation.cpu_stat(GroupId::ROOT);
    let numbers: Vec<u64> = stat
        .lines()
        .map(|line| line.split(' ').nth(1).unwrap().parse().unwrap())
        .collect();
    let [usage, user, system] = [numbers[0], numbers[1], numbers[2]];
    assert_eq!(usage, user + system);
    let busy: u64 = simulation
        .report(false)
        .cpus
        .iter()
        .map(|cpu| cpu.busy_ns)
        .sum();
    assert_eq!(usage, busy / 1000, "all time on CPUs is the root's");
    // About 15 000 loops of 100 µs of work, with a few µs of system calls, timers and switches each.
    assert!(system > usage / 200 && system < usage / 5, "{stat}");
}
