//! Any text as an event's description, and any record as one of its records.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(format) = fairwind_trace::EventFormat::parse("fuzz", text) {
        for field in format.fields() {
            assert!(field.at.offset() + field.at.size() <= format.size());
            assert!(format.field(&field.name).is_some());
        }
    }
});
