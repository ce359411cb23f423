//! zlib, zstd and xz data, within a budget.
//!
//! Model.       A file may be unpacked to a multiple of its length and some room above, and no
//!              further: what asks for more is damaged, or meant to do harm.
//! Invariants.  Memory asked for is bounded by the budget, whatever the data claims.
//! Source.      RFC 1950, RFC 8878 (section 3.1.1 for the headers of frames and blocks).
//!              xz: https://tukaani.org/xz/xz-file-format.txt.
//! Deviations.  A zstd window above 64 MiB is refused, which only the level `--ultra -22` has, and so is an xz dictionary
//!              above that, which no level has. Of xz files the first stream is read, if SHA-256 is not its check.

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{Cursor, Read};
use std::num::NonZeroUsize;
use xz4rust::{DICT_SIZE_MIN, XzDecoder, XzReader};

/// How much longer than the file its unpacked data may be, and the room above that. zlib cannot
/// exceed a ratio of 1032; empty pages under zstd come near it.
const RATIO: u64 = 1024;
const ROOM: u64 = 64 << 20;

/// The largest window that a frame, and dictionary that a block of xz may have.
const MAX_WINDOW: u64 = 64 << 20;

/// How much is decoded between two looks at the budget.
const STEP: usize = 256 << 10;

/// What an xz file begins with.
pub(crate) const XZ_MAGIC: &[u8] = b"\xfd7zXZ\0";

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The header of an empty last block.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// An algorithm that packs parts of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Zlib,
    Zstd,
}

/// Unpacks the parts of one file.
pub(crate) struct Decompressor {
    /// How many bytes may still come out.
    budget: u64,
}

impl Decompressor {
    pub(crate) const fn for_file_of(len: usize) -> Self {
        Self {
            budget: (len as u64).saturating_mul(RATIO).saturating_add(ROOM),
        }
    }

    /// Unpacks `packed`, which is said to give `len` bytes. `None` if it does not.
    pub(crate) fn unpack(&mut self, with: Compression, packed: &[u8], len: u32) -> Option<Vec<u8>> {
        if u64::from(len) > self.budget {
            return None;
        }
        let unpacked = match with {
            Compression::None => packed.to_vec(),
            Compression::Zlib => decompress_to_vec_zlib_with_limit(packed, len as usize).ok()?,
            Compression::Zstd => {
                let mut out = Vec::new();
                let whole = zstd_frame(packed, len.into(), &mut out).is_ok();
                Some(out).filter(|_| whole)?
            }
        };
        if unpacked.len() != len as usize {
            return None;
        }
        self.budget -= u64::from(len);
        Some(unpacked)
    }

    /// Unpacks a stream of zstd frames as far as it goes, even if the last frame has no end: a
    /// recorder that flushes a stream piece by piece may never end it. The flag says whether all of
    /// `packed` was used.
    pub(crate) fn unpack_stream(&mut self, packed: &[u8]) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let mut rest = packed;
        while !rest.is_empty() {
            let before = out.len();
            let left = self.budget.saturating_sub(before as u64);
            match zstd_frame(rest, left, &mut out) {
                Ok(used) => rest = &rest[used..],
                Err(Broken::BadHeader) => break,
                Err(Broken::AfterBlocks(blocks)) => {
                    // What is decoded stays in the window until the frame ends, so it is given an
                    // end after its last good block.
                    out.truncate(before);
                    let Some((end, whole)) = end_of_blocks(rest, blocks) else {
                        break;
                    };
                    let mut ended = rest[..end].to_vec();
                    ended.extend_from_slice(&LAST_BLOCK);
                    // A frame that promises a checksum is given one; it is not compared.
                    ended.extend_from_slice(&[0; 4]);
                    let decoded = zstd_frame(&ended, left, &mut out).is_ok();
                    self.budget = self.budget.saturating_sub(out.len() as u64);
                    return (out, decoded && whole && end == rest.len());
                }
            }
        }
        self.budget = self.budget.saturating_sub(out.len() as u64);
        (out, rest.is_empty())
    }

    /// Unpacks an xz file as far as it goes. The flag says whether it is whole.
    pub(crate) fn unpack_xz(&mut self, packed: Vec<u8>) -> (Vec<u8>, bool) {
        let decoder = XzDecoder::in_heap_with_alloc_dict_size(DICT_SIZE_MIN, MAX_WINDOW as usize);
        let step = NonZeroUsize::new(STEP).expect("is not zero");
        let source = Cursor::new(packed);
        let mut reader = XzReader::new_with_buffer_size_and_decoder(source, step, decoder);
        let mut out = Vec::new();
        let read = reader.by_ref().take(self.budget).read_to_end(&mut out);
        self.budget -= out.len() as u64;
        (out, read.is_ok() && reader.is_eos())
    }
}

/// Why a frame could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    BadHeader,
    /// After that many good blocks.
    AfterBlocks(usize),
}

/// Decodes one frame onto `out`, and returns how long it is.
fn zstd_frame(frame: &[u8], limit: u64, out: &mut Vec<u8>) -> Result<usize, Broken> {
    let start = out.len();
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(MAX_WINDOW);
    let mut source = frame;
    // trace-cmd can leave the magic number out.
    let magic = frame.starts_with(&ZSTD_MAGIC);
    let header = if magic {
        decoder.reset(&mut source)
    } else {
        decoder.reset(std::io::Read::chain(&ZSTD_MAGIC[..], &mut source))
    };
    header.map_err(|_| Broken::BadHeader)?;
    loop {
        let blocks = decoder.blocks_decoded();
        let step = decoder.decode_blocks(&mut source, BlockDecodingStrategy::UptoBytes(STEP));
        let broken = Broken::AfterBlocks(decoder.blocks_decoded().max(blocks));
        let finished = step.map_err(|_| broken)?;
        decoder.collect_to_writer(&mut *out).map_err(|_| broken)?;
        let waiting = decoder.can_collect();
        if (out.len() - start + waiting) as u64 > limit {
            out.truncate(start);
            return Err(Broken::BadHeader);
        }
        if finished {
            return Ok(frame.len() - source.len());
        }
    }
}

/// Where the first `blocks` blocks of a frame end, and whether nothing but those and a part of the
/// next is there.
fn end_of_blocks(frame: &[u8], blocks: usize) -> Option<(usize, bool)> {
    let mut at = if frame.starts_with(&ZSTD_MAGIC) { 4 } else { 0 };
    let descriptor = *frame.get(at)?;
    let single_segment = descriptor & 0x20 != 0;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = match descriptor >> 6 {
        0 => usize::from(single_segment),
        code => 1 << code,
    };
    at += 1 + usize::from(!single_segment) + dictionary + content_size;
    for _ in 0..blocks {
        at = next_block(frame, at)?;
    }
    Some((at, next_block(frame, at).is_none()))
}

/// Where the block at `at` ends, if it is whole.
fn next_block(frame: &[u8], at: usize) -> Option<usize> {
    let &[low, middle, high] = frame.get(at..)?.first_chunk()?;
    let header = u32::from_le_bytes([low, middle, high, 0]);
    let size = match (header >> 1) & 3 {
        // A repeated byte.
        1 => 1,
        _ => (header >> 3) as usize,
    };
    let end = at + 3 + size;
    (end <= frame.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with an 8 KiB window and the raw blocks `abc` and `de`, and an end if wanted.
    fn frame(end: bool) -> Vec<u8> {
        let mut frame = ZSTD_MAGIC.to_vec();
        // No content size, no checksum; window exponent 10 + 3.
        frame.extend_from_slice(&[0, 3 << 3]);
        // A raw block has its size above three bits.
        frame.extend_from_slice(&[3 << 3, 0, 0]);
        frame.extend_from_slice(b"abc");
        frame.extend_from_slice(&[2 << 3, 0, 0]);
        frame.extend_from_slice(b"de");
        if end {
            frame.extend_from_slice(&LAST_BLOCK);
        }
        frame
    }

    #[test]
    fn a_stream_without_an_end_is_whole() {
        let mut unpack = Decompressor::for_file_of(100);
        assert_eq!(
            unpack.unpack_stream(&frame(true)),
            (b"abcde".to_vec(), true)
        );
        assert_eq!(
            unpack.unpack_stream(&frame(false)),
            (b"abcde".to_vec(), true)
        );
        let two = [frame(true), frame(false)].concat();
        assert_eq!(unpack.unpack_stream(&two), (b"abcdeabcde".to_vec(), true));
        assert_eq!(unpack.unpack_stream(&[]), (Vec::new(), true));
    }

    #[test]
    fn a_cut_stream_gives_its_whole_blocks() {
        let mut unpack = Decompressor::for_file_of(100);
        let cut = &frame(false)[..16];
        assert_eq!(unpack.unpack_stream(cut), (b"abc".to_vec(), false));
        assert_eq!(unpack.unpack_stream(b"rubbish"), (Vec::new(), false));
    }

    #[test]
    fn a_length_is_kept() {
        let mut unpack = Decompressor::for_file_of(10);
        let packed = frame(true);
        assert_eq!(
            unpack.unpack(Compression::Zstd, &packed, 5),
            Some(b"abcde".to_vec())
        );
        // Without its magic number.
        assert_eq!(
            unpack.unpack(Compression::Zstd, &packed[4..], 5),
            Some(b"abcde".to_vec())
        );
        assert_eq!(unpack.unpack(Compression::Zstd, &packed, 4), None);
        assert_eq!(unpack.unpack(Compression::Zstd, &packed, 6), None);
        assert_eq!(
            unpack.unpack(Compression::None, b"ab", 2),
            Some(b"ab".to_vec())
        );
        let zlib = miniz_oxide::deflate::compress_to_vec_zlib(&[7; 1000], 9);
        assert_eq!(
            unpack.unpack(Compression::Zlib, &zlib, 1000),
            Some(vec![7; 1000])
        );
        assert_eq!(unpack.unpack(Compression::Zlib, &zlib, 999), None);
        assert_eq!(unpack.unpack(Compression::Zlib, &zlib, u32::MAX), None);
    }

    #[test]
    fn the_budget_is_kept() {
        // A block of one byte repeated 128 KiB times, over and over: 4 bytes for 131072.
        let mut bomb = ZSTD_MAGIC.to_vec();
        bomb.extend_from_slice(&[0, 7 << 3]);
        for _ in 0..4_096 {
            bomb.extend_from_slice(&((128_u32 << 10) << 3 | 1 << 1).to_le_bytes()[..3]);
            bomb.push(0);
        }
        // 512 MiB out of 16 KiB; 80 MiB may come out.
        let (out, whole) = Decompressor::for_file_of(bomb.len()).unpack_stream(&bomb);
        assert!(!whole && out.len() as u64 <= bomb.len() as u64 * RATIO + ROOM);
    }
}
