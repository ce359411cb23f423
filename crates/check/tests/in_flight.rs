//! When tasks that stoppers move are on their queues.

mod text;

use fairwind_check::Measure;
use fairwind_sched::Release;
use text::report_on;

/// Two CPUs of 6.1. CPU 0's stopper moves `h`, which CPU 1 runs before the stopper's next record, though it cannot be queued there
/// yet: records were lost. Then CPU 1 runs out of tasks.
#[test]
fn a_task_in_flight_that_runs_already_is_not_queued_twice() {
    let text = "\
cpus=2
  h-100  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> h:100 [120]
  b-200  1d..2.  1.000500000: sched_switch:       swapper/1:0 [120] R ==> b:200 [120]
  h-100  0d..2.  1.001000000: sched_waking:       comm=migration/0 pid=15 prio=0 target_cpu=000
  h-100  0dN.2.  1.001010000: sched_wakeup:       migration/0:15 [0] CPU:000
  h-100  0d..2.  1.001020000: sched_stat_runtime: comm=h pid=100 runtime=1020000 [ns] vruntime=1000000000 [ns]
  h-100  0d..2.  1.001030000: sched_switch:       h:100 [120] R ==> migration/0:15 [0]
  m-15   0d..2.  1.001040000: sched_migrate_task: comm=h pid=100 prio=120 orig_cpu=0 dest_cpu=1
  b-200  1d..2.  1.001050000: sched_stat_runtime: comm=b pid=200 runtime=550000 [ns] vruntime=5000000000 [ns]
  b-200  1d..2.  1.001060000: sched_switch:       b:200 [120] S ==> h:100 [120]
  m-15   0d..2.  1.001070000: sched_stat_runtime: comm=h pid=100 runtime=20000 [ns] vruntime=4999000000 [ns]
  m-15   0d..2.  1.001080000: sched_switch:       migration/0:15 [0] S ==> swapper/0:0 [120]
  h-100  1d..2.  1.002000000: sched_stat_runtime: comm=h pid=100 runtime=930000 [ns] vruntime=5000000000 [ns]
  h-100  1d..2.  1.002010000: sched_switch:       h:100 [120] S ==> swapper/1:0 [120]
";
    assert_eq!(report_on("in-flight.txt", text, Release::V6_1).events, 13);
}

/// Two CPUs of 6.1. CPU 1's stopper moves `h` to CPU 0, which goes idle after that: `h` is not there yet. Until it comes, `a` and
/// `b` are picked in turn, though it would come before them.
#[test]
fn who_is_in_flight_while_its_cpu_goes_idle_is_not_picked() {
    let text = "\
cpus=2
  a-100   0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> a:100 [120]
  h-300   1d..2.  1.000100000: sched_switch:       swapper/1:0 [120] R ==> h:300 [120]
  a-100   0d.h1.  1.000500000: sched_stat_runtime: comm=a pid=100 runtime=500000 [ns] vruntime=1000000000 [ns]
  a-100   0d..2.  1.000510000: sched_switch:       a:100 [120] R ==> b:200 [120]
  b-200   0d.h1.  1.000900000: sched_stat_runtime: comm=b pid=200 runtime=390000 [ns] vruntime=1000100000 [ns]
  b-200   0d..2.  1.000910000: sched_switch:       b:200 [120] R ==> a:100 [120]
  h-300   1d..2.  1.001000000: sched_waking:       comm=migration/1 pid=15 prio=0 target_cpu=001
  h-300   1dN.2.  1.001010000: sched_wakeup:       migration/1:15 [0] CPU:001
  h-300   1d..2.  1.001020000: sched_stat_runtime: comm=h pid=300 runtime=920000 [ns] vruntime=5000000000 [ns]
  h-300   1d..2.  1.001030000: sched_switch:       h:300 [120] R ==> migration/1:15 [0]
  m-15    1d..2.  1.001040000: sched_migrate_task: comm=h pid=300 prio=120 orig_cpu=1 dest_cpu=0
  a-100   0d..2.  1.001100000: sched_stat_runtime: comm=a pid=100 runtime=190000 [ns] vruntime=1000190000 [ns]
  a-100   0d..2.  1.001110000: sched_switch:       a:100 [120] S ==> b:200 [120]
  b-200   0d..2.  1.001300000: sched_stat_runtime: comm=b pid=200 runtime=190000 [ns] vruntime=1000290000 [ns]
  b-200   0d..2.  1.001310000: sched_switch:       b:200 [120] S ==> swapper/0:0 [120]
  <idle>-0 0d.h3. 1.003000000: sched_waking:       comm=a pid=100 prio=120 target_cpu=000
  <idle>-0 0dNh3. 1.003010000: sched_wakeup:       a:100 [120] CPU:000
  <idle>-0 0dNh3. 1.003020000: sched_waking:       comm=b pid=200 prio=120 target_cpu=000
  <idle>-0 0dNh3. 1.003030000: sched_wakeup:       b:200 [120] CPU:000
  <idle>-0 0d..2. 1.003040000: sched_switch:       swapper/0:0 [120] R ==> a:100 [120]
  a-100   0d.h1.  1.005000000: sched_stat_runtime: comm=a pid=100 runtime=1970000 [ns] vruntime=1002160000 [ns]
  a-100   0d..2.  1.005010000: sched_switch:       a:100 [120] R ==> b:200 [120]
  b-200   0d.h1.  1.009000000: sched_stat_runtime: comm=b pid=200 runtime=3990000 [ns] vruntime=1004280000 [ns]
  b-200   0d..2.  1.009010000: sched_switch:       b:200 [120] R ==> a:100 [120]
  a-100   0d..2.  1.010000000: sched_stat_runtime: comm=a pid=100 runtime=990000 [ns] vruntime=1003150000 [ns]
  a-100   0d..2.  1.010010000: sched_switch:       a:100 [120] S ==> b:200 [120]
  b-200   0d..2.  1.010500000: sched_stat_runtime: comm=b pid=200 runtime=490000 [ns] vruntime=1004770000 [ns]
  b-200   0d..2.  1.010510000: sched_switch:       b:200 [120] S ==> swapper/0:0 [120]
  <idle>-0 0d..2. 1.012000000: sched_switch:       swapper/0:0 [120] R ==> h:300 [120]
  m-15    1d..2.  1.012010000: sched_switch:       migration/1:15 [0] S ==> swapper/1:0 [120]
  h-300   0d.h1.  1.013000000: sched_stat_runtime: comm=h pid=300 runtime=1000000 [ns] vruntime=1005280000 [ns]
";
    let report = report_on("idle-flight.txt", text, Release::V6_1);
    let picks = report.scores[&Measure::Pick].count;
    assert!(picks.decisions >= 2, "{}", report.table());
    assert_eq!(picks.agree, picks.decisions, "{}", report.table());
}

/// How far ours is off from what records of one of 6.1 show.
fn states_off(name: &str, text: &str) -> Vec<String> {
    let report = report_on(name, text, Release::V6_1);
    let states = report.disagreements.iter();
    let states = states.filter(|d| d.measure == Measure::State);
    states.map(|d| d.text.clone()).collect()
}

/// Two CPUs of 6.1. CPU 1's stopper moves `h` to CPU 0 while `a` runs there, and does not charge it: `h` comes when `a` does not
/// run, for CPU 0's own stopper does.
#[test]
fn who_comes_without_a_charge_comes_while_nobody_runs() {
    let text = "\
cpus=2
  a-100  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> a:100 [120]
  h-300  1d..2.  1.000100000: sched_switch:       swapper/1:0 [120] R ==> h:300 [120]
  a-100  0d.h1.  1.000500000: sched_stat_runtime: comm=a pid=100 runtime=500000 [ns] vruntime=1000000000 [ns]
  h-300  1d..2.  1.001000000: sched_waking:       comm=migration/1 pid=15 prio=0 target_cpu=001
  h-300  1dN.2.  1.001010000: sched_wakeup:       migration/1:15 [0] CPU:001
  h-300  1d..2.  1.001020000: sched_stat_runtime: comm=h pid=300 runtime=920000 [ns] vruntime=5000000000 [ns]
  h-300  1d..2.  1.001030000: sched_switch:       h:300 [120] R ==> migration/1:15 [0]
  m-15   1d..2.  1.001040000: sched_migrate_task: comm=h pid=300 prio=120 orig_cpu=1 dest_cpu=0
  a-100  0d.h1.  1.004500000: sched_stat_runtime: comm=a pid=100 runtime=4000000 [ns] vruntime=1004000000 [ns]
  a-100  0d..2.  1.005000000: sched_waking:       comm=migration/0 pid=16 prio=0 target_cpu=000
  a-100  0dN.2.  1.005010000: sched_wakeup:       migration/0:16 [0] CPU:000
  a-100  0d..2.  1.005520000: sched_stat_runtime: comm=a pid=100 runtime=1020000 [ns] vruntime=1005020000 [ns]
  a-100  0d..2.  1.005530000: sched_switch:       a:100 [120] R ==> migration/0:16 [0]
  m-16   0d..2.  1.006000000: sched_switch:       migration/0:16 [0] S ==> h:300 [120]
  m-15   1d..2.  1.006010000: sched_switch:       migration/1:15 [0] S ==> swapper/1:0 [120]
  h-300  0d.h1.  1.007000000: sched_stat_runtime: comm=h pid=300 runtime=1000000 [ns] vruntime=1006020000 [ns]
  h-300  0d..2.  1.007010000: sched_switch:       h:300 [120] R ==> a:100 [120]
";
    assert_eq!(states_off("in-flight-unnoticed.txt", text), [""; 0]);
}

/// Two CPUs of 6.1. `a` leaves its queue to sleep, and its CPU looks for others for long. Meanwhile CPU 1's stopper brings `h`.
#[test]
fn who_comes_while_a_sleeper_leaves_was_elsewhere_before() {
    let text = "\
cpus=2
  a-100  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> a:100 [120]
  h-300  1d..2.  1.000100000: sched_switch:       swapper/1:0 [120] R ==> h:300 [120]
  a-100  0d..2.  1.002000000: sched_stat_runtime: comm=a pid=100 runtime=2000000 [ns] vruntime=1002000000 [ns]
  h-300  1d..2.  1.003000000: sched_waking:       comm=migration/1 pid=15 prio=0 target_cpu=001
  h-300  1dN.2.  1.003010000: sched_wakeup:       migration/1:15 [0] CPU:001
  h-300  1d..2.  1.003020000: sched_stat_runtime: comm=h pid=300 runtime=2920000 [ns] vruntime=5000000000 [ns]
  h-300  1d..2.  1.003030000: sched_switch:       h:300 [120] R ==> migration/1:15 [0]
  m-15   1d..2.  1.003040000: sched_migrate_task: comm=h pid=300 prio=120 orig_cpu=1 dest_cpu=0
  m-15   1d..2.  1.003050000: sched_stat_runtime: comm=a pid=100 runtime=1040000 [ns] vruntime=1003040000 [ns]
  m-15   1d..2.  1.003060000: sched_switch:       migration/1:15 [0] S ==> swapper/1:0 [120]
  a-100  0d..2.  1.004000000: sched_switch:       a:100 [120] S ==> h:300 [120]
  h-300  0d.h1.  1.005000000: sched_stat_runtime: comm=h pid=300 runtime=1000000 [ns] vruntime=1003000000 [ns]
  h-300  0d..2.  1.005010000: sched_switch:       h:300 [120] S ==> swapper/0:0 [120]
";
    assert_eq!(states_off("leaves-for-long.txt", text), [""; 0]);
}

/// Two CPUs of 6.1. CPU 1's stopper moves `h` to CPU 0, whose own stopper is the first to lock its queue, and which then runs out of
/// tasks: `h` comes after that.
#[test]
fn who_waits_for_a_lock_may_come_long_after_it_was_given_up() {
    let text = "\
cpus=2
  a-100  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> a:100 [120]
  h-300  1d..2.  1.000100000: sched_switch:       swapper/1:0 [120] R ==> h:300 [120]
  a-100  0d..2.  1.000500000: sched_stat_runtime: comm=a pid=100 runtime=500000 [ns] vruntime=1000000000 [ns]
  a-100  0d..2.  1.000510000: sched_switch:       a:100 [120] R ==> b:200 [120]
  b-200  0d..2.  1.000900000: sched_stat_runtime: comm=b pid=200 runtime=390000 [ns] vruntime=1000100000 [ns]
  b-200  0d..2.  1.000910000: sched_switch:       b:200 [120] R ==> a:100 [120]
  a-100  0d..2.  1.001000000: sched_waking:       comm=migration/0 pid=16 prio=0 target_cpu=000
  a-100  0dN.2.  1.001010000: sched_wakeup:       migration/0:16 [0] CPU:000
  a-100  0d..2.  1.001020000: sched_stat_runtime: comm=a pid=100 runtime=120000 [ns] vruntime=1000120000 [ns]
  a-100  0d..2.  1.001030000: sched_switch:       a:100 [120] R ==> migration/0:16 [0]
  h-300  1d..2.  1.001100000: sched_waking:       comm=migration/1 pid=15 prio=0 target_cpu=001
  h-300  1dN.2.  1.001110000: sched_wakeup:       migration/1:15 [0] CPU:001
  h-300  1d..2.  1.001120000: sched_stat_runtime: comm=h pid=300 runtime=1020000 [ns] vruntime=5000000000 [ns]
  h-300  1d..2.  1.001130000: sched_switch:       h:300 [120] R ==> migration/1:15 [0]
  m-15   1d..2.  1.001140000: sched_migrate_task: comm=h pid=300 prio=120 orig_cpu=1 dest_cpu=0
  m-16   0d..2.  1.001150000: sched_migrate_task: comm=a pid=100 prio=120 orig_cpu=0 dest_cpu=1
  m-16   0d..2.  1.001170000: sched_switch:       migration/0:16 [0] S ==> b:200 [120]
  b-200  0d..2.  1.001300000: sched_stat_runtime: comm=b pid=200 runtime=130000 [ns] vruntime=1000230000 [ns]
  b-200  0d..2.  1.001310000: sched_switch:       b:200 [120] S ==> swapper/0:0 [120]
  <idle>-0 0d..2. 1.012000000: sched_switch:      swapper/0:0 [120] R ==> h:300 [120]
  m-15   1d..2.  1.012010000: sched_switch:       migration/1:15 [0] S ==> a:100 [120]
  h-300  0d.h1.  1.013000000: sched_stat_runtime: comm=h pid=300 runtime=1000000 [ns] vruntime=1001230000 [ns]
  h-300  0d..2.  1.013010000: sched_switch:       h:300 [120] S ==> swapper/0:0 [120]
";
    assert_eq!(states_off("waits-for-lock.txt", text), [""; 0]);
}

/// Two CPUs of 6.1. CPU 1's stopper moves `h` to CPU 0 while that one's own stopper runs. Had it come at once, it would run before `a`
/// does: it comes when CPU 0's stopper runs again.
#[test]
fn who_would_have_been_picked_has_not_come() {
    let text = "\
cpus=2
  a-100  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> a:100 [120]
  h-300  1d..2.  1.000100000: sched_switch:       swapper/1:0 [120] R ==> h:300 [120]
  h-300  1d..2.  1.000300000: sched_stat_runtime: comm=h pid=300 runtime=200000 [ns] vruntime=5000000000 [ns]
  h-300  1d..2.  1.000310000: sched_switch:       h:300 [120] S ==> k:400 [120]
  k-400  1d.h1.  1.010300000: sched_stat_runtime: comm=k pid=400 runtime=9990000 [ns] vruntime=5010000000 [ns]
  k-400  1d.h2.  1.010400000: sched_waking:       comm=h pid=300 prio=120 target_cpu=001
  k-400  1d.h2.  1.010410000: sched_stat_runtime: comm=k pid=400 runtime=100000 [ns] vruntime=5010100000 [ns]
  k-400  1dNh3.  1.010420000: sched_wakeup:       h:300 [120] CPU:001
  k-400  1d..2.  1.010430000: sched_switch:       k:400 [120] R ==> h:300 [120]
  a-100  0d..2.  1.010900000: sched_waking:       comm=migration/0 pid=16 prio=0 target_cpu=000
  a-100  0dN.2.  1.010910000: sched_wakeup:       migration/0:16 [0] CPU:000
  a-100  0d..2.  1.010920000: sched_stat_runtime: comm=a pid=100 runtime=10920000 [ns] vruntime=1010920000 [ns]
  a-100  0d..2.  1.010930000: sched_switch:       a:100 [120] R ==> migration/0:16 [0]
  h-300  1d..2.  1.011000000: sched_waking:       comm=migration/1 pid=15 prio=0 target_cpu=001
  h-300  1dN.2.  1.011010000: sched_wakeup:       migration/1:15 [0] CPU:001
  h-300  1d..2.  1.011020000: sched_stat_runtime: comm=h pid=300 runtime=590000 [ns] vruntime=5004690000 [ns]
  h-300  1d..2.  1.011030000: sched_switch:       h:300 [120] R ==> migration/1:15 [0]
  m-15   1d..2.  1.011040000: sched_migrate_task: comm=h pid=300 prio=120 orig_cpu=1 dest_cpu=0
  m-16   0d..2.  1.012000000: sched_switch:       migration/0:16 [0] S ==> a:100 [120]
  a-100  0d..2.  1.013000000: sched_waking:       comm=migration/0 pid=16 prio=0 target_cpu=000
  a-100  0dN.2.  1.013010000: sched_wakeup:       migration/0:16 [0] CPU:000
  a-100  0d..2.  1.013020000: sched_stat_runtime: comm=a pid=100 runtime=1020000 [ns] vruntime=1011940000 [ns]
  a-100  0d..2.  1.013030000: sched_switch:       a:100 [120] R ==> migration/0:16 [0]
  m-16   0d..2.  1.014000000: sched_switch:       migration/0:16 [0] S ==> h:300 [120]
  m-15   1d..2.  1.014010000: sched_switch:       migration/1:15 [0] S ==> k:400 [120]
  h-300  0d.h1.  1.015000000: sched_stat_runtime: comm=h pid=300 runtime=1000000 [ns] vruntime=1007530000 [ns]
  h-300  0d..2.  1.015010000: sched_switch:       h:300 [120] R ==> a:100 [120]
";
    assert_eq!(states_off("not-come-yet.txt", text), [""; 0]);
}

/// Two CPUs of 6.1. CPU 1's stopper moves `h` to CPU 0, whose own stopper takes `a` off at that time. It took CPU 0's stopper 38 µs to
/// switch once it had queued `x`: CPU 1's has queued `h` before `a` was off, for 10 µs after that it switches.
#[test]
fn who_switches_too_soon_has_not_waited_for_a_lock() {
    let text = "\
cpus=2
  x-500  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> x:500 [120]
  h-300  1d..2.  1.000100000: sched_switch:       swapper/1:0 [120] R ==> h:300 [120]
  x-500  0d..2.  1.000200000: sched_waking:       comm=migration/0 pid=16 prio=0 target_cpu=000
  x-500  0dN.2.  1.000210000: sched_wakeup:       migration/0:16 [0] CPU:000
  x-500  0d..2.  1.000220000: sched_stat_runtime: comm=x pid=500 runtime=220000 [ns] vruntime=1000000000 [ns]
  x-500  0d..2.  1.000230000: sched_switch:       x:500 [120] R ==> migration/0:16 [0]
  m-16   0d..2.  1.000240000: sched_migrate_task: comm=x pid=500 prio=120 orig_cpu=0 dest_cpu=1
  m-16   0d..2.  1.000250000: sched_stat_runtime: comm=h pid=300 runtime=150000 [ns] vruntime=5000000000 [ns]
  m-16   0d..2.  1.000288000: sched_switch:       migration/0:16 [0] S ==> a:100 [120]
  a-100  0d..2.  1.000688000: sched_stat_runtime: comm=a pid=100 runtime=400000 [ns] vruntime=1000000000 [ns]
  a-100  0d..2.  1.000700000: sched_switch:       a:100 [120] R ==> b:200 [120]
  b-200  0d..2.  1.001100000: sched_stat_runtime: comm=b pid=200 runtime=400000 [ns] vruntime=1000400000 [ns]
  b-200  0d..2.  1.001110000: sched_switch:       b:200 [120] R ==> a:100 [120]
  a-100  0d..2.  1.001200000: sched_waking:       comm=migration/0 pid=16 prio=0 target_cpu=000
  a-100  0dN.2.  1.001210000: sched_wakeup:       migration/0:16 [0] CPU:000
  a-100  0d..2.  1.001220000: sched_stat_runtime: comm=a pid=100 runtime=110000 [ns] vruntime=1000110000 [ns]
  a-100  0d..2.  1.001230000: sched_switch:       a:100 [120] R ==> migration/0:16 [0]
  h-300  1d..2.  1.001300000: sched_waking:       comm=migration/1 pid=15 prio=0 target_cpu=001
  h-300  1dN.2.  1.001310000: sched_wakeup:       migration/1:15 [0] CPU:001
  h-300  1d..2.  1.001320000: sched_stat_runtime: comm=h pid=300 runtime=1070000 [ns] vruntime=5001070000 [ns]
  h-300  1d..2.  1.001330000: sched_switch:       h:300 [120] R ==> migration/1:15 [0]
  m-15   1d..2.  1.001340000: sched_migrate_task: comm=h pid=300 prio=120 orig_cpu=1 dest_cpu=0
  m-16   0d..2.  1.001380000: sched_migrate_task: comm=a pid=100 prio=120 orig_cpu=0 dest_cpu=1
  m-15   1d..2.  1.001390000: sched_switch:       migration/1:15 [0] S ==> x:500 [120]
  m-16   0d..2.  1.001410000: sched_stat_runtime: comm=x pid=500 runtime=20000 [ns] vruntime=5000020000 [ns]
  m-16   0d..2.  1.001450000: sched_switch:       migration/0:16 [0] S ==> b:200 [120]
  b-200  0d..2.  1.002650000: sched_stat_runtime: comm=b pid=200 runtime=1200000 [ns] vruntime=1001600000 [ns]
  b-200  0d..2.  1.002660000: sched_switch:       b:200 [120] R ==> h:300 [120]
  h-300  0d..2.  1.003660000: sched_stat_runtime: comm=h pid=300 runtime=1000000 [ns] vruntime=1002180000 [ns]
  h-300  0d..2.  1.003670000: sched_switch:       h:300 [120] R ==> b:200 [120]
";
    assert_eq!(states_off("no-lock.txt", text), [""; 0]);
}

/// Two CPUs of 6.12. CPU 1's stopper puts `h` on CPU 0, an interrupt wakes `w` on CPU 1 right after that, and CPU 0's stopper takes
/// `a` off: what a probe shows of `h` is not taken for `w`'s.
#[test]
fn what_an_interrupt_places_after_a_stopper_is_another_task() {
    let text = "\
cpus=2
  a-100  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> a:100 [120]
  <idle>-0 1d..2. 1.000040000: set_next_entity:   (ffffffff) se=0x40 vruntime=1000000 deadline=2400000 vlag=0
  w-400  1d..2.  1.000050000: sched_switch:       swapper/1:0 [120] R ==> w:400 [120]
  w-400  1d..2.  1.000070000: sched_stat_runtime: comm=w pid=400 runtime=20000 [ns]
  w-400  1d..2.  1.000090000: sched_switch:       w:400 [120] S ==> h:300 [120]
  a-100  0d..2.  1.000900000: sched_waking:       comm=migration/0 pid=16 prio=0 target_cpu=000
  a-100  0dN.2.  1.000910000: sched_wakeup:       migration/0:16 [0] CPU:000
  a-100  0d..2.  1.000920000: sched_switch:       a:100 [120] R ==> migration/0:16 [0]
  h-300  1d..2.  1.001000000: sched_waking:       comm=migration/1 pid=15 prio=0 target_cpu=001
  h-300  1dN.2.  1.001010000: sched_wakeup:       migration/1:15 [0] CPU:001
  h-300  1d..2.  1.001020000: sched_stat_runtime: comm=h pid=300 runtime=920000 [ns]
  h-300  1d..2.  1.001030000: sched_switch:       h:300 [120] R ==> migration/1:15 [0]
  m-15   1d..2.  1.001040000: sched_migrate_task: comm=h pid=300 prio=120 orig_cpu=1 dest_cpu=0
  m-15   1d..2.  1.001050000: place_entity:       (ffffffff) se=0x30 vruntime=7000000 deadline=480000 vlag=0 slice=1400000 weight=1048576 flags=64
  m-16   0d..2.  1.001060000: sched_migrate_task: comm=a pid=100 prio=120 orig_cpu=0 dest_cpu=1
  m-15   1d.h2.  1.001070000: place_entity:       (ffffffff) se=0x40 vruntime=1020000 deadline=2400000 vlag=0 slice=1400000 weight=1048576 flags=9
  m-15   1dNh2.  1.001080000: sched_wakeup:       w:400 [120] CPU:001
  m-15   1d..2.  1.001090000: sched_switch:       migration/1:15 [0] S ==> w:400 [120]
";
    let report = report_on("in-flight-interrupted.txt", text, Release::V6_12);
    let state = report.scores[&Measure::State].count;
    let texts: Vec<&str> = { report.disagreements.iter() }
        .map(|d| d.text.as_str())
        .collect();
    assert_eq!((state.decisions, state.agree), (1, 1), "{texts:?}");
}

/// Two CPUs of 6.1. CPU 1's stopper moves `r`, of SCHED_FIFO, to CPU 0, which is about to switch from its own stopper: it holds its
/// queue's lock, and `r` comes after that.
#[test]
fn an_rt_task_that_a_stopper_moves_is_in_flight_while_its_cpu_picks() {
    let text = "\
cpus=2
  a-100  0d..2.  1.000000000: sched_switch:       swapper/0:0 [120] R ==> a:100 [120]
  r-300  1d..2.  1.000100000: sched_switch:       swapper/1:0 [120] R ==> r:300 [98]
  a-100  0d.h1.  1.000500000: sched_stat_runtime: comm=a pid=100 runtime=500000 [ns] vruntime=1000000000 [ns]
  a-100  0d..2.  1.000510000: sched_switch:       a:100 [120] R ==> b:200 [120]
  b-200  0d.h1.  1.000900000: sched_stat_runtime: comm=b pid=200 runtime=390000 [ns] vruntime=1000100000 [ns]
  b-200  0d..2.  1.000910000: sched_switch:       b:200 [120] R ==> a:100 [120]
  a-100  0d..2.  1.002000000: sched_waking:       comm=migration/0 pid=16 prio=0 target_cpu=000
  a-100  0dN.2.  1.002010000: sched_wakeup:       migration/0:16 [0] CPU:000
  r-300  1d..2.  1.002010000: sched_waking:       comm=migration/1 pid=15 prio=0 target_cpu=001
  r-300  1dN.2.  1.002020000: sched_wakeup:       migration/1:15 [0] CPU:001
  a-100  0dN.2.  1.002020000: sched_stat_runtime: comm=a pid=100 runtime=1110000 [ns] vruntime=1001110000 [ns]
  a-100  0d..2.  1.002030000: sched_switch:       a:100 [120] R ==> migration/0:16 [0]
  r-300  1dN.2.  1.002030000: sched_stat_runtime: comm=r pid=300 runtime=1920000 [ns] vruntime=0 [ns]
  r-300  1d..2.  1.002040000: sched_switch:       r:300 [98] R ==> migration/1:15 [0]
  m-15   1d..2.  1.002050000: sched_migrate_task: comm=r pid=300 prio=98 orig_cpu=1 dest_cpu=0
  m-16   0d..2.  1.002060000: sched_switch:       migration/0:16 [0] S ==> b:200 [120]
  m-15   1d..2.  1.002070000: sched_switch:       migration/1:15 [0] S ==> swapper/1:0 [120]
  b-200  0dN.2.  1.002080000: sched_stat_runtime: comm=b pid=200 runtime=20000 [ns] vruntime=1000120000 [ns]
  b-200  0d..2.  1.002090000: sched_switch:       b:200 [120] R ==> r:300 [98]
  r-300  0d.h1.  1.003000000: sched_stat_runtime: comm=r pid=300 runtime=910000 [ns] vruntime=0 [ns]
";
    let report = report_on("rt-flight.txt", text, Release::V6_1);
    let picks = report.scores[&Measure::Pick].count;
    assert!(picks.decisions >= 1, "{}", report.table());
    assert_eq!(picks.agree, picks.decisions, "{}", report.table());
    let throttled = "CPUs whose real-time tasks were throttled";
    assert_eq!(report.mended.get(throttled), None);
}
