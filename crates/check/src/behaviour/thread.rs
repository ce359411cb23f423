//! One thread of a recording, followed from event to event.
//!
//! Model.  A thread runs, is ready, or sleeps. A wakeup can be recorded before the switch away that it ends: a thread may
//!         be woken between the two steps of going to sleep. Such an early waker is the one if no other follows before the
//!         thread runs again. The place of a possible post is kept free by a run of 0 us.
//! Units.  ns inside, us in acts.

use super::{Act, Phase, Setting};
use crate::record::PrevState;

const NS_PER_US: u64 = 1000;

/// An act of a thread: its phase, and its place there.
pub(super) type Place = (usize, usize);

/// Who woke a thread, and where in its run.
#[derive(Clone, Copy)]
pub(super) struct Waker {
    pub(super) pid: i32,
    pub(super) place: Place,
}

/// What a thread does at present.
pub(super) enum State {
    Running { since: u64 },
    Ready,
    Asleep { since: u64 },
}

pub(super) struct Thread {
    pub(super) comm: String,
    pub(super) setting: Setting,
    pub(super) state: State,
    pub(super) phases: Vec<Phase>,
    /// Has run so long, and no act tells it yet.
    ran: u64,
    /// Was woken while it ran: when, and by which task.
    early: Option<(u64, Option<Waker>)>,
}

impl Thread {
    pub(super) fn asleep(setting: Setting, since: u64) -> Thread {
        Thread {
            comm: String::new(),
            setting,
            state: State::Asleep { since },
            phases: Vec::new(),
            ran: 0,
            early: None,
        }
    }

    /// Goes to another group.
    pub(super) fn join(&mut self, now: u64, group: &str) {
        self.charge(now);
        self.tell_run();
        self.setting.group = Some(group.to_owned());
    }

    /// A place for a post now, if the thread runs.
    pub(super) fn place(&mut self, now: u64) -> Option<Place> {
        if !self.charge(now) {
            return None;
        }
        self.tell_run();
        self.push(Act::Run { us: 0 });
        let phase = self.phases.len() - 1;
        Some((phase, self.phases[phase].acts.len() - 1))
    }

    /// Takes a place for a post.
    pub(super) fn post(&mut self, (phase, act): Place, pid: i32) {
        self.phases[phase].acts[act] = Act::Post { pid };
    }

    pub(super) fn switch_out(&mut self, now: u64, state: PrevState) {
        self.charge(now);
        if state == PrevState::Runnable {
            // It was woken before it went to sleep, and did not.
            self.early = None;
            self.state = State::Ready;
        } else {
            self.tell_run();
            self.state = State::Asleep { since: now };
        }
    }

    /// It runs again; who woke it, if that was recorded before it slept.
    pub(super) fn switch_in(&mut self, now: u64, prio: i32) -> Option<Waker> {
        let early = self.early.take();
        let mut waker = None;
        if let State::Asleep { since } = self.state {
            waker = early.and_then(|(_, waker)| waker);
            let woken = early.map_or(now, |(when, _)| when);
            self.push_sleep(woken.saturating_sub(since), waker.is_some());
        }
        if prio != self.setting.prio {
            self.tell_run();
            self.setting.prio = prio;
        }
        self.state = State::Running { since: now };
        waker
    }

    /// A wakeup; did that end a sleep?
    pub(super) fn wake(&mut self, now: u64, waker: Option<Waker>) -> bool {
        match self.state {
            State::Running { .. } => {
                self.early = Some((now, waker));
                false
            }
            State::Ready => false,
            State::Asleep { since } => {
                self.early = None;
                self.push_sleep(now.saturating_sub(since), waker.is_some());
                self.state = State::Ready;
                true
            }
        }
    }

    /// It was taken to run, and another one did.
    pub(super) fn lose_sight(&mut self) {
        if let State::Running { .. } = self.state {
            self.state = State::Ready;
        }
    }

    pub(super) fn finish(&mut self, last: u64) {
        self.charge(last);
        self.tell_run();
        for phase in &mut self.phases {
            phase.acts.retain(|act| *act != Act::Run { us: 0 });
        }
        self.phases.retain(|phase| !phase.acts.is_empty());
    }

    /// Counts what it has run until now, if it runs.
    pub(super) fn charge(&mut self, now: u64) -> bool {
        let State::Running { since } = self.state else {
            return false;
        };
        self.ran += now.saturating_sub(since);
        self.state = State::Running { since: now };
        true
    }

    /// One that was there from the start may have slept for no time before it was seen.
    fn push_sleep(&mut self, ns: u64, by_task: bool) {
        if ns == 0 && !by_task && self.phases.is_empty() {
            return;
        }
        self.push(if by_task {
            Act::Wait
        } else {
            let us = (ns + NS_PER_US / 2) / NS_PER_US;
            Act::Sleep { us: us.max(1) }
        });
    }

    fn tell_run(&mut self) {
        let us = self.ran / NS_PER_US;
        self.ran %= NS_PER_US;
        if us > 0 {
            self.push(Act::Run { us });
        }
    }

    fn push(&mut self, act: Act) {
        if self.phases.last().map(|phase| &phase.setting) != Some(&self.setting) {
            self.phases.push(Phase {
                setting: self.setting.clone(),
                acts: Vec::new(),
            });
        }
        let acts = &mut self.phases.last_mut().expect("there is one").acts;
        match (acts.last_mut(), &act) {
            // The rest of a run that no post divided.
            (Some(Act::Run { us: before }), Act::Run { us }) if *before > 0 && *us > 0 => {
                *before += us;
            }
            _ => acts.push(act),
        }
    }
}
