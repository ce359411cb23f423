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
pub(super) struct Tale {
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
    pub(super) fn new(nr_cpus: usize) -> Tale {
        Tale {
            comes: vec![false; nr_cpus],
            cpus: 0,
            hints: vec![0; nr_cpus],
            astray: 0,
            choices: choices(nr_cpus),
        }
    }

    pub(super) fn come(&mut self, cpu: CpuId) {
        if !std::mem::replace(&mut self.comes[cpu.idx()], true) {
            self.cpus += 1;
            self.astray += self.hints[cpu.idx()];
        }
    }

    pub(super) fn hint(&mut self, cpu: CpuId) {
        self.hints[cpu.idx()] += 1;
        self.astray += usize::from(self.comes[cpu.idx()]);
    }

    /// To how many CPUs tasks come.
    pub(super) fn cpus(&self) -> usize {
        self.cpus
    }

    /// Words of one nat each.
    pub(super) fn words(&self) -> f64 {
        self.choices[self.cpus] + astray(self.astray)
    }
}

/// The words of so many times that ours takes tasks elsewhere than the kernel does, though they are free to go there.
pub(super) fn astray(times: usize) -> f64 {
    times as f64 * ASTRAY.ln()
}

/// The spans, and how many words it takes with them, of where tasks stay, and of where ours takes them and the kernel does not,
/// with which record.
pub(super) fn spans(stays: &[Stay], hints: &[(usize, CpuId)], nr_cpus: usize) -> (f64, Vec<Span>) {
    let (mut stays, mut hints) = (stays.to_vec(), hints.to_vec());
    stays.sort_by_key(|stay| stay.first);
    hints.sort();
    let all = Span {
        from: 0,
        to: usize::MAX,
    };
    let told = Told {
        stays,
        hints,
        nr_cpus,
    };
    told.divide(all, DEEPEST)
}

/// All that there is to tell, in order of time.
struct Told {
    stays: Vec<Stay>,
    hints: Vec<(usize, CpuId)>,
    nr_cpus: usize,
}

impl Told {
    fn divide(&self, span: Span, deepest: u32) -> (f64, Vec<Span>) {
        let told = self.within(span);
        // Something changed after one came and before the next one did.
        let ends = { told.stays.iter() }.map(|stay| stay.first + 1);
        let ends: Vec<usize> = std::iter::once(span.from).chain(ends).collect();
        let (before, after) = (told.words_before(&ends), told.words_after(&ends));
        // Nothing is before the first end, and after the last one nobody comes.
        let whole = after[0];
        let halves = (1..ends.len() - 1).filter(|&at| ends[at] > span.from);
        let halves = halves.map(|at| (before[at] + after[at], ends[at]));
        let end = (told.stays.len() as f64).ln();
        match halves.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((words, middle)) if words + end < whole && deepest > 0 => {
                let first = Span { to: middle, ..span };
                let second = Span {
                    from: middle,
                    ..span
                };
                let (words, mut spans) = told.divide(first, deepest - 1);
                let (more_words, later) = told.divide(second, deepest - 1);
                spans.extend(later);
                (words + more_words + end, spans)
            }
            _ => (whole, vec![span]),
        }
    }

    fn within(&self, span: Span) -> Told {
        let stays = self.stays.iter().filter(|stay| span.has(stay));
        let hints = { self.hints.iter() }.filter(|(at, _)| (span.from..span.to).contains(at));
        Told {
            stays: stays.copied().collect(),
            hints: hints.copied().collect(),
            nr_cpus: self.nr_cpus,
        }
    }

    /// How many words it takes to tell what was before each of some ends.
    fn words_before(&self, ends: &[usize]) -> Vec<f64> {
        let mut tale = Tale::new(self.nr_cpus);
        let mut stays = self.stays.iter().peekable();
        let mut hints = self.hints.iter().peekable();
        let words = ends.iter().map(|&end| {
            while let Some(stay) = stays.next_if(|stay| stay.first < end) {
                tale.come(stay.cpu);
            }
            while let Some((_, cpu)) = hints.next_if(|(at, _)| *at < end) {
                tale.hint(*cpu);
            }
            tale.words()
        });
        words.collect()
    }

    /// How many words it takes to tell what was after each of some ends.
    fn words_after(&self, ends: &[usize]) -> Vec<f64> {
        let mut tale = Tale::new(self.nr_cpus);
        let mut by_end = self.stays.clone();
        by_end.sort_by_key(|stay| Reverse(stay.last));
        let mut stays = by_end.iter().peekable();
        let mut hints = self.hints.iter().rev().peekable();
        let words = ends.iter().rev().map(|&end| {
            while let Some(stay) = stays.next_if(|stay| stay.last >= end) {
                tale.come(stay.cpu);
            }
            while let Some((_, cpu)) = hints.next_if(|(at, _)| *at >= end) {
                tale.hint(*cpu);
            }
            tale.words()
        });
        let mut words: Vec<f64> = words.collect();
        words.reverse();
        words
    }
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
        assert_eq!(spans(&stays(), &[], NR_CPUS).1, [whole]);
        // Once may have other reasons.
        let hint = |at: usize| (at, CpuId(1));
        assert_eq!(spans(&stays(), &[hint(150)], NR_CPUS).1, [whole]);
        let (words, spans) = spans(&stays(), &[50, 130, 150, 170].map(hint), NR_CPUS);
        let [first, later] = [Span { to: 91, ..whole }, Span { from: 91, ..whole }];
        assert_eq!(spans, [first, later]);
        // Twice two of eight CPUs, an end of 20, and one that went astray.
        let told = 2.0 * 28.0_f64.ln() + 20.0_f64.ln() + 50.0_f64.ln();
        assert!((words - told).abs() < 1e-9);
    }
}
