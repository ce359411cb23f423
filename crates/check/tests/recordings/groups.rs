//! Recordings with groups.

use super::{expect, report};
use fairwind_check::Measure;

#[test]
fn limits_of_6_12() {
    expect(
        "limits-6.12",
        &[
            (Measure::State, 5295, 4908),
            (Measure::Pick, 324, 324),
            (Measure::Preemption, 257, 257),
            (Measure::Placement, 296, 293),
            (Measure::Balance, 28, 24),
        ],
    );
}

#[test]
fn queues_go_back_to_work_when_they_are_refilled() {
    let report = report("limits-6.12");
    let late = "queues with runtime that were throttled";
    assert_eq!(report.mended.get(late), None);
}

#[test]
fn limits_of_groups_that_pulls_queue() {
    expect(
        "pulled-limits-6.12",
        &[
            (Measure::State, 7481, 6605),
            (Measure::Pick, 614, 611),
            (Measure::Preemption, 468, 467),
            (Measure::Placement, 392, 385),
            (Measure::Balance, 28, 26),
        ],
    );
}

#[test]
fn averages_below_limits_of_6_12() {
    expect(
        "limited-averages-6.12",
        &[
            (Measure::State, 8727, 8712),
            (Measure::Pick, 775, 775),
            (Measure::Preemption, 350, 350),
        ],
    );
}

#[test]
fn nested_limits_of_6_12() {
    expect(
        "nested-limits-6.12",
        &[
            (Measure::State, 5453, 4587),
            (Measure::Pick, 126, 126),
            (Measure::Preemption, 79, 79),
            (Measure::Placement, 244, 236),
            (Measure::Balance, 20, 17),
        ],
    );
}

#[test]
fn pods_of_6_1() {
    expect(
        "pods-6.1",
        &[
            (Measure::State, 10456, 9205),
            (Measure::Pick, 913, 910),
            (Measure::Preemption, 876, 873),
            (Measure::Placement, 532, 527),
            (Measure::Balance, 222, 204),
        ],
    );
}

#[test]
fn limits_of_6_1() {
    expect(
        "limits-6.1",
        &[
            (Measure::State, 2098, 2011),
            (Measure::Pick, 364, 364),
            (Measure::Preemption, 391, 391),
            (Measure::Placement, 350, 347),
            (Measure::Balance, 34, 34),
        ],
    );
}

#[test]
fn cgroups_that_are_no_task_groups_of_6_1() {
    expect(
        "v2-groups-6.1",
        &[
            (Measure::State, 13081, 13073),
            (Measure::Pick, 6937, 6937),
            (Measure::Preemption, 4152, 4152),
            (Measure::Placement, 5123, 5091),
            (Measure::Balance, 386, 333),
        ],
    );
}

#[test]
fn weights_that_change_of_6_12() {
    expect(
        "weights-6.12",
        &[
            (Measure::State, 8284, 7763),
            (Measure::Pick, 1322, 1322),
            (Measure::Preemption, 1331, 1329),
            (Measure::Placement, 256, 251),
            (Measure::Balance, 77, 74),
        ],
    );
}

#[test]
fn weights_that_change_of_6_1() {
    expect(
        "weights-6.1",
        &[
            (Measure::State, 7563, 7007),
            (Measure::Pick, 802, 801),
            (Measure::Preemption, 1374, 1374),
            (Measure::Placement, 296, 294),
            (Measure::Balance, 76, 71),
        ],
    );
}

#[test]
fn weights_that_only_decisions_tell_of_6_1() {
    expect(
        "nested-weights-6.1",
        &[
            (Measure::State, 6761, 6515),
            (Measure::Pick, 1210, 1195),
            (Measure::Preemption, 1512, 1510),
            (Measure::Placement, 631, 625),
            (Measure::Balance, 126, 113),
        ],
    );
}

#[test]
fn weights_that_a_shell_sets_on_one_cpu_of_6_1() {
    expect(
        "set-weights-6.1",
        &[
            (Measure::State, 1597, 1562),
            (Measure::Pick, 863, 861),
            (Measure::Preemption, 718, 718),
        ],
    );
}

#[test]
fn yields_in_groups_of_6_12() {
    expect(
        "yields-6.12",
        &[
            (Measure::State, 46643, 46254),
            (Measure::Pick, 17098, 17098),
            (Measure::Preemption, 658, 657),
            (Measure::Placement, 229, 224),
            (Measure::Balance, 22, 21),
        ],
    );
}

#[test]
fn yields_in_groups_of_6_1() {
    expect(
        "yields-6.1",
        &[
            (Measure::State, 49884, 49831),
            (Measure::Pick, 27636, 27497),
            (Measure::Preemption, 643, 643),
            (Measure::Placement, 222, 219),
            (Measure::Balance, 19, 19),
        ],
    );
}

#[test]
fn yields_beside_a_group_of_6_1() {
    expect(
        "yields-beside-6.1",
        &[
            (Measure::State, 67267, 66114),
            (Measure::Pick, 32750, 32593),
            (Measure::Preemption, 2444, 2422),
            (Measure::Placement, 23430, 22500),
            (Measure::Balance, 46, 38),
        ],
    );
}

#[test]
fn idle_groups_of_6_12() {
    expect(
        "idle-groups-6.12",
        &[
            (Measure::State, 16465, 15425),
            (Measure::Pick, 2795, 2795),
            (Measure::Preemption, 1829, 1829),
            (Measure::Placement, 1626, 1620),
            (Measure::Balance, 126, 118),
        ],
    );
}

#[test]
fn idle_groups_of_6_1() {
    expect(
        "idle-groups-6.1",
        &[
            (Measure::State, 10317, 10069),
            (Measure::Pick, 4358, 4346),
            (Measure::Preemption, 2798, 2792),
            (Measure::Placement, 2894, 2883),
            (Measure::Balance, 170, 166),
        ],
    );
}

#[test]
fn limits_set_late_of_6_12() {
    expect(
        "late-limits-6.12",
        &[
            (Measure::State, 7403, 6838),
            (Measure::Pick, 707, 705),
            (Measure::Preemption, 598, 595),
            (Measure::Placement, 577, 557),
            (Measure::Balance, 39, 36),
        ],
    );
}

#[test]
fn limits_set_late_of_6_1() {
    expect(
        "late-limits-6.1",
        &[
            (Measure::State, 2423, 2265),
            (Measure::Pick, 523, 520),
            (Measure::Preemption, 591, 582),
            (Measure::Placement, 485, 479),
            (Measure::Balance, 59, 51),
        ],
    );
}

#[test]
fn limits_that_change_of_6_12() {
    expect(
        "changing-limits-6.12",
        &[
            (Measure::State, 12875, 11170),
            (Measure::Pick, 1462, 1459),
            (Measure::Preemption, 1264, 1260),
            (Measure::Placement, 746, 733),
            (Measure::Balance, 116, 106),
        ],
    );
}

#[test]
fn limits_that_change_of_6_1() {
    expect(
        "changing-limits-6.1",
        &[
            (Measure::State, 4686, 4288),
            (Measure::Pick, 1212, 1194),
            (Measure::Preemption, 1410, 1391),
            (Measure::Placement, 827, 808),
            (Measure::Balance, 111, 105),
        ],
    );
}

#[test]
fn groups_that_are_removed_of_6_12() {
    expect(
        "removed-groups-6.12",
        &[
            (Measure::State, 14717, 13740),
            (Measure::Pick, 2367, 2365),
            (Measure::Preemption, 2780, 2780),
            (Measure::Placement, 841, 836),
            (Measure::Balance, 86, 79),
        ],
    );
}

#[test]
fn groups_that_are_removed_of_6_1() {
    expect(
        "removed-groups-6.1",
        &[
            (Measure::State, 5188, 4824),
            (Measure::Pick, 2124, 2115),
            (Measure::Preemption, 2836, 2831),
            (Measure::Placement, 1021, 1013),
            (Measure::Balance, 62, 56),
        ],
    );
}

#[test]
fn bursts_of_nested_groups() {
    expect(
        "bursts-6.1",
        &[
            (Measure::State, 3227, 2929),
            (Measure::Pick, 644, 609),
            (Measure::Preemption, 476, 465),
            (Measure::Placement, 863, 843),
            (Measure::Balance, 133, 104),
        ],
    );
}

#[test]
fn forks_and_idle_groups_beside_limits() {
    expect(
        "idle-limits-6.1",
        &[
            (Measure::State, 4216, 3902),
            (Measure::Pick, 469, 464),
            (Measure::Preemption, 390, 387),
            (Measure::Placement, 1127, 1087),
            (Measure::Balance, 170, 156),
        ],
    );
}

#[test]
fn limits_of_less_than_a_slice() {
    expect(
        "short-limits-6.1",
        &[
            (Measure::State, 1369, 1244),
            (Measure::Pick, 199, 192),
            (Measure::Preemption, 117, 113),
            (Measure::Placement, 570, 541),
            (Measure::Balance, 44, 41),
        ],
    );
}

#[test]
fn nested_groups_on_one_cpu() {
    expect(
        "nested-1cpu-6.12",
        &[
            (Measure::State, 8520, 8449),
            (Measure::Pick, 1755, 1755),
            (Measure::Preemption, 1252, 1252),
        ],
    );
}

#[test]
fn a_limit_that_is_raised_by_half() {
    expect(
        "raised-limits-6.1",
        &[
            (Measure::State, 2270, 2136),
            (Measure::Pick, 1264, 1248),
            (Measure::Preemption, 954, 954),
        ],
    );
}

#[test]
fn limits_that_are_refilled_every_10_ms() {
    expect(
        "short-periods-6.12",
        &[
            (Measure::State, 7184, 6518),
            (Measure::Pick, 841, 835),
            (Measure::Preemption, 666, 664),
            (Measure::Placement, 236, 235),
            (Measure::Balance, 31, 30),
        ],
    );
}

#[test]
fn policies_that_tasks_of_groups_give_themselves() {
    expect(
        "grouped-policies-6.12",
        &[
            (Measure::State, 68386, 67486),
            (Measure::Pick, 3882, 3881),
            (Measure::Preemption, 1328, 1325),
            (Measure::Placement, 1349, 1342),
            (Measure::Balance, 16, 16),
        ],
    );
}
