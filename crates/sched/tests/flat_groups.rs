//! Worked examples of FLAT_GROUPS: what each group's entity weighs in the root's queue.
//!
//! Model. One CPU. Shares 3072 for /a and 1024 for /b; below /a, 1024 for /a/x and 3072 for /a/y. One task a group, awake or
//!        not. In the hierarchy /a/x has a quarter of /a's 3072, which is 768, and /a/y the rest, 2304.

mod rig;

use fairwind_sched::entity::scale_load;
use fairwind_sched::{CpuId, Feature, GroupId, TaskId, TaskState, Topology};
use rig::{MS, Rig, both};

struct Tree {
    rig: Rig,
    /// /a/x, /a/y, /b and /a.
    groups: [GroupId; 4],
}

fn tree(release: fairwind_sched::Release) -> Tree {
    let mut rig = Rig::with(release, Topology::regular(1, 1, 1), &[Feature::FLAT_GROUPS]);
    let mut make = |parent, shares| {
        let group = rig.sched.create_group(parent, MS);
        rig.sched.set_shares(group, shares, MS).unwrap();
        group
    };
    let a = make(GroupId::ROOT, 3072);
    let groups = [make(a, 1024), make(a, 3072), make(GroupId::ROOT, 1024), a];
    Tree { rig, groups }
}

impl Tree {
    /// A hog in a group, queued at once.
    fn start(&mut self, group: usize) -> TaskId {
        let task = self.rig.sched.spawn(CpuId(0), self.rig.now);
        self.rig.sched.set_new_task_group(task, self.groups[group]);
        self.rig
            .sched
            .wake_up_new_task(CpuId(0), task, self.rig.now);
        self.rig.settle();
        task
    }

    fn tick(&mut self) {
        self.rig.now += self.rig.sched.tick_nsec();
        self.rig.sched.sched_tick(CpuId(0), self.rig.now);
        self.rig.settle();
    }

    /// Runs on until this task is the running one, and puts it to sleep.
    fn sleep(&mut self, task: TaskId) {
        for _ in 0..1000 {
            if self.rig.sched.rqs[CpuId(0)].curr == task {
                break;
            }
            self.tick();
        }
        self.rig
            .sched
            .set_current_state(CpuId(0), TaskState::Interruptible);
        self.rig.sched.schedule(CpuId(0), self.rig.now, false);
        self.rig.settle();
    }

    fn weight(&self, group: usize) -> u64 {
        let queue = self.rig.sched.groups[self.groups[group]].cfs_rq[0];
        self.rig.sched.ses[self.rig.sched.cfs_rqs[queue].se]
            .load
            .weight
    }

    fn weights(&self) -> [u64; 3] {
        [self.weight(0), self.weight(1), self.weight(2)]
    }
}

#[test]
fn depth_goes_into_the_weights() {
    both(|release| {
        let mut tree = tree(release);
        // Alone in /a, /a/x has all of its 3072.
        tree.start(0);
        assert_eq!(tree.weight(0), scale_load(3072), "{release:?}");
        // /a/y has its part at once, /a/x from the next tick on.
        tree.start(1);
        assert_eq!(tree.weight(1), scale_load(2304), "{release:?}");
        tree.start(2);
        tree.tick();
        let expected = [768, 2304, 1024].map(scale_load);
        assert_eq!(tree.weights(), expected, "{release:?}");
    });
}

#[test]
fn tasks_compete_with_the_groups_beside_them() {
    // A task of /a itself beside /a/x and /a/y: 1024 of 1024 + 1024 + 3072. Of /a's 3072 that is 614.4 for it and for
    // /a/x, and 1843.2 for /a/y.
    both(|release| {
        let mut tree = tree(release);
        tree.start(0);
        tree.start(1);
        tree.start(3);
        tree.tick();
        let part = |shares: u64| scale_load(3072) * shares / 5120;
        let got = [tree.weight(3), tree.weight(0), tree.weight(1)];
        for (got, want) in got.into_iter().zip([part(1024), part(1024), part(3072)]) {
            assert!(
                got.abs_diff(want) <= 1024,
                "{release:?}: {got} instead of {want}"
            );
        }
    });
}

#[test]
fn who_sleeps_leaves_its_part_to_its_relatives() {
    both(|release| {
        let mut tree = tree(release);
        tree.start(0);
        let y = tree.start(1);
        tree.start(2);
        tree.tick();
        tree.sleep(y);
        // 6.12 may keep the sleeper in line until it has paid back what it ran ahead.
        for _ in 0..20 {
            tree.tick();
        }
        assert_eq!(tree.weight(0), scale_load(3072), "{release:?}");
        assert_eq!(tree.weight(2), scale_load(1024), "{release:?}");
    });
}

#[test]
fn shares_that_change_reach_those_below() {
    both(|release| {
        let mut tree = tree(release);
        tree.start(0);
        tree.start(1);
        tree.rig
            .sched
            .set_shares(tree.groups[3], 1024, tree.rig.now)
            .unwrap();
        tree.tick();
        assert_eq!(
            tree.weights()[..2],
            [256, 768].map(scale_load),
            "{release:?}"
        );
    });
}

#[test]
fn there_are_two_levels() {
    both(|release| {
        let mut rig = Rig::with(release, Topology::regular(1, 1, 1), &[Feature::FLAT_GROUPS]);
        let mut group = GroupId::ROOT;
        for _ in 0..8 {
            group = rig.sched.create_group(group, rig.now);
        }
        let task = rig.start(0, &[0]);
        rig.sched.sched_move_task(task, group, rig.now);
        let depth = rig.sched.ses.iter().map(|se| se.depth).max();
        assert_eq!(depth, Some(1), "{release:?}");
    });
}

#[test]
fn below_an_idle_group_everybody_is_idle() {
    both(|release| {
        let mut tree = tree(release);
        for group in 0..3 {
            tree.start(group);
        }
        let a = tree.groups[3];
        let idle_queued = |tree: &Tree| {
            let root = tree.rig.sched.rqs[CpuId(0)].cfs;
            let root = &tree.rig.sched.cfs_rqs[root];
            (root.idle_nr_queued, root.idle_h_nr_queued)
        };
        assert_eq!(idle_queued(&tree), (0, 0), "{release:?}");
        tree.rig.sched.set_idle(a, true, tree.rig.now).unwrap();
        assert_eq!(idle_queued(&tree), (2, 2), "{release:?}");
        // One of them is idle by itself as well, and stays so.
        tree.rig
            .sched
            .set_idle(tree.groups[0], true, tree.rig.now)
            .unwrap();
        assert_eq!(idle_queued(&tree), (2, 2), "{release:?}");
        tree.rig.sched.set_idle(a, false, tree.rig.now).unwrap();
        assert_eq!(idle_queued(&tree), (1, 1), "{release:?}");
    });
}
