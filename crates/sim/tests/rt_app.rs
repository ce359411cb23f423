//! rt-app files, each on small and large machines under both releases: the run ends, CPU time is conserved, and a
//! second run gives the same bytes.
//!
//! Model. The files beside this one use, together, every event and policy. `FAIRWIND_RTAPP_DIR=DIR` also runs every file
//!        below a folder, such as upstream's examples. A file that does not end runs for 2 s.

use fairwind_machine::Machine;
use fairwind_sched::{KernelProfile, Release};
use fairwind_sim::{Config, Report, Simulation, monitor};
use fairwind_trace::{Header, create};
use fairwind_workload::{Workload, parse};
use std::path::{Path, PathBuf};

const MACHINES: [&str; 3] = ["1x1x1", "1x8x1", "spr-2x60"];
const LONGEST: u64 = 2_000_000_000;

/// The files below a folder, in order of their names.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    let below = |path: PathBuf| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    };
    entries
        .into_iter()
        .flat_map(below)
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect()
}

fn simulation(workload: &Workload, machine: &str, release: Release) -> Result<Simulation, String> {
    let machine = Machine::load(machine).unwrap();
    let profile = KernelProfile::new(release, machine.nr_cpus());
    let mut config = Config {
        machine,
        profile,
        duration: None,
        seed: 1,
    };
    let ends = Simulation::new(config.clone(), workload.clone())
        .map_err(|error| error.to_string())?
        .workload_ends();
    if !ends {
        config.duration = Some(LONGEST);
    }
    Simulation::new(config, workload.clone()).map_err(|error| error.to_string())
}

/// Runs a workload to a report and, if asked for, a trace.
fn run(
    workload: &Workload,
    machine: &str,
    release: Release,
    trace: Option<&Path>,
) -> Result<Report, String> {
    let mut simulation = simulation(workload, machine, release)?;
    let nr_cpus = simulation.sched().nr_cpus();
    if nr_cpus <= 8 && trace.is_none() {
        monitor::all()
            .into_iter()
            .for_each(|monitor| simulation.add_monitor(monitor));
    }
    if let Some(path) = trace {
        let header = Header {
            nr_cpus: nr_cpus as u32,
            kernel: release.name().to_string(),
            machine: machine.to_string(),
            hz: 250,
        };
        simulation.trace_to(vec![
            create(path, &header).map_err(|error| error.to_string())?,
        ]);
    }
    simulation.run();
    if let Some(violation) = simulation.violation() {
        return Err(violation.to_string());
    }
    simulation.finish().map_err(|error| error.to_string())?;
    Ok(simulation.report(false))
}

/// What is wrong with a report.
fn fault(report: &Report) -> Option<String> {
    let lost = report
        .cpus
        .iter()
        .find(|cpu| cpu.busy_ns + cpu.idle_ns != report.duration_ns);
    if let Some(cpu) = lost {
        return Some(format!(
            "cpu {}: {} busy and {} idle",
            cpu.cpu, cpu.busy_ns, cpu.idle_ns
        ));
    }
    let busy: u64 = report.cpus.iter().map(|cpu| cpu.busy_ns).sum();
    let tasks: u64 = report.tasks.iter().map(|task| task.cpu_ns).sum();
    if tasks > busy {
        return Some(format!("tasks ran for {tasks}, CPUs were busy for {busy}"));
    }
    (report.totals.switches == 0 && !report.tasks.is_empty())
        .then(|| "nothing happened".to_string())
}

/// Runs a file everywhere.
fn check(path: &Path, traced: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let workload = parse(&text, &path.display().to_string()).map_err(|error| error.to_string())?;
    for machine in MACHINES {
        for release in Release::ALL {
            let at = |what: String| format!("on {machine} under {}: {what}", release.name());
            let report = run(&workload, machine, release, None).map_err(at)?;
            if let Some(what) = fault(&report) {
                return Err(at(what));
            }
            if !traced {
                let again = run(&workload, machine, release, None).map_err(at)?;
                if report != again {
                    return Err(at("two runs differ".to_string()));
                }
                continue;
            }
            let file = |name: &str| {
                std::env::temp_dir().join(format!("fairwind-{}-{name}.txt", std::process::id()))
            };
            let stem = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let (one, other) = (file(&format!("{stem}-1")), file(&format!("{stem}-2")));
            let traced = run(&workload, machine, release, Some(&one)).map_err(at)?;
            run(&workload, machine, release, Some(&other)).map_err(at)?;
            let same = std::fs::read(&one).unwrap() == std::fs::read(&other).unwrap();
            std::fs::remove_file(&one).unwrap();
            std::fs::remove_file(&other).unwrap();
            if !same || traced != report {
                return Err(at(format!("two runs differ, in the trace: {}", !same)));
            }
        }
    }
    Ok(())
}

fn check_all(dir: &Path, traced: bool) -> usize {
    let files = files(dir);
    let failed: Vec<String> = files
        .iter()
        .filter_map(|path| {
            let what = check(path, traced).err()?;
            Some(format!("{} {what}", path.display()))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    files.len()
}

#[test]
fn own_files() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rt-app");
    assert!(check_all(&dir, true) >= 8, "the files are there");
}

#[test]
fn files_of_a_folder() {
    if let Some(dir) = std::env::var_os("FAIRWIND_RTAPP_DIR") {
        assert!(check_all(Path::new(&dir), false) > 0, "no file there");
    }
}
