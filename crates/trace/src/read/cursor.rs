//! Numbers and strings out of bytes that nobody has checked.
//!
//! Invariants.  Nothing is read beyond the end: a read that does not fit gives `None` and leaves
//!              the position where it was. No allocation.

/// Which byte of a number comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest.
    #[default]
    Little,
    /// The highest.
    Big,
}

impl ByteOrder {
    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }

    /// The number in `size` bytes at `at`; a size of 1, 2, 4 or 8.
    pub(crate) fn unsigned(self, bytes: &[u8], at: usize, size: usize) -> Option<u64> {
        let field = bytes.get(at..)?;
        Some(match size {
            1 => u64::from(*field.first()?),
            2 => u64::from(self.u16(*field.first_chunk()?)),
            4 => u64::from(self.u32(*field.first_chunk()?)),
            8 => self.u64(*field.first_chunk()?),
            _ => return None,
        })
    }
}

/// A position in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    order: ByteOrder,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self {
            bytes,
            at: 0,
            order,
        }
    }

    /// A cursor over the same bytes from an offset of the file on.
    pub(crate) fn at_offset(bytes: &'a [u8], at: u64, order: ByteOrder) -> Option<Self> {
        let at = usize::try_from(at).ok().filter(|at| *at <= bytes.len())?;
        Some(Self { bytes, at, order })
    }

    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    pub(crate) const fn order(&self) -> ByteOrder {
        self.order
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    pub(crate) fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let len = usize::try_from(len).ok()?;
        let taken = self.rest().get(..len)?;
        self.at += len;
        Some(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let chunk = *self.rest().first_chunk()?;
        self.at += N;
        Some(chunk)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.chunk().map(|bytes| self.order.u16(bytes))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.chunk().map(|bytes| self.order.u32(bytes))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.chunk().map(|bytes| self.order.u64(bytes))
    }

    /// The bytes before the next zero, which is passed over.
    pub(crate) fn zero_terminated(&mut self) -> Option<&'a [u8]> {
        let len = self.rest().iter().position(|&byte| byte == 0)?;
        let taken = &self.rest()[..len];
        self.at += len + 1;
        Some(taken)
    }

    /// Data after its length in 8 bytes.
    pub(crate) fn sized_u64(&mut self) -> Option<&'a [u8]> {
        let before = self.at;
        let taken = self.u64().and_then(|len| self.take(len));
        if taken.is_none() {
            self.at = before;
        }
        taken
    }

    /// Data after its length in 4 bytes.
    pub(crate) fn sized_u32(&mut self) -> Option<&'a [u8]> {
        let before = self.at;
        let taken = self.u32().and_then(|len| self.take(len.into()));
        if taken.is_none() {
            self.at = before;
        }
        taken
    }
}

/// The bytes before the first zero, or all.
pub(crate) fn until_zero(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0);
    &bytes[..end.unwrap_or(bytes.len())]
}

/// Text of a file, whatever its bytes are.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_zero(bytes)).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_does_not_fit_moves_nothing() {
        let mut cursor = Cursor::new(&[1, 2, 3, 0, 0, 0, 0, 0, 0, 9], ByteOrder::Little);
        // A length of 0x030201 with 6 bytes after it.
        assert_eq!(cursor.sized_u32(), None);
        assert_eq!(cursor.position(), 0);
        assert_eq!(cursor.u16(), Some(0x0201));
        assert_eq!(cursor.zero_terminated(), Some(&[3][..]));
        assert_eq!(cursor.u64(), None);
        assert_eq!(cursor.take(7), None);
        assert_eq!(cursor.take(6), Some(&[0, 0, 0, 0, 0, 9][..]));
        assert_eq!(cursor.u8(), None);
    }

    #[test]
    fn both_byte_orders() {
        let bytes = [0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1];
        assert_eq!(ByteOrder::Big.unsigned(&bytes, 0, 2), Some(0x1234));
        assert_eq!(ByteOrder::Little.unsigned(&bytes, 2, 2), Some(0x7856));
        assert_eq!(ByteOrder::Big.unsigned(&bytes, 4, 4), Some(1));
        assert_eq!(ByteOrder::Big.unsigned(&bytes, 1, 8), None);
        assert_eq!(ByteOrder::Big.unsigned(&bytes, 0, 3), None);
    }
}
