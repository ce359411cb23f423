//! Counts agreements, and keeps the disagreements with their class.
//!
//! Model.       A decision belongs to a measure and, within it, to a kind. Beside the agreement
//!              stands what simple rules would have scored on the same decisions.
//! Invariants.  Every disagreement has a class.

use crate::baselines::Baselines;
use std::collections::BTreeMap;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Virtual runtime and deadline where the recording shows them, to the nanosecond.
    State,
    /// The next task, of two or more that could run.
    Pick,
    /// Whether a wakeup or a tick asked for a reschedule.
    Preemption,
    /// The CPU of a wakeup or a new task.
    Placement,
    /// Tasks moved between queues; what only one side moves counts against.
    Balance,
}

impl Measure {
    /// All, in the order of reports.
    pub const ALL: [Measure; 5] = [
        Measure::State,
        Measure::Pick,
        Measure::Preemption,
        Measure::Placement,
        Measure::Balance,
    ];

    /// Its name in reports and options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Measure::State => "state",
            Measure::Pick => "pick",
            Measure::Preemption => "preemption",
            Measure::Placement => "placement",
            Measure::Balance => "balance",
        }
    }

    /// The measure of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Measure> {
        Measure::ALL
            .into_iter()
            .find(|measure| measure.name() == name)
    }
}

/// Why the two sides differ, as far as the trace decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Nothing in the trace excuses it: our state or rule is wrong.
    Ours,
    /// Another CPU recorded a change to what the decision reads while it was being taken.
    Race,
    /// It depends on a fact that the recording lacks.
    NotRecorded(&'static str),
}

impl Class {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::Ours => "ours",
            Class::Race => "race",
            Class::NotRecorded(_) => "not recorded",
        }
    }
}

/// A decision on which the sides differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// Trace clock, ns.
    pub ts: u64,
    /// Where it was taken.
    pub cpu: u32,
    /// What is compared.
    pub measure: Measure,
    /// Which point of the scheduler it is.
    pub kind: &'static str,
    /// Why.
    pub class: Class,
    /// Both sides, with their state.
    pub text: String,
}

/// Where and about what a decision was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    pub(crate) ts: u64,
    pub(crate) cpu: u32,
    pub(crate) measure: Measure,
    pub(crate) kind: &'static str,
}

/// How often the sides agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Decisions.
    pub decisions: u64,
    /// Of these, equal on both sides.
    pub agree: u64,
}

/// A measure's score.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// All its decisions.
    pub count: Count,
    /// The same for each kind.
    pub kinds: BTreeMap<&'static str, Count>,
    /// What a random choice would have agreed on, in millionths of a decision.
    pub chance_ppm: u64,
    /// What first come, first served would have agreed on; `None` where it says nothing.
    pub fifo: Option<u64>,
    /// What the least virtual runtime would have agreed on.
    pub least_vruntime: Option<u64>,
    /// Decisions that could not be asked, for want of a fact.
    pub not_asked: u64,
}

/// The counts of a check.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    pub(crate) scores: BTreeMap<Measure, Score>,
    pub(crate) disagreements: Vec<Disagreement>,
    /// Where the follower had to be brought in line, by what was missing.
    pub(crate) mended: BTreeMap<&'static str, u64>,
    /// A fact that the recording lacks, and on which everything may depend.
    pub(crate) lacking: Option<&'static str>,
}

impl Judge {
    pub(crate) fn judge(
        &mut self,
        decision: Decision,
        baselines: Baselines,
        differs: Option<(Class, String)>,
    ) {
        let score = self.scores.entry(decision.measure).or_default();
        for count in [
            &mut score.count,
            score.kinds.entry(decision.kind).or_default(),
        ] {
            count.decisions += 1;
            count.agree += u64::from(differs.is_none());
        }
        baselines.add_to(score);
        if let Some((class, text)) = differs {
            let class = match (class, self.lacking) {
                (Class::Ours, Some(fact)) => Class::NotRecorded(fact),
                _ => class,
            };
            let Decision {
                ts,
                cpu,
                measure,
                kind,
            } = decision;
            self.disagreements.push(Disagreement {
                ts,
                cpu,
                measure,
                kind,
                class,
                text,
            });
        }
    }

    pub(crate) fn not_asked(&mut self, measure: Measure) {
        self.scores.entry(measure).or_default().not_asked += 1;
    }

    /// Counts the decisions of a measure as not asked: what the kernel decided is not told.
    pub(crate) fn take_back(&mut self, measure: Measure) {
        if let Some(score) = self.scores.get_mut(&measure) {
            let not_asked = score.not_asked + score.count.decisions;
            *score = Score {
                not_asked,
                ..Score::default()
            };
        }
        self.disagreements.retain(|d| d.measure != measure);
    }

    /// How often ours took or left tasks elsewhere.
    pub(crate) fn missed_cpus(&self) -> usize {
        let of_cpus = [Measure::Placement, Measure::Balance];
        let missed = { self.disagreements.iter() }.filter(|d| of_cpus.contains(&d.measure));
        missed.count()
    }

    pub(crate) fn mended(&mut self, what: &'static str) {
        *self.mended.entry(what).or_default() += 1;
    }
}
