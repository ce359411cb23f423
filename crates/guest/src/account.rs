//! Where a vCPU's time goes.
//!
//! Model.       At each time a vCPU is in one mode. Run is time in guest mode; idle is the time it is halted, polling
//!              included; steal is time its thread could run and had no CPU; all other time of its thread on a CPU is spent
//!              on exits, the host's interrupts meanwhile included.
//! Invariants.  The times of all modes add up to the time that passed.

/// What a vCPU is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Its thread does not exist yet.
    Absent,
    /// In guest mode.
    Guest,
    /// Its thread runs in the host's kernel.
    Exit,
    /// Halted: its thread polls for an event.
    Poll,
    /// Halted: its thread sleeps.
    Halted,
    /// Its thread waits for a CPU.
    Steal,
}

/// Modes, for one time each.
const MODES: usize = 6;

/// The times of a vCPU.
#[derive(Clone, Debug)]
pub struct Account {
    mode: Mode,
    since: u64,
    spent: [u64; MODES],
}

impl Default for Account {
    fn default() -> Self {
        Account {
            mode: Mode::Absent,
            since: 0,
            spent: [0; MODES],
        }
    }
}

impl Account {
    /// What it is doing.
    #[inline]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// It does something else from now on.
    pub fn enter(&mut self, mode: Mode, now: u64) {
        self.spent[self.mode as usize] += now - self.since;
        self.since = now;
        self.mode = mode;
    }

    /// Time in a mode, up to `now`.
    pub fn time_in(&self, mode: Mode, now: u64) -> u64 {
        let open = if mode == self.mode {
            now - self.since
        } else {
            0
        };
        self.spent[mode as usize] + open
    }

    /// Time it waited for a CPU, up to `now`: what KVM tells the guest as steal time.
    pub fn steal(&self, now: u64) -> u64 {
        self.time_in(Mode::Steal, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nanosecond_is_in_one_mode() {
        let mut account = Account::default();
        for (mode, at) in [
            (Mode::Steal, 10),
            (Mode::Exit, 15),
            (Mode::Guest, 17),
            (Mode::Poll, 40),
            (Mode::Halted, 50),
            (Mode::Steal, 90),
        ] {
            account.enter(mode, at);
        }
        let times = [
            (Mode::Absent, 10),
            (Mode::Guest, 23),
            (Mode::Exit, 2),
            (Mode::Poll, 10),
            (Mode::Halted, 40),
            (Mode::Steal, 15),
        ];
        for (mode, time) in times {
            assert_eq!(account.time_in(mode, 100), time, "{mode:?}");
        }
        assert_eq!(account.steal(100), 15, "the one that has begun counts");
    }
}
