//! A set of CPUs.

use crate::units::CpuId;
use alloc::{vec, vec::Vec};
use core::ops::Range;

/// A set of CPUs out of a fixed number, one bit each; the kernel's `cpumask`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuMask {
    words: Vec<u64>,
}

impl CpuMask {
    /// The empty set, with room for `nr_cpus`.
    pub fn none(nr_cpus: usize) -> CpuMask {
        CpuMask {
            words: vec![0; nr_cpus.div_ceil(64)],
        }
    }

    /// All of `0..nr_cpus`.
    pub fn all(nr_cpus: usize) -> CpuMask {
        let mut mask = CpuMask::none(nr_cpus);
        for cpu in 0..nr_cpus {
            mask.set(CpuId(cpu as u32));
        }
        mask
    }

    /// The set of the given CPUs.
    pub fn of(nr_cpus: usize, cpus: impl IntoIterator<Item = CpuId>) -> CpuMask {
        let mut mask = CpuMask::none(nr_cpus);
        for cpu in cpus {
            mask.set(cpu);
        }
        mask
    }

    /// Adds a CPU.
    #[inline]
    pub fn set(&mut self, cpu: CpuId) {
        self.words[cpu.idx() / 64] |= 1 << (cpu.idx() % 64);
    }

    /// Removes a CPU.
    #[inline]
    pub fn clear(&mut self, cpu: CpuId) {
        self.words[cpu.idx() / 64] &= !(1 << (cpu.idx() % 64));
    }

    /// Removes all CPUs.
    pub fn clear_all(&mut self) {
        self.words.fill(0);
    }

    /// Is the CPU in the set?
    #[inline]
    pub fn test(&self, cpu: CpuId) -> bool {
        self.words[cpu.idx() / 64] >> (cpu.idx() % 64) & 1 != 0
    }

    /// How many CPUs.
    pub fn weight(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// No CPU at all?
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// The lowest CPU.
    pub fn first(&self) -> Option<CpuId> {
        self.next_from(0)
    }

    /// The lowest CPU that is not below `from`.
    #[inline]
    pub fn next_from(&self, from: usize) -> Option<CpuId> {
        let mut idx = from / 64;
        let mut word = *self.words.get(idx)? & (!0u64 << (from % 64));
        loop {
            if word != 0 {
                return Some(CpuId((idx * 64) as u32 + word.trailing_zeros()));
            }
            idx += 1;
            word = *self.words.get(idx)?;
        }
    }

    /// The CPUs from the lowest up.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.words.iter().enumerate().flat_map(|(idx, &word)| {
            core::iter::successors((word != 0).then_some(word), |w| {
                let w = w & (w - 1);
                (w != 0).then_some(w)
            })
            .map(move |w| CpuId((idx * 64) as u32 + w.trailing_zeros()))
        })
    }

    /// The CPUs from `start` up and then around from 0, each once; the kernel's `for_each_cpu_wrap`.
    pub fn iter_wrap(&self, start: usize) -> impl Iterator<Item = CpuId> + '_ {
        let nr = self.words.len() * 64;
        let start = if start >= nr { 0 } else { start };
        let mut at = start;
        let mut wrapped = false;
        core::iter::from_fn(move || {
            loop {
                match self.next_from(at) {
                    Some(cpu) if !wrapped || cpu.idx() < start => {
                        at = cpu.idx() + 1;
                        return Some(cpu);
                    }
                    _ if !wrapped => {
                        wrapped = true;
                        at = 0;
                    }
                    _ => return None,
                }
            }
        })
    }

    /// The CPUs in both sets, from the lowest up, that stand in these of their [`words`](Self::words).
    #[inline]
    pub fn in_both<'a>(
        a: &'a CpuMask,
        b: &'a CpuMask,
        words: Range<usize>,
    ) -> impl Iterator<Item = CpuId> + use<'a> {
        let first = words.start;
        let both = a.words[words.clone()].iter().zip(&b.words[words]);
        both.enumerate().flat_map(move |(idx, (a, b))| {
            let mut word = a & b;
            core::iter::from_fn(move || {
                let bit = (word != 0).then_some(word.trailing_zeros())?;
                word &= word - 1;
                Some(CpuId(((first + idx) * 64) as u32 + bit))
            })
        })
    }

    /// From the first to the last of the [`words`](Self::words) in which there is a CPU.
    pub fn occupied_words(&self) -> Range<usize> {
        let occupied = |word: &u64| *word != 0;
        let first = self.words.iter().position(occupied).unwrap_or(0);
        let last = self.words.iter().rposition(occupied);
        first..last.map_or(0, |last| last + 1)
    }

    /// Do the two sets share a CPU?
    #[inline]
    pub fn intersects(&self, other: &CpuMask) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Is every CPU of this set in `other`?
    pub fn is_subset(&self, other: &CpuMask) -> bool {
        self.words
            .iter()
            .zip(&other.words)
            .all(|(a, b)| a & !b == 0)
    }

    /// `self = a & b`, without allocating when the sizes agree.
    pub fn assign_and(&mut self, a: &CpuMask, b: &CpuMask) {
        self.words.clear();
        self.words
            .extend(a.words.iter().zip(&b.words).map(|(a, b)| a & b));
    }

    /// Keeps only the CPUs also in `other`.
    pub fn and_with(&mut self, other: &CpuMask) {
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a &= b;
        }
    }

    /// Adds the CPUs of `other`.
    pub fn or_with(&mut self, other: &CpuMask) {
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a |= b;
        }
    }

    /// Removes the CPUs of `other`.
    pub fn and_not(&mut self, other: &CpuMask) {
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a &= !b;
        }
    }

    /// The bits, 64 CPUs a word, the lowest CPU first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sets_are_walked_where_one_has_cpus() {
        let group = CpuMask::of(200, [70, 100, 130].map(CpuId));
        let allowed = CpuMask::of(200, [3, 70, 130, 199].map(CpuId));
        assert_eq!(group.occupied_words(), 1..3);
        assert_eq!(CpuMask::none(200).occupied_words(), 0..0);
        let both = CpuMask::in_both(&group, &allowed, group.occupied_words());
        assert_eq!(both.map(|c| c.0).collect::<Vec<_>>(), [70, 130]);
    }

    #[test]
    fn wrap_visits_each_cpu_once_from_the_start_on() {
        let mask = CpuMask::of(130, [1, 64, 70, 129].map(CpuId));
        let order: Vec<u32> = mask.iter_wrap(65).map(|c| c.0).collect();
        assert_eq!(order, [70, 129, 1, 64]);
        assert_eq!(mask.iter_wrap(130).count(), 4);
        assert_eq!(
            mask.iter().map(|c| c.0).collect::<Vec<_>>(),
            [1, 64, 70, 129]
        );
    }
}
