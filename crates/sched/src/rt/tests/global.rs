//! Random runs: what must hold after every step, whatever happened.

use super::rig::{MS, Rig};
use crate::profile::{KernelProfile, Release};
use crate::rt_rq::NO_RT_PRIO;
use crate::task::{Class, Policy, TaskState};
use crate::units::{CpuId, TaskId};
use alloc::vec::Vec;

const NR_CPUS: u32 = 4;

/// The queues' derived state agrees with the tasks.
fn check_queues(rig: &mut Rig) {
    let sched = &rig.sched;
    for cpu in sched.rqs.ids() {
        let rq = &sched.rqs[cpu];
        let here = |&t: &TaskId| {
            let task = &sched.tasks[t];
            task.class == Class::Rt && task.cpu == cpu && task.is_queued()
        };
        let queued: Vec<TaskId> = sched.tasks.ids().filter(here).collect();
        assert_eq!(rq.rt.nr_running as usize, queued.len());
        assert_eq!(rq.rt.active.len(), queued.len());
        let strongest = |tasks: &[TaskId]| {
            tasks
                .iter()
                .map(|&t| sched.tasks[t].prio)
                .min()
                .unwrap_or(NO_RT_PRIO)
        };
        assert_eq!(rq.rt.highest_curr, strongest(&queued));
        let may_move = |&t: &TaskId| rq.curr != t && sched.tasks[t].nr_cpus_allowed > 1;
        let pushable: Vec<TaskId> = queued.iter().copied().filter(may_move).collect();
        assert!(
            pushable
                .iter()
                .all(|&t| rq.rt.pushable.contains(sched.tasks[t].prio, t))
        );
        assert_eq!(rq.rt.pushable.len(), pushable.len());
        assert_eq!(rq.rt.highest_next, strongest(&pushable));
        assert!(queued.iter().all(|&t| sched.cpu_allowed(t, cpu)));
    }
    let overloaded: Vec<bool> = sched.rqs.iter().map(|rq| rq.rt.overloaded).collect();
    let root = rig.sched.rt_root();
    for (cpu, &overloaded) in overloaded.iter().enumerate() {
        assert_eq!(root.rto_mask.test(CpuId(cpu as u32)), overloaded);
    }
    assert_eq!(root.rto_count as usize, root.rto_mask.weight());
}

/// The strongest tasks of the machine run, one a CPU.
fn check_strongest_run(rig: &Rig, tasks: &[TaskId]) {
    let prio = |t: TaskId| rig.sched.tasks[t].prio;
    let mut runnable: Vec<i32> = tasks
        .iter()
        .filter(|&&t| rig.sched.tasks[t].state == TaskState::Running)
        .map(|&t| prio(t))
        .collect();
    runnable.sort_unstable();
    runnable.truncate(NR_CPUS as usize);
    let mut running: Vec<i32> = (0..NR_CPUS)
        .map(|cpu| prio(rig.curr(cpu)))
        .filter(|&p| p < NO_RT_PRIO)
        .collect();
    running.sort_unstable();
    assert_eq!(running, runnable, "at {} ns", rig.now);
}

fn random_run(release: Release, seed: u64, pinned: bool) {
    let mut profile = KernelProfile::new(release, NR_CPUS as usize);
    profile
        .set_tunable("sched_rt_runtime_us", -1)
        .expect("both releases have it");
    let mut rig = Rig::with_profile(profile, NR_CPUS);
    rig.sched.seed(seed);
    let mut random = {
        let mut source = Rig::new(release, 1).sched;
        source.seed(seed);
        move |below: u64| (source.next_random() >> 33) % below
    };
    let tasks: Vec<TaskId> = (0..9)
        .map(|idx| {
            let policy = if idx % 3 == 0 {
                Policy::Rr
            } else {
                Policy::Fifo
            };
            let priority = 1 + random(6) as i32;
            let cpus = if pinned && idx % 2 == 0 {
                &[1, 2][..]
            } else {
                &[0, 1, 2, 3][..]
            };
            rig.spawn(
                policy,
                priority,
                if pinned && idx == 8 { &[3] } else { cpus },
            )
        })
        .collect();
    for _ in 0..400 {
        rig.run_until(rig.now + random(6) * MS);
        let task = tasks[random(9) as usize];
        let cpu = rig.sched.tasks[task].cpu;
        if rig.sched.tasks[task].state != TaskState::Running {
            rig.wake(random(u64::from(NR_CPUS)) as u32, task);
        } else if rig.sched.rqs[cpu].curr == task {
            if random(4) == 0 {
                rig.yield_cpu(cpu.0);
            } else {
                rig.sleep(cpu.0);
            }
        }
        check_queues(&mut rig);
        if !pinned {
            check_strongest_run(&rig, &tasks);
        }
    }
}

#[test]
fn the_strongest_tasks_run_and_the_queues_agree() {
    for release in Release::ALL {
        for seed in 1..=20 {
            random_run(release, seed, false);
        }
    }
}

#[test]
fn affinities_hold_and_the_queues_agree() {
    for release in Release::ALL {
        for seed in 1..=20 {
            random_run(release, seed, true);
        }
    }
}

/// Fair and RT tasks on two CPUs: what is counted as running, and what the fair server waits for.
fn random_mix(release: Release, seed: u64) {
    let mut rig = Rig::new(release, 2);
    let mut random = {
        let mut source = Rig::new(release, 1).sched;
        source.seed(seed);
        move |below: u64| (source.next_random() >> 33) % below
    };
    let tasks: Vec<TaskId> = (0..8)
        .map(|idx| match idx % 2 {
            0 => rig.spawn(Policy::Normal, 0, &[0, 1]),
            _ => rig.fifo(1 + random(3) as i32, &[0, 1]),
        })
        .collect();
    for _ in 0..300 {
        rig.run_until(rig.now + random(120) * MS);
        let task = tasks[random(8) as usize];
        let cpu = rig.sched.tasks[task].cpu;
        if rig.sched.tasks[task].state != TaskState::Running {
            rig.wake(random(2) as u32, task);
        } else if rig.sched.rqs[cpu].curr == task {
            rig.sleep(cpu.0);
        }
        check_queues(&mut rig);
        for rq in rig.sched.rqs.iter() {
            let server = &rq.rt.server;
            assert_eq!(server.active, server.queued || server.timer.is_some());
            assert!(!(server.queued && server.timer.is_some()));
            let rt = if rq.rt.queued { rq.rt.nr_running } else { 0 };
            let fair = rig.sched.cfs_rqs[rq.cfs].h_nr_queued;
            let counts = rig.sched.rt_rules.server_counts_as_task && server.queued;
            assert_eq!(rq.nr_running, rt + fair + u32::from(counts));
        }
    }
}

#[test]
fn tasks_and_servers_are_counted_right_among_fair_tasks() {
    for release in Release::ALL {
        for seed in 1..=20 {
            random_mix(release, seed);
        }
    }
}
