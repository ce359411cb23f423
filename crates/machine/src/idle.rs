//! Idle states of a core: how deep it may sleep, and what waking costs.
//!
//! Model.       Index 0 is the polling state. The state for a predicted idle time is the deepest
//!              whose target residency fits in it.
//! Invariants.  At least one state; target residencies do not fall with the index.
//! Source.      The rule of the menu governor (drivers/cpuidle/governors/menu.c, `menu_select`)
//!              without its latency limit, its tick rule and its correction of the prediction.
//! Deviations.  Drivers' exit latencies are worst cases; a wake-up from a state entered just now is
//!              shorter. Every wake-up here pays the whole of it.

/// One idle state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdleState {
    /// The driver's name for it, such as `C1E`.
    pub name: String,
    /// Time from the wake-up to the first instruction.
    pub exit_latency_ns: u64,
    /// Shortest stay for which the state saves energy over the one before it.
    pub target_residency_ns: u64,
    /// What a core draws in it, when all its threads are at least this deep.
    pub power_mw: u64,
    /// A CPU in it polls or watches a line (`MWAIT`): a write to that line wakes it, without an interrupt.
    pub polling: bool,
}

/// The idle states of a core, shallow to deep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdleStates {
    states: Vec<IdleState>,
}

impl IdleStates {
    /// From a list that goes shallow to deep; `None` when the invariants do not hold.
    pub fn new(states: Vec<IdleState>) -> Option<IdleStates> {
        let in_order = states
            .windows(2)
            .all(|pair| pair[0].target_residency_ns <= pair[1].target_residency_ns);
        (!states.is_empty() && in_order).then_some(IdleStates { states })
    }

    /// One state that costs nothing.
    pub fn none() -> IdleStates {
        let poll = IdleState {
            name: "POLL".to_string(),
            exit_latency_ns: 0,
            target_residency_ns: 0,
            power_mw: 0,
            polling: true,
        };
        IdleStates { states: vec![poll] }
    }

    /// All states, shallow to deep.
    pub fn states(&self) -> &[IdleState] {
        &self.states
    }

    /// Index of the deepest state whose target residency fits in `predicted_idle_ns`; 0 when none
    /// does.
    pub fn idle_state_for(&self, predicted_idle_ns: u64) -> usize {
        self.states
            .partition_point(|state| state.target_residency_ns <= predicted_idle_ns)
            .saturating_sub(1)
    }

    /// The same among the states whose exit latency is at most `latency_limit_ns` (PM QoS).
    pub fn idle_state_within(&self, predicted_idle_ns: u64, latency_limit_ns: u64) -> usize {
        let deepest = self.idle_state_for(predicted_idle_ns);
        (0..=deepest)
            .rev()
            .find(|&idx| self.states[idx].exit_latency_ns <= latency_limit_ns)
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(name: &str, exit_us: u64, residency_us: u64) -> IdleState {
        IdleState {
            name: name.to_string(),
            exit_latency_ns: exit_us * 1000,
            target_residency_ns: residency_us * 1000,
            power_mw: 0,
            polling: false,
        }
    }

    #[test]
    fn deepest_state_that_fits() {
        let states = IdleStates::new(vec![
            state("POLL", 0, 0),
            state("C1", 3, 6),
            state("C6", 200, 800),
        ])
        .unwrap();
        assert_eq!(states.idle_state_for(0), 0);
        assert_eq!(states.idle_state_for(5_999), 0);
        assert_eq!(states.idle_state_for(6_000), 1);
        assert_eq!(states.idle_state_for(799_999), 1);
        assert_eq!(states.idle_state_for(u64::MAX), 2);
        assert_eq!(states.idle_state_within(u64::MAX, 199_999), 1);
        assert_eq!(states.idle_state_within(u64::MAX, 0), 0);
    }

    #[test]
    fn states_out_of_order_are_refused() {
        assert!(IdleStates::new(vec![state("C6", 1, 10), state("C1", 1, 1)]).is_none());
        assert!(IdleStates::new(vec![]).is_none());
    }
}
