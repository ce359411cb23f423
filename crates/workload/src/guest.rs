//! Virtual machines of a workload: what each is made of and what runs in it.
//!
//! Model.       A vCPU is a thread of the host's workload: an instance of a task that has no program of its own. What runs in
//!              the guest is a workload of its own.
//! Invariants.  The vCPUs' task has as many instances as the topology has CPUs, one empty phase, and is not waited for. A
//!              guest's workload holds no guests.
//! Units.       ns; cycles of the machine's base frequency.
//! Source.      qemu-system-x86_64(1) `-smp`; arch/x86/kvm/vmx/vmx.c and virt/kvm/kvm_main.c @ 6.12: module parameters.

use crate::programs::{self, Program};
use crate::spec::{SemId, TaskSpecId, Workload};

/// One virtual machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuestSpec {
    /// Its name.
    pub name: String,
    /// The task of the host's workload whose instances are the vCPUs' threads.
    pub vcpus: TaskSpecId,
    /// What the guest sees of CPUs.
    pub topology: GuestTopology,
    /// The guest's kernel; none: the host's, with its default features.
    pub kernel: Option<GuestKernel>,
    /// What KVM is told.
    pub kvm: KvmParams,
    /// What the guest's kernel takes its spinlocks for.
    pub spinlocks: Spinlocks,
    /// What leads from the guest to its host and back.
    pub virtqueues: Vec<Virtqueue>,
    /// What runs in the guest.
    pub workload: Workload,
    /// The programs in it, as they are specified.
    pub programs: Vec<String>,
}

impl GuestSpec {
    /// The programs in the guest, for what they print.
    pub fn programs(&self) -> Vec<Program> {
        let made = self.programs.iter().map(|spec| programs::parse(spec));
        let made = made.map(|program| program.expect("programs were checked when read"));
        // A file beside them measures nothing: what they measure is counted as without it.
        programs::join(None, made.collect()).1
    }
}

/// A guest's kernel, as it was written: what kernels and switches there are is not known here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuestKernel {
    /// A release, switches, or both, by commas: `6.1,NO_SIS_UTIL,hz=1000`.
    pub text: String,
    /// Where it stands, for errors: `vm.json:3:17, in guests/vm/kernel`.
    pub place: String,
}

/// Sockets, cores of a socket, threads of a core. The cores of a socket share a last-level cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestTopology {
    /// Sockets.
    pub sockets: u32,
    /// Cores of each.
    pub cores: u32,
    /// Threads of each core.
    pub threads: u32,
}

impl GuestTopology {
    /// One socket of so many cores.
    pub fn flat(vcpus: u32) -> GuestTopology {
        GuestTopology {
            sockets: 1,
            cores: vcpus,
            threads: 1,
        }
    }

    /// How many vCPUs.
    pub fn nr_vcpus(self) -> u32 {
        self.sockets
            .saturating_mul(self.cores)
            .saturating_mul(self.threads)
    }
}

/// Parameters of KVM; none: the default of the host's release.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KvmParams {
    /// `halt_poll_ns`: the longest time to poll before a halted vCPU sleeps; 0: never.
    pub halt_poll_ns: Option<u64>,
    /// `ple_gap`: PAUSEs closer than this many cycles are one loop; 0: no pause-loop exits.
    pub ple_gap: Option<u32>,
    /// `ple_window`: cycles of a loop before it exits.
    pub ple_window: Option<u32>,
    /// `ple_window_grow`: what each exit multiplies the window by; 0: it stays.
    pub ple_window_grow: Option<u32>,
}

/// A virtqueue with its notifications: a semaphore of the guest and one of the host. Who posts to one adds to the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Virtqueue {
    /// The host's.
    pub host: SemId,
    /// The guest's.
    pub guest: SemId,
    /// The vCPU that takes its interrupts.
    pub vcpu: u32,
}

/// Spinlocks of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spinlocks {
    /// How waiters stand in line.
    pub kind: SpinlockKind,
    /// Waiters halt after a while, and are kicked by who unlocks (CONFIG_PARAVIRT_SPINLOCKS).
    pub paravirt: bool,
}

/// How waiters stand in line. Both are served in the order in which they came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SpinlockKind {
    /// All watch one line: each unlock moves it to every waiter (before Linux 4.2).
    Ticket,
    /// Each watches a line of its own, and the next is told (qspinlock).
    #[default]
    Queued,
}
