//! Damaged files: whatever their bytes are, reading ends, without a panic.

mod sample;

use fairwind_trace::open_bytes;
use fairwind_trace::read::Oddity;

/// Reads everything there is: every event, every field, every way. Gives the number of events.
fn read_all(bytes: &[u8]) -> u64 {
    let Ok(trace) = open_bytes(bytes) else {
        return 0;
    };
    let mut events = trace.events();
    let mut sum = 0_i64;
    for event in events.by_ref() {
        for field in trace.formats().get(event.event).fields() {
            sum = sum.wrapping_add(event.int(field.at));
            sum = sum.wrapping_add(event.int_at(field.at, 3));
            sum = sum.wrapping_add(event.str(field.at).len() as i64);
            sum = sum.wrapping_add(event.bytes(field.at).len() as i64);
        }
    }
    let stats = events.stats();
    assert!(stats.table().len() < 10_000 && sum != i64::MIN);
    stats.events
}

/// A number from 0 to below `below`, out of a seeded sequence (xorshift64).
fn random(state: &mut u64, below: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % below as u64) as usize
}

fn samples() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let names = sample::BINARY.into_iter().chain(sample::TEXT);
    names.map(|name| (name, sample::bytes(name)))
}

#[test]
fn a_file_cut_anywhere_is_read_as_far_as_it_goes() {
    for (name, bytes) in samples() {
        let whole = read_all(&bytes);
        assert!(whole > 0, "{name}");
        for len in (0..bytes.len()).step_by(97) {
            assert!(read_all(&bytes[..len]) <= whole, "{name} cut to {len}");
        }
    }
}

#[test]
fn of_an_xz_file_cut_off_what_can_be_unpacked_is_read() {
    let bytes = sample::bytes("ftrace.txt.xz");
    let whole = sample::told(&sample::open("ftrace.txt"));
    let read = open_bytes(&bytes).unwrap();
    assert_eq!(sample::told(&read), whole);
    assert!(read.check().is_clean());
    let cut = open_bytes(&bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(cut.stats().count(Oddity::BadCompression), 1);
    let told = sample::told(&cut);
    assert!((10..whole.len()).contains(&told.len()), "{}", told.len());
    // The last line may be cut.
    assert_eq!(told[..told.len() - 1], whole[..told.len() - 1]);
    let problem = open_bytes(&bytes[..8]).unwrap_err().to_string();
    assert!(
        problem.contains("an xz file, but its 8 bytes end"),
        "{problem}"
    );
}

#[test]
fn flipped_bytes_do_no_harm() {
    for (name, bytes) in samples() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..500 {
            let mut damaged = bytes.clone();
            for _ in 0..=random(&mut state, 8) {
                let at = random(&mut state, damaged.len());
                damaged[at] = random(&mut state, 256) as u8;
            }
            let read = read_all(&damaged);
            // One damaged length cannot make more events than a file of this size holds.
            assert!(read < bytes.len() as u64 * 10, "{name}: {read}");
        }
    }
}

#[test]
fn large_numbers_in_the_place_of_any_word_do_no_harm() {
    for (_, bytes) in samples() {
        let mut state = 0x2545_f491_4f6c_dd1d;
        for _ in 0..500 {
            let mut damaged = bytes.clone();
            // Headers are where lengths are.
            let reach = [512, 8192, damaged.len()][random(&mut state, 3)].min(damaged.len());
            let at = random(&mut state, reach.saturating_sub(8)) / 2 * 2;
            let word = [0, 1, 0x7fff_ffff, u32::MAX][random(&mut state, 4)];
            damaged[at..at + 4].copy_from_slice(&word.to_le_bytes());
            read_all(&damaged);
        }
    }
}

#[test]
fn parts_in_the_wrong_place_do_no_harm() {
    for (_, bytes) in samples() {
        let mut state = 0x1234_5678_9abc_def1;
        for _ in 0..100 {
            let mut damaged = bytes.clone();
            let (from, to) = (
                random(&mut state, bytes.len()),
                random(&mut state, bytes.len()),
            );
            let len = random(&mut state, 5000)
                .min(bytes.len() - from)
                .min(bytes.len() - to);
            damaged.copy_within(from..from + len, to);
            read_all(&damaged);
        }
    }
}
