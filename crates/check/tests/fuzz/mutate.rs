//! Random changes.

use crate::case::Case;

/// Numbers that are at the edge of something.
const EDGES: [&str; 12] = [
    "0",
    "-1",
    "1",
    "99",
    "120",
    "1000",
    "4294967295",
    "9223372036854775807",
    "18446744073709551615",
    "1000000000000",
    "139",
    "2147483647",
];

/// A seeded sequence (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, case: u64) -> Random {
        let mut random = Random(seed);
        random.0 ^= random
            .next()
            .wrapping_add(case.wrapping_mul(0xd134_2543_de82_ef95));
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below `below`, which is not 0.
    pub(crate) fn below(&mut self, below: usize) -> usize {
        (self.next() % below as u64) as usize
    }
}

/// A case that differs in some places.
pub(crate) fn mutate(original: &Case, others: &[Case], random: &mut Random) -> Case {
    let mut case = original.clone();
    let names: Vec<String> = case.files.keys().cloned().collect();
    let trace = names
        .iter()
        .find(|name| name.starts_with("trace.") || name.starts_with("perf."));
    for _ in 0..=random.below(12) {
        // Most changes go where most is to be found.
        let name = match trace {
            Some(trace) if random.below(5) != 0 => trace,
            _ => &names[random.below(names.len())],
        };
        let Some(bytes) = case.files.get_mut(name) else {
            continue;
        };
        if name.ends_with(".dat") || name.ends_with(".data") || random.below(12) == 0 {
            change_bytes(bytes, random);
        } else {
            let donor = &others[random.below(others.len())];
            let donor = donor.files.get(name).unwrap_or(bytes).clone();
            change_lines(bytes, &donor, random);
        }
        if random.below(60) == 0 {
            case.files.remove(name);
        }
    }
    case
}

fn change_bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes.truncate(at),
        1 => {
            let end = bytes.len().min(at + random.below(64));
            bytes.drain(at..end);
        }
        _ => bytes[at] = random.next() as u8,
    }
}

fn change_lines(bytes: &mut Vec<u8>, donor: &[u8], random: &mut Random) {
    let split = |bytes: &[u8]| -> Vec<Vec<u8>> {
        bytes
            .split_inclusive(|&byte| byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect()
    };
    let mut lines = split(bytes);
    if lines.is_empty() {
        return;
    }
    let at = random.below(lines.len());
    let other = random.below(lines.len());
    match random.below(9) {
        0 => {
            lines.remove(at);
        }
        1 => lines.insert(other, lines[at].clone()),
        2 => lines.swap(at, other),
        3 => {
            let end = lines.len().min(at + random.below(30));
            lines.drain(at..end);
        }
        4 => {
            let donor = split(donor);
            if !donor.is_empty() {
                lines.insert(at, donor[random.below(donor.len())].clone());
            }
        }
        _ => {
            let from = lines[other].clone();
            change_number(&mut lines[at], &from, random);
        }
    }
    *bytes = lines.concat();
}

/// Puts another number in the place of one.
fn change_number(line: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let here = numbers(line);
    let there = numbers(other);
    if here.is_empty() || there.is_empty() {
        return;
    }
    let (start, end) = here[random.below(here.len())];
    let (from, to) = if random.below(2) == 0 {
        here[random.below(here.len())]
    } else {
        there[random.below(there.len())]
    };
    let new = match random.below(4) {
        0 => EDGES[random.below(EDGES.len())].as_bytes().to_vec(),
        1 => random.below(8).to_string().into_bytes(),
        2 => (random.next() >> random.below(64)).to_string().into_bytes(),
        _ => {
            if to <= line.len() && here.contains(&(from, to)) {
                line[from..to].to_vec()
            } else {
                other[from..to].to_vec()
            }
        }
    };
    line.splice(start..end, new);
}

/// Where the numbers of a line are.
fn numbers(line: &[u8]) -> Vec<(usize, usize)> {
    let mut numbers = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let start = at;
        while at < line.len() && line[at].is_ascii_digit() {
            at += 1;
        }
        if at > start {
            numbers.push((start, at));
        } else {
            at += 1;
        }
    }
    numbers
}
