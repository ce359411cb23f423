//! What ties the traces of a host and its guests together.
//!
//! Model.       Each has a session number. The host's names its guests, with the threads that their vCPUs are; a guest's
//!              says how to come from its time to the host's, which here is the same.
//! Source.      trace-cmd.dat.v7(5), TRACEID, TIME_SHIFT and GUEST; version 6 has the same options.

use crate::sink::GuestInfo;

const TRACEID: u16 = 11;
const TIME_SHIFT: u16 = 12;
const GUEST: u16 = 13;

/// What a trace is tied to.
#[derive(Clone, Debug, Default)]
pub(super) struct Ties {
    pub(super) trace_id: Option<u64>,
    /// The session of the host, in a guest's trace.
    pub(super) host: Option<u64>,
    pub(super) guests: Vec<GuestInfo>,
}

impl Ties {
    /// The options, with their numbers.
    pub(super) fn options(&self, nr_cpus: u32) -> Vec<(u16, Vec<u8>)> {
        let mut options = Vec::new();
        if let Some(id) = self.trace_id {
            options.push((TRACEID, id.to_le_bytes().to_vec()));
        }
        if let Some(host) = self.host {
            options.push((TIME_SHIFT, same_time(host, nr_cpus)));
        }
        for guest in &self.guests {
            let mut data = guest.name.as_bytes().to_vec();
            data.push(0);
            data.extend_from_slice(&guest.trace_id.to_le_bytes());
            data.extend_from_slice(&(guest.vcpus.len() as u32).to_le_bytes());
            for (cpu, pid) in (0u32..).zip(&guest.vcpus) {
                data.extend_from_slice(&cpu.to_le_bytes());
                data.extend_from_slice(&pid.to_le_bytes());
            }
            options.push((GUEST, data));
        }
        options
    }
}

/// One comparison of clocks a CPU, at time 0: nothing to add, times 1.
fn same_time(host: u64, nr_cpus: u32) -> Vec<u8> {
    let mut data = host.to_le_bytes().to_vec();
    data.extend_from_slice(&0u32.to_le_bytes());
    data.extend_from_slice(&nr_cpus.to_le_bytes());
    for _ in 0..nr_cpus {
        data.extend_from_slice(&1u32.to_le_bytes());
        for number in [0u64, 0, 1] {
            data.extend_from_slice(&number.to_le_bytes());
        }
    }
    for _ in 0..nr_cpus {
        data.extend_from_slice(&0u64.to_le_bytes());
    }
    data
}
