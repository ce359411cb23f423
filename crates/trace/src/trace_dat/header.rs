//! Everything before the pages.
//!
//! Source. trace-cmd.dat.v6(5); the numbers of the options from trace-cmd.dat.v7(5).

use std::collections::BTreeMap;

use super::formats::{HEADER_EVENT, HEADER_PAGE, SYSTEMS};
use super::page::PAGE_SIZE;
use super::ties::Ties;
use crate::roster::Comm;
use crate::sink::Header;

const OPTION_DONE: u16 = 0;
const OPTION_TRACECLOCK: u16 = 4;
const OPTION_UNAME: u16 = 5;
const OPTION_CPUCOUNT: u16 = 8;
const OPTION_VERSION: u16 = 9;

/// The bytes of the header, filled up to a whole number of pages, where CPU 0's pages begin.
pub(super) fn encode(
    header: &Header,
    comms: &BTreeMap<u32, Comm>,
    ties: &Ties,
    nr_pages: &[u64],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Little endian, 8 bytes to a long.
    bytes.extend_from_slice(b"\x17\x08\x44tracing6\0\0\x08");
    put_u32(&mut bytes, PAGE_SIZE as u32);
    bytes.extend_from_slice(b"header_page\0");
    put_sized(&mut bytes, HEADER_PAGE.as_bytes());
    bytes.extend_from_slice(b"header_event\0");
    put_sized(&mut bytes, HEADER_EVENT.as_bytes());
    // None of ftrace's own events.
    put_u32(&mut bytes, 0);
    put_u32(&mut bytes, SYSTEMS.len() as u32);
    for system in &SYSTEMS {
        bytes.extend_from_slice(system.name.as_bytes());
        bytes.push(0);
        put_u32(&mut bytes, system.nr_events());
        for format in system.formats() {
            put_sized(&mut bytes, format.as_bytes());
        }
    }
    // No kernel symbols, no trace_printk formats.
    put_u32(&mut bytes, 0);
    put_u32(&mut bytes, 0);
    put_sized(&mut bytes, &saved_cmdlines(comms));
    put_u32(&mut bytes, header.nr_cpus);
    put_options(&mut bytes, header, ties);
    put_flyrecord(&mut bytes, nr_pages);
    bytes
}

/// `pid comm` lines.
fn saved_cmdlines(comms: &BTreeMap<u32, Comm>) -> Vec<u8> {
    let mut lines = Vec::new();
    for (pid, comm) in comms {
        lines.extend_from_slice(format!("{pid} ").as_bytes());
        lines.extend_from_slice(comm.as_bytes());
        lines.push(b'\n');
    }
    lines
}

fn put_options(bytes: &mut Vec<u8>, header: &Header, ties: &Ties) {
    bytes.extend_from_slice(b"options  \0");
    let clocks = b"local global counter uptime perf [mono] mono_raw boot tai x86-tsc\n\0";
    put_option(bytes, OPTION_TRACECLOCK, clocks);
    let uname = format!("Linux {} {} x86_64\0", header.machine, header.kernel);
    put_option(bytes, OPTION_UNAME, uname.as_bytes());
    put_option(bytes, OPTION_CPUCOUNT, &header.nr_cpus.to_le_bytes());
    let version = concat!("fairwind ", env!("CARGO_PKG_VERSION"), "\0");
    put_option(bytes, OPTION_VERSION, version.as_bytes());
    for (option, data) in ties.options(header.nr_cpus) {
        put_option(bytes, option, &data);
    }
    bytes.extend_from_slice(&OPTION_DONE.to_le_bytes());
}

fn put_option(bytes: &mut Vec<u8>, option: u16, data: &[u8]) {
    bytes.extend_from_slice(&option.to_le_bytes());
    put_u32(bytes, data.len() as u32);
    bytes.extend_from_slice(data);
}

/// Where each CPU's pages are, and how many bytes of them there are.
fn put_flyrecord(bytes: &mut Vec<u8>, nr_pages: &[u64]) {
    bytes.extend_from_slice(b"flyrecord\0");
    let end = (bytes.len() + nr_pages.len() * 16).next_multiple_of(PAGE_SIZE);
    let mut at = end as u64;
    for &nr_pages in nr_pages {
        let size = nr_pages * PAGE_SIZE as u64;
        bytes.extend_from_slice(&at.to_le_bytes());
        bytes.extend_from_slice(&size.to_le_bytes());
        at += size;
    }
    bytes.resize(end, 0);
}

/// Data with its length in 8 bytes before it.
fn put_sized(bytes: &mut Vec<u8>, data: &[u8]) {
    bytes.extend_from_slice(&(data.len() as u64).to_le_bytes());
    bytes.extend_from_slice(data);
}

fn put_u32(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend_from_slice(&value.to_le_bytes());
}
