//! Halt polling: how long a halted vCPU looks for an event before its thread sleeps.
//!
//! Model.       Each vCPU has a polling time of its own. A halt that ended a little later than polling did makes it longer,
//!              one that lasted longer than polling is ever allowed to makes it shorter.
//! Units.       ns.
//! Source.      virt/kvm/kvm_main.c @ 6.1.192, 6.12.117: `kvm_vcpu_halt`, `grow_halt_poll_ns`, `shrink_halt_poll_ns`.

/// The module's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HaltPollParams {
    /// `halt_poll_ns`: the longest polling time; 0: no polling.
    pub max_ns: u64,
    /// `halt_poll_ns_grow`: what it is multiplied by; 0: it never grows.
    pub grow: u64,
    /// `halt_poll_ns_grow_start`: the shortest polling time beside 0.
    pub grow_start_ns: u64,
    /// `halt_poll_ns_shrink`: what it is divided by; 0: it falls to 0.
    pub shrink: u64,
}

/// The polling time of a vCPU.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HaltPoll {
    ns: u64,
}

impl HaltPoll {
    /// How long to poll at a halt that begins now.
    pub fn time(&mut self, params: &HaltPollParams) -> u64 {
        self.ns = self.ns.min(params.max_ns);
        self.ns
    }

    /// Learns from a halt that lasted `halt_ns`, polling included.
    pub fn halted(&mut self, halt_ns: u64, params: &HaltPollParams) {
        if params.max_ns == 0 {
            self.ns = 0;
        } else if halt_ns <= self.ns {
            // Polling was long enough.
        } else if self.ns != 0 && halt_ns > params.max_ns {
            self.shrink(params);
        } else if self.ns < params.max_ns && halt_ns < params.max_ns {
            self.grow(params);
        }
    }

    fn grow(&mut self, params: &HaltPollParams) {
        if params.grow != 0 {
            self.ns = (self.ns * params.grow).max(params.grow_start_ns);
        }
    }

    fn shrink(&mut self, params: &HaltPollParams) {
        self.ns = self.ns.checked_div(params.shrink).unwrap_or(0);
        if self.ns < params.grow_start_ns {
            self.ns = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: HaltPollParams = HaltPollParams {
        max_ns: 200_000,
        grow: 2,
        grow_start_ns: 10_000,
        shrink: 0,
    };

    /// 10, 20, 40, 80, 160, 320 µs, of which 200 are allowed.
    #[test]
    fn short_halts_double_the_time_up_to_the_limit() {
        let mut poll = HaltPoll::default();
        let mut times = Vec::new();
        for _ in 0..7 {
            poll.halted(190_000, &PARAMS);
            times.push(poll.time(&PARAMS));
        }
        assert_eq!(times, [10, 20, 40, 80, 160, 200, 200].map(|us| us * 1000));
    }

    #[test]
    fn a_halt_within_the_polling_time_changes_nothing() {
        let mut poll = HaltPoll { ns: 40_000 };
        poll.halted(40_000, &PARAMS);
        assert_eq!(poll.ns, 40_000);
        poll.halted(200_000, &PARAMS);
        assert_eq!(poll.ns, 40_000, "nor does one just as long as the limit");
    }

    #[test]
    fn a_long_halt_ends_polling_or_divides_it() {
        let mut poll = HaltPoll { ns: 40_000 };
        poll.halted(200_001, &PARAMS);
        assert_eq!(poll.ns, 0);
        let halves = HaltPollParams {
            shrink: 2,
            ..PARAMS
        };
        let mut poll = HaltPoll { ns: 20_000 };
        poll.halted(1_000_000, &halves);
        assert_eq!(poll.ns, 10_000);
        poll.halted(1_000_000, &halves);
        assert_eq!(poll.ns, 0, "half of it is below the start");
        poll.halted(1_000_000, &halves);
        assert_eq!(poll.ns, 0);
    }

    #[test]
    fn without_a_limit_there_is_no_polling() {
        let none = HaltPollParams {
            max_ns: 0,
            ..PARAMS
        };
        let mut poll = HaltPoll { ns: 40_000 };
        assert_eq!(poll.time(&none), 0);
        poll.halted(1, &none);
        assert_eq!(poll.ns, 0);
    }
}
