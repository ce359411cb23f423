//! Foreign descriptions: hwloc XML, lscpu's JSON, a copy of sysfs, the running system.

use std::fs;
use std::path::{Path, PathBuf};

use fairwind_machine::{Distance, Machine};
use fairwind_sched::units::CpuId;

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    path.to_str().unwrap().to_string()
}

fn ids(machine: &Machine, of: fn(&fairwind_sched::topology::CpuPlace) -> u32) -> Vec<u32> {
    machine.topology.cpus.iter().map(of).collect()
}

#[test]
fn hwloc_version_1() {
    let machine = Machine::load(&data("hwloc-v1.xml")).unwrap();
    assert_eq!(machine.name, "hwloc-v1");
    assert_eq!(machine.description, "Old Processor 9000");
    // CPU 8 is not in online_cpuset.
    assert_eq!(machine.nr_cpus(), 8);
    assert_eq!(ids(&machine, |p| p.core), [0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(ids(&machine, |p| p.llc), [0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(ids(&machine, |p| p.node), [0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(machine.topology.node_distance, [[10, 21], [21, 10]]);
    let caches = machine.caches;
    assert_eq!(
        (caches.l1d_bytes, caches.l2_bytes, caches.llc_bytes),
        (32 << 10, 256 << 10, 8 << 20)
    );
    assert_eq!(machine.notes, ["1 offline CPUs left out"]);
}

#[test]
fn hwloc_version_2_and_3() {
    let text = fs::read_to_string(data("hwloc-v2.xml")).unwrap();
    for text in [
        text.clone(),
        text.replace("version=\"2.0\"", "version=\"3.0\""),
    ] {
        let machine = Machine::from_text("box.xml", &text).unwrap();
        assert_eq!(ids(&machine, |p| p.core), [0, 1, 2, 3, 4, 5]);
        assert_eq!(ids(&machine, |p| p.llc), [0, 0, 0, 0, 1, 1]);
        assert_eq!(ids(&machine, |p| p.package), [0, 0, 0, 0, 1, 1]);
        // Nodes 0 and 2 become 0 and 1; node 3 has no CPU. The matrix is given in the order 2, 0,
        // 3.
        assert_eq!(machine.labels.node, [0, 2]);
        assert_eq!(machine.topology.node_distance, [[10, 22], [21, 10]]);
        // Two cores share each L2 of the first package.
        assert!(machine.caches.l2_per_cluster);
        assert_eq!(machine.distance(CpuId(0), CpuId(1)), Distance::Cluster);
        assert_eq!(machine.distance(CpuId(0), CpuId(2)), Distance::Llc);
        assert_eq!(machine.distance(CpuId(4), CpuId(5)), Distance::Llc);
        assert_eq!(machine.caches.llc_bytes, 32 << 20);
        assert_eq!(
            machine.notes,
            ["1 NUMA nodes without CPUs of their own left out"]
        );
    }
}

#[test]
fn lscpu_table() {
    let machine = Machine::load(&data("lscpu-table.json")).unwrap();
    assert_eq!(machine.labels.cpu, [0, 1, 2, 4, 5]);
    assert_eq!(ids(&machine, |p| p.core), [0, 1, 2, 0, 3]);
    assert_eq!(ids(&machine, |p| p.llc), [0, 0, 1, 0, 2]);
    assert_eq!(ids(&machine, |p| p.node), [0, 0, 0, 0, 1]);
    let notes = machine.notes.join("\n");
    for what in [
        "offline CPUs left out",
        "CPU 4 is CPU 3 here",
        "20 taken for all",
        "cache sizes",
    ] {
        assert!(notes.contains(what), "{what}: {notes}");
    }
}

#[test]
fn lscpu_summary() {
    let machine = Machine::load(&data("lscpu-summary.json")).unwrap();
    assert_eq!(machine.description, "Some Processor");
    assert_eq!(machine.nr_cpus(), 32);
    assert_eq!(machine.distance(CpuId(0), CpuId(16)), Distance::Smt);
    // Four LLCs for 16 cores: cores 0-3 share one.
    assert_eq!(machine.distance(CpuId(0), CpuId(3)), Distance::Llc);
    assert_eq!(machine.distance(CpuId(0), CpuId(4)), Distance::Node);
    assert_eq!(machine.distance(CpuId(0), CpuId(8)), Distance::Remote(1));
    let caches = machine.caches;
    assert_eq!(
        (caches.l1d_bytes, caches.l2_bytes, caches.llc_bytes),
        (32 << 10, 512 << 10, 16 << 20)
    );
}

#[test]
fn costs_come_from_the_named_preset() {
    let machine = Machine::load(&format!("{}@x5570", data("hwloc-v2.xml"))).unwrap();
    let x5570 = Machine::load("x5570").unwrap();
    assert_eq!(machine.costs.kernel, x5570.costs.kernel);
    assert_eq!(machine.caches.llc_bytes, 32 << 20);
    let shorthand = Machine::load("1x2x2@x5570").unwrap();
    assert_eq!((shorthand.nr_cpus(), shorthand.caches), (4, x5570.caches));
    let both = Machine::load("spr-2x60@x5570").unwrap();
    assert_eq!((both.nr_cpus(), both.costs), (240, x5570.costs));
}

/// A directory of its own for one test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("fairwind-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn spec(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_copy_of_sysfs() {
    let sys = Scratch::new("sysfs");
    sys.write("cpu/online", "0-3\n");
    sys.write("node/online", "0,2\n");
    sys.write("node/node0/cpulist", "0,2\n");
    sys.write("node/node2/cpulist", "1,3\n");
    sys.write("node/node0/distance", "10 17\n");
    sys.write("node/node2/distance", "17 10\n");
    for cpu in 0..4 {
        let package = cpu % 2;
        let dir = format!("cpu/cpu{cpu}");
        let siblings = format!("{},{}\n", package, package + 2);
        sys.write(
            &format!("{dir}/topology/physical_package_id"),
            &format!("{package}\n"),
        );
        sys.write(&format!("{dir}/topology/thread_siblings_list"), &siblings);
        for (index, level, kind, size) in [
            (0, 1, "Data", "48K"),
            (1, 1, "Instruction", "64K"),
            (2, 2, "Unified", "2048K"),
        ] {
            let dir = format!("{dir}/cache/index{index}");
            sys.write(&format!("{dir}/level"), &format!("{level}\n"));
            sys.write(&format!("{dir}/type"), &format!("{kind}\n"));
            sys.write(&format!("{dir}/size"), &format!("{size}\n"));
            sys.write(&format!("{dir}/shared_cpu_list"), &siblings);
            sys.write(&format!("{dir}/coherency_line_size"), "64\n");
        }
    }
    for (idx, name, latency, residency) in [(0, "POLL", 0, 0), (1, "C6", 133, 600)] {
        let dir = format!("cpu/cpu0/cpuidle/state{idx}");
        sys.write(&format!("{dir}/name"), &format!("{name}\n"));
        sys.write(&format!("{dir}/latency"), &format!("{latency}\n"));
        sys.write(&format!("{dir}/residency"), &format!("{residency}\n"));
    }

    let machine = Machine::load(sys.spec()).unwrap();
    assert_eq!(ids(&machine, |p| p.core), [0, 1, 0, 1]);
    assert_eq!(ids(&machine, |p| p.node), [0, 1, 0, 1]);
    assert_eq!(machine.topology.node_distance, [[10, 17], [17, 10]]);
    // The L2 is the outermost cache, so it is the LLC and no L2 is left.
    let caches = machine.caches;
    assert_eq!(
        (caches.l1d_bytes, caches.l2_bytes, caches.llc_bytes),
        (48 << 10, 0, 2 << 20)
    );
    let states = machine.costs.idle.states();
    assert_eq!(
        (states[1].name.as_str(), states[1].exit_latency_ns),
        ("C6", 133_000)
    );
    // Its power is that of the generic state with the nearest exit latency, C6 at 170 us.
    assert_eq!(states[1].power_mw, 100);
}

#[test]
fn the_running_system() {
    let machine = Machine::load("host").unwrap();
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let first: u32 = online
        .split([',', '-', '\n'])
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(machine.labels.cpu[0], first);
    assert!(machine.caches.line_bytes > 0);
}
