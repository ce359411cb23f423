//! Short pieces of what is written, prepared once and copied often.
//!
//! Model.      A piece is copied with its capacity, a few moves without a call, and what that is too much is cut off.

/// At most `N` bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Piece<N> {
    /// A copy of these bytes.
    ///
    /// # Panics
    /// If there are more than `N`.
    pub(crate) fn new(from: &[u8]) -> Self {
        let mut bytes = [0; N];
        bytes[..from.len()].copy_from_slice(from);
        Piece {
            bytes,
            len: from.len(),
        }
    }

    /// Appends it.
    #[inline(always)]
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_adds_its_own_bytes_only() {
        let mut out = b"comm=".to_vec();
        Piece::<16>::new(b"bash").put(&mut out);
        Piece::<4>::new(b"full").put(&mut out);
        Piece::<4>::new(b"").put(&mut out);
        assert_eq!(out, b"comm=bashfull");
    }
}
