//! A task as events name it, encoded.

use super::schema::generic;
use super::wire::{bytes, message, signed, varint};
use crate::piece::Piece;
use crate::roster::Task;

/// What events say of a task.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// Its pid, as a varint.
    pub(super) pid: Piece<8>,
    /// Length and bytes of its comm.
    pub(super) comm: Piece<16>,
    /// Fields of a generic event: `comm` and `pid`.
    pub(super) generic: Piece<64>,
}

impl Name {
    pub(super) fn new(task: &Task) -> Name {
        let comm = task.comm.as_bytes();
        let mut fields = Vec::new();
        message(&mut fields, generic::FIELD, |out| {
            bytes(out, generic::FIELD_NAME, b"comm");
            bytes(out, generic::FIELD_STR_VALUE, comm);
        });
        message(&mut fields, generic::FIELD, |out| {
            bytes(out, generic::FIELD_NAME, b"pid");
            signed(out, generic::FIELD_INT_VALUE, task.pid);
        });
        let mut pid = Vec::new();
        varint(&mut pid, task.pid.into());
        let mut counted = vec![comm.len() as u8];
        counted.extend_from_slice(comm);
        Name {
            pid: Piece::new(&pid),
            comm: Piece::new(&counted),
            generic: Piece::new(&fields),
        }
    }
}
