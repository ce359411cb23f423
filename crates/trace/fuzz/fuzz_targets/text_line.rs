//! Any line after a line of each kind of text, so that the text is told for what it is.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let heads: [&[u8]; 2] = [
        b"sh-1 [000] d..2. 1.000000: sched_waking: comm=a pid=1 prio=1 target_cpu=000\n",
        b"sh 1 [000] 1.000000: sched:sched_waking: comm=a pid=1 prio=1 target_cpu=000\n",
    ];
    for head in heads {
        let text = [head, line].concat();
        // A line can make it another kind of text, of which there is no event then.
        let Ok(trace) = fairwind_trace::open_bytes(&text) else {
            return;
        };
        assert!(trace.check().events >= 1);
        for event in trace.events() {
            for field in trace.formats().get(event.event).fields() {
                let _ = (event.int(field.at), event.str(field.at));
            }
        }
    }
});
