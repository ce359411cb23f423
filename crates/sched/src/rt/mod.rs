//! The real-time class: SCHED_FIFO and SCHED_RR, who may run them where, and what limits them.
//!
//! Model.      The strongest queued task runs; equals run in order of arrival, SCHED_RR ones in turns of
//!             `sched_rr_timeslice_ms`. Across CPUs the strongest tasks of the machine are to run: a waking task looks
//!             for the CPU with the weakest work, a CPU with two tasks pushes one away, a CPU whose
//!             priority drops pulls one. 6.1 takes the CPU from all RT tasks when they used up
//!             `sched_rt_runtime_us` of a period (`throttle`); 6.12 lends fair tasks a server that ranks above them
//!             (`fair_server`).
//! Units.      Kernel priorities: 0..98 real-time, lower is stronger, `99 − rt_priority`; −1 SCHED_DEADLINE.
//! Source.     kernel/sched/{rt,cpupri}.c and the servers of deadline.c @ 6.1.192, 6.12.117, without
//!             RT_GROUP_SCHED and with one root domain.
//! Deviations. SCHED_DEADLINE tasks are RT tasks above all others: no deadlines, no bandwidth, and they are counted
//!             in `avg_rt`. The wait that ends with a migration is added up as for fair tasks; the kernel
//!             mixes two clocks there. A push after a wakeup searches from the task's CPU (`task_woken_rt`), the
//!             kernel from the waker's. Queues need no second look after locking, since nothing changes meanwhile.
//! Not here.   Tasks that may not migrate for a moment (migrate_disable), RLIMIT_RTTIME, core scheduling.

mod balance_callbacks;
mod changes;
mod class;
mod cpupri;
mod fair_server;
mod placement;
mod prio_list;
mod pull;
mod push;
mod queue;
mod root;
mod rules;
mod server_periods;
mod throttle;

#[cfg(test)]
mod tests;

pub(crate) use balance_callbacks::BalanceCallbacks;
pub use fair_server::FairServer;
pub use prio_list::PrioList;
pub(crate) use root::RtRoot;
pub use rules::RtRules;
pub(crate) use rules::rules;
