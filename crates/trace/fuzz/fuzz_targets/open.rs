//! Any bytes as a trace of any format: every event, and every field in every way.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = fairwind_trace::open_bytes(bytes) else {
        return;
    };
    let mut events = trace.events();
    for event in events.by_ref() {
        for field in trace.formats().get(event.event).fields() {
            let _ = (event.int(field.at), event.int_at(field.at, 1));
            let _ = (event.str(field.at), event.bytes(field.at));
        }
    }
    let _ = events.stats().table();
});
