//! Tasks of SCHED_BATCH, which no record tells.

mod text;

use fairwind_check::Measure;
use fairwind_sched::Release;
use std::fmt::Write;
use text::report_on;

/// How often the program sleeps and is woken.
const WAKEUPS: u64 = 6;

/// One CPU of 6.1. `p` sleeps while `r` runs, six times, and does not preempt it when it is woken, though it has 3 ms less. Before
/// that it has the name that is given.
fn wakeups(first_name: &str) -> String {
    let mut text = format!(
        "cpus=1\n\
         {first_name}-100 0d..2. 0.999000000: sched_switch: swapper/0:0 [120] R ==> {first_name}:100 [120]\n\
         {first_name}-100 0d..2. 0.999900000: sched_stat_runtime: comm={first_name} pid=100 runtime=900000 [ns] vruntime=5000000000 [ns]\n\
         {first_name}-100 0d..2. 1.000000000: sched_switch: {first_name}:100 [120] S ==> r:50 [120]\n"
    );
    let mut r = 5_000_000_000_u64;
    for at in 0..WAKEUPS {
        let start = 1_000_000_000 + at * 20_000_000;
        let mut record = |who: &str, flags: &str, after: u64, what: &str| {
            let ts = start + after;
            let (s, ns) = (ts / 1_000_000_000, ts % 1_000_000_000);
            writeln!(text, "{who} 0{flags} {s}.{ns:09}: {what}").expect("memory");
        };
        let ran = |comm: &str, pid: i32, runtime: u64, vruntime: u64| {
            format!(
                "sched_stat_runtime: comm={comm} pid={pid} runtime={runtime} [ns] vruntime={vruntime} [ns]"
            )
        };
        r += 10_000_000;
        record("r-50", "d.h1.", 10_000_000, &ran("r", 50, 10_000_000, r));
        record(
            "r-50",
            "d.h2.",
            10_100_000,
            "sched_waking: comm=p pid=100 prio=120 target_cpu=000",
        );
        r += 150_000;
        record("r-50", "d.h2.", 10_150_000, &ran("r", 50, 150_000, r));
        record(
            "r-50",
            "d.h2.",
            10_160_000,
            "sched_wakeup: p:100 [120] CPU:000",
        );
        let p = r - 3_000_000;
        r += 3_850_000;
        record("r-50", "dNh1.", 14_000_000, &ran("r", 50, 3_850_000, r));
        r += 10_000;
        record("r-50", "d..2.", 14_010_000, &ran("r", 50, 10_000, r));
        record(
            "r-50",
            "d..2.",
            14_010_000,
            "sched_switch: r:50 [120] R ==> p:100 [120]",
        );
        record(
            "p-100",
            "d..2.",
            20_000_000,
            &ran("p", 100, 5_990_000, p + 5_990_000),
        );
        record(
            "p-100",
            "d..2.",
            20_000_000,
            "sched_switch: p:100 [120] S ==> r:50 [120]",
        );
    }
    text
}

/// How many of the answers to whether `p` preempts are wrong.
fn wrong(first_name: &str) -> u64 {
    let report = report_on("batch.txt", &wakeups(first_name), Release::V6_1);
    let count = report.scores[&Measure::Preemption].count;
    assert!(count.decisions >= WAKEUPS, "{count:?}");
    count.decisions - count.agree
}

#[test]
fn a_program_that_chrt_starts_has_its_policy_from_then_on() {
    assert_eq!(wrong("chrt"), 0, "a first walk tells it");
    assert!(wrong("p") >= 2, "two have to tell it first");
}
