//! 6.18: what counts as a task that could run, and which tasks stay where they are.

use super::driver::{Driver, cpu};
use crate::balance::CpuIdleType;
use crate::balance::env::{LbEnv, MigrationType};
use crate::domain::SdId;
use crate::profile::Release;
use crate::units::TaskId;

/// Two CPUs that balance only when told to: two tasks on CPU 0, one on CPU 1.
fn three_tasks(release: Release) -> (Driver, TaskId, SdId) {
    let mut d = Driver::new(release, 1, 2, 1);
    d.ticking = d.mask(&[]);
    d.hog(&[0, 1]);
    let waits = d.hog(&[0, 1]);
    d.hog(&[1]);
    let sd = d.domains(1)[0];
    (d, waits, sd)
}

fn stays(d: &Driver, sd: SdId, task: TaskId, migration_type: MigrationType) -> bool {
    let groups = d.sched.domains.sd[sd].groups;
    let mut env = LbEnv::new(sd, groups, cpu(1), CpuIdleType::NotIdle);
    env.src_cpu = cpu(0);
    env.migration_type = migration_type;
    (d.sched.balance_rules.stays)(&d.sched, &env, task)
}

/// The waiting task is 10 ms ahead of the running one, so 5 ms ahead of the average. It would be as far ahead on CPU 1,
/// where another one is queued.
#[test]
fn who_is_not_eligible_stays_until_a_pass_has_failed() {
    for (release, expected) in [(Release::V6_12, false), (Release::V6_18, true)] {
        let (mut d, waits, sd) = three_tasks(release);
        assert!(!stays(&d, sd, waits, MigrationType::Task), "{release:?}");
        let se = d.sched.tasks[waits].se;
        let entity = &d.sched.ses[se];
        let (vruntime, deadline) = (entity.vruntime.wrapping_add(10_000_000), entity.deadline);
        d.sched.follow_entity(se, vruntime, deadline);
        assert_eq!(stays(&d, sd, waits, MigrationType::Task), expected);
        d.sched.domains.sd[sd].nr_balance_failed = 1;
        assert!(!stays(&d, sd, waits, MigrationType::Task), "{release:?}");
    }
}

/// Who sleeps and has not left the queue has load, and is not a task.
#[test]
fn who_sleeps_moves_for_its_load_only() {
    for (release, counted) in [(Release::V6_12, 2), (Release::V6_18, 1)] {
        let (mut d, waits, sd) = three_tasks(release);
        assert_eq!(d.sched.nr_to_balance(cpu(0)), 2);
        let se = d.sched.tasks[waits].se;
        d.sched.ses[se].sched_delayed = true;
        let root = d.sched.rqs[cpu(0)].cfs;
        d.sched.cfs_rqs[root].h_nr_runnable -= 1;
        assert_eq!(d.sched.nr_to_balance(cpu(0)), counted, "{release:?}");
        let for_tasks = stays(&d, sd, waits, MigrationType::Task);
        assert_eq!(for_tasks, release == Release::V6_18);
        assert!(!stays(&d, sd, waits, MigrationType::Load), "{release:?}");
    }
}
