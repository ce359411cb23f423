//! The text format, byte by byte.

mod stream;

use std::fs;

#[test]
fn every_kind_of_event_is_printed_as_the_kernel_prints_it() {
    let path = stream::folder("ftrace_text").join("all.txt");
    stream::write(&path, stream::events());
    let text = fs::read_to_string(&path).unwrap();
    // The line with the count ends in blanks; an editor might take them out of the golden file.
    let text: String = text
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    assert_eq!(text, include_str!("ftrace_text_golden.txt"));
}

#[test]
fn a_second_announcement_renames_a_task() {
    let path = stream::folder("ftrace_text_rename").join("rename.txt");
    let mut sink = fairwind_trace::create(&path, &stream::header()).unwrap();
    let mut info = fairwind_trace::TaskInfo {
        pid: 9,
        tgid: 9,
        comm: "before".into(),
        group: 0,
    };
    let exec = fairwind_trace::EventKind::SchedProcessExec { task: 5 };
    sink.task(5, &info).unwrap();
    sink.event(&fairwind_trace::Event::new(0, 0, 5, exec))
        .unwrap();
    info.comm = "after".into();
    sink.task(5, &info).unwrap();
    sink.event(&fairwind_trace::Event::new(0, 0, 5, exec))
        .unwrap();
    sink.finish().unwrap();
    let payloads = stream::payloads(&fs::read_to_string(&path).unwrap());
    let expected = [
        "sched_process_exec: filename=before pid=9 old_pid=9",
        "sched_process_exec: filename=after pid=9 old_pid=9",
    ];
    assert_eq!(payloads, expected);
}
