//! What programs' system calls cost on a CPU.
//!
//! Model. A call takes what the machine says for its kind and for the bytes it copies; around that it varies from call to
//!        call. A call on a stream that another CPU used last fetches the lines of the kernel's structures one after the
//!        other, and those of the bytes several at a time; a read does so when there is something to read. A Unix socket's buffers (skbs) are queued in memory: while all that
//!        are queued, spread over the cores, take more than a level of their caches, a receive fetches the lines of its
//!        buffer from the next level, one after the other, and a send those of a free one, several at a time. What a send
//!        over loopback wakes is woken in the softirq that receives it.
//! Source. How many lines: pairs of calls on two CPUs of a Sapphire Rapids Xeon against the same on one, one byte each,
//!         Linux 6.18; the time that they took longer, by that of a line (80 ns there). Longer by: pipe write 275 and read
//!         503 ns, Unix send 450 and receive 950 ns, TCP send 1900 and receive 950 ns.
//!         A send over loopback: 1.6 us, of which the softirq (`NET_RX`, from its tracepoints, less what these take) 0.6.
//!         A buffer: `struct sk_buff`, four lines, and its head with 100 bytes and `struct skb_shared_info`, three.
//! Deviations. Where the stream is, and how much is queued, is that of the moment when the call begins. Buffers of TCP, of which
//!         few are queued, and pages of pipes are always in the nearest cache. What a read takes beside fetching is paid before it
//!         waits. Softirqs take the same share of all that a send does.

use crate::simulation::Simulation;
use fairwind_sched::{CpuId, Nanos};
use fairwind_workload::Call;

/// Lines of a Unix socket's buffer.
const SKB_LINES: u64 = 7;

/// Of a TCP send over loopback: the softirq that receives it.
const SOFTIRQ_PERCENT: u64 = 36;

/// Lines of the kernel's structures that a call fetches from the CPU that used the stream last.
fn shared_lines(call: Call) -> u64 {
    match call {
        Call::PipeWrite => 3,
        Call::PipeRead | Call::UnixSend => 6,
        Call::UnixReceive | Call::TcpReceive => 12,
        Call::TcpSend => 24,
        _ => 0,
    }
}

impl Simulation {
    /// CPU time of a call made on `cpu`; at least 1 ns, so that no program can stop the clock.
    #[inline]
    pub(crate) fn call_ns(
        &mut self,
        cpu: CpuId,
        call: Call,
        bytes: u32,
        stream: Option<u32>,
    ) -> Nanos {
        let costs = &self.machine.costs;
        let calls = &costs.calls;
        let own = match call {
            Call::PipeRead | Call::PipeWrite => calls.pipe_ns,
            Call::UnixReceive | Call::UnixSend => calls.unix_ns,
            Call::TcpSend => calls.tcp_send_ns,
            Call::TcpReceive => calls.tcp_receive_ns,
            Call::Poll => calls.poll_ns,
            Call::Fork => calls.fork_ns,
            Call::Clone => calls.clone_ns,
            Call::Exec => calls.exec_ns,
            Call::Wait => 0,
            Call::ExitProcess => calls.exit_process_ns,
            Call::ExitThread => calls.exit_thread_ns,
        };
        let mean = costs.kernel.syscall_ns + own + u64::from(bytes) * calls.copy_kib_ns / 1024;
        let fetched = match (call, stream) {
            (Call::PipeWrite | Call::UnixSend | Call::TcpSend, Some(stream)) => {
                self.stream_stall(cpu, call, bytes, stream)
            }
            (Call::PipeRead | Call::UnixReceive | Call::TcpReceive, Some(stream))
                if !self.runtime.stream_is_empty(stream) =>
            {
                self.stream_stall(cpu, call, bytes, stream)
            }
            _ => 0,
        };
        let mean = mean + self.stall_work(cpu, fetched);
        let work = self.runtime.vary(mean).max(1);
        let in_softirq = call == Call::TcpSend;
        self.tasks[self.cpus[cpu.idx()].running.idx()].in_softirq = in_softirq;
        if in_softirq {
            let softirq = self.kernel_ns(cpu, work) * SOFTIRQ_PERCENT / 100;
            self.sched.account_irq_time(cpu, softirq);
        }
        work
    }

    /// CPU time that a read on `cpu` takes to fetch what was written elsewhere while it waited.
    pub(crate) fn fetch_ns(&mut self, cpu: CpuId, call: Call, bytes: u32, stream: u32) -> Nanos {
        let stall = self.stream_stall(cpu, call, bytes, stream);
        let mean = self.stall_work(cpu, stall);
        self.runtime.vary(mean)
    }

    /// How long `cpu` waits for lines of a stream that another CPU, or many buffers, pushed out of its caches.
    fn stream_stall(&mut self, cpu: CpuId, call: Call, bytes: u32, stream: u32) -> Nanos {
        let costs = &self.machine.costs;
        let mut stall = 0;
        let last = std::mem::replace(&mut self.stream_cpus[stream as usize], cpu);
        if last != cpu && last.is_some() {
            let distance = self.distance(last, cpu);
            let lines = u64::from(bytes) / self.machine.caches.line_bytes.max(1);
            let overlap = u64::from(costs.refill.typical_overlap.max(1));
            stall += shared_lines(call) * costs.lock_handover_ns.get(distance)
                + lines * costs.search_ns.get(distance) / overlap;
        }
        if matches!(call, Call::UnixSend | Call::UnixReceive) {
            stall += self.buffer_ns(call, stream);
        }
        stall
    }

    /// What a call on a Unix socket pays for lines of its buffer that are not in the nearest cache.
    fn buffer_ns(&mut self, call: Call, stream: u32) -> Nanos {
        let memory = self.runtime.stream_memory(stream);
        let noted = std::mem::replace(&mut self.stream_memory[stream as usize], memory);
        self.socket_memory = self.socket_memory + u64::from(memory) - u64::from(noted);
        let caches = &self.machine.caches;
        let refill = &self.machine.costs.refill;
        let cores = self.core_cpus.len() as u64;
        // A core's part, rounded down, is within so many bytes.
        let fits = |bytes: u64| self.socket_memory < (bytes + 1) * cores;
        let line_ps = if fits(caches.l1d_bytes) {
            return 0;
        } else if fits(caches.l2_bytes) {
            refill.l2_line_ps
        } else if self.socket_memory <= caches.llc_bytes {
            refill.llc_line_ps
        } else {
            refill.memory_local_line_ps
        };
        let at_a_time = match call {
            Call::UnixSend => u64::from(refill.typical_overlap.max(1)),
            _ => 1,
        };
        SKB_LINES * line_ps / at_a_time / 1000
    }
}

#[cfg(test)]
mod tests {
    use crate::simulation::{Config, Simulation};
    use fairwind_machine::Machine;
    use fairwind_sched::{CpuId, KernelProfile, Release};
    use fairwind_workload::{Call, programs};

    /// The mean of many calls on the first socket, while so much memory is queued in others.
    fn mean_ns(call: Call, queued: u64) -> u64 {
        let config = Config {
            machine: Machine::load("1x1x1").unwrap(),
            profile: KernelProfile::new(Release::V6_12, 1),
            duration: None,
            seed: 1,
        };
        let program = programs::parse("hackbench:groups=1,fds=1").unwrap();
        let mut simulation = Simulation::new(config, program.workload).unwrap();
        simulation.socket_memory = queued;
        let cpu = CpuId(0);
        let calls = (0..10_000).map(|_| {
            let fetching = match call {
                Call::UnixReceive => simulation.fetch_ns(cpu, call, 100, 0),
                _ => 0,
            };
            simulation.call_ns(cpu, call, 100, Some(0)) + fetching
        });
        calls.sum::<u64>() / 10_000
    }

    #[test]
    fn a_buffer_that_waited_behind_many_is_fetched_from_the_next_cache() {
        // 48 KiB, 2 MiB and 32 MiB; a line takes 5.4, 35 and 125 ns, and 4 are in flight.
        for (queued, receive, send) in [
            (40 << 10, 0, 0),
            (1 << 20, 37, 9),
            (3 << 20, 245, 61),
            (64 << 20, 875, 218),
        ] {
            let more = |call| mean_ns(call, queued) - mean_ns(call, 0);
            assert!(more(Call::UnixReceive).abs_diff(receive) <= 3, "{queued}");
            assert!(more(Call::UnixSend).abs_diff(send) <= 3, "{queued}");
        }
    }
}
