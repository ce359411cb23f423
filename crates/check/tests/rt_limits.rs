//! Real-time tasks of 6.1 that have used up their part of a period.

mod text;

use fairwind_check::{Measure, Report};
use fairwind_sched::Release;
use text::report_on;

/// One CPU, on which `rt` gives way to `p` and `q` for some ms though it could run, and then goes on.
const GIVES_WAY: &str = "\
cpus=1
  p-100   0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> p:100 [120]
  p-100   0d.h1.  1.001000000: sched_stat_runtime: comm=p pid=100 runtime=1000000 [ns] vruntime=1000000000 [ns]
  p-100   0d..2.  1.001010000: sched_switch:       p:100 [120] R ==> q:200 [120]
  q-200   0d.h1.  1.003000000: sched_stat_runtime: comm=q pid=200 runtime=1990000 [ns] vruntime=1001990000 [ns]
  q-200   0d.h2.  1.003005000: sched_wakeup:       rt:300 [89] CPU:000
  q-200   0d..2.  1.003010000: sched_switch:       q:200 [120] R ==> rt:300 [89]
  rt-300  0d..2.  1.950000000: sched_switch:       rt:300 [89] R ==> p:100 [120]
  p-100   0d.h1.  1.954000000: sched_stat_runtime: comm=p pid=100 runtime=4000000 [ns] vruntime=1004000000 [ns]
  p-100   0d..2.  1.954010000: sched_switch:       p:100 [120] R ==> q:200 [120]
  q-200   0d.h1.  1.958000000: sched_stat_runtime: comm=q pid=200 runtime=3990000 [ns] vruntime=1005980000 [ns]
  q-200   0d..2.  1.958010000: sched_switch:       q:200 [120] R ==> p:100 [120]
  p-100   0d.h1.  1.960000000: sched_stat_runtime: comm=p pid=100 runtime=1990000 [ns] vruntime=1005990000 [ns]
  p-100   0d..2.  1.960010000: sched_switch:       p:100 [120] R ==> rt:300 [89]
  rt-300  0d..2.  1.970000000: sched_switch:       rt:300 [89] S ==> q:200 [120]
";

fn missed_picks(report: &Report) -> u64 {
    let count = report.scores[&Measure::Pick].count;
    assert!(count.decisions >= 3, "{}", report.table());
    count.decisions - count.agree
}

#[test]
fn who_is_throttled_is_not_picked() {
    let report = report_on("throttled.txt", GIVES_WAY, Release::V6_1);
    assert_eq!(missed_picks(&report), 0, "{}", report.table());
    let throttled = "1 CPUs whose real-time tasks were throttled";
    assert!(report.table().contains(throttled), "{}", report.table());
}

#[test]
fn later_kernels_do_not_throttle() {
    let report = report_on("unthrottled.txt", GIVES_WAY, Release::V6_12);
    assert!(missed_picks(&report) > 0, "{}", report.table());
}
