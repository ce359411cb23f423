//! What the machine could do at most: a bare event queue, and memory that is waited for.
//!
//! Model.       The hold model: the earliest of n events is taken out and put back at a random later time, over and over. Each
//!              has a slot, as most events of a simulation have. A
//!              simulation does at least one such step for each thing that happens. Latency of memory is that of a chain
//!              of loads, each of which needs the one before, in random order over so many bytes.

use fairwind_engine::{Due, EventQueue};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::Instant;

const STEPS: u64 = 2_000_000;
const LOADS: usize = 2_000_000;

/// The machine's limits.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bound {
    /// Latency in ns of a load from 32 KiB, 1 MiB, 16 MiB and 128 MiB.
    pub load_ns: [f64; 4],
    /// Hold steps a second with 16, 256 and 4096 events waiting.
    pub hold_ops_per_s: [f64; 3],
}

impl Bound {
    /// Measures them; takes about a second.
    pub fn measure() -> Bound {
        Bound {
            load_ns: [32 << 10, 1 << 20, 16 << 20, 128 << 20].map(load_ns),
            hold_ops_per_s: [16, 256, 4096].map(hold_ops_per_s),
        }
    }
}

/// Numbers without a pattern.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Hold steps a second with so many events waiting; the median of 5.
pub fn hold_ops_per_s(pending: usize) -> f64 {
    let mut rates = [(); 5].map(|()| {
        let mut queue: EventQueue<()> = EventQueue::with_slots(pending.max(1));
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for n in 0..pending.max(1) {
            queue.set(n, random.next() >> 44);
        }
        let began = Instant::now();
        for _ in 0..STEPS {
            let Some((time, Due::Slot(slot))) = queue.pop() else {
                unreachable!("as many are put in as are taken out");
            };
            queue.set(slot, time + (random.next() >> 44));
        }
        black_box(&queue);
        STEPS as f64 / began.elapsed().as_secs_f64()
    });
    rates.sort_by(f64::total_cmp);
    rates[2]
}

/// Latency of a load in a working set of so many bytes.
fn load_ns(bytes: usize) -> f64 {
    // One line an element, linked into one ring in random order (Sattolo's shuffle).
    let lines = bytes / 64;
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut random = Random(1);
    for i in (1..lines).rev() {
        order.swap(i, (random.next() % i as u64) as usize);
    }
    let mut ring = vec![[0u32; 16]; lines];
    for i in 0..lines {
        ring[order[i] as usize][0] = order[(i + 1) % lines];
    }
    let mut at = 0;
    for _ in 0..lines.min(LOADS) {
        at = ring[at as usize][0];
    }
    let began = Instant::now();
    for _ in 0..LOADS {
        at = ring[at as usize][0];
    }
    let took = began.elapsed();
    black_box(at);
    took.as_nanos() as f64 / LOADS as f64
}
