//! Loads every rt-app file of a folder that the caller names.
//!
//! Model.       `FAIRWIND_RTAPP_DIR` names a folder, such as doc/examples of rt-app. Each `.json`
//!              below it must load, and must write back as a file that loads to the same workload.
//!              Without the variable there is nothing to test.

use fairwind_workload::{Workload, parse, write};
use std::fs;
use std::path::{Path, PathBuf};

fn json_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            json_files(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(path);
        }
    }
}

#[test]
fn every_file_loads_and_writes_back() {
    let Some(folder) = std::env::var_os("FAIRWIND_RTAPP_DIR") else {
        return;
    };
    let mut files = Vec::new();
    json_files(Path::new(&folder), &mut files);
    assert!(!files.is_empty(), "no .json below {folder:?}");
    for path in files {
        let name = path.display().to_string();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let workload = parse(&text, &name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            workload.tasks.is_empty(),
            !text.contains("\"tasks\""),
            "{name}"
        );
        if workload.tasks.is_empty() {
            continue;
        }
        let written = write(&workload).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again = parse(&written, "written").unwrap_or_else(|error| panic!("{name}: {error}"));
        let bare = |workload: Workload| Workload {
            warnings: Vec::new(),
            ..workload
        };
        let warnings: Vec<_> = workload.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(bare(workload), bare(again), "{name}: {warnings:#?}");
    }
}
