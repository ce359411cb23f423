//! Packets of one machine.
//!
//! Invariants. Those other than bundles are of one sequence, whose first is [`system_info`].

use super::schema::{process, process_tree, system_info, thread, trace, trace_packet, utsname};
use super::wire::{bytes, header, message, unsigned};
use crate::roster::Task;
use crate::sink::Header;

/// The packets of one machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// 0: the host, or the only machine.
    pub(super) machine_id: u32,
}

impl Stream {
    /// That of the host, or of the only machine.
    pub(super) const HOST: Self = Self { machine_id: 0 };

    /// That of a guest.
    pub(super) fn of_guest(machine_id: u32) -> Self {
        assert!(machine_id > 0, "machine 0 is the host");
        Self { machine_id }
    }

    /// Writes a packet whose `data` field is a message, which `fill` writes.
    pub(super) fn packet(
        self,
        out: &mut Vec<u8>,
        ts: Option<u64>,
        data: u32,
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        message(out, trace::PACKET, |out| {
            if let Some(ts) = ts {
                unsigned(out, trace_packet::TIMESTAMP, ts);
            }
            self.origin(out);
            message(out, data, fill);
        });
    }

    /// Writes `fields`, those of a bundle of ftrace events, as a packet.
    pub(super) fn bundle(self, out: &mut Vec<u8>, fields: &[u8]) {
        let mut packet = Vec::with_capacity(16);
        self.machine(&mut packet);
        header(&mut packet, trace_packet::FTRACE_EVENTS, fields.len());
        header(out, trace::PACKET, packet.len() + fields.len());
        out.extend_from_slice(&packet);
        out.extend_from_slice(fields);
    }

    /// Says whose packet it is.
    fn origin(self, out: &mut Vec<u8>) {
        // 0 would mean that there is no sequence.
        let sequence = self.machine_id + 1;
        unsigned(out, trace_packet::TRUSTED_PACKET_SEQUENCE_ID, sequence);
        self.machine(out);
    }

    fn machine(self, out: &mut Vec<u8>) {
        if self.machine_id > 0 {
            unsigned(out, trace_packet::MACHINE_ID, self.machine_id);
        }
    }

    /// Writes the packet that starts the sequence, and says what machine it is.
    pub(super) fn first(self, out: &mut Vec<u8>, header: &Header) {
        message(out, trace::PACKET, |out| {
            unsigned(out, trace_packet::TIMESTAMP, 0_u64);
            self.origin(out);
            unsigned(
                out,
                trace_packet::SEQUENCE_FLAGS,
                trace_packet::SEQ_INCREMENTAL_STATE_CLEARED,
            );
            unsigned(out, trace_packet::FIRST_PACKET_ON_SEQUENCE, true);
            message(out, trace_packet::SYSTEM_INFO, |out| {
                message(out, system_info::UTSNAME, |out| {
                    bytes(out, utsname::SYSNAME, b"Linux");
                    bytes(out, utsname::RELEASE, header.kernel.as_bytes());
                    bytes(out, utsname::MACHINE, b"x86_64");
                });
                unsigned(out, system_info::HZ, header.hz);
                let version = concat!("fairwind ", env!("CARGO_PKG_VERSION"));
                bytes(
                    out,
                    system_info::TRACING_SERVICE_VERSION,
                    version.as_bytes(),
                );
                unsigned(out, system_info::NUM_CPUS, header.nr_cpus);
                bytes(out, system_info::MACHINE_NAME, header.machine.as_bytes());
            });
        });
    }

    /// Writes a thread, and its process if it is the first thread there.
    pub(super) fn task(self, out: &mut Vec<u8>, ts: u64, task: &Task, group_path: &str) {
        let comm = task.comm.as_bytes();
        self.packet(out, Some(ts), trace_packet::PROCESS_TREE, |out| {
            if task.pid == task.tgid {
                message(out, process_tree::PROCESSES, |out| {
                    unsigned(out, process::PID, task.pid);
                    bytes(out, process::CMDLINE, comm);
                    bytes(out, process::CMDLINE, group_path.as_bytes());
                });
            }
            message(out, process_tree::THREADS, |out| {
                unsigned(out, thread::TID, task.pid);
                bytes(out, thread::NAME, comm);
                unsigned(out, thread::TGID, task.tgid);
            });
        });
    }
}
