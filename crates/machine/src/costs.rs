//! What the steps of scheduling cost on a machine.
//!
//! Model.       Every number is a fact of hardware or of the kernel's code on it, never of a
//!              benchmark. The source of each stands beside it in the machine's file and in
//!              [`Machine::summary`](crate::Machine::summary).
//! Units.       Nanoseconds where the name does not say otherwise.
//! Not here.    When a step happens: that is the simulator's part.

use std::collections::BTreeMap;

use crate::caches::RefillCosts;
use crate::distance::ByDistance;
use crate::idle::IdleStates;
use crate::power::{Frequency, Power};

/// CPU time of the kernel's own steps.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KernelCosts {
    /// Entry and exit of a system call that does nothing.
    pub syscall_ns: u64,
    /// A wake-up on the waker's CPU: `try_to_wake_up` with the enqueue, without the search for a
    /// CPU, waiting for a lock, or the IPI.
    pub wakeup_ns: u64,
    /// `schedule` up to the choice of the next task, without the switch.
    pub schedule_ns: u64,
    /// Taking a task off its queue because it sleeps, on top of `schedule`.
    pub sleep_ns: u64,
    /// The switch to another thread of the same address space.
    pub context_switch_ns: u64,
    /// Added when the address space changes as well.
    pub mm_switch_ns: u64,
    /// Taking an interrupt: entry, the handler's fixed part, exit.
    pub interrupt_ns: u64,
    /// Work of one timer tick, beyond `interrupt_ns`.
    pub tick_ns: u64,
    /// Arming a high-resolution timer.
    pub timer_ns: u64,
    /// Sending an IPI, on the sender.
    pub ipi_send_ns: u64,
    /// Moving a queued task to another run queue (detach, attach), without lock waits.
    pub migrate_ns: u64,
    /// Each level of task group below the root, for each enqueue, dequeue and pick.
    pub group_level_ns: u64,
    /// An uncontended atomic operation or lock on a line that the CPU owns.
    pub atomic_ns: u64,
    /// A virtual machine's exit to its hypervisor and re-entry, handled in the kernel.
    pub vm_exit_ns: u64,
}

/// CPU time of system calls that programs make, beyond [`KernelCosts::syscall_ns`], copying and waking.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CallCosts {
    /// Copying a KiB between a program and the kernel.
    pub copy_kib_ns: u64,
    /// A read or write of a pipe, beyond `syscall_ns`, copying and waking.
    pub pipe_ns: u64,
    /// Sending to or receiving from a Unix stream socket, likewise.
    pub unix_ns: u64,
    /// Sending on a TCP connection over loopback, with the softirq that receives it, likewise.
    pub tcp_send_ns: u64,
    /// Receiving on a TCP connection, likewise.
    pub tcp_receive_ns: u64,
    /// A poll of one file, likewise.
    pub poll_ns: u64,
    /// `fork`, on the parent.
    pub fork_ns: u64,
    /// Making a thread, on its creator.
    pub clone_ns: u64,
    /// `exec`, with the new image's first page faults.
    pub exec_ns: u64,
    /// What a new process pays for its first page faults and at its end.
    pub exit_process_ns: u64,
    /// The end of a thread.
    pub exit_thread_ns: u64,
}

/// All costs of a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Costs {
    /// CPU time of the kernel's own steps.
    pub kernel: KernelCosts,
    /// CPU time of programs' system calls.
    pub calls: CallCosts,
    /// Looking at another CPU's run queue, per CPU looked at: the transfer of its line.
    pub search_ns: ByDistance,
    /// From sending an IPI to the first instruction of its handler on an awake CPU; a CPU that is
    /// idle adds its state's exit latency.
    pub ipi_ns: ByDistance,
    /// Hand-over of a contended lock from its holder to a waiter.
    pub lock_handover_ns: ByDistance,
    /// Idle states of a core.
    pub idle: IdleStates,
    /// `[n - 1]`: speed of each thread of a core while n of its threads are busy, alone being 1024.
    /// Empty: siblings do not slow each other down.
    pub smt_speed_per_1024: Vec<u32>,
    /// What a cache line costs, by where it is found.
    pub refill: RefillCosts,
    /// Clock frequencies.
    pub frequency: Frequency,
    /// Electric power.
    pub power: Power,
    /// Where each number comes from, by the name it has in [`SummaryRow`](crate::SummaryRow).
    pub sources: BTreeMap<String, String>,
}

impl Costs {
    /// Nothing costs anything, SMT siblings run at full speed: the bare decisions of the scheduler.
    pub fn none() -> Costs {
        Costs {
            kernel: KernelCosts::default(),
            calls: CallCosts::default(),
            search_ns: ByDistance::default(),
            ipi_ns: ByDistance::default(),
            lock_handover_ns: ByDistance::default(),
            idle: IdleStates::none(),
            smt_speed_per_1024: Vec::new(),
            refill: RefillCosts::default(),
            frequency: Frequency {
                base_khz: 1_000_000,
                turbo: Vec::new(),
                invariance_cores: 0,
                kernel_khz: 0,
            },
            power: Power::default(),
            sources: BTreeMap::new(),
        }
    }

    /// Speed of each thread of a core while `busy_threads` of them are busy, alone being 1024.
    /// Beyond the table the threads share the work that the core did at its last entry.
    pub fn smt_speed_per_1024(&self, busy_threads: usize) -> u32 {
        let busy = busy_threads.max(1);
        let table = &self.smt_speed_per_1024;
        match (table.get(busy - 1), table.last()) {
            (Some(speed), _) => *speed,
            (None, Some(last)) => (u64::from(*last) * table.len() as u64 / busy as u64) as u32,
            (None, None) => 1024,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance::Distance;

    #[test]
    fn none_is_free_and_full_speed() {
        let costs = Costs::none();
        assert_eq!(costs.ipi_ns.get(Distance::Remote(2)), 0);
        assert_eq!(costs.smt_speed_per_1024(0), 1024);
        assert_eq!(costs.smt_speed_per_1024(8), 1024);
        assert_eq!(costs.idle.idle_state_for(u64::MAX), 0);
        assert_eq!(costs.frequency.speed_per_1024(5), 1024);
    }

    #[test]
    fn threads_beyond_the_table_share_what_the_core_does() {
        let costs = Costs {
            smt_speed_per_1024: vec![1024, 640],
            ..Costs::none()
        };
        assert_eq!(
            [0, 1, 2].map(|busy| costs.smt_speed_per_1024(busy)),
            [1024, 1024, 640]
        );
        // 2 × 640 among 4 and among 8 threads.
        assert_eq!(
            [4, 8].map(|busy| costs.smt_speed_per_1024(busy)),
            [320, 160]
        );
    }
}
