//! A worked example of SPARSE_GROUP_TICK: which levels are charged at which tick.

mod rig;

use fairwind_sched::{CpuId, Feature, GroupId, Topology};
use rig::{Rig, both};

#[test]
fn each_level_up_works_half_as_often() {
    // A task three groups deep. From tick 8 to 16 its own entity is charged at each, that of /a/b/c at 8, 10, 12, 14 and
    // 16, that of /a/b at 8, 12 and 16, that of /a at 8 and 16.
    both(|release| {
        let mut rig = Rig::with(
            release,
            Topology::regular(1, 1, 1),
            &[Feature::SPARSE_GROUP_TICK],
        );
        let mut group = GroupId::ROOT;
        for _ in 0..3 {
            group = rig.sched.create_group(group, rig.now);
        }
        let task = rig.start(0, &[0]);
        rig.sched.sched_move_task(task, group, rig.now);
        rig.settle();
        let tick = rig.sched.tick_nsec();
        let mut charged = Vec::new();
        for jiffy in 8..=16 {
            rig.now = jiffy * tick;
            rig.sched.sched_tick(CpuId(0), rig.now);
            rig.settle();
            let mut levels = String::new();
            let mut se = rig.sched.tasks[task].se;
            while se.is_some() {
                levels.push(if rig.sched.ses[se].exec_start == rig.now {
                    'x'
                } else {
                    '.'
                });
                se = rig.sched.ses[se].parent;
            }
            charged.push(levels);
        }
        let expected = [
            "xxxx", "x...", "xx..", "x...", "xxx.", "x...", "xx..", "x...", "xxxx",
        ];
        assert_eq!(charged, expected, "{release:?}");
    });
}
