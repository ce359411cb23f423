//! What was odd about a trace that was read: one counter for each thing that can be.
//!
//! Model.       Reading never fails on content. Whatever is lost, damaged or left out is counted,
//!              with the place of the first one, so that a result can be weighed.
//! Invariants.  A counter that is zero says that the thing did not happen.

use std::fmt::Write;

/// How much a count matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is lost that a scheduler trace needs.
    Info,
    /// The recorder lost events: the trace is right but has gaps.
    Loss,
    /// The file is damaged, or holds what this reader cannot use.
    Damage,
}

impl Severity {
    /// The word in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Loss => "loss",
            Self::Damage => "damage",
        }
    }
}

/// Where something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a byte of the file.
    Byte(u64),
    /// On a line, the first of which is 1.
    Line(u64),
    /// In the trace of a CPU.
    Cpu(u32),
    /// Nowhere in particular.
    File,
}

macro_rules! oddities {
    ($($(#[doc = $doc:literal])+ $name:ident => $severity:ident, $text:literal;)+) => {
        /// Something odd that a reader counts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Oddity {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Oddity {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// How much it matters.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)+ }
            }

            /// What it is, in the words of the table.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

oddities! {
    /// Events that the recorder dropped, as far as it knew how many.
    LostEvents => Loss, "events lost by the recorder";
    /// Places where the recorder dropped events and did not know how many.
    LostUnknown => Loss, "places where an unknown number of events was lost";
    /// Events that were overwritten before the recording was read out.
    Overrun => Loss, "events overwritten in the ring buffer before they were read";
    /// Events for which the kernel found no room.
    Dropped => Loss, "events that the kernel dropped for want of room";
    /// Samples taken only now and then, so that most events are not in the trace.
    Sampled => Loss, "kinds of event that were sampled, not all recorded";
    /// A part of the file that ends too early.
    Truncated => Damage, "parts cut short";
    /// A part whose place in the file is beyond its end, or not what it should be.
    BadSection => Damage, "sections that cannot be read";
    /// Compressed data that does not decompress.
    BadCompression => Damage, "compressed parts that do not decompress";
    /// An event description that says nothing usable.
    BadFormat => Damage, "event descriptions that cannot be understood";
    /// Two event descriptions under one number.
    DuplicateFormat => Damage, "event descriptions under a number already taken";
    /// A ring-buffer page whose header cannot be right.
    BadPage => Damage, "pages with a bad header";
    /// The rest of a page after an event whose length cannot be right.
    BadEventLength => Damage, "pages broken off at an event of impossible length";
    /// A record of an event that the file does not describe.
    UnknownEvent => Damage, "records of events that the file does not describe";
    /// A record shorter than its description says.
    ShortRecord => Damage, "records shorter than their description";
    /// A record whose fields cannot be told.
    Undecodable => Damage, "records that cannot be decoded";
    /// A sample without the time it was taken at.
    NoTime => Damage, "samples without a time (record with -T)";
    /// A sample that does not say on which CPU.
    NoCpu => Damage, "samples without a CPU (record with -a or --sample-cpu)";
    /// An event earlier than the one before it on its CPU.
    TimeWentBack => Damage, "events earlier than the one before them";
    /// A line that is neither event nor comment.
    OddLine => Damage, "lines that are no event";
    /// A CPU number that no machine has.
    BadCpu => Damage, "events on an impossible CPU number";
    /// CPUs whose pages were found in the order of the CPUs, for the list of them is lost. If a
    /// CPU had no events, those after it have the wrong number.
    CpuGuessed => Damage, "CPUs whose number is a guess";
    /// An event with a number that no kernel writes, found by whoever made use of it.
    Impossible => Damage, "events with numbers that no kernel writes";
    /// Time stamps in units other than nanoseconds.
    ClockNotNanos => Damage, "clocks that do not count nanoseconds";
    /// Samples of something other than a tracepoint.
    NotATracepoint => Info, "samples that are not of a tracepoint";
    /// Records or options of an unknown kind, or names beyond those an event has room for.
    Skipped => Info, "records, options and names passed over";
    /// Text where a line break ends the last line is missing.
    LastLineCut => Info, "last lines without an end";
}

const NR_ODDITIES: usize = Oddity::ALL.len();

/// The counters of one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadStats {
    counts: [u64; NR_ODDITIES],
    first: [Place; NR_ODDITIES],
    /// How many events were handed out.
    pub events: u64,
    /// `[cpu]`: how many events its recorder lost, as far as known.
    lost_by_cpu: Vec<u64>,
}

impl Default for ReadStats {
    fn default() -> Self {
        Self {
            counts: [0; NR_ODDITIES],
            first: [Place::File; NR_ODDITIES],
            events: 0,
            lost_by_cpu: Vec::new(),
        }
    }
}

impl ReadStats {
    /// How often something happened.
    #[must_use]
    pub const fn count(&self, what: Oddity) -> u64 {
        self.counts[what as usize]
    }

    /// Where something happened first, if it did.
    #[must_use]
    pub const fn first(&self, what: Oddity) -> Option<Place> {
        if self.count(what) == 0 {
            None
        } else {
            Some(self.first[what as usize])
        }
    }

    /// How many events the recorder of a CPU lost, as far as known.
    #[must_use]
    pub fn lost_on(&self, cpu: u32) -> u64 {
        self.lost_by_cpu.get(cpu as usize).copied().unwrap_or(0)
    }

    /// The sum of the counts of a severity.
    #[must_use]
    pub fn total(&self, severity: Severity) -> u64 {
        let of_severity = |what: &&Oddity| what.severity() == severity;
        let counted = Oddity::ALL.iter().filter(of_severity);
        counted.fold(0, |sum, what| sum.saturating_add(self.count(*what)))
    }

    /// Whether nothing was lost and nothing damaged.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.total(Severity::Loss) == 0 && self.total(Severity::Damage) == 0
    }

    /// What was counted, worst first, as lines of `severity  count  what (first: where)`.
    ///
    /// Empty when there is nothing to tell.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows: Vec<Oddity> = Oddity::ALL.to_vec();
        rows.retain(|what| self.count(*what) > 0);
        rows.sort_by_key(|what| std::cmp::Reverse(what.severity()));
        let mut table = String::new();
        for what in rows {
            let severity = what.severity().name();
            let _ = write!(
                table,
                "{severity:<6}  {:>10}  {}",
                self.count(what),
                what.text()
            );
            let _ = match self.first[what as usize] {
                Place::Byte(at) => write!(table, " (first: byte {at})"),
                Place::Line(line) => write!(table, " (first: line {line})"),
                Place::Cpu(cpu) => write!(table, " (first: CPU {cpu})"),
                Place::File => Ok(()),
            };
            table.push('\n');
        }
        table
    }

    pub(crate) fn add(&mut self, what: Oddity, count: u64, place: Place) {
        if count == 0 {
            return;
        }
        let at = what as usize;
        if self.counts[at] == 0 {
            self.first[at] = place;
        }
        self.counts[at] = self.counts[at].saturating_add(count);
    }

    /// Counts events that were read, and turned out to be [`Oddity::Impossible`].
    pub fn impossible(&mut self, count: u64) {
        self.add(Oddity::Impossible, count, Place::File);
    }

    pub(crate) fn one(&mut self, what: Oddity, place: Place) {
        self.add(what, 1, place);
    }

    /// Counts events that the recorder of `cpu` lost. `cpu` is one of the machine's.
    pub(crate) fn lost(&mut self, cpu: u32, count: u64) {
        self.add(Oddity::LostEvents, count, Place::Cpu(cpu));
        let at = cpu as usize;
        if self.lost_by_cpu.len() <= at {
            self.lost_by_cpu.resize(at + 1, 0);
        }
        self.lost_by_cpu[at] = self.lost_by_cpu[at].saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_worst_first_and_says_where() {
        let mut stats = ReadStats::default();
        assert!(stats.is_clean() && stats.table().is_empty());
        stats.one(Oddity::Skipped, Place::Byte(16));
        stats.lost(3, 40);
        stats.lost(1, 2);
        stats.one(Oddity::OddLine, Place::Line(7));
        stats.one(Oddity::OddLine, Place::Line(9));
        let expected = "\
damage           2  lines that are no event (first: line 7)
loss            42  events lost by the recorder (first: CPU 3)
info             1  records, options and names passed over (first: byte 16)
";
        assert_eq!(stats.table(), expected);
        assert_eq!(
            (stats.lost_on(3), stats.lost_on(1), stats.lost_on(9)),
            (40, 2, 0)
        );
        assert_eq!(stats.total(Severity::Damage), 2);
        assert!(!stats.is_clean());
    }
}
