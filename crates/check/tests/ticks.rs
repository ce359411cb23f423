//! Whether a tick asked for a reschedule shows in the flags of what its CPU records next.

mod text;

use fairwind_check::Measure;
use fairwind_sched::Release;
use text::report_on;

/// One CPU of 6.12. A tick finds that `a` has used its slice up, while the record of its exit is written. `b` waits.
const INTERRUPTS_A_RECORD: &str = "\
cpus=1
      sh-91  0dN.2.  1.000000000: sched_wakeup:         a:100 [120] CPU:000
      sh-91  0dN.2.  1.000010000: sched_wakeup:         b:101 [120] CPU:000
      sh-91  0d..2.  1.000190000: set_next_entity:      (ffffffff) se=0xa0 vruntime=0 deadline=700000 vlag=0
      sh-91  0d..2.  1.000200000: sched_switch:         sh:91 [120] S ==> a:100 [120]
       a-100 0d.h1.  1.004000000: local_timer_entry:    vector=236
       a-100 0d.h2.  1.004010000: sched_stat_runtime:   comm=a pid=100 runtime=3800000 [ns]
       a-100 0.....  1.004020000: sched_process_exit:   comm=a pid=100 prio=120
       a-100 0dN.2.  1.004110000: sched_stat_runtime:   comm=a pid=100 runtime=100000 [ns]
       a-100 0d..2.  1.004120000: sched_switch:         a:100 [120] R ==> b:101 [120]
";

#[test]
fn flags_that_were_taken_before_a_tick_do_not_tell_what_it_asked_for() {
    let report = report_on("interrupts.txt", INTERRUPTS_A_RECORD, Release::V6_12);
    let asked = report.scores[&Measure::Preemption].count;
    assert_eq!(
        (asked.decisions, asked.agree),
        (1, 1),
        "{:?}",
        report.disagreements
    );
}

#[test]
fn a_wakeup_from_elsewhere_may_ask_for_it_after_the_tick() {
    let woken = "  <idle>-0   1dN.2.  1.004030000: sched_wakeup:         c:102 [120] CPU:000\n";
    let (tick, rest) = INTERRUPTS_A_RECORD.split_at(
        INTERRUPTS_A_RECORD
            .find("       a-100 0dN.2.")
            .expect("the charge after the exit"),
    );
    let text = format!("{tick}{woken}{rest}").replace("cpus=1", "cpus=2");
    let report = report_on("asked-later.txt", &text, Release::V6_12);
    let of_tick = report.disagreements.iter().filter(|d| d.kind == "tick");
    assert_eq!(of_tick.count(), 1, "the tick itself asked for nothing");
}
