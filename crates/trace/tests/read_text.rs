//! Text that a real kernel's /sys/kernel/tracing/trace had.

mod sample;

use fairwind_trace::TraceKind;

#[test]
fn a_kernels_text_is_read() {
    let trace = sample::open("ftrace.txt");
    assert_eq!(trace.kind(), TraceKind::FtraceText);
    let stats = trace.check();
    assert!(stats.is_clean(), "{}", stats.table());
    // 60 lines, 12 of which are comments.
    assert_eq!((stats.events, trace.info().nr_cpus), (48, 2));
    let first = &sample::told(&trace)[0];
    // bash-13825   (  13825) [000] d.h2.  4185.107091: sched_waking: comm=memfd:sealed-91 pid=2139
    // prio=120 target_cpu=000
    assert_eq!(
        (first.ts, first.cpu, first.pid),
        (4_185_107_091_000, 0, 13_825)
    );
    assert_eq!(
        (first.name.as_str(), first.flags),
        ("sched_waking", (0x09, 2))
    );
    assert_eq!(first.fields["comm"], "memfd:sealed-91");
    assert_eq!(first.fields["pid"], "2139");
    assert_eq!(trace.info().tgids.get(&13_755), Some(&13_753));
    assert_eq!(
        trace.info().cmdlines.get(&13_781).map(String::as_str),
        Some("opt cgu.02")
    );
    let wakeup = trace.formats().find("sched", "sched_waking");
    assert!(wakeup.is_some());
}
