//! Packets other than bundles.
//!
//! Invariants. All are of one sequence, whose first is [`system_info`].

use super::schema::{process, process_tree, system_info, thread, trace, trace_packet, utsname};
use super::wire::{bytes, message, unsigned};
use crate::roster::Task;
use crate::sink::Header;

/// The number of the sequence.
const SEQUENCE: u32 = 1;

/// Writes a packet whose `data` field is a message, which `fill` writes.
pub(super) fn packet(
    out: &mut Vec<u8>,
    ts: Option<u64>,
    data: u32,
    fill: impl FnOnce(&mut Vec<u8>),
) {
    message(out, trace::PACKET, |out| {
        if let Some(ts) = ts {
            unsigned(out, trace_packet::TIMESTAMP, ts);
        }
        unsigned(out, trace_packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
        message(out, data, fill);
    });
}

/// Writes the packet that starts the sequence, and says what machine it is.
pub(super) fn first(out: &mut Vec<u8>, header: &Header) {
    message(out, trace::PACKET, |out| {
        unsigned(out, trace_packet::TIMESTAMP, 0_u64);
        unsigned(out, trace_packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
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
pub(super) fn task(out: &mut Vec<u8>, ts: u64, task: &Task, group_path: &str) {
    let comm = task.comm.as_bytes();
    packet(out, Some(ts), trace_packet::PROCESS_TREE, |out| {
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
