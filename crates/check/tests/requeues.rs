//! A task that is changed is taken off its queue, with the groups above it, and put back if it stays in its class.

mod text;

use fairwind_check::Measure;
use fairwind_sched::Release;
use text::report_on;

/// Three CPUs of 6.12. `p`, of a group, forks `c`, which is queued on CPU 1 and then bound to CPU 2, before it has run.
const BOUND_BEFORE_IT_RUNS: &str = "\
cpus=3
   mkdir-90  0d..2.  1.000000000: cgroup_mkdir:         root=1 id=23 level=1 path=/g
      sh-91  0d..2.  1.000100000: cgroup_attach_task:   dst_root=1 dst_id=23 dst_level=1 dst_path=/g pid=100 comm=p
      sh-91  0d..2.  1.000200000: sched_switch:         sh:91 [120] S ==> p:100 [120]
       p-100 0d..2.  1.001000000: sched_process_fork:   comm=p pid=100 child_comm=c child_pid=101
       p-100 0d..2.  1.001010000: place_entity:         (ffffffff) se=0xc0 vruntime=0 deadline=0 vlag=0 slice=1400000 weight=1048576 flags=136
       p-100 0d..2.  1.001020000: place_entity:         (ffffffff) se=0x90 vruntime=0 deadline=0 vlag=0 slice=1400000 weight=524288 flags=1
       p-100 0d..2.  1.001030000: sched_wakeup_new:     c:101 [120] CPU:001
       p-100 0d..2.  1.001100000: place_entity:         (ffffffff) se=0xc0 vruntime=18446744073708503040 deadline=700000 vlag=0 slice=1400000 weight=1048576 flags=10
       p-100 0d..2.  1.001110000: place_entity:         (ffffffff) se=0x90 vruntime=0 deadline=1751423 vlag=0 slice=1400000 weight=524288 flags=1
       p-100 0d..2.  1.001120000: sched_migrate_task:   comm=c pid=101 prio=120 orig_cpu=1 dest_cpu=2
       p-100 0d..2.  1.001130000: place_entity:         (ffffffff) se=0xc0 vruntime=18446744073708503040 deadline=700000 vlag=0 slice=1400000 weight=1048576 flags=64
       p-100 0d..2.  1.001140000: place_entity:         (ffffffff) se=0xa0 vruntime=0 deadline=0 vlag=0 slice=1400000 weight=524288 flags=1
  <idle>-0   2d..2.  1.001200000: set_next_entity:      (ffffffff) se=0xc0 vruntime=18446744073708503040 deadline=18446744073709203040 vlag=0
  <idle>-0   2d..2.  1.001210000: set_next_entity:      (ffffffff) se=0xa0 vruntime=18446744073708503040 deadline=1751423 vlag=0
  <idle>-0   2d..2.  1.001220000: sched_switch:         swapper/2:0 [120] R ==> c:101 [120]
";

/// One CPU of 6.12. `a` makes itself a real-time task while `b` waits.
const LEAVES_THE_FAIR_CLASS: &str = "\
cpus=1
      sh-91  0dN.2.  1.000000000: sched_wakeup:         a:100 [120] CPU:000
      sh-91  0dN.2.  1.000010000: sched_wakeup:         b:101 [120] CPU:000
      sh-91  0d..2.  1.000200000: sched_switch:         sh:91 [120] S ==> a:100 [120]
       a-100 0d..2.  1.001000000: sched_stat_runtime:   comm=a pid=100 runtime=800000 [ns]
       a-100 0d..2.  1.001010000: put_prev_entity:      (ffffffff) se=0xa0 vruntime=800000 deadline=600000
       a-100 0d..2.  1.001100000: sched_stat_runtime:   comm=a pid=100 runtime=100000 [ns]
       a-100 0d..2.  1.001110000: sched_switch:         a:100 [98] S ==> b:101 [120]
";

/// One CPU of 6.12. `a` makes itself a real-time task and then an ordinary one again.
const COMES_BACK: &str = "\
cpus=1
      sh-91  0dN.2.  1.000000000: sched_wakeup:         a:100 [120] CPU:000
      sh-91  0d..2.  1.000190000: set_next_entity:      (ffffffff) se=0xa0 vruntime=0 deadline=700000 vlag=0
      sh-91  0d..2.  1.000200000: sched_switch:         sh:91 [120] S ==> a:100 [120]
       a-100 0d..2.  1.001000000: sched_stat_runtime:   comm=a pid=100 runtime=800000 [ns]
       a-100 0d..2.  1.001010000: put_prev_entity:      (ffffffff) se=0xa0 vruntime=800000 deadline=700000
       a-100 0d..2.  1.001200000: sched_stat_runtime:   comm=a pid=100 runtime=200000 [ns]
       a-100 0d..3.  1.001210000: place_avg:            (ffffffff) se=0xa0 avg_vruntime=0 avg_load=0
       a-100 0d..3.  1.001220000: place_entity:         (ffffffff) se=0xa0 vruntime=800000 deadline=700000 vlag=0 slice=700000 weight=1048576 flags=26
       a-100 0d..2.  1.001230000: set_next_entity:      (ffffffff) se=0xa0 vruntime=800000 deadline=1500000 vlag=0
       a-100 0d..2.  1.001300000: sched_stat_runtime:   comm=a pid=100 runtime=100000 [ns]
       a-100 0d..2.  1.001310000: put_prev_entity:      (ffffffff) se=0xa0 vruntime=900000 deadline=1500000
       a-100 0d..2.  1.001320000: sched_switch:         a:100 [120] S ==> swapper/0:0 [120]
";

/// What a report says of a change that was not followed.
const NOT_MADE: &str = "probes of calls that ours did not make";

#[test]
fn the_charge_of_a_task_that_leaves_the_fair_class_asks_for_no_reschedule() {
    let report = report_on("leaves_fair.txt", LEAVES_THE_FAIR_CLASS, Release::V6_12);
    let asked = report.scores.get(&Measure::Preemption);
    assert_eq!(asked.map_or(0, |score| score.count.decisions), 0);
    assert_eq!(report.mended.get(NOT_MADE), None);
}

#[test]
fn what_a_task_runs_in_another_class_is_not_charged_to_it_in_its_own() {
    let report = report_on("comes_back.txt", COMES_BACK, Release::V6_12);
    assert_eq!(report.mended.get(NOT_MADE), None);
    let state = report.scores[&Measure::State].count;
    assert_ne!(state.decisions, 0);
    assert_eq!(state.agree, state.decisions, "{:?}", report.disagreements);
}

#[test]
fn a_group_is_put_back_with_its_only_task() {
    let report = report_on("requeues.txt", BOUND_BEFORE_IT_RUNS, Release::V6_12);
    assert_eq!(report.mended.get(NOT_MADE), None);
    let state = report.scores[&Measure::State].count;
    assert_eq!(
        (state.decisions, state.agree),
        (4, 4),
        "{:?}",
        report.disagreements
    );
}
