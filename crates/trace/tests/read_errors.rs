//! What a person is told when nothing of a file can be read.

mod sample;

use std::path::Path;

use fairwind_trace::{Error, ReadError, open, open_bytes};

fn message(bytes: &[u8]) -> String {
    open_bytes(bytes).unwrap_err().to_string()
}

#[test]
fn a_missing_file_is_named() {
    let error = open(Path::new("/no/such/trace.dat")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("/no/such/trace.dat: cannot be read: "),
        "{error}"
    );
    let Error::Read { problem, .. } = error else {
        panic!("{error}")
    };
    assert!(matches!(problem, ReadError::Io(_)), "{problem:?}");
}

#[test]
fn a_folder_is_no_trace() {
    let error = open(Path::new(env!("CARGO_MANIFEST_DIR")))
        .unwrap_err()
        .to_string();
    assert!(error.contains("is a folder without"), "{error}");
}

#[test]
fn what_is_no_trace_shows_how_it_begins() {
    let error = message(b"\x7fELF\x02\x01and more that is not shown");
    assert!(error.contains("it begins with \\x7fELF\\x02\\x01and more t; expected trace.dat"));
    assert!(message(b"").starts_with("the file is empty"));
    assert!(message(b"hello, world\n").contains("perf script text"));
}

#[test]
fn another_version_says_how_to_convert() {
    let mut bytes = sample::bytes("trace-v6.dat.zst");
    bytes[10] = b'8';
    let expected = "is trace.dat of version 8; 6 and 7 are read: convert it: trace-cmd convert \
                    -i FILE -o NEW --file-version 7";
    assert_eq!(message(&bytes), expected);
}

#[test]
fn a_file_cut_too_short_says_so() {
    let bytes = sample::bytes("trace-v6.dat.zst");
    let expected = "is trace.dat, but its 100 bytes end before the descriptions of its events; \
                    record it again, or copy it whole";
    assert_eq!(message(&bytes[..100]), expected);
    assert!(message(&bytes[..12]).contains("12 bytes end before its header"));
}

#[test]
fn text_without_events_names_the_line() {
    let error = message(b"# tracer: nop\n#\n# nothing\nwhat is this\n");
    assert!(error.starts_with("is ftrace text, but no event can be read; line 4 is the first"));
    assert!(error.contains("trace-cmd report"), "{error}");
}
