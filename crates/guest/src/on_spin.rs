//! The round of a vCPU that spun too long: to whom it tries to yield.
//!
//! Model.       The round begins behind the vCPU that was boosted last and goes once around the guest. A vCPU is passed over
//!              that is not waiting for a CPU as far as KVM knows, that was preempted outside its kernel without an interrupt
//!              to come, or that is in a round itself, every second time it is looked at. The round ends with the first yield
//!              that succeeds, or when three found nothing to yield to because both queues held one task only.
//! Source.      virt/kvm/kvm_main.c @ 6.1.192, 6.12.117: `kvm_vcpu_on_spin`, `kvm_vcpu_eligible_for_directed_yield`.

/// What a vCPU remembers of rounds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SpinLoop {
    /// It is in a round.
    pub in_spin_loop: bool,
    /// It may be yielded to although it is in a round.
    pub dy_eligible: bool,
}

/// What KVM sees of a vCPU.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct VcpuView {
    /// It was preempted, or woken, and has not run since.
    pub ready: bool,
    /// It was preempted.
    pub preempted: bool,
    /// It is halted and its thread sleeps.
    pub blocking: bool,
    /// An interrupt waits for it.
    pub pending_interrupt: bool,
    /// When it left guest mode it was in its kernel.
    pub in_kernel: bool,
}

/// Yields that find one task on both queues before a round gives up.
const TRIES: u32 = 3;

/// A round under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Round {
    me: usize,
    nr_vcpus: usize,
    last_boosted: usize,
    /// How many were looked at.
    looked_at: usize,
    tries: u32,
}

impl Round {
    /// A round of the vCPU `me` in a guest of so many.
    pub fn new(me: usize, nr_vcpus: usize, last_boosted: usize, own: &mut SpinLoop) -> Round {
        own.in_spin_loop = true;
        Round {
            me,
            nr_vcpus,
            last_boosted,
            looked_at: 0,
            tries: TRIES,
        }
    }

    /// The vCPU to look at next; none: the round is over.
    pub fn next_vcpu(&mut self) -> Option<usize> {
        if self.tries == 0 || self.looked_at == self.nr_vcpus {
            return None;
        }
        self.looked_at += 1;
        Some((self.last_boosted + self.looked_at) % self.nr_vcpus)
    }

    /// Is a vCPU worth a try? `ready_only`: the handler looks whether it waits for a CPU, and where it was preempted.
    pub fn accepts(
        &self,
        vcpu: usize,
        view: VcpuView,
        spin: &mut SpinLoop,
        ready_only: bool,
    ) -> bool {
        if vcpu == self.me || (ready_only && !view.ready) {
            return false;
        }
        if view.blocking && !view.pending_interrupt {
            return false;
        }
        if ready_only && view.preempted && !view.pending_interrupt && !view.in_kernel {
            return false;
        }
        let eligible = !spin.in_spin_loop || spin.dy_eligible;
        if spin.in_spin_loop {
            spin.dy_eligible = !spin.dy_eligible;
        }
        eligible
    }

    /// A yield found one task only on both queues.
    pub fn found_nothing(&mut self) {
        self.tries -= 1;
    }

    /// The round is over.
    pub fn finish(own: &mut SpinLoop) {
        *own = SpinLoop::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(me: usize, nr_vcpus: usize, last_boosted: usize) -> Vec<usize> {
        let mut round = Round::new(me, nr_vcpus, last_boosted, &mut SpinLoop::default());
        std::iter::from_fn(|| round.next_vcpu()).collect()
    }

    #[test]
    fn it_begins_behind_the_last_boosted_and_ends_with_it() {
        assert_eq!(order(0, 4, 1), [2, 3, 0, 1]);
        assert_eq!(order(0, 4, 0), [1, 2, 3, 0]);
        assert_eq!(order(0, 1, 0), [0]);
    }

    #[test]
    fn three_that_find_nothing_end_it() {
        let mut round = Round::new(0, 8, 0, &mut SpinLoop::default());
        for _ in 0..3 {
            assert!(round.next_vcpu().is_some());
            round.found_nothing();
        }
        assert_eq!(round.next_vcpu(), None);
    }

    #[test]
    fn who_is_worth_a_try() {
        let round = Round::new(0, 4, 0, &mut SpinLoop::default());
        let ready = VcpuView {
            ready: true,
            preempted: true,
            in_kernel: true,
            ..VcpuView::default()
        };
        let accepts =
            |view, ready_only| round.accepts(1, view, &mut SpinLoop::default(), ready_only);
        assert!(accepts(ready, true));
        assert!(
            !round.accepts(0, ready, &mut SpinLoop::default(), true),
            "itself"
        );
        let runs = VcpuView::default();
        assert!(!accepts(runs, true));
        assert!(
            accepts(runs, false),
            "without the check the run queues' locks tell"
        );
        let in_user = VcpuView {
            in_kernel: false,
            ..ready
        };
        assert!(!accepts(in_user, true));
        let wanted = VcpuView {
            pending_interrupt: true,
            ..in_user
        };
        assert!(accepts(wanted, true));
        let halted = VcpuView {
            blocking: true,
            ..VcpuView::default()
        };
        assert!(!accepts(halted, false));
    }

    #[test]
    fn one_that_spins_itself_is_taken_every_second_time() {
        let round = Round::new(0, 4, 0, &mut SpinLoop::default());
        let ready = VcpuView {
            ready: true,
            preempted: true,
            in_kernel: true,
            ..VcpuView::default()
        };
        let mut spin = SpinLoop {
            in_spin_loop: true,
            dy_eligible: false,
        };
        let taken: Vec<bool> = (0..4)
            .map(|_| round.accepts(1, ready, &mut spin, true))
            .collect();
        assert_eq!(taken, [false, true, false, true]);
        Round::finish(&mut spin);
        assert_eq!(spin, SpinLoop::default());
    }
}
