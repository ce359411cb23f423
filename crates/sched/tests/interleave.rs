//! Worked examples of where the periods of CPU limits begin.
//!
//! Model. Limits of 25 ms in 100 ms are set and lifted, and the timers are read from the effects; none ever expires.

use fairwind_sched::group::RUNTIME_INF;
use fairwind_sched::{
    BandwidthLimit, BwInterleave, Effect, GroupId, KernelProfile, Nanos, Release, Sched, Topology,
};

const MS: Nanos = 1_000_000;
const LIMIT: BandwidthLimit = BandwidthLimit {
    quota: 25 * MS,
    period: 100 * MS,
    burst: 0,
};
const NONE: BandwidthLimit = BandwidthLimit {
    quota: RUNTIME_INF,
    ..LIMIT
};

struct Rig {
    sched: Sched,
}

impl Rig {
    fn new(release: Release, tune: impl FnOnce(&mut KernelProfile)) -> Rig {
        let mut profile = KernelProfile::new(release, 2);
        tune(&mut profile);
        Rig {
            sched: Sched::new(profile, Topology::regular(1, 2, 1)),
        }
    }

    fn with(release: Release, interleave: BwInterleave) -> Rig {
        Rig::new(release, |profile| profile.bw_interleave = interleave)
    }

    /// A group that gets its limit at a time.
    fn limited(&mut self, at: Nanos) -> GroupId {
        let group = self.sched.create_group(GroupId::ROOT, at);
        self.sched.set_bandwidth(group, LIMIT, at).unwrap();
        group
    }

    fn lift(&mut self, group: GroupId, at: Nanos) {
        self.sched.set_bandwidth(group, NONE, at).unwrap();
    }

    /// When a group's timer was last asked to expire.
    fn expires(&self, group: GroupId) -> Nanos {
        let mut asked = self.sched.effects.iter().filter_map(|effect| match effect {
            Effect::StartPeriodTimer { group: of, expires } if *of == group => Some(*expires),
            _ => None,
        });
        let last = asked.next_back().expect("its timer was started");
        assert_eq!(last, self.sched.groups[group].bandwidth.period_expires);
        last
    }
}

#[test]
fn aligned_timers_expire_at_multiples_of_the_period() {
    for release in Release::ALL {
        let mut rig = Rig::with(release, BwInterleave::Aligned);
        for (at, expires) in [(0, 100), (37, 100), (99, 100), (100, 200), (512, 600)] {
            let group = rig.limited(at * MS);
            assert_eq!(rig.expires(group), expires * MS, "{release:?}: {at} ms");
        }
    }
}

#[test]
fn tenths_spread_timers_that_start_late() {
    // A new timer counts as expired at 0. 37 ms late is less than a period: multiples of it. 237 ms late: 23 tenths, to
    // 230 ms, and on by periods to 330 ms. 512 ms: 510 ms and 610 ms.
    for release in Release::ALL {
        let mut rig = Rig::with(release, BwInterleave::Tenth);
        for (at, expires) in [(37, 100), (237, 330), (512, 610), (519, 610)] {
            let group = rig.limited(at * MS);
            assert_eq!(rig.expires(group), expires * MS, "{release:?}: {at} ms");
        }
    }
}

#[test]
fn random_timers_expire_anywhere_in_a_period_and_as_the_seed_has_it() {
    for release in Release::ALL {
        let expiries = |seed: u64| -> Vec<Nanos> {
            let mut rig = Rig::with(release, BwInterleave::Random);
            rig.sched.seed(seed);
            (0..100)
                .map(|_| {
                    let group = rig.limited(250 * MS);
                    rig.expires(group)
                })
                .collect()
        };
        let one = expiries(1);
        assert!(
            one.iter().all(|&at| at > 250 * MS && at <= 350 * MS),
            "{release:?}"
        );
        // A hundred points: all ten tenths are met but by a chance of 10 · 0.9^100, which this seed does not hit.
        for tenth in 0..10 {
            let from = (250 + 10 * tenth) * MS;
            assert!(
                one.iter().any(|&at| at > from && at <= from + 10 * MS),
                "{release:?}"
            );
        }
        assert_eq!(one, expiries(1), "{release:?}");
        assert_ne!(one, expiries(2), "{release:?}");
    }
}

#[test]
fn even_timers_keep_their_distance_as_groups_come_and_go() {
    for release in Release::ALL {
        let mut rig = Rig::with(release, BwInterleave::Even);
        // One: 0/1. Two: 0/2 and 1/2 of the period.
        let a = rig.limited(10 * MS);
        assert_eq!(rig.expires(a), 100 * MS, "{release:?}");
        let b = rig.limited(20 * MS);
        assert_eq!(
            (rig.expires(a), rig.expires(b)),
            (100 * MS, 50 * MS),
            "{release:?}"
        );
        // Three: b was to expire at 50 ms and moves on to a third, at 133.3 ms; c has two thirds.
        let c = rig.limited(30 * MS);
        assert_eq!(rig.expires(a), 100 * MS, "{release:?}");
        assert_eq!(rig.expires(b), 133_333_333, "{release:?}");
        assert_eq!(rig.expires(c), 66_666_666, "{release:?}");
        // b goes: a and c are two again, c moves on to a half.
        rig.lift(b, 40 * MS);
        assert_eq!(
            (rig.expires(a), rig.expires(c)),
            (100 * MS, 150 * MS),
            "{release:?}"
        );
    }
}

#[test]
fn periods_of_another_length_are_spaced_by_themselves() {
    let mut rig = Rig::with(Release::V6_12, BwInterleave::Even);
    let a = rig.limited(10 * MS);
    let other = rig.sched.create_group(GroupId::ROOT, 10 * MS);
    let limit = BandwidthLimit {
        period: 50 * MS,
        ..LIMIT
    };
    rig.sched.set_bandwidth(other, limit, 10 * MS).unwrap();
    assert_eq!((rig.expires(a), rig.expires(other)), (100 * MS, 50 * MS));
    // The same period now: two groups, the second at a half; it was to expire at 50 ms, which is one.
    rig.sched.set_bandwidth(other, LIMIT, 20 * MS).unwrap();
    assert_eq!((rig.expires(a), rig.expires(other)), (100 * MS, 50 * MS));
}

#[test]
fn a_new_limit_goes_into_the_widest_gap_and_nobody_moves() {
    // 0; then 50; then 25 (the first of two equal gaps); then 75. Without the one at 50 the gap from 25 to 75 is the widest.
    for release in Release::ALL {
        let mut rig = Rig::with(release, BwInterleave::Gap);
        let mut groups = Vec::new();
        for expires in [100, 50, 25, 75] {
            let group = rig.limited(10 * MS);
            assert_eq!(rig.expires(group), expires * MS, "{release:?}");
            groups.push(group);
        }
        rig.lift(groups[1], 20 * MS);
        let group = rig.limited(20 * MS);
        assert_eq!(rig.expires(group), 50 * MS, "{release:?}");
        assert_eq!(rig.expires(groups[2]), 25 * MS, "{release:?}");
    }
}

#[test]
fn periods_vary_and_shares_stay() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, |profile| {
            profile.bw_interleave = BwInterleave::Aligned;
            profile.bw_period_jitter_pct = 10;
        });
        let mut periods = Vec::new();
        for _ in 0..50 {
            let group = rig.limited(0);
            let b = &rig.sched.groups[group].bandwidth;
            assert!(
                (90 * MS..=110 * MS).contains(&b.period),
                "{release:?}: {}",
                b.period
            );
            // A quarter, rounded down.
            assert_eq!(b.quota, b.period / 4, "{release:?}");
            periods.push(b.period);
        }
        periods.sort_unstable();
        periods.dedup();
        assert!(periods.len() > 40, "{release:?}: they differ");
    }
}

#[test]
fn a_varied_quota_is_still_a_quota() {
    // 1.05 ms in 100 ms: the quota must not fall below 1 ms, so the period does not fall below 95.24 ms.
    let mut rig = Rig::new(Release::V6_1, |profile| profile.bw_period_jitter_pct = 50);
    for _ in 0..50 {
        let group = rig.sched.create_group(GroupId::ROOT, 0);
        let limit = BandwidthLimit {
            quota: 1_050_000,
            ..LIMIT
        };
        rig.sched.set_bandwidth(group, limit, 0).unwrap();
        let b = &rig.sched.groups[group].bandwidth;
        assert!(b.quota >= MS && b.period <= 150 * MS, "{b:?}");
    }
}

#[test]
fn the_defaults_are_what_the_releases_have() {
    let of = |release| KernelProfile::new(release, 1).bw_interleave;
    assert_eq!(of(Release::V6_1), BwInterleave::Aligned);
    assert_eq!(of(Release::V6_12), BwInterleave::Random);
}
