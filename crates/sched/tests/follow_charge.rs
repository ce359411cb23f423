//! Worked example of `follow_charge`: the run time of a real-time task that is asked for is charged to it.

mod rig;

use fairwind_sched::{CpuId, Policy, SchedAttr, Topology};
use rig::{MS, Rig, both};

#[test]
fn a_real_time_task_is_charged() {
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 1, 1));
        let task = rig.start(0, &[0]);
        let fifo = SchedAttr {
            policy: Policy::Fifo,
            priority: 1,
            ..SchedAttr::normal(0)
        };
        rig.sched.sched_setscheduler(task, fifo, rig.now).unwrap();
        rig.settle();
        let se = rig.sched.tasks[task].se;
        let before = rig.sched.ses[se].sum_exec_runtime;
        rig.sched.follow_charge(CpuId(0), rig.now + MS);
        assert_eq!(
            rig.sched.ses[se].sum_exec_runtime - before,
            MS,
            "{release:?}"
        );
    });
}
