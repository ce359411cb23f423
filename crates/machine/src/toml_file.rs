//! Reads a machine file: TOML in which every number has its source beside it.
//!
//! Model.       A number is written `{ value = 110, source = "…" }`, a cost by distance
//!              `{ smt = 1, llc = 2, remote = [3], source = "…" }`: unless given, `same_cpu` is 0,
//!              `cluster` and `node` are as `llc`, and classes of remote distance beyond the list
//!              are as its last. `[variants.NAME]` changes counts of `[topology]`; which one is
//!              meant is the preset's business.

mod schema;

use std::collections::BTreeMap;

use toml::Spanned;

use crate::caches::{Caches, RefillCosts};
use crate::costs::{CallCosts, Costs, KernelCosts};
use crate::distance::{ByDistance, REMOTE_CLASSES};
use crate::error::{Error, line_column};
use crate::idle::{IdleState, IdleStates};
use crate::machine::Machine;
use crate::places::is_legal_distance;
use crate::power::{Frequency, Power};
use crate::shorthand::Regular;
use schema::{Fact, File, Levels, Numbering, Topology};

/// Reads `text`; `file` names it in errors, `variant` picks one of its variants.
pub(crate) fn read(file: &str, text: &str, variant: Option<&str>) -> Result<Machine, Error> {
    let parsed: File = toml::from_str(text).map_err(|error| Error::Content {
        file: file.to_string(),
        place: error.span().map(|span| line_column(text, span.start)),
        what: error.message().to_string(),
        mend: "docs/cost-model.md shows the form of a machine file".to_string(),
    })?;
    Reader {
        file,
        text,
        sources: BTreeMap::new(),
    }
    .machine(parsed, variant)
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    sources: BTreeMap<String, String>,
}

impl Reader<'_> {
    fn machine(mut self, parsed: File, variant: Option<&str>) -> Result<Machine, Error> {
        let (mut name, mut description) = (parsed.name, parsed.description);
        let at = parsed.topology.span().start;
        let mut layout = parsed.topology.into_inner();
        if let Some(variant) = variant {
            let Some(change) = parsed.variants.get(variant) else {
                return Err(self.wrong(0, format!("no variant '{variant}' in it"), ""));
            };
            name = variant.to_string();
            description.clone_from(&change.description);
            layout.llcs_per_node = change.llcs_per_node.unwrap_or(layout.llcs_per_node);
            layout.cores_per_llc = change.cores_per_llc.unwrap_or(layout.cores_per_llc);
        }
        let regular = regular(&layout);
        regular.check().map_err(|what| self.wrong(at, what, ""))?;
        let node_distance = self.node_distance(&layout, &regular)?;
        let topology = regular.topology(node_distance);

        let caches = Caches {
            line_bytes: self.fact("caches.line_bytes", parsed.caches.line_bytes),
            l1d_bytes: self.fact("caches.l1d_bytes", parsed.caches.l1d_bytes),
            l2_bytes: self.fact("caches.l2_bytes", parsed.caches.l2_bytes),
            l2_per_cluster: layout.cores_per_cluster > 1,
            llc_bytes: self.fact("caches.llc_bytes", parsed.caches.llc_bytes),
        };
        if caches.line_bytes == 0 {
            return Err(self.wrong(
                0,
                "caches.line_bytes is 0".to_string(),
                "give the line size",
            ));
        }
        let kernel = self.kernel(parsed.kernel);
        let calls = self.calls(parsed.calls);
        let costs = Costs {
            kernel,
            calls,
            search_ns: self.by_distance("distance.search_ns", parsed.distance.search_ns)?,
            ipi_ns: self.by_distance("distance.ipi_ns", parsed.distance.ipi_ns)?,
            lock_handover_ns: self.by_distance(
                "distance.lock_handover_ns",
                parsed.distance.lock_handover_ns,
            )?,
            idle: self.idle(parsed.idle)?,
            smt_speed_per_1024: self.smt(parsed.smt, layout.threads_per_core)?,
            refill: self.refill(parsed.refill)?,
            frequency: self.frequency(parsed.frequency)?,
            power: self.power(parsed.power),
            sources: std::mem::take(&mut self.sources),
        };
        Ok(Machine::new(name, description, topology, caches, costs))
    }

    fn node_distance(&self, layout: &Topology, regular: &Regular) -> Result<Vec<Vec<u32>>, Error> {
        let Some(given) = &layout.node_distance else {
            return Ok(regular.default_distances());
        };
        let nr_nodes = regular.nr_nodes() as usize;
        let rows = given.get_ref();
        if rows.len() != nr_nodes || rows.iter().any(|row| row.len() != nr_nodes) {
            let what = format!("node_distance is not {nr_nodes} x {nr_nodes}");
            return Err(self.wrong(given.span().start, what, "give one row of distances a node"));
        }
        let legal =
            (0..nr_nodes).all(|a| (0..nr_nodes).all(|b| is_legal_distance(a == b, rows[a][b])));
        if !legal {
            let what = "node_distance is not that of an ACPI SLIT".to_string();
            let mend = "10 on the diagonal, 11 to 255 elsewhere";
            return Err(self.wrong(given.span().start, what, mend));
        }
        Ok(rows.clone())
    }

    fn kernel(&mut self, kernel: schema::Kernel) -> KernelCosts {
        KernelCosts {
            syscall_ns: self.fact("kernel.syscall_ns", kernel.syscall_ns),
            wakeup_ns: self.fact("kernel.wakeup_ns", kernel.wakeup_ns),
            schedule_ns: self.fact("kernel.schedule_ns", kernel.schedule_ns),
            sleep_ns: self.fact("kernel.sleep_ns", kernel.sleep_ns),
            context_switch_ns: self.fact("kernel.context_switch_ns", kernel.context_switch_ns),
            mm_switch_ns: self.fact("kernel.mm_switch_ns", kernel.mm_switch_ns),
            interrupt_ns: self.fact("kernel.interrupt_ns", kernel.interrupt_ns),
            tick_ns: self.fact("kernel.tick_ns", kernel.tick_ns),
            timer_ns: self.fact("kernel.timer_ns", kernel.timer_ns),
            ipi_send_ns: self.fact("kernel.ipi_send_ns", kernel.ipi_send_ns),
            migrate_ns: self.fact("kernel.migrate_ns", kernel.migrate_ns),
            group_level_ns: self.fact("kernel.group_level_ns", kernel.group_level_ns),
            atomic_ns: self.fact("kernel.atomic_ns", kernel.atomic_ns),
            vm_exit_ns: self.fact("kernel.vm_exit_ns", kernel.vm_exit_ns),
        }
    }

    fn calls(&mut self, calls: schema::Calls) -> CallCosts {
        CallCosts {
            copy_kib_ns: self.fact("calls.copy_kib_ns", calls.copy_kib_ns),
            pipe_ns: self.fact("calls.pipe_ns", calls.pipe_ns),
            unix_ns: self.fact("calls.unix_ns", calls.unix_ns),
            tcp_send_ns: self.fact("calls.tcp_send_ns", calls.tcp_send_ns),
            tcp_receive_ns: self.fact("calls.tcp_receive_ns", calls.tcp_receive_ns),
            poll_ns: self.fact("calls.poll_ns", calls.poll_ns),
            fork_ns: self.fact("calls.fork_ns", calls.fork_ns),
            clone_ns: self.fact("calls.clone_ns", calls.clone_ns),
            exec_ns: self.fact("calls.exec_ns", calls.exec_ns),
            exit_process_ns: self.fact("calls.exit_process_ns", calls.exit_process_ns),
            exit_thread_ns: self.fact("calls.exit_thread_ns", calls.exit_thread_ns),
        }
    }

    fn refill(&mut self, refill: schema::Refill) -> Result<RefillCosts, Error> {
        let remote = &refill.memory_remote_line_ps;
        let memory_remote_line_ps =
            self.remote(remote.value.span().start, remote.value.get_ref())?;
        self.source("refill.memory_remote_line_ps", &remote.source);
        Ok(RefillCosts {
            l2_line_ps: self.fact("refill.l2_line_ps", refill.l2_line_ps),
            llc_line_ps: self.fact("refill.llc_line_ps", refill.llc_line_ps),
            other_llc_line_ps: self.fact("refill.other_llc_line_ps", refill.other_llc_line_ps),
            memory_local_line_ps: self
                .fact("refill.memory_local_line_ps", refill.memory_local_line_ps),
            memory_remote_line_ps,
            outstanding_misses: self.fact("refill.outstanding_misses", refill.outstanding_misses),
            typical_overlap: self.fact("refill.typical_overlap", refill.typical_overlap),
        })
    }

    fn idle(&mut self, idle: schema::Idle) -> Result<IdleStates, Error> {
        self.source("idle.states", &idle.source);
        self.source("idle.power_mw", &idle.power_source);
        let at = idle.states.span().start;
        let states = idle.states.into_inner().into_iter().enumerate();
        let states = states.map(|(idx, state)| IdleState {
            polling: idx == 0 || state.mwait,
            name: state.name,
            exit_latency_ns: state.exit_latency_ns,
            target_residency_ns: state.target_residency_ns,
            power_mw: state.power_mw,
        });
        IdleStates::new(states.collect()).ok_or_else(|| {
            let what = "idle states are missing or out of order".to_string();
            self.wrong(
                at,
                what,
                "list them from shallow to deep by target_residency_ns",
            )
        })
    }

    fn smt(&mut self, smt: schema::Smt, threads: u32) -> Result<Vec<u32>, Error> {
        self.source("smt.speed_per_1024", &smt.speed_per_1024.source);
        let at = smt.speed_per_1024.value.span().start;
        let speeds = smt.speed_per_1024.value.into_inner();
        if speeds.len() != threads as usize {
            let what = format!("{} speeds for {threads} threads per core", speeds.len());
            return Err(self.wrong(at, what, "give one for each number of busy threads"));
        }
        let falls = speeds.windows(2).all(|pair| pair[0] >= pair[1]);
        if speeds[0] != 1024 || !falls || speeds.contains(&0) {
            let what = "speeds must start at 1024, not rise and not reach 0".to_string();
            return Err(self.wrong(at, what, "each is a thread's speed, alone being 1024"));
        }
        Ok(speeds)
    }

    fn frequency(&mut self, frequency: schema::Frequency) -> Result<Frequency, Error> {
        let base_khz = self.fact("frequency.base_khz", frequency.base_khz);
        let mut turbo = Vec::new();
        if let Some(table) = frequency.turbo {
            self.source("frequency.turbo", &table.source);
            let at = table.value.span().start;
            turbo = table.value.into_inner();
            if !turbo.windows(2).all(|pair| pair[0].0 < pair[1].0) {
                let what = "turbo steps are not in order of active cores".to_string();
                return Err(self.wrong(at, what, "write [[cores, kHz], …] with rising cores"));
            }
        }
        let mut invariance_cores = 0;
        if let Some(cores) = frequency.invariance_cores {
            self.source("frequency.invariance_cores", &cores.source);
            let at = cores.value.span().start;
            invariance_cores = cores.value.into_inner();
            if !(1..=turbo.last().map_or(0, |step| step.0)).contains(&invariance_cores) {
                let what = format!("no turbo for {invariance_cores} active cores");
                return Err(self.wrong(at, what, "give a number of cores of the turbo table"));
            }
        }
        if base_khz == 0 {
            return Err(self.wrong(0, "frequency.base_khz is 0".to_string(), ""));
        }
        let kernel_khz = frequency
            .kernel_khz
            .map(|khz| self.fact("frequency.kernel_khz", khz));
        Ok(Frequency {
            kernel_khz: kernel_khz.unwrap_or(0),
            base_khz,
            turbo,
            invariance_cores,
        })
    }

    fn power(&mut self, power: schema::Power) -> Power {
        Power {
            package_idle_mw: self.fact("power.package_idle_mw", power.package_idle_mw),
            uncore_mw: self.fact("power.uncore_mw", power.uncore_mw),
            core_active_mw: self.fact("power.core_active_mw", power.core_active_mw),
            thread_extra_mw: self.fact("power.thread_extra_mw", power.thread_extra_mw),
        }
    }

    fn by_distance(&mut self, name: &str, levels: Spanned<Levels>) -> Result<ByDistance, Error> {
        let at = levels.span().start;
        let levels = levels.into_inner();
        self.source(name, &levels.source);
        Ok(ByDistance {
            same_cpu: levels.same_cpu.unwrap_or(0),
            smt: levels.smt,
            cluster: levels.cluster.unwrap_or(levels.llc),
            llc: levels.llc,
            node: levels.node.unwrap_or(levels.llc),
            remote: self.remote(at, &levels.remote)?,
        })
    }

    /// Spreads a list by class of remote distance; classes beyond it cost as much as its last.
    fn remote<T: Copy>(&self, at: usize, list: &[T]) -> Result<[T; REMOTE_CLASSES], Error> {
        match (list.last(), list.len()) {
            (Some(last), 1..=REMOTE_CLASSES) => {
                Ok(std::array::from_fn(|idx| *list.get(idx).unwrap_or(last)))
            }
            _ => {
                let what = format!("{} remote distances", list.len());
                let mend = format!("give 1 to {REMOTE_CLASSES}, nearest first");
                Err(self.wrong(at, what, &mend))
            }
        }
    }

    fn fact<T>(&mut self, name: &str, fact: Fact<T>) -> T {
        self.source(name, &fact.source);
        fact.value
    }

    fn source(&mut self, name: &str, source: &str) {
        self.sources.insert(name.to_string(), source.to_string());
    }

    fn wrong(&self, at: usize, what: String, mend: &str) -> Error {
        Error::Content {
            file: self.file.to_string(),
            place: Some(line_column(self.text, at)),
            what,
            mend: mend.to_string(),
        }
    }
}

fn regular(layout: &Topology) -> Regular {
    Regular {
        sockets: layout.sockets,
        nodes_per_socket: layout.nodes_per_socket,
        sockets_per_node: layout.sockets_per_node,
        llcs_per_node: layout.llcs_per_node,
        cores_per_llc: layout.cores_per_llc,
        cores_per_cluster: layout.cores_per_cluster,
        threads_per_core: layout.threads_per_core,
        siblings_apart: layout.numbering == Numbering::SiblingsApart,
    }
}
