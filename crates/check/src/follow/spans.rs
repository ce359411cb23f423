//! Spans of time in each of which some tasks may use some CPUs only.
//!
//! Model.      Told are the CPUs that tasks come to: which ones, of all there are. And told is each time that ours takes them to
//!             one of these, but the kernel does not; to others they can't go. Spans of time are those with which all is
//!             told in the fewest words, those for where they end included.
//! Source.     Rissanen, "Modeling by shortest data description", Automatica 14 (1978).

use super::courses::Stay;
use fairwind_sched::CpuId;
use std::cmp::Reverse;

/// Ours takes about one task in so many to another CPU than the kernel does, of those that are free to go there.
const ASTRAY: f64 = 50.0;
/// Spans are halved no oftener, one after the other.
const DEEPEST: u32 = 6;

/// From one record up to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Span {
    /// Is some of a task's stay in it?
    pub(super) fn has(&self, stay: &Stay) -> bool {
        stay.first < self.to && stay.last >= self.from
    }
}

/// What is to be told of a span.
struct Tale {
    /// Which CPUs tasks come to, and how many these are.
    comes: Vec<bool>,
    cpus: usize,
    /// How often ours takes tasks to each CPU, and to those that they come to.
    hints: Vec<usize>,
    astray: usize,
    /// How many words tell which CPUs it is, by how many there are.
    choices: Vec<f64>,
}

impl Tale {
    fn new(nr_cpus: usize) -> Tale {
        Tale {
            comes: vec![false; nr_cpus],
            cpus: 0,
            hints: vec![0; nr_cpus],
            astray: 0,
            choices: choices(nr_cpus),
        }
    }

    fn come(&mut self, cpu: CpuId) {
        if !std::mem::replace(&mut self.comes[cpu.idx()], true) {
            self.cpus += 1;
            self.astray += self.hints[cpu.idx()];
        }
    }

    fn hint(&mut self, cpu: CpuId) {
        self.hints[cpu.idx()] += 1;
        self.astray += usize::from(self.comes[cpu.idx()]);
    }

    /// Words of one nat each.
    fn words(&self) -> f64 {
        self.choices[self.cpus] + self.astray as f64 * ASTRAY.ln()
    }
}

/// The spans, and how many words it takes with them, of where tasks stay, and of where ours takes them and the kernel does not,
/// with which record.
pub(super) fn spans(
    stays: Vec<Stay>,
    hints: Vec<(usize, CpuId)>,
    nr_cpus: usize,
) -> (f64, Vec<Span>) {
    let (mut stays, mut hints) = (stays, hints);
    stays.sort_by_key(|stay| stay.first);
    hints.sort();
    let all = Span {
        from: 0,
        to: usize::MAX,
    };
    divide(all, &stays, &hints, nr_cpus, DEEPEST)
}

fn divide(
    span: Span,
    stays: &[Stay],
    hints: &[(usize, CpuId)],
    nr_cpus: usize,
    deepest: u32,
) -> (f64, Vec<Span>) {
    let stays: Vec<Stay> = stays
        .iter()
        .filter(|stay| span.has(stay))
        .copied()
        .collect();
    let hints = { hints.iter() }.filter(|(at, _)| (span.from..span.to).contains(at));
    let hints: Vec<(usize, CpuId)> = hints.copied().collect();
    // Something changed after one came and before the next one did.
    let ends: Vec<usize> = stays.iter().map(|stay| stay.first + 1).collect();
    let before = words_before(&ends, &stays, &hints, nr_cpus);
    let after = words_after(&ends, &stays, &hints, nr_cpus);
    let Some(&whole) = before.last() else {
        return (0.0, vec![span]);
    };
    let halves = (0..ends.len() - 1).filter(|&at| ends[at] > span.from);
    let halves = halves.map(|at| (before[at] + after[at], ends[at]));
    let end = (ends.len() as f64).ln();
    match halves.min_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((words, middle)) if words + end < whole && deepest > 0 => {
            let divide = |span| divide(span, &stays, &hints, nr_cpus, deepest - 1);
            let (first, mut spans) = divide(Span { to: middle, ..span });
            let (second, later) = divide(Span {
                from: middle,
                ..span
            });
            spans.extend(later);
            (first + second + end, spans)
        }
        _ => (whole, vec![span]),
    }
}

/// How many words it takes to tell what was before each of some ends, the last of which ends all.
fn words_before(
    ends: &[usize],
    stays: &[Stay],
    hints: &[(usize, CpuId)],
    nr_cpus: usize,
) -> Vec<f64> {
    let mut tale = Tale::new(nr_cpus);
    let mut hints = hints.iter().peekable();
    let last = ends.len().saturating_sub(1);
    let told = ends
        .iter()
        .zip(stays)
        .enumerate()
        .map(|(at, (&end, stay))| {
            tale.come(stay.cpu);
            while let Some((_, cpu)) = hints.next_if(|(hint, _)| *hint < end || at == last) {
                tale.hint(*cpu);
            }
            tale.words()
        });
    told.collect()
}

/// How many words it takes to tell what was after each of some ends.
fn words_after(
    ends: &[usize],
    stays: &[Stay],
    hints: &[(usize, CpuId)],
    nr_cpus: usize,
) -> Vec<f64> {
    let mut tale = Tale::new(nr_cpus);
    let mut hints = hints.iter().rev().peekable();
    let mut stays = stays.to_vec();
    stays.sort_by_key(|stay| Reverse(stay.last));
    let mut stays = stays.iter().peekable();
    let told = ends.iter().rev().map(|&end| {
        while let Some(stay) = stays.next_if(|stay| stay.last >= end) {
            tale.come(stay.cpu);
        }
        while let Some((_, cpu)) = hints.next_if(|(hint, _)| *hint >= end) {
            tale.hint(*cpu);
        }
        tale.words()
    });
    let mut told: Vec<f64> = told.collect();
    told.reverse();
    told
}

/// The logarithms of how many ways there are to choose none, one, two and more of so many.
fn choices(of: usize) -> Vec<f64> {
    let more = (0..of).scan(0.0, |ways, chosen| {
        *ways += ((of - chosen) as f64 / (chosen + 1) as f64).ln();
        Some(*ways)
    });
    std::iter::once(0.0).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NR_CPUS: usize = 8;

    /// Tasks come to two CPUs in turn, and from the tenth time on to two others.
    fn stays() -> Vec<Stay> {
        let stays = (0..20).map(|at| Stay {
            first: at * 10,
            last: at * 10,
            cpu: CpuId((at % 2 + at / 10 * 2) as u32),
        });
        stays.collect()
    }

    #[test]
    fn a_span_ends_where_ours_takes_tasks_to_cpus_that_they_no_longer_come_to() {
        let whole = Span {
            from: 0,
            to: usize::MAX,
        };
        assert_eq!(spans(stays(), Vec::new(), NR_CPUS).1, [whole]);
        // Once may have other reasons.
        let hint = |at: usize| (at, CpuId(1));
        assert_eq!(spans(stays(), vec![hint(150)], NR_CPUS).1, [whole]);
        let (words, spans) = spans(
            stays(),
            vec![hint(50), hint(130), hint(150), hint(170)],
            NR_CPUS,
        );
        let [first, later] = [Span { to: 91, ..whole }, Span { from: 91, ..whole }];
        assert_eq!(spans, [first, later]);
        // Twice two of eight CPUs, an end of 20, and one that went astray.
        let told = 2.0 * 28.0_f64.ln() + 20.0_f64.ln() + 50.0_f64.ln();
        assert!((words - told).abs() < 1e-9);
    }
}
