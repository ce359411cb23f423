//! Tasks that are woken while they leave their CPU.

mod text;

use fairwind_check::Measure;
use fairwind_sched::Release;
use text::report_on;

/// Three CPUs of 6.1. CPU 1 runs out of tasks as `s` goes to sleep, and pulls `u`. Before it switches, CPU 0 wakes `s`, and goes on
/// at `{goes_on}`.
const PULLS_MEANWHILE: &str = "\
cpus=3
  w-100  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> w:100 [120]
  s-200  1d..2.  1.000000000: sched_switch:       swapper/1:0 [120] R ==> s:200 [120]
  c-300  2d..2.  1.000000000: sched_switch:       swapper/2:0 [120] R ==> c:300 [120]
  c-300  2dN.2.  1.000100000: sched_wakeup:       u:400 [120] CPU:002
  w-100  0d..2.  1.000900000: sched_stat_runtime: comm=w pid=100 runtime=900000 [ns] vruntime=3000000000 [ns]
  c-300  2d.h1.  1.000950000: sched_stat_runtime: comm=c pid=300 runtime=950000 [ns] vruntime=3000000000 [ns]
  s-200  1d..2.  1.001000000: sched_stat_runtime: comm=s pid=200 runtime=1000000 [ns] vruntime=5000000000 [ns]
  s-200  1d..2.  1.001010000: sched_stat_runtime: comm=c pid=300 runtime=50000 [ns] vruntime=3000050000 [ns]
  s-200  1d..2.  1.001020000: sched_migrate_task: comm=u pid=400 prio=120 orig_cpu=2 dest_cpu=1
  w-100  0d..2.  1.001050000: sched_waking:       comm=s pid=200 prio=120 target_cpu=001
  w-100  0d.h1.  {goes_on}: sched_stat_runtime: comm=w pid=100 runtime=200000 [ns] vruntime=3000200000 [ns]
  s-200  1d..2.  1.001200000: sched_stat_runtime: comm=s pid=200 runtime=200000 [ns] vruntime=5000200000 [ns]
  s-200  1d..2.  1.001210000: sched_switch:       s:200 [120] S ==> u:400 [120]
  u-400  1d.h2.  1.001300000: sched_stat_runtime: comm=u pid=400 runtime=100000 [ns] vruntime=5000300000 [ns]
  u-400  1dNh2.  1.001310000: sched_wakeup:       s:200 [120] CPU:001
";

/// How often `PULLS_MEANWHILE` tells where a task that was woken was put.
fn placements(goes_on: &str) -> u64 {
    let text = PULLS_MEANWHILE.replace("{goes_on}", goes_on);
    let report = report_on("pulls-meanwhile.txt", &text, Release::V6_1);
    { report.scores.get(&Measure::Placement) }.map_or(0, |score| score.count.decisions)
}

#[test]
fn who_goes_on_before_a_sleeper_has_left_its_cpu_has_left_it_to_that() {
    assert_eq!(placements("1.001100000"), 0, "no CPU is chosen");
    assert_eq!(placements("1.001250000"), 1, "it has waited");
}
