//! What programs' system calls cost on a CPU.
//!
//! Model. A call takes what the machine says for its kind and for the bytes it copies; around that it varies from call to
//!        call. A call on a stream that another CPU used last fetches the lines of the kernel's structures one after the
//!        other, and those of the bytes several at a time.
//! Source. How many lines: pairs of calls on two CPUs of a Sapphire Rapids Xeon against the same on one, one byte each,
//!         Linux 6.18; the time that they took longer, by that of a line (80 ns there). Longer by: pipe write 275 and read
//!         503 ns, Unix send 450 and receive 950 ns, TCP send 1900 and receive 950 ns.
//! Deviations. Where the stream is, is that of the moment when the call begins.

use crate::simulation::Simulation;
use fairwind_sched::{CpuId, Nanos};
use fairwind_workload::Call;

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
        let mut mean = costs.kernel.syscall_ns + own + u64::from(bytes) * calls.copy_kib_ns / 1024;
        if let Some(stream) = stream {
            let last = std::mem::replace(&mut self.stream_cpus[stream as usize], cpu);
            if last != cpu && last.is_some() {
                let distance = self.distance(last, cpu);
                let lines = u64::from(bytes) / self.machine.caches.line_bytes.max(1);
                let overlap = u64::from(costs.refill.typical_overlap.max(1));
                mean += shared_lines(call) * costs.lock_handover_ns.get(distance)
                    + lines * costs.search_ns.get(distance) / overlap;
            }
        }
        self.runtime.vary(mean).max(1)
    }
}
