//! A task as lines name it.

use crate::piece::Piece;
use crate::roster::Task;

/// What lines say of a task.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// The first two columns: `%16s-%-7d [`.
    pub(super) column: Piece<32>,
    pub(super) comm: Piece<16>,
    pub(super) pid: Piece<16>,
}

impl Name {
    /// The columns show idle tasks under one name.
    pub(super) fn idle(task: &Task) -> Name {
        Name::shown(b"<idle>", task)
    }

    pub(super) fn new(task: &Task) -> Name {
        Name::shown(task.comm.as_bytes(), task)
    }

    fn shown(name: &[u8], task: &Task) -> Name {
        // The column counts bytes, of which a letter may have several.
        let mut column = vec![b' '; 16 - name.len()];
        column.extend_from_slice(name);
        column.extend_from_slice(format!("-{:<7} [", task.pid).as_bytes());
        Name {
            column: Piece::new(&column),
            comm: Piece::new(task.comm.as_bytes()),
            pid: Piece::new(task.pid.to_string().as_bytes()),
        }
    }
}
