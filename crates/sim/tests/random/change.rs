//! Random changes from outside while a workload runs.

use crate::draw::Draw;
use fairwind_sched::group::RUNTIME_INF;
use fairwind_sched::{BandwidthLimit, CpuId, CpuMask, GroupId, TaskId};
use fairwind_sim::Simulation;

/// What an administrator does; numbers are taken modulo what exists by then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Nice {
        task: u64,
        nice: i32,
    },
    Affinity {
        task: u64,
        cpus: Vec<u64>,
    },
    MoveTask {
        task: u64,
        group: u64,
    },
    Shares {
        group: u64,
        shares: u64,
    },
    Idle {
        group: u64,
        idle: bool,
    },
    Limit {
        group: u64,
        quota_us: Option<u64>,
        period_us: u64,
        burst_us: u64,
    },
    CreateGroup {
        parent: u64,
    },
    CpuDown {
        cpu: u64,
    },
    CpuUp {
        cpu: u64,
    },
}

impl Change {
    /// A change; `hotplug` and `limits` say whether such are wanted.
    pub(crate) fn random(draw: &mut Draw, nr_cpus: u64, hotplug: bool, limits: bool) -> Change {
        let any = |draw: &mut Draw| draw.range(0, 1000);
        if hotplug && draw.chance(40) {
            let cpu = any(draw);
            return if draw.chance(60) {
                Change::CpuDown { cpu }
            } else {
                Change::CpuUp { cpu }
            };
        }
        match draw.range(0, 7) {
            0 | 1 => Change::Nice {
                task: any(draw),
                nice: draw.range(0, 39) as i32 - 20,
            },
            2 | 3 => {
                let count = draw.spread(1, nr_cpus);
                Change::Affinity {
                    task: any(draw),
                    cpus: (0..count).map(|_| any(draw)).collect(),
                }
            }
            4 => Change::MoveTask {
                task: any(draw),
                group: any(draw),
            },
            5 => Change::Shares {
                group: any(draw),
                shares: draw.spread(2, 262_144),
            },
            6 if limits => {
                let period_us = draw.of(&[1_000, 5_000, 10_000, 100_000]);
                let quota_us = draw
                    .chance(70)
                    .then(|| draw.spread(1_000, period_us * nr_cpus.min(4)));
                let burst_us = quota_us.filter(|_| draw.chance(30)).unwrap_or(0) / 2;
                Change::Limit {
                    group: any(draw),
                    quota_us,
                    period_us,
                    burst_us,
                }
            }
            6 => Change::CreateGroup { parent: any(draw) },
            _ => Change::Idle {
                group: any(draw),
                idle: draw.chance(50),
            },
        }
    }

    /// Makes the change; one that is refused changes nothing.
    pub(crate) fn apply(&self, simulation: &mut Simulation) {
        let tasks = simulation.live_tasks();
        let task = |at: u64| {
            tasks
                .get((at % tasks.len().max(1) as u64) as usize)
                .copied()
        };
        let nr_groups = simulation.sched().groups.len() as u64;
        let group = |at: u64| GroupId((at % nr_groups) as u32);
        let nr_cpus = simulation.sched().nr_cpus();
        let cpu = |at: u64| CpuId((at % nr_cpus as u64) as u32);
        match *self {
            Change::Nice { task: at, nice } => {
                if let Some(task) = task(at) {
                    simulation.set_nice(task, nice);
                }
            }
            Change::Affinity { task: at, ref cpus } => {
                if let Some(task) = task(at) {
                    let mask = CpuMask::of(nr_cpus, cpus.iter().map(|&c| cpu(c)));
                    let _ = simulation.set_cpus_allowed(task, &mask);
                }
            }
            Change::MoveTask {
                task: at,
                group: to,
            } => {
                // Neither release asks an idle CPU to reschedule when a task that waits there is moved out of a throttled
                // group, so that it waits for the next interrupt.
                let sched = simulation.sched();
                let throttled = |&task: &TaskId| {
                    let t = &sched.tasks[task];
                    sched.cfs_rqs[sched.ses[t.se].cfs_rq].throttle_count != 0 && !t.on_cpu
                };
                if let Some(task) = task(at).filter(|task| !throttled(task)) {
                    simulation.move_task(task, group(to));
                }
            }
            Change::Shares { group: at, shares } => {
                let _ = simulation.set_shares(group(at), shares);
            }
            Change::Idle { group: at, idle } => {
                let _ = simulation.set_group_idle(group(at), idle);
            }
            Change::Limit {
                group: at,
                quota_us,
                period_us,
                burst_us,
            } => {
                let quota = quota_us.map_or(RUNTIME_INF, |us| us * 1000);
                let limit = BandwidthLimit {
                    quota,
                    period: period_us * 1000,
                    burst: burst_us * 1000,
                };
                let _ = simulation.set_bandwidth(group(at), limit);
            }
            Change::CreateGroup { parent } => {
                let path = format!("/new{nr_groups}");
                simulation.create_group(group(parent), &path);
            }
            Change::CpuDown { cpu: at } => {
                let _ = simulation.cpu_down(cpu(at));
            }
            Change::CpuUp { cpu: at } => {
                let _ = simulation.cpu_up(cpu(at));
            }
        }
    }
}
