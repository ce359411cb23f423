//! Following a recording with several settings, to see with which ours decides as the kernel did.

use std::num::NonZero;
use std::thread;

/// What each of them comes to, on all CPUs.
pub(super) fn side_by_side<T: Sync, U: Send>(all: &[T], f: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let part = all.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let f = &f;
        let parts = all.chunks(part);
        let workers = parts.map(|part| scope.spawn(move || part.iter().map(f).collect::<Vec<U>>()));
        let workers: Vec<_> = workers.collect();
        let done = workers.into_iter().map(|worker| worker.join());
        done.flat_map(|part| part.expect("it does not panic"))
            .collect()
    })
}
