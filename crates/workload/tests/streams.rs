//! Streams under random writers and readers: every byte written is read, and nobody waits for ever.

mod executor;

use executor::Executor;
use fairwind_workload::programs;
use fairwind_workload::*;
use proptest::prelude::*;

/// A workload in which some tasks write and others read one stream; readers take all that is written.
fn workload(kind: StreamKind, writers: &[Vec<u32>], readers: usize) -> Workload {
    let mut workload = programs::parse("perf-pipe").unwrap().workload;
    let template = workload.tasks[0].clone();
    workload.tasks.clear();
    workload.objects.streams = vec![kind];
    let stream = ObjectRef::shared(0);
    let mut add = |name: String, actions: Vec<Action>| {
        let mut task = template.clone();
        task.name = name;
        task.instances = 1;
        task.phases.truncate(1);
        task.phases[0].loops = Loops::Times(1);
        task.phases[0].events = actions.into_iter().map(Event::Program).collect();
        workload.tasks.push(task);
    };
    for (number, sizes) in writers.iter().enumerate() {
        let write = |&bytes: &u32| Action::Write { stream, bytes };
        add(format!("writer{number}"), sizes.iter().map(write).collect());
    }
    let all: u32 = writers.iter().flatten().sum();
    for number in 0..readers as u32 {
        let readers = readers as u32;
        let share = all / readers + u32::from(number < all % readers);
        // In a few pieces of different sizes.
        let pieces = [share / 2, share / 3, share - share / 2 - share / 3];
        let read = |bytes| Action::Read { stream, bytes };
        let pieces = pieces.into_iter().filter(|&bytes| bytes > 0).map(read);
        let mut actions: Vec<Action> = pieces.collect();
        actions.push(Action::Compute { ns: 1_000 });
        add(format!("reader{number}"), actions);
    }
    workload
}

fn kind() -> impl Strategy<Value = StreamKind> {
    prop_oneof![
        Just(StreamKind::Pipe),
        Just(StreamKind::Unix),
        Just(StreamKind::Tcp)
    ]
}

fn size() -> impl Strategy<Value = u32> {
    prop_oneof![1..200_u32, 3_000..9_000_u32, 1..200_000_u32, Just(4096)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_byte_arrives_and_everybody_ends(
        kind in kind(),
        writers in prop::collection::vec(prop::collection::vec(size(), 1..20), 1..4),
        readers in 1..4_usize,
        cpus in 1..4_usize,
    ) {
        let workload = workload(kind, &writers, readers);
        let mut executor = Executor::new(&workload, cpus, RunOptions::default());
        executor.run_until(u64::MAX / 2);
        let all: u64 = writers.iter().flatten().map(|&bytes| u64::from(bytes)).sum();
        prop_assert_eq!(executor.runtime.stream_bytes(0), (all, all));
        prop_assert_eq!(executor.runtime.nr_alive(), 0, "{:#?}", executor.log);
    }
}
