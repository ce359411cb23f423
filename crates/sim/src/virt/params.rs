//! What KVM of a release does where releases differ, and the defaults of its parameters.
//!
//! Source.      virt/kvm/kvm_main.c, arch/x86/kvm/vmx/vmx.c, arch/x86/include/asm/kvm_host.h @ 6.1.192, 6.12.117.

use fairwind_guest::{HaltPollParams, PleParams};
use fairwind_sched::Release;
use fairwind_workload::KvmParams;

/// Parameters of KVM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kvm {
    pub(crate) halt_poll: HaltPollParams,
    pub(crate) ple: PleParams,
}

impl Kvm {
    /// Those of a release, but for what is given.
    pub(crate) fn of(release: Release, given: KvmParams) -> Kvm {
        let shrink = match release {
            Release::V6_1 => 0,
            Release::V6_12 | Release::V6_18 => 2,
        };
        Kvm {
            halt_poll: HaltPollParams {
                max_ns: given.halt_poll_ns.unwrap_or(200_000),
                grow: 2,
                grow_start_ns: 10_000,
                shrink,
            },
            ple: PleParams {
                gap: given.ple_gap.unwrap_or(128),
                window: given.ple_window.unwrap_or(4096),
                grow: given.ple_window_grow.unwrap_or(2),
                shrink: 0,
                max: u32::MAX,
            },
        }
    }
}
