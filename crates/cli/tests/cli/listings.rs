//! `fairwind machine` and `fairwind kernel`.

use crate::command::Folder;
use fairwind_machine::{Machine, draw, preset_list};
use fairwind_sched::{FEATURES, KernelProfile, Release, TUNABLES};

#[test]
fn all_presets_are_listed_and_can_be_shown() {
    let folder = Folder::new("listings_machines");
    let list = folder.run("machine list").clean();
    for preset in preset_list() {
        let row = list
            .lines()
            .find(|line| line.starts_with(&format!("{} ", preset.name)))
            .unwrap();
        assert_eq!(
            row.split_whitespace().nth(1),
            Some(&*preset.nr_cpus.to_string())
        );
        assert!(row.ends_with(&preset.description));
        let shown = folder.run(&format!("machine show {}", preset.name)).clean();
        assert_eq!(shown, draw(&Machine::load(preset.name).unwrap()));
    }
}

#[test]
fn numbers_are_shown_with_their_sources() {
    let text = Folder::new("listings_numbers")
        .run("machine show x5570 --numbers")
        .clean();
    let machine = Machine::load("x5570").unwrap();
    assert!(text.starts_with(&draw(&machine)));
    for row in machine.summary() {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{} ", row.name)))
            .unwrap();
        assert!(
            line.contains(&row.value) && line.ends_with(&row.source),
            "{line}"
        );
    }
}

#[test]
fn a_kernel_shows_its_features_and_tunables_and_no_others() {
    let folder = Folder::new("listings_kernels");
    for release in Release::ALL {
        let text = folder
            .run(&format!("kernel {} -m 1x4x1", release.name()))
            .clean();
        let row = |name: &str| {
            text.lines()
                .find(|line| line.split(' ').next() == Some(name))
        };
        for info in FEATURES {
            let expected = info
                .default_in(release)
                .map(|on| if on { "on" } else { "off" });
            assert_eq!(
                row(info.name).and_then(|row| row.split_whitespace().nth(1)),
                expected
            );
            assert!(row(info.name).is_none_or(|row| row.ends_with(info.help)));
        }
        // Times are those of the machine: on 4 CPUs three times those on one.
        let defaults = KernelProfile::new(release, 4).tunables;
        for info in TUNABLES {
            let expected = info
                .default_in(release)
                .and_then(|_| defaults.get(info.name));
            let shown = row(info.name).and_then(|row| row.split_whitespace().nth(1));
            assert_eq!(
                shown.map(str::to_string),
                expected.map(|value| value.to_string())
            );
        }
        assert_eq!(
            text,
            folder
                .run(&format!("kernel {} -m 1x4x1", release.point_release()))
                .clean()
        );
    }
    assert!(
        folder
            .run("kernel 6.12 -m 1x4x1")
            .clean()
            .contains("base_slice_ns                    2100000")
    );
    let list = folder.run("kernel").clean();
    assert!(
        Release::ALL
            .iter()
            .all(|release| list.contains(release.point_release()))
    );
}
