//! The form of a machine file, as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// A number and where it comes from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fact<T> {
    pub(super) value: T,
    pub(super) source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) topology: Spanned<Topology>,
    #[serde(default)]
    pub(super) variants: BTreeMap<String, Variant>,
    pub(super) caches: Caches,
    pub(super) refill: Refill,
    pub(super) kernel: Kernel,
    pub(super) calls: Calls,
    pub(super) distance: Distance,
    pub(super) smt: Smt,
    pub(super) idle: Idle,
    pub(super) frequency: Frequency,
    pub(super) power: Power,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Topology {
    pub(super) sockets: u32,
    #[serde(default = "one")]
    pub(super) nodes_per_socket: u32,
    #[serde(default = "one")]
    pub(super) sockets_per_node: u32,
    #[serde(default = "one")]
    pub(super) llcs_per_node: u32,
    pub(super) cores_per_llc: u32,
    #[serde(default = "one")]
    pub(super) cores_per_cluster: u32,
    pub(super) threads_per_core: u32,
    pub(super) numbering: Numbering,
    pub(super) node_distance: Option<Spanned<Vec<Vec<u32>>>>,
    /// For the reader of the file; counts need no table.
    #[serde(rename = "source")]
    pub(super) _source: String,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Numbering {
    SiblingsAdjacent,
    SiblingsApart,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    pub(super) description: String,
    pub(super) llcs_per_node: Option<u32>,
    pub(super) cores_per_llc: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Caches {
    pub(super) line_bytes: Fact<u64>,
    pub(super) l1d_bytes: Fact<u64>,
    pub(super) l2_bytes: Fact<u64>,
    pub(super) llc_bytes: Fact<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refill {
    pub(super) l2_line_ps: Fact<u64>,
    pub(super) llc_line_ps: Fact<u64>,
    pub(super) other_llc_line_ps: Fact<u64>,
    pub(super) memory_local_line_ps: Fact<u64>,
    pub(super) memory_remote_line_ps: Fact<Spanned<Vec<u64>>>,
    pub(super) outstanding_misses: Fact<u32>,
    pub(super) typical_overlap: Fact<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kernel {
    pub(super) syscall_ns: Fact<u64>,
    pub(super) wakeup_ns: Fact<u64>,
    pub(super) schedule_ns: Fact<u64>,
    pub(super) sleep_ns: Fact<u64>,
    pub(super) context_switch_ns: Fact<u64>,
    pub(super) mm_switch_ns: Fact<u64>,
    pub(super) interrupt_ns: Fact<u64>,
    pub(super) tick_ns: Fact<u64>,
    pub(super) timer_ns: Fact<u64>,
    pub(super) ipi_send_ns: Fact<u64>,
    pub(super) migrate_ns: Fact<u64>,
    pub(super) group_level_ns: Fact<u64>,
    pub(super) atomic_ns: Fact<u64>,
    pub(super) vm_exit_ns: Fact<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Calls {
    pub(super) copy_kib_ns: Fact<u64>,
    pub(super) pipe_ns: Fact<u64>,
    pub(super) unix_ns: Fact<u64>,
    pub(super) tcp_send_ns: Fact<u64>,
    pub(super) tcp_receive_ns: Fact<u64>,
    pub(super) poll_ns: Fact<u64>,
    pub(super) fork_ns: Fact<u64>,
    pub(super) clone_ns: Fact<u64>,
    pub(super) exec_ns: Fact<u64>,
    pub(super) exit_process_ns: Fact<u64>,
    pub(super) exit_thread_ns: Fact<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Distance {
    pub(super) search_ns: Spanned<Levels>,
    pub(super) ipi_ns: Spanned<Levels>,
    pub(super) lock_handover_ns: Spanned<Levels>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Levels {
    pub(super) same_cpu: Option<u64>,
    pub(super) smt: u64,
    pub(super) cluster: Option<u64>,
    pub(super) llc: u64,
    pub(super) node: Option<u64>,
    pub(super) remote: Vec<u64>,
    pub(super) source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Smt {
    pub(super) speed_per_1024: Fact<Spanned<Vec<u32>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Idle {
    pub(super) states: Spanned<Vec<State>>,
    pub(super) source: String,
    pub(super) power_source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    pub(super) name: String,
    pub(super) exit_latency_ns: u64,
    pub(super) target_residency_ns: u64,
    pub(super) power_mw: u64,
    #[serde(default)]
    pub(super) mwait: bool,
}

/// `[[cores, kHz], …]`
pub(super) type Turbo = Vec<(u32, u64)>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Frequency {
    pub(super) base_khz: Fact<u64>,
    pub(super) turbo: Option<Fact<Spanned<Turbo>>>,
    pub(super) invariance_cores: Option<Fact<Spanned<u32>>>,
    pub(super) kernel_khz: Option<Fact<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Power {
    pub(super) package_idle_mw: Fact<u64>,
    pub(super) uncore_mw: Fact<u64>,
    pub(super) core_active_mw: Fact<u64>,
    pub(super) thread_extra_mw: Fact<u64>,
}
