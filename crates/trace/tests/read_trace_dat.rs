//! trace.dat of a real kernel, in both versions, compared with what trace-cmd prints of it.

mod sample;
mod v7;

use fairwind_trace::read::{Oddity, TimeShift};
use fairwind_trace::{TraceKind, open_bytes};
use sample::told;
use v7::{Buffer, File, Packing};

#[test]
fn all_versions_and_compressions_tell_the_same() {
    let six = sample::open("trace-v6.dat.zst");
    let none = sample::open("trace-v7-none.dat.zst");
    let zstd = sample::open("trace-v7-zstd.dat");
    assert_eq!(six.kind(), TraceKind::TraceDat6);
    assert_eq!(
        (none.kind(), zstd.kind()),
        (TraceKind::TraceDat7, TraceKind::TraceDat7)
    );
    let events = told(&six);
    assert_eq!(events.len(), 382);
    assert_eq!(told(&none), events);
    assert_eq!(told(&zstd), events);
    for trace in [&six, &none, &zstd] {
        let stats = trace.check();
        assert!(stats.table().is_empty(), "{}", stats.table());
        assert_eq!(stats.events, 382);
        let info = trace.info();
        assert_eq!((info.nr_cpus, info.clock.as_deref()), (4, Some("local")));
        assert!(
            info.uname
                .as_deref()
                .unwrap()
                .contains("6.12.117+deb12-amd64")
        );
        assert_eq!(info.trace_id, Some(1_988_292_060_989_484_559));
        assert_eq!(info.cmdlines.get(&261).map(String::as_str), Some("hog"));
        assert_eq!(trace.formats().len(), 34);
    }
}

#[test]
fn trace_cmd_prints_the_same() {
    let trace = sample::open("trace-v7-zstd.dat");
    for text in ["report.txt.zst", "report-no-plugins.txt.zst"] {
        let text = sample::open(text);
        assert_eq!(text.kind(), TraceKind::FtraceText);
        assert!(text.check().is_clean(), "{}", text.check().table());
        // By trace-cmd's own count of the events of each kind: 71 local_timer_entry with 1 field,
        // 123 sched_stat_runtime with 3, 33 sched_switch with 7, 9 sched_waking and 11 sched_wakeup
        // with 4, 7 sched_migrate_task with 5; of the probes, without the address that has no name
        // in print, 15 place_avg with 3, 16 place_entity with 7, 33 put_prev_entity with 3,
        // 32 set_next_entity with 4 and 32 set_next_rq with 3.
        let kernels = 71 + 123 * 3 + 33 * 7 + 20 * 4 + 7 * 5;
        let probes = 15 * 3 + 16 * 7 + 33 * 3 + 32 * 4 + 32 * 3;
        assert_eq!(sample::same_as_text(&trace, &text), kernels + probes);
    }
}

#[test]
fn a_probe_is_an_event_like_any_other() {
    let trace = sample::open("trace-v7-zstd.dat");
    let id = trace.formats().find_name("place_entity").unwrap();
    let format = trace.formats().get(id);
    let vruntime = format.field("vruntime").unwrap();
    let first = trace.events().find(|event| event.event == id).unwrap();
    // As trace-cmd prints the first of them.
    let text = sample::open("report.txt.zst");
    let printed = told(&text)
        .into_iter()
        .find(|told| told.name == "place_entity")
        .unwrap();
    assert_eq!(first.uint(vruntime).to_string(), printed.fields["vruntime"]);
}

#[test]
fn zlib_and_instances_and_options_of_our_own_making() {
    let six = sample::bytes("trace-v6.dat.zst");
    let events = told(&open_bytes(&six).unwrap());
    let mut file = File::of_v6(&six, Packing::Zlib);
    let top = file.buffers.remove(0);
    let (mut first, mut second) = (top.clone(), top);
    // CPUs 0 and 1 in the top buffer, 2 and 3 in an instance.
    first.cpus.retain(|(cpu, _)| *cpu < 2);
    second.cpus.retain(|(cpu, _)| *cpu >= 2);
    second.name = "second".into();
    file.buffers = vec![first, second];
    file.guest("vm", 77, &[(0, 1000), (1, 1001)]);
    file.option(7, b"-1000\0");
    let trace = open_bytes(&file.bytes()).unwrap();
    let stats = trace.check();
    assert!(stats.table().is_empty(), "{}", stats.table());
    assert_eq!(trace.info().buffers, ["", "second"]);
    let guest = &trace.info().guests[0];
    assert_eq!((guest.name.as_str(), guest.trace_id), ("vm", 77));
    assert_eq!(guest.vcpus, [(0, 1000), (1, 1001)]);
    let found = told(&trace);
    let shifted: Vec<_> = events.iter().map(|told| told.ts - 1000).collect();
    assert_eq!(
        found.iter().map(|told| told.ts).collect::<Vec<_>>(),
        shifted
    );
    for (event, told) in trace.events().zip(&events) {
        assert_eq!(event.buffer, u16::from(told.cpu >= 2));
    }
}

#[test]
fn a_guests_time_becomes_its_hosts() {
    let six = sample::bytes("trace-v6.dat.zst");
    let events = told(&open_bytes(&six).unwrap());
    let mut file = File::of_v6(&six, Packing::None);
    // CPU 0 is 5 s behind, CPU 1 is 1 s ahead, the others were not measured.
    let mut option = 9_u64.to_le_bytes().to_vec();
    option.extend_from_slice(&[0; 4]);
    option.extend_from_slice(&2_u32.to_le_bytes());
    for offset in [5_000_000_000_i64, -1_000_000_000] {
        option.extend_from_slice(&1_u32.to_le_bytes());
        option.extend_from_slice(&1_u64.to_le_bytes());
        option.extend_from_slice(&offset.to_le_bytes());
        option.extend_from_slice(&1_u64.to_le_bytes());
    }
    file.option(12, &option);
    let trace = open_bytes(&file.bytes()).unwrap();
    let of_cpu = |told: &[sample::Told], cpu| -> Vec<u64> {
        let of_cpu = told.iter().filter(|told| told.cpu == cpu);
        of_cpu.map(|told| told.ts).collect()
    };
    let found = told(&trace);
    let moved = |cpu, by: i64| -> Vec<u64> {
        let times = of_cpu(&events, cpu).into_iter();
        times.map(|ts| ts.wrapping_add_signed(by)).collect()
    };
    assert_eq!(of_cpu(&found, 0), moved(0, 5_000_000_000));
    assert_eq!(of_cpu(&found, 1), moved(1, -1_000_000_000));
    assert_eq!(of_cpu(&found, 3), moved(3, 0));
    assert!(found.is_sorted_by_key(|told| told.ts));
    let shift: &TimeShift = trace.info().time_shift.as_ref().unwrap();
    assert_eq!((shift.peer_trace_id, shift.samples.len()), (9, 2));
}

#[test]
fn a_file_cut_in_its_pages_gives_those_before() {
    let six = sample::bytes("trace-v6.dat.zst");
    let whole = told(&open_bytes(&six).unwrap());
    // Half of CPU 1's page and CPUs 2 and 3 are gone.
    let cut = &six[..six.len() - 4096 * 2 - 2048];
    let trace = open_bytes(cut).unwrap();
    let stats = trace.check();
    let found = told(&trace);
    assert!(stats.count(Oddity::Truncated) >= 3, "{}", stats.table());
    let of_cpu = |told: &[sample::Told], cpu| told.iter().filter(|told| told.cpu == cpu).count();
    assert_eq!(of_cpu(&found, 0), of_cpu(&whole, 0));
    assert!(of_cpu(&found, 1) > 0 && of_cpu(&found, 1) < of_cpu(&whole, 1));
    assert_eq!((of_cpu(&found, 2), of_cpu(&found, 3)), (0, 0));
    assert!(found.iter().all(|told| whole.contains(told)));
}

#[test]
fn a_compressed_file_without_its_last_options_gives_its_pages() {
    let bytes = sample::bytes("trace-v7-zstd.dat");
    let whole = told(&open_bytes(&bytes).unwrap());
    // The options that say where the pages are come last.
    let trace = open_bytes(&bytes[..bytes.len() - 200]).unwrap();
    assert_eq!(told(&trace), whole);
    let stats = trace.check();
    assert_eq!(stats.count(Oddity::CpuGuessed), 4, "{}", stats.table());
}

#[test]
fn pages_named_twice_are_read_once() {
    let six = sample::bytes("trace-v6.dat.zst");
    let mut file = File::of_v6(&six, Packing::None);
    let top: Buffer = file.buffers[0].clone();
    for name in ["a", "b", "c"] {
        let mut again = top.clone();
        again.name = name.into();
        again.shared = true;
        file.buffers.push(again);
    }
    let trace = open_bytes(&file.bytes()).unwrap();
    let stats = trace.check();
    assert!(stats.count(Oddity::BadSection) > 0, "{}", stats.table());
    assert!(stats.events < 3 * 382);
}
