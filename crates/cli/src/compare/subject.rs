//! The workloads to compare under: files and programs, each as it is or at several loads.
//!
//! Model.       A workload is a file, a program, or several of them joined by `+`, which run together. A load is put into
//!              the parameter of its own with which a program says how much it does; a program that states it already
//!              keeps what it states.

use crate::error::Error;
use crate::output;
use crate::run::input;
use fairwind_workload::Workload;
use fairwind_workload::programs::{self, Program};
use std::path::{Path, PathBuf};

/// A workload at one load.
#[derive(Debug)]
pub(crate) struct Subject {
    /// What it is called.
    pub(crate) name: String,
    /// The load, as in `60-pairs`; none: as it is.
    pub(crate) load: Option<String>,
    /// What runs.
    pub(crate) workload: Workload,
    /// The programs in it.
    pub(crate) programs: Vec<Program>,
}

/// Reads one workload, at each of these loads.
pub(crate) fn read(text: &str, loads: &[u64]) -> Result<Vec<Subject>, Error> {
    let parts: Vec<&str> = if Path::new(text).exists() {
        vec![text]
    } else {
        text.split('+').collect()
    };
    let names: Vec<String> = parts.iter().map(|part| name_of(part)).collect();
    let subject = |load: Option<String>, parts: &[PathBuf]| -> Result<Subject, Error> {
        let (workload, programs) = input::read(parts)?;
        for warning in &workload.warnings {
            output::warning(&warning.to_string());
        }
        Ok(Subject {
            name: names.join("+"),
            load,
            workload,
            programs,
        })
    };
    if loads.is_empty() {
        let parts: Vec<PathBuf> = parts.iter().map(PathBuf::from).collect();
        return Ok(vec![subject(None, &parts)?]);
    }
    let parameters: Vec<Option<&str>> = parts.iter().map(|part| free_load(part)).collect();
    let Some(parameter) = parameters.iter().flatten().next() else {
        return Err(Error::input(format!(
            "WORKLOAD {text}: --load has nothing to set: no program in it leaves open how much it does"
        ))
        .hint("'fairwind program list' has the programs, 'fairwind program show NAME' the parameter"));
    };
    { loads.iter() }
        .map(|load| {
            let parts: Vec<PathBuf> = { parts.iter().zip(&parameters) }
                .map(|(part, parameter)| match parameter {
                    Some(parameter) => PathBuf::from(with_parameter(part, parameter, *load)),
                    None => PathBuf::from(part),
                })
                .collect();
            subject(Some(format!("{load}-{parameter}")), &parts)
        })
        .collect()
}

/// A program as it was typed; a file without its folder and what follows its last point.
fn name_of(part: &str) -> String {
    let path = Path::new(part);
    if part == "-" {
        return "stdin".to_string();
    }
    if !path.exists() && program(part).is_some() {
        return part.to_string();
    }
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    stem.to_string_lossy().into_owned()
}

fn program(part: &str) -> Option<&'static programs::Info> {
    programs::find(part.split(':').next().unwrap_or(part))
}

/// The parameter in which a program would take a load; none: a file, or a program that states it.
fn free_load(part: &str) -> Option<&'static str> {
    let info = program(part).filter(|_| !Path::new(part).exists())?;
    let (_, stated) = part.split_once(':').unwrap_or((part, ""));
    let states = stated.split(',').any(|item| {
        let name = item.split('=').next().unwrap_or(item);
        name.trim() == info.load
    });
    (!states).then_some(info.load)
}

fn with_parameter(part: &str, parameter: &str, value: u64) -> String {
    let separator = match part.split_once(':') {
        None => ":",
        Some((_, "")) => "",
        Some(_) => ",",
    };
    format!("{part}{separator}{parameter}={value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs(text: &str, loads: &[u64]) -> Vec<(Option<String>, Vec<String>)> {
        let subjects = read(text, loads).unwrap();
        let of = |subject: &Subject| subject.programs.iter().map(Program::spec).collect();
        { subjects.iter() }
            .map(|subject| (subject.load.clone(), of(subject)))
            .collect()
    }

    #[test]
    fn a_load_is_put_where_the_program_left_it_open() {
        let loads = specs("netperf:duration=1s+netperf:pairs=3+netperf", &[60, 120]);
        for ((load, specs), pairs) in loads.iter().zip([60, 120]) {
            assert_eq!(load.as_deref(), Some(&*format!("{pairs}-pairs")));
            for (spec, pairs) in specs.iter().zip([pairs, 3, pairs]) {
                assert!(spec.contains(&format!("pairs={pairs},")), "{spec}");
            }
        }
        assert!(specs("hackbench", &[])[0].1[0].contains("groups=10,"));
        assert!(specs("hackbench:", &[4])[0].1[0].contains("groups=4,"));
        assert!(read("hackbench:groups=3", &[4]).is_err());
        assert!(read("hackbench", &[0]).is_err());
    }
}
