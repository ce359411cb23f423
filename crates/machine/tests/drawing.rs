//! Drawings of small and large machines, line by line.

use fairwind_machine::{Machine, draw};

fn drawing(spec: &str) -> String {
    draw(&Machine::load(spec).unwrap())
}

#[test]
fn a_small_machine() {
    let expected = "\
x5570: 2 x Xeon X5570: 4 cores a socket, 2 threads per core, 16 CPUs, siblings 8 apart
2 packages, 2 NUMA nodes, 2 LLCs, 8 cores, 16 CPUs
package 0
  node 0
    LLC 0  8 MiB  4 cores  {0,8} {1,9} {2,10} {3,11}
package 1
  node 1
    LLC 1  8 MiB  4 cores  {4,12} {5,13} {6,14} {7,15}
node distances
         0   1
     0  10  21
     1  21  10
";
    assert_eq!(drawing("x5570"), expected);
}

#[test]
fn a_large_llc_folds_its_cores() {
    let expected = "\
spr-2x60: 2 x Xeon Platinum 8490H (Sapphire Rapids): 60 cores a socket, 2 threads per core, 240 CPUs
2 packages, 2 NUMA nodes, 2 LLCs, 120 cores, 240 CPUs
package 0
  node 0
    LLC 0  112.5 MiB  60 cores  {0,120} {1,121} {2,122} .. {59,179}
package 1
  node 1
    LLC 1  112.5 MiB  60 cores  {60,180} {61,181} {62,182} .. {119,239}
node distances
         0   1
     0  10  21
     1  21  10
";
    assert_eq!(drawing("spr-2x60"), expected);
}

#[test]
fn smt8_cores_are_ranges() {
    let drawing = drawing("power-smt8-2");
    assert!(
        drawing.contains("    LLC 1  8 MiB  1 core  {8-15}\n"),
        "{drawing}"
    );
}

#[test]
fn every_preset_and_4096_cpus_fit_a_screen() {
    let presets = fairwind_machine::preset_list();
    let specs =
        presets
            .iter()
            .map(|line| line.name)
            .chain(["64x1x2x32x1", "8x2x8x16x2", "1x256x8x2"]);
    for spec in specs {
        let drawing = drawing(spec);
        assert!(drawing.lines().count() <= 48, "{spec}:\n{drawing}");
    }
}
