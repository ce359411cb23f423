//! A child begins where its parent was when it was forked, which may be some time before that is recorded.

mod text;

use fairwind_check::Measure;
use fairwind_sched::Release;
use text::report_on;

/// One CPU of 6.1. `p` forks a child while `w` waits at 1.0005 s of virtual time, and a tick charges it 4 ms before that is
/// recorded. When `w` is at 1.0035 s the child is picked: which of the picks asked about differ, by their time.
fn picks_that_differ(name: &str, charges: &str) -> Vec<u64> {
    let text = format!(
        "\
cpus=1
  p-100  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> p:100 [120]
  p-100  0d.h1.  1.001000000: sched_stat_runtime: comm=p pid=100 runtime=1000000 [ns] vruntime=1000000000 [ns]
  p-100  0d..2.  1.001010000: sched_switch:       p:100 [120] R ==> w:200 [120]
  w-200  0d.h1.  1.002000000: sched_stat_runtime: comm=w pid=200 runtime=1000000 [ns] vruntime=1000500000 [ns]
  w-200  0d..2.  1.002010000: sched_switch:       w:200 [120] R ==> p:100 [120]
{charges}  p-100  0.N...  1.006400000: sched_process_fork: comm=p pid=100 child_comm=p child_pid=300
  p-100  0dN.2.  1.006500000: sched_stat_runtime: comm=p pid=100 runtime=300000 [ns] vruntime=1004500000 [ns]
  p-100  0dN.2.  1.006510000: sched_wakeup_new:   p:300 [120] CPU:000
  p-100  0dN.2.  1.006600000: sched_stat_runtime: comm=p pid=100 runtime=100000 [ns] vruntime=1004600000 [ns]
  p-100  0d..2.  1.006610000: sched_switch:       p:100 [120] R ==> w:200 [120]
  w-200  0d.h1.  1.009600000: sched_stat_runtime: comm=w pid=200 runtime=3000000 [ns] vruntime=1003500000 [ns]
  w-200  0d..2.  1.009610000: sched_switch:       w:200 [120] R ==> p:300 [120]
"
    );
    let report = report_on(name, &text, Release::V6_1);
    let picks = report.disagreements.iter();
    let picks = picks.filter(|d| d.measure == Measure::Pick);
    picks.map(|d| d.ts).collect()
}

#[test]
fn a_child_begins_where_its_parent_was_before_the_tick() {
    // Forked at 1.0002 s the child waits at 1.0025 s: a slice behind the queue, which is where `w` is.
    let forked_before = "  \
  p-100  0d..2.  1.002200000: sched_stat_runtime: comm=p pid=100 runtime=200000 [ns] vruntime=1000200000 [ns]
  p-100  0d.h..  1.006190000: local_timer_entry:  vector=236
  p-100  0d.h1.  1.006200000: sched_stat_runtime: comm=p pid=100 runtime=4000000 [ns] vruntime=1004200000 [ns]
";
    assert_eq!(picks_that_differ("before.txt", forked_before), []);
    // After the tick it would wait at 1.0042 s, and `w` would run on.
    let forked_after = "  \
  p-100  0d.h..  1.006190000: local_timer_entry:  vector=236
  p-100  0d.h1.  1.006200000: sched_stat_runtime: comm=p pid=100 runtime=4200000 [ns] vruntime=1004200000 [ns]
";
    assert_eq!(
        picks_that_differ("after.txt", forked_after),
        [1_009_610_000]
    );
}
