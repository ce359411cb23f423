//! What the kernel's own concurrency decides is told apart from what is wrong, by the trace.

mod text;

use fairwind_check::{Class, Measure};
use fairwind_sched::Release;
use text::report_on;

/// Two CPUs of 6.1. `w` sleeps on CPU 0 with a virtual runtime 1.5 ms below that of its queue, and is woken by CPU 1, where it
/// is placed 1.5 ms below 5.00451 s and runs for 1 ms. While it is moved, CPU 0 charges 1.01 ms to its queue.
fn moved_while_charged(vruntime: u64) -> Vec<Class> {
    let text = format!(
        "\
cpus=2
  w-300  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> w:300 [120]
  b-200  1d..2.  1.000500000: sched_switch:       swapper/1:0 [120] R ==> b:200 [120]
  w-300  0d..2.  1.001000000: sched_stat_runtime: comm=w pid=300 runtime=1000000 [ns] vruntime=1000000000 [ns]
  w-300  0d..2.  1.001010000: sched_switch:       w:300 [120] R ==> a:100 [120]
  b-200  1d.h1.  1.001500000: sched_stat_runtime: comm=b pid=200 runtime=1000000 [ns] vruntime=5000000000 [ns]
  a-100  0d.h1.  1.002000000: sched_stat_runtime: comm=a pid=100 runtime=1000000 [ns] vruntime=1000500000 [ns]
  a-100  0d..2.  1.002010000: sched_switch:       a:100 [120] R ==> w:300 [120]
  w-300  0d..2.  1.003000000: sched_stat_runtime: comm=w pid=300 runtime=1000000 [ns] vruntime=1001000000 [ns]
  w-300  0d..2.  1.003010000: sched_switch:       w:300 [120] S ==> a:100 [120]
  a-100  0d.h1.  1.005000000: sched_stat_runtime: comm=a pid=100 runtime=2000000 [ns] vruntime=1002500000 [ns]
  b-200  1d.h1.  1.005500000: sched_stat_runtime: comm=b pid=200 runtime=4000000 [ns] vruntime=5004000000 [ns]
  b-200  1d..2.  1.006000000: sched_waking:       comm=w pid=300 prio=120 target_cpu=000
  b-200  1d..2.  1.006010000: sched_migrate_task: comm=w pid=300 prio=120 orig_cpu=0 dest_cpu=1
  a-100  0d.h1.  1.006015000: sched_stat_runtime: comm=a pid=100 runtime=1010000 [ns] vruntime=1003510000 [ns]
  b-200  1d..2.  1.006020000: sched_stat_runtime: comm=b pid=200 runtime=510000 [ns] vruntime=5004510000 [ns]
  b-200  1dN.2.  1.006030000: sched_wakeup:       w:300 [120] CPU:001
  b-200  1d..2.  1.006040000: sched_switch:       b:200 [120] R ==> w:300 [120]
  w-300  1d..2.  1.007000000: sched_stat_runtime: comm=w pid=300 runtime=1000000 [ns] vruntime={vruntime} [ns]
  w-300  1d..2.  1.007010000: sched_switch:       w:300 [120] S ==> b:200 [120]
"
    );
    let report = report_on(&format!("races-{vruntime}.txt"), &text, Release::V6_1);
    let states = report.disagreements.iter();
    let states = states.filter(|d| d.measure == Measure::State);
    states.map(|d| d.class).collect()
}

#[test]
fn a_queue_charged_while_a_task_is_taken_off_it_is_a_race() {
    let ours = 5_004_510_000 - 1_500_000 + 1_000_000;
    assert_eq!(moved_while_charged(ours), []);
    // The charge came first, whole or in part: the leftmost of the queue may bound what it moves.
    assert_eq!(moved_while_charged(ours - 1_010_000), [Class::Race]);
    assert_eq!(moved_while_charged(ours - 500_000), [Class::Race]);
    assert_eq!(moved_while_charged(ours - 1_010_001), [Class::Ours]);
    assert_eq!(moved_while_charged(ours + 1), [Class::Ours]);
}

/// Two CPUs of 6.1. `s` is woken while it is about to stop, and queued once it has.
#[test]
fn who_is_woken_as_it_stops_is_queued() {
    let text = "\
cpus=2
  s-100   0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> s:100 [120]
  w-200   1d..2.  1.000100000: sched_switch:       swapper/1:0 [120] R ==> w:200 [120]
  s-100   0d..2.  1.001000000: sched_stat_runtime: comm=s pid=100 runtime=1000000 [ns] vruntime=1000000000 [ns]
  w-200   1d..3.  1.001005000: sched_waking:       comm=s pid=100 prio=120 target_cpu=000
  s-100   0d..2.  1.001010000: sched_switch:       s:100 [120] T ==> swapper/0:0 [120]
  <idle>-0 0dN.3. 1.001050000: sched_wakeup:       s:100 [120] CPU:000
  <idle>-0 0d..2. 1.001100000: sched_switch:       swapper/0:0 [120] R ==> s:100 [120]
  w-200   1d.h1.  1.001500000: sched_stat_runtime: comm=w pid=200 runtime=1400000 [ns] vruntime=5000000000 [ns]
  s-100   0d.h1.  1.002000000: sched_stat_runtime: comm=s pid=100 runtime=900000 [ns] vruntime=1000900000 [ns]
";
    let table = report_on("stopping.txt", text, Release::V6_1).table();
    // Both were running when the recording began.
    assert!(
        table.contains("2 next tasks that were not queued"),
        "{table}"
    );
}

/// Two CPUs of 6.12. `p` forks `c` on CPU 0. Before that wakes it, CPU 1 goes idle and then an interrupt comes: the CPU is chosen
/// with interrupts off, and so after that.
#[test]
fn a_new_task_gets_its_cpu_after_the_last_interrupt_before_it_is_woken() {
    let text = "\
cpus=2
  p-100  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> p:100 [120]
  b-200  1d..2.  1.000500000: sched_switch:       swapper/1:0 [120] R ==> b:200 [120]
  p-100  0.....  1.010000000: sched_process_fork: comm=p pid=100 child_comm=p child_pid=300
  b-200  1d..2.  1.012000000: sched_switch:       b:200 [120] S ==> swapper/1:0 [120]
  p-100  0d.h..  1.013000000: local_timer_entry:  vector=236
  p-100  0d..1.  1.014000000: sched_wakeup_new:   p:300 [120] CPU:001
  <idle>-0  1d..2.  1.014100000: sched_switch:       swapper/1:0 [120] R ==> p:300 [120]
";
    let report = report_on("races-fork.txt", text, Release::V6_12);
    let placement = report.scores[&Measure::Placement].count;
    assert_eq!((placement.decisions, placement.agree), (1, 1));
}

/// One CPU of 6.12. `a` yields, and a timer interrupt that finds preemption enabled comes so long after that; what it asks for has
/// it switched away from. How many picks are there?
fn picks_of_yield(after_us: u32) -> u64 {
    let (timer, charge, switch) = (after_us + 1340, after_us + 1350, after_us + 1370);
    let ran = after_us * 1000 + 10_000;
    let text = format!(
        "\
cpus=1
  b-200  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> b:200 [120]
  b-200  0d.h2.  1.001000000: sched_waking:       comm=a pid=100 prio=120 target_cpu=000
  b-200  0d.h2.  1.001010000: sched_stat_runtime: comm=b pid=200 runtime=1000000 [ns]
  b-200  0dNh2.  1.001020000: sched_wakeup:       a:100 [120] CPU:000
  b-200  0d..2.  1.001040000: sched_switch:       b:200 [120] R ==> a:100 [120]
  a-100  0d..1.  1.001340000: sched_stat_runtime: comm=a pid=100 runtime=300000 [ns]
  a-100  0d.h..  1.{timer:06}000: local_timer_entry:  vector=236
  a-100  0dNh1.  1.{charge:06}000: sched_stat_runtime: comm=a pid=100 runtime={ran} [ns]
  a-100  0d..2.  1.{switch:06}000: sched_switch:       a:100 [120] R ==> b:200 [120]
"
    );
    let report = report_on(
        &format!("races-yield-{after_us}.txt"),
        &text,
        Release::V6_12,
    );
    let picks = &report.scores[&Measure::Pick];
    picks.count.decisions + picks.not_asked
}

#[test]
fn a_switch_long_after_a_yield_is_what_an_interrupt_asks_for() {
    // The yield went on with who ran, which is a pick, too.
    assert_eq!(picks_of_yield(5000), picks_of_yield(100) + 1);
}

/// Three CPUs of 6.1. CPU 2 has three tasks. In the softirq after its tick, CPU 0, which idles, pulls `f` from CPU 1, which has
/// only one that runs beside it. It has had four for a moment: when?
fn pulled_from_where_fewer_wait(before_tick: bool) -> Vec<Class> {
    let tick = "  <idle>-0   0d.h1.  1.010000000: local_timer_entry:  vector=236\n";
    let crowd = "\
  a-100  1d.h2.  1.010100000: sched_waking:       comm=e pid=102 prio=120 target_cpu=001
  a-100  1d.h3.  1.010110000: sched_wakeup:       e:102 [120] CPU:001
  a-100  1d.h2.  1.010120000: sched_waking:       comm=f pid=103 prio=120 target_cpu=001
  a-100  1d.h3.  1.010130000: sched_wakeup:       f:103 [120] CPU:001
  a-100  1d..2.  1.010140000: sched_stat_runtime: comm=a pid=100 runtime=4140000 [ns] vruntime=1005140000 [ns]
  a-100  1d..2.  1.010150000: sched_switch:       a:100 [120] S ==> c:101 [120]
  c-101  1d..2.  1.010160000: sched_stat_runtime: comm=c pid=101 runtime=20000 [ns] vruntime=1001020000 [ns]
  c-101  1d..2.  1.010170000: sched_switch:       c:101 [120] S ==> e:102 [120]
";
    let [first, second] = if before_tick {
        [crowd.replace("1.0101", "1.0091"), tick.to_owned()]
    } else {
        [tick.to_owned(), crowd.to_owned()]
    };
    let text = format!(
        "\
cpus=3
  i-90   0d..2.  1.000000000: sched_switch:       i:90 [120] S ==> swapper/0:0 [120]
  a-100  1d..2.  1.000000001: sched_switch:       swapper/1:0 [120] R ==> a:100 [120]
  b-200  2d..2.  1.000000002: sched_switch:       swapper/2:0 [120] R ==> b:200 [120]
  a-100  1d.h2.  1.001000000: sched_waking:       comm=c pid=101 prio=120 target_cpu=001
  a-100  1d.h3.  1.001010000: sched_wakeup:       c:101 [120] CPU:001
  b-200  2d.h2.  1.001020000: sched_waking:       comm=d pid=201 prio=120 target_cpu=002
  b-200  2d.h3.  1.001030000: sched_wakeup:       d:201 [120] CPU:002
  b-200  2d.h2.  1.001040000: sched_waking:       comm=g pid=202 prio=120 target_cpu=002
  b-200  2d.h3.  1.001050000: sched_wakeup:       g:202 [120] CPU:002
{first}{second}  <idle>-0   0d.s2.  1.010300000: sched_stat_runtime: comm=e pid=102 runtime=130000 [ns] vruntime=1001130000 [ns]
  <idle>-0   0d.s2.  1.010310000: sched_migrate_task: comm=f pid=103 prio=120 orig_cpu=1 dest_cpu=0
  f-103  0d..2.  1.010330000: sched_switch:       swapper/0:0 [120] R ==> f:103 [120]
"
    );
    let name = format!("pulled-{before_tick}.txt");
    let report = report_on(&name, &text, Release::V6_1);
    let moves = report.disagreements.iter();
    let moves = moves.filter(|d| d.measure == Measure::Balance);
    moves.map(|d| d.class).collect()
}

#[test]
fn a_pass_that_looked_while_more_were_there_is_a_race() {
    let looked_since = pulled_from_where_fewer_wait(false);
    assert!(!looked_since.is_empty());
    assert!(
        looked_since.iter().all(|class| *class == Class::Race),
        "{looked_since:?}"
    );
    let looked_before = pulled_from_where_fewer_wait(true);
    assert!(looked_before.contains(&Class::Ours), "{looked_before:?}");
}
