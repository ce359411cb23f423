//! What becomes of files when a trace cannot be written.

mod stream;

use std::fs;
use std::path::Path;
use std::process::Command;

use fairwind_trace::{Error, create};

const EXTENSIONS: [&str; 4] = ["txt", "dat", "pftrace", "perfetto-trace"];

fn message(path: &Path) -> String {
    match create(path, &stream::header()) {
        Ok(_) => panic!("{} was accepted", path.display()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_unknown_extension_lists_the_known_ones() {
    let known = "; use one of .pftrace (Perfetto), .perfetto-trace (Perfetto), .dat (trace-cmd), \
                 .txt (ftrace text)";
    assert_eq!(
        message(Path::new("a.json")),
        format!("a.json: no trace format has the extension .json{known}")
    );
    assert_eq!(
        message(Path::new("out")),
        format!("out: a trace file needs an extension, which names its format{known}")
    );
}

#[test]
fn a_missing_folder_is_said() {
    for extension in EXTENSIONS {
        let path = stream::folder("missing")
            .join("no/such/folder/a")
            .with_extension(extension);
        let message = message(&path);
        assert!(message.contains("no/such/folder/a"), "{message}");
        assert!(message.ends_with("; make the folder first"), "{message}");
    }
}

#[test]
fn a_folder_that_takes_no_files_is_an_error() {
    // Not even root can make a file there.
    for extension in EXTENSIONS {
        let path = Path::new("/proc/a").with_extension(extension);
        assert!(message(&path).starts_with(&format!("{}: cannot write", path.display())));
    }
}

#[test]
fn a_device_or_a_folder_is_no_target() {
    let folder = stream::folder("device");
    for extension in EXTENSIONS {
        let link = folder.join("full").with_extension(extension);
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        let error = create(&link, &stream::header()).err();
        assert!(matches!(error, Some(Error::NotAFile { .. })), "{error:?}");
        fs::remove_file(&link).unwrap();
        fs::create_dir(&link).unwrap();
        assert!(message(&link).contains("is not a regular file"));
        fs::remove_dir(&link).unwrap();
    }
    assert!(stream::files(&folder).is_empty());
}

#[test]
fn a_machine_without_cpus_is_an_error() {
    let header = fairwind_trace::Header {
        nr_cpus: 0,
        ..stream::header()
    };
    let error = create(Path::new("a.txt"), &header).err();
    assert!(
        matches!(error, Some(Error::CpuCount { nr_cpus: 0 })),
        "{error:?}"
    );
}

#[test]
fn a_dropped_sink_leaves_the_old_file() {
    for extension in EXTENSIONS {
        let folder = stream::folder("dropped");
        let path = folder.join("a").with_extension(extension);
        fs::write(&path, "old").unwrap();
        let mut sink = create(&path, &stream::header()).unwrap();
        stream::announce(sink.as_mut());
        for event in stream::many() {
            sink.event(&event).unwrap();
        }
        assert!(stream::files(&folder).len() > 1);
        drop(sink);
        assert_eq!(stream::files(&folder).len(), 1);
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
}

#[test]
fn a_link_stays_a_link() {
    let folder = stream::folder("link");
    fs::create_dir(folder.join("elsewhere")).unwrap();
    fs::write(folder.join("elsewhere/real"), "old").unwrap();
    std::os::unix::fs::symlink("elsewhere/real", folder.join("a.txt")).unwrap();
    stream::write(&folder.join("a.txt"), stream::events());
    assert!(folder.join("a.txt").is_symlink());
    assert!(
        fs::read(folder.join("elsewhere/real"))
            .unwrap()
            .starts_with(b"# tracer: nop")
    );
}

/// The variable that says where to write while files may not grow.
const LIMITED: &str = "FAIRWIND_TEST_LIMITED";

/// Writes traces, as the test below lets it: without the variable, all is well.
#[test]
fn a_trace_is_whole_or_absent() {
    let limited = std::env::var_os(LIMITED);
    for extension in EXTENSIONS {
        let folder = match &limited {
            Some(folder) => Path::new(folder).to_owned(),
            None => stream::folder("whole"),
        };
        let path = folder.join("a").with_extension(extension);
        let mut sink = create(&path, &stream::header()).unwrap();
        stream::announce(sink.as_mut());
        let written = stream::many()
            .try_for_each(|event| sink.event(&event))
            .and_then(|()| sink.finish());
        if limited.is_none() {
            written.unwrap();
            assert_eq!(stream::files(&folder).len(), 1);
        } else {
            let error = written.unwrap_err().to_string();
            assert!(error.contains(path.to_str().unwrap()), "{error}");
        }
    }
}

/// A full disk, told by the limit on a file's size: the system refuses the same write.
#[test]
fn a_full_disk_is_an_error_and_leaves_nothing() {
    let folder = stream::folder("full");
    let this = std::env::current_exe().unwrap();
    // 512 blocks of 512 or 1 024 bytes; every format needs more. The signal is ignored, so that the
    // write fails instead.
    let script = "trap '' XFSZ; ulimit -f 512; exec \"$0\" --exact a_trace_is_whole_or_absent";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(this)
        .env(LIMITED, &folder)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
    assert!(
        stream::files(&folder).is_empty(),
        "{:?}",
        stream::files(&folder)
    );
}

#[test]
#[should_panic(expected = "task 3 was not announced")]
fn an_unknown_task_is_a_bug() {
    let path = stream::folder("unknown").join("a.txt");
    let mut sink = create(&path, &stream::header()).unwrap();
    stream::announce(sink.as_mut());
    let kind = fairwind_trace::EventKind::SchedProcessExec { task: 3 };
    let _ = sink.event(&fairwind_trace::Event::new(0, 0, 0, kind));
}

#[test]
#[should_panic(expected = "event at 4 ns on CPU 2 comes after one at 5 ns there")]
fn time_that_goes_back_is_a_bug() {
    let path = stream::folder("back").join("a.txt");
    let mut sink = create(&path, &stream::header()).unwrap();
    let kind = fairwind_trace::EventKind::LocalTimerEntry;
    for (ts, cpu) in [(5, 2), (4, 1), (4, 2)] {
        let event = fairwind_trace::Event::new(ts, cpu, fairwind_trace::SWAPPER, kind);
        let _ = sink.event(&event);
    }
}
