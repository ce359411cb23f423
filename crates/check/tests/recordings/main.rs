//! The figures of the recordings that come with the project may rise and not fall.
//!
//! The numbers are what was reached; when a change raises one, raise it here.

mod groups;
mod page;

use fairwind_check::{Error, Given, Measure, Recording, Report, check};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

fn recordings() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings")
}

fn recording(name: &str) -> PathBuf {
    recordings().join(name)
}

/// What the check says of a recording; it is checked once for all tests that ask.
fn report(name: &str) -> &'static Report {
    static REPORTS: Mutex<BTreeMap<String, &OnceLock<Report>>> = Mutex::new(BTreeMap::new());
    let mut reports = REPORTS.lock().unwrap();
    let report: &OnceLock<Report> = reports
        .entry(name.to_owned())
        .or_insert_with(|| Box::leak(Box::default()));
    drop(reports);
    report.get_or_init(|| {
        let read = Recording::open(&recording(name), Given::default());
        check(&read.expect("a recording of the project"))
    })
}

/// Each measure with its decisions, and the least of them that agree.
fn expect(name: &str, floors: &[(Measure, u64, u64)]) {
    let report = report(name);
    for &(measure, decisions, agree) in floors {
        let count = report.scores[&measure].count;
        let found = format!(
            "{name}\n{}{}",
            report.explain(3, Some(measure)),
            report.table()
        );
        // Fewer decisions than were asked would be a way to look better.
        assert!(count.decisions >= decisions, "{found}");
        let missed = count.decisions - count.agree;
        assert!(missed <= decisions - agree, "{found}");
    }
}

#[test]
fn one_cpu_of_6_12() {
    expect(
        "fair-1cpu-6.12",
        &[
            (Measure::State, 5965, 5963),
            (Measure::Pick, 2078, 2078),
            (Measure::Preemption, 1745, 1745),
        ],
    );
}

#[test]
fn averages_on_one_cpu() {
    expect(
        "averages-1cpu-6.12",
        &[
            (Measure::State, 6326, 6323),
            (Measure::Pick, 1210, 1210),
            (Measure::Preemption, 1025, 1025),
        ],
    );
}

#[test]
fn averages_on_eight_cpus() {
    expect(
        "averages-smp-6.12",
        &[
            (Measure::State, 11894, 11628),
            (Measure::Pick, 1554, 1554),
            (Measure::Preemption, 1259, 1259),
            (Measure::Placement, 685, 679),
            (Measure::Balance, 81, 74),
        ],
    );
}

#[test]
fn a_group_of_6_18() {
    // What else ran on that machine is from before the recording: only what the group decides is known.
    expect(
        "group-perf-6.18",
        &[
            (Measure::Pick, 2134, 1969),
            (Measure::Preemption, 1746, 1710),
            // Its tasks were bound to a CPU while they ran: where they are woken is no choice.
            (Measure::Placement, 791, 785),
            (Measure::Balance, 8, 1),
        ],
    );
}

#[test]
fn one_cpu_of_6_18() {
    expect(
        "fair-1cpu-6.18",
        &[
            (Measure::State, 4397, 4391),
            (Measure::Pick, 1720, 1718),
            (Measure::Preemption, 1558, 1558),
        ],
    );
}

#[test]
fn wakers_of_6_18() {
    expect(
        "wakers-smt-6.18",
        &[
            (Measure::State, 3155, 3155),
            (Measure::Pick, 1160, 1160),
            (Measure::Preemption, 1088, 1088),
            (Measure::Placement, 120, 117),
            (Measure::Balance, 61, 60),
        ],
    );
}

#[test]
fn one_cpu_of_6_1() {
    expect(
        "fair-1cpu-6.1",
        &[
            (Measure::State, 3246, 3246),
            (Measure::Pick, 1635, 1635),
            (Measure::Preemption, 1666, 1666),
        ],
    );
}

#[test]
fn wakers_on_smt_of_6_12() {
    expect(
        "wakers-smt-6.12",
        &[
            (Measure::State, 3660, 3660),
            (Measure::Pick, 1180, 1180),
            (Measure::Preemption, 1153, 1153),
            (Measure::Placement, 136, 134),
            (Measure::Balance, 67, 67),
        ],
    );
}

#[test]
fn mix_on_smt_of_6_12() {
    expect(
        "mix-smt-6.12",
        &[
            (Measure::State, 3658, 3658),
            (Measure::Pick, 704, 704),
            (Measure::Preemption, 473, 473),
            (Measure::Placement, 311, 306),
            (Measure::Balance, 39, 38),
        ],
    );
}

#[test]
fn mix_on_smt_of_6_1() {
    expect(
        "mix-smt-6.1",
        &[
            (Measure::State, 2866, 2866),
            (Measure::Pick, 1002, 1002),
            (Measure::Preemption, 1022, 1022),
            (Measure::Placement, 603, 592),
            (Measure::Balance, 53, 51),
        ],
    );
}

#[test]
fn changes_of_6_12() {
    expect(
        "changes-6.12",
        &[
            (Measure::State, 3866, 3866),
            (Measure::Pick, 1011, 1011),
            (Measure::Preemption, 822, 822),
            (Measure::Placement, 286, 285),
            (Measure::Balance, 16, 16),
        ],
    );
}

#[test]
fn changes_of_6_1() {
    expect(
        "changes-6.1",
        &[
            (Measure::State, 1388, 1388),
            (Measure::Pick, 545, 545),
            (Measure::Preemption, 491, 491),
            (Measure::Placement, 187, 186),
            (Measure::Balance, 15, 15),
        ],
    );
}

#[test]
fn sessions_of_6_12() {
    expect(
        "sessions-6.12",
        &[
            (Measure::State, 9116, 9018),
            (Measure::Pick, 1843, 1843),
            (Measure::Preemption, 1507, 1507),
            (Measure::Placement, 385, 382),
            (Measure::Balance, 16, 15),
        ],
    );
}

#[test]
fn sessions_of_6_1() {
    expect(
        "sessions-6.1",
        &[
            (Measure::State, 3352, 3287),
            (Measure::Pick, 1554, 1547),
            (Measure::Preemption, 1761, 1760),
            (Measure::Placement, 761, 749),
            (Measure::Balance, 20, 18),
        ],
    );
}

#[test]
fn own_changes_of_6_1() {
    expect(
        "own-changes-6.1",
        &[
            (Measure::State, 8177, 8177),
            (Measure::Pick, 163, 163),
            (Measure::Preemption, 111, 111),
            (Measure::Placement, 2001, 1982),
            (Measure::Balance, 41, 32),
        ],
    );
}

#[test]
fn features_and_tunables_that_change_of_6_12() {
    expect(
        "settings-6.12",
        &[
            (Measure::State, 5037, 5033),
            (Measure::Pick, 898, 898),
            (Measure::Preemption, 911, 908),
            (Measure::Placement, 453, 449),
            (Measure::Balance, 26, 26),
        ],
    );
}

#[test]
fn tasks_of_sched_batch_for_some_time_of_6_1() {
    expect(
        "batch-6.1",
        &[
            (Measure::State, 6992, 6992),
            (Measure::Pick, 3338, 3334),
            (Measure::Preemption, 3221, 3210),
            (Measure::Placement, 1964, 1959),
            (Measure::Balance, 24, 24),
        ],
    );
}

#[test]
fn stops_of_6_12() {
    expect(
        "stops-6.12",
        &[
            (Measure::State, 5489, 5488),
            (Measure::Pick, 965, 965),
            (Measure::Preemption, 595, 595),
            (Measure::Placement, 602, 601),
            (Measure::Balance, 34, 33),
        ],
    );
}

#[test]
fn threads_that_one_creates() {
    expect(
        "threads-6.1",
        &[
            (Measure::State, 38673, 38670),
            (Measure::Pick, 31964, 31964),
            (Measure::Preemption, 15208, 15207),
            (Measure::Placement, 17920, 17785),
            (Measure::Balance, 87, 77),
        ],
    );
}

#[test]
fn race_sched_of_6_1() {
    expect(
        "race-sched-6.1",
        &[
            (Measure::State, 6004, 5994),
            (Measure::Pick, 2385, 2384),
            (Measure::Preemption, 1777, 1777),
            (Measure::Placement, 1664, 1658),
            (Measure::Balance, 64, 53),
        ],
    );
}

#[test]
fn race_sched_of_6_12() {
    expect(
        "race-sched-6.12",
        &[
            (Measure::State, 14914, 14910),
            (Measure::Pick, 2336, 2335),
            (Measure::Preemption, 1070, 1069),
            (Measure::Placement, 1516, 1504),
            (Measure::Balance, 113, 96),
        ],
    );
}

#[test]
fn herds_of_6_12() {
    expect(
        "herds-6.12",
        &[
            (Measure::State, 14253, 14253),
            (Measure::Pick, 2119, 2119),
            (Measure::Preemption, 1173, 1173),
            (Measure::Placement, 1852, 1805),
            (Measure::Balance, 326, 295),
        ],
    );
}

#[test]
fn realtime_of_6_12() {
    expect(
        "realtime-6.12",
        &[
            (Measure::State, 1746, 1746),
            (Measure::Pick, 207, 207),
            (Measure::Preemption, 108, 108),
            (Measure::Placement, 335, 332),
            (Measure::Balance, 49, 41),
        ],
    );
}

#[test]
fn realtime_of_6_1() {
    expect(
        "realtime-6.1",
        &[
            (Measure::State, 902, 901),
            (Measure::Pick, 159, 159),
            (Measure::Preemption, 121, 121),
            (Measure::Placement, 347, 342),
            (Measure::Balance, 50, 37),
        ],
    );
}

#[test]
fn the_check_can_fail() {
    // The same decisions against the other kernel's scheduler must not look as good.
    let given = || Given {
        release: Some(fairwind_sched::Release::V6_1),
        ..Given::default()
    };
    let path = recording("fair-1cpu-6.12");
    let wrong = check(&Recording::open(&path, given()).expect("a recording of the project"));
    for measure in [Measure::State, Measure::Pick, Measure::Preemption] {
        assert!(
            wrong.share(measure).expect("decisions") < 95_000,
            "{}",
            wrong.table()
        );
    }
}

#[test]
fn every_disagreement_is_listed_once() {
    let report = report("wakers-smt-6.12");
    for (&measure, score) in &report.scores {
        let classes: u64 = report.classes(measure).values().sum();
        assert_eq!(
            classes,
            score.count.decisions - score.count.agree,
            "{measure:?}"
        );
        let by_kind: u64 = score.kinds.values().map(|count| count.decisions).sum();
        assert_eq!(by_kind, score.count.decisions, "{measure:?}");
    }
}

#[test]
fn a_trace_alone_needs_the_kernel() {
    let path = recording("fair-1cpu-6.1").join("trace.txt.xz");
    let error = Recording::open(&path, Given::default()).unwrap_err();
    assert!(
        matches!(error, Error::Missing { fact: "kernel", .. }),
        "{error}"
    );
    assert!(error.to_string().contains("--kernel"), "{error}");
    let error = Recording::open(&recording("none"), Given::default()).unwrap_err();
    assert!(error.to_string().contains("none"), "{error}");
}

#[test]
fn averages_of_6_1_on_one_cpu() {
    expect(
        "averages-1cpu-6.1",
        &[
            (Measure::State, 7711, 7696),
            (Measure::Pick, 1011, 1011),
            (Measure::Preemption, 822, 822),
        ],
    );
}

#[test]
fn many_cpus_of_6_12() {
    expect(
        "many-cpus-6.12",
        &[
            (Measure::State, 7193, 7192),
            (Measure::Pick, 352, 352),
            (Measure::Preemption, 386, 386),
            (Measure::Placement, 925, 906),
            (Measure::Balance, 102, 98),
        ],
    );
}

#[test]
fn many_cpus_of_6_1() {
    expect(
        "many-cpus-6.1",
        &[
            (Measure::State, 4524, 4518),
            (Measure::Pick, 398, 398),
            (Measure::Preemption, 403, 403),
            (Measure::Placement, 1200, 1163),
            (Measure::Balance, 99, 87),
        ],
    );
}

#[test]
fn a_cpu_that_goes_offline_and_comes_back() {
    expect(
        "hotplug-6.1",
        &[
            (Measure::State, 1358, 1358),
            (Measure::Pick, 510, 509),
            (Measure::Preemption, 465, 464),
            (Measure::Placement, 249, 239),
            (Measure::Balance, 11, 11),
        ],
    );
}

#[test]
fn cpus_that_tasks_may_use_of_6_12() {
    expect(
        "affinity-6.12",
        &[
            (Measure::State, 19844, 19838),
            (Measure::Pick, 2027, 2027),
            (Measure::Preemption, 2734, 2733),
            (Measure::Placement, 1930, 1865),
            (Measure::Balance, 86, 69),
        ],
    );
}

#[test]
fn cpus_that_tasks_may_use_of_6_1() {
    expect(
        "affinity-6.1",
        &[
            (Measure::State, 8754, 8753),
            (Measure::Pick, 1780, 1780),
            (Measure::Preemption, 3036, 3036),
            (Measure::Placement, 3216, 3162),
            (Measure::Balance, 72, 69),
        ],
    );
}

#[test]
fn commands_that_change_tasks_of_6_12() {
    expect(
        "commands-6.12",
        &[
            (Measure::State, 13315, 13315),
            (Measure::Pick, 3034, 3034),
            (Measure::Preemption, 2526, 2526),
            (Measure::Placement, 1037, 1019),
            (Measure::Balance, 100, 88),
        ],
    );
}

#[test]
fn commands_that_change_tasks_of_6_1() {
    expect(
        "commands-6.1",
        &[
            (Measure::State, 7572, 7570),
            (Measure::Pick, 2549, 2549),
            (Measure::Preemption, 3133, 3129),
            (Measure::Placement, 1097, 1066),
            (Measure::Balance, 87, 70),
        ],
    );
}

#[test]
fn a_storm_of_forks_of_6_1() {
    expect(
        "forks-6.1",
        &[
            (Measure::State, 18097, 18097),
            (Measure::Pick, 7073, 7073),
            (Measure::Preemption, 3611, 3610),
            (Measure::Placement, 8854, 8814),
            (Measure::Balance, 1452, 1361),
        ],
    );
}

#[test]
fn policies_and_classes_of_6_12() {
    expect(
        "policies-6.12",
        &[
            (Measure::State, 12534, 12534),
            (Measure::Pick, 1754, 1754),
            (Measure::Preemption, 1019, 1019),
            (Measure::Placement, 464, 462),
            (Measure::Balance, 22, 22),
        ],
    );
}

#[test]
fn policies_and_classes_of_6_1() {
    expect(
        "policies-6.1",
        &[
            (Measure::State, 5874, 5872),
            (Measure::Pick, 2965, 2964),
            (Measure::Preemption, 1216, 1216),
            (Measure::Placement, 854, 846),
            (Measure::Balance, 8, 6),
        ],
    );
}

#[test]
fn policies_that_tasks_give_themselves_and_yield() {
    expect(
        "own-policies-6.1",
        &[
            (Measure::State, 32687, 32682),
            (Measure::Pick, 14853, 14844),
            (Measure::Preemption, 15571, 15571),
            (Measure::Placement, 534, 531),
            (Measure::Balance, 74, 71),
        ],
    );
}

#[test]
fn policies_and_cpus_changed_by_commands() {
    expect(
        "commanded-6.1",
        &[
            (Measure::State, 16393, 16391),
            (Measure::Pick, 10722, 10722),
            (Measure::Preemption, 4753, 4753),
            (Measure::Placement, 7236, 7201),
            (Measure::Balance, 59, 56),
        ],
    );
}

#[test]
fn running_tasks_made_real_time_ones_by_commands() {
    expect(
        "commanded-6.12",
        &[
            (Measure::State, 23909, 23902),
            (Measure::Pick, 4063, 4061),
            (Measure::Preemption, 3126, 3124),
            (Measure::Placement, 875, 870),
            (Measure::Balance, 123, 109),
        ],
    );
}

#[test]
fn fair_tasks_that_the_fair_server_lets_run() {
    expect(
        "starved-6.12",
        &[
            (Measure::State, 2312, 2312),
            (Measure::Pick, 238, 238),
            (Measure::Preemption, 138, 138),
            (Measure::Placement, 311, 304),
        ],
    );
}

#[test]
fn barriers_locks_and_yields() {
    expect(
        "barriers-6.12",
        &[
            (Measure::State, 7530, 7530),
            (Measure::Pick, 1490, 1490),
            (Measure::Preemption, 1065, 1064),
            (Measure::Placement, 944, 934),
            (Measure::Balance, 31, 29),
        ],
    );
}

#[test]
fn tasks_that_bind_themselves_to_other_cpus() {
    expect(
        "own-cpus-6.12",
        &[
            (Measure::State, 17963, 17962),
            (Measure::Pick, 3971, 3971),
            (Measure::Preemption, 539, 539),
            (Measure::Placement, 102, 99),
            (Measure::Balance, 42, 41),
        ],
    );
}
