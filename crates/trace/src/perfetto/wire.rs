//! Protobuf's wire format, as far as it is written here.
//!
//! Model.       A message is a run of fields; a field is a key, its number and how it is coded, and
//!              a value: a varint, or bytes with their length before them. A message inside another
//!              is such bytes.
//! Invariants.  The length of a message inside another takes two bytes, even where one would do, so
//!              that it can be filled in afterwards: such a message is shorter than 2^14 bytes.
//! Source.      The encoding page of the Protocol Buffers documentation. Nothing is allocated and
//!              nothing measured twice, which general encoders do, and an event is written in a
//!              fraction of the time.

/// A value follows as a varint.
const VARINT: u32 = 0;
/// Bytes follow, with their length.
const LEN: u32 = 2;

/// Writes a number: 7 bits to a byte, low ones first, the high bit set in all but the last byte.
#[inline(always)]
pub(super) fn varint(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
    } else {
        long_varint(out, value);
    }
}

fn long_varint(out: &mut Vec<u8>, mut value: u64) {
    let mut bytes = [0; 10];
    let mut last = 0;
    while value >= 0x80 {
        bytes[last] = value as u8 | 0x80;
        value >>= 7;
        last += 1;
    }
    bytes[last] = value as u8;
    let end = out.len() + last + 1;
    out.extend_from_slice(&bytes);
    out.truncate(end);
}

/// The keys, of one byte each, of a field that is bytes and of one that is a varint.
#[inline(always)]
pub(super) fn keys(bytes: u32, varint: u32) -> [u8; 2] {
    debug_assert!(bytes < 16 && varint < 16);
    [(bytes << 3 | LEN) as u8, (varint << 3 | VARINT) as u8]
}

/// Writes a field of any unsigned type.
#[inline(always)]
pub(super) fn unsigned(out: &mut Vec<u8>, field: u32, value: impl Into<u64>) {
    let value = value.into();
    if field < 16 && value < 0x80 {
        out.extend_from_slice(&[(field << 3 | VARINT) as u8, value as u8]);
        return;
    }
    varint(out, u64::from(field << 3 | VARINT));
    varint(out, value);
}

/// Writes a field of type `int32` or `int64`, both of which code a negative number in 64 bits.
#[inline(always)]
pub(super) fn signed(out: &mut Vec<u8>, field: u32, value: impl Into<i64>) {
    unsigned(out, field, value.into().cast_unsigned());
}

/// Writes a field of type `string` or `bytes`.
#[inline(always)]
pub(super) fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    header(out, field, value.len());
    out.extend_from_slice(value);
}

/// Writes the key and the length of a field whose bytes the caller appends.
#[inline(always)]
pub(super) fn header(out: &mut Vec<u8>, field: u32, len: usize) {
    if field < 16 && len < 0x80 {
        out.extend_from_slice(&[(field << 3 | LEN) as u8, len as u8]);
        return;
    }
    varint(out, u64::from(field << 3 | LEN));
    varint(out, len as u64);
}

/// Writes a field that is a message, which `fill` writes.
#[inline(always)]
pub(super) fn message(out: &mut Vec<u8>, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    let key = field << 3 | LEN;
    if key < 0x80 {
        out.extend_from_slice(&[key as u8, 0, 0]);
    } else {
        varint(out, key.into());
        out.extend_from_slice(&[0; 2]);
    }
    let start = out.len();
    fill(out);
    let len = out.len() - start;
    assert!(
        len < 1 << 14,
        "field {field} holds a message of {len} bytes"
    );
    out[start - 2..start].copy_from_slice(&[len as u8 | 0x80, (len >> 7) as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_coded_in_sevens() {
        let mut out = Vec::new();
        // 300 = 2 * 128 + 44: 44 with the high bit is 0xac, then 2. Field 1 as a varint is key 8.
        unsigned(&mut out, 1, 300_u32);
        assert_eq!(out, [0x08, 0xac, 0x02]);
        out.clear();
        // -1 is 64 ones: nine times seven and one more.
        signed(&mut out, 2, -1);
        assert_eq!(out, [0x10, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    }

    #[test]
    fn a_message_has_its_length_in_two_bytes() {
        let mut out = Vec::new();
        // Field 491 with bytes: 491 * 8 + 2 = 3930 = 30 * 128 + 90.
        message(&mut out, 491, |out| bytes(out, 1, b"ab"));
        assert_eq!(out, [90 | 0x80, 30, 4 | 0x80, 0, 0x0a, 2, b'a', b'b']);
    }
}
