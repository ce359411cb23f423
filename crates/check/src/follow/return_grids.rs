//! With which period and phase queues that ran out of runtime go back to work.
//!
//! Model.      Queues go back to work soon after their pool was refilled, at one phase of its period. A sequence of periods and
//!             phases tells when to expect that: it is worth the bits that the returns need less with it than if they came at
//!             any time, less those that it takes to say it. The sequence that is worth most is taken.
//! Units.      ns of the trace clock.
//! Source.     kernel/sched/fair.c `do_sched_cfs_period_timer` @ 6.1, 6.12.
//! Deviations. A period is one of those that somebody sets, or the one that the limit has in the end.

const MS: u64 = 1_000_000;
/// Periods that somebody sets.
const USUAL: [u64; 11] = [
    10 * MS,
    20 * MS,
    25 * MS,
    30 * MS,
    40 * MS,
    50 * MS,
    100 * MS,
    200 * MS,
    250 * MS,
    500 * MS,
    1000 * MS,
];
/// Queues return no later than this after a refill, most of them.
pub(super) const LATE_NS: u64 = 2_500_000;
const MOST: f64 = 0.9;
/// Phases are told apart that differ by so much.
const STEP_NS: u64 = 500_000;
/// What it takes to say that there is a change, in bits.
const BITS_OF_CHANGE: f64 = 8.0;

/// A period and its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) period: u64,
    pub(super) phase: u64,
}

/// Returns from one on that come with a grid, or at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) grid: Option<Grid>,
}

/// The sequence that is worth most for these returns, of a limit that has this period in the end.
pub(super) fn spans(returns: &[u64], last: u64) -> Vec<Span> {
    let others = USUAL.into_iter().filter(|period| *period != last);
    let periods: Vec<u64> = others.chain([last]).collect();
    let bits_of_period = (periods.len() as f64).log2();
    let grids = periods.into_iter().flat_map(|period| {
        let phases = (0..period.div_ceil(STEP_NS)).map(|n| n * STEP_NS);
        phases.map(move |phase| Some(Grid { period, phase }))
    });
    let grids: Vec<Option<Grid>> = grids.chain([None]).collect();
    let bits_of_grid = |grid: &Option<Grid>| {
        let phases = grid.map(|grid| grid.period as f64 / STEP_NS as f64);
        phases.map_or(0.0, |phases| bits_of_period + phases.log2())
    };
    // What it costs to have each grid in force, and with which return it began.
    let start = grids.iter().map(|grid| {
        let changes = grid.is_some_and(|grid| grid.period != last);
        let bits_of_change = if changes { BITS_OF_CHANGE } else { 0.0 };
        (bits_of_change + bits_of_grid(grid), 0)
    });
    let mut ways: Vec<(f64, usize)> = start.collect();
    // Which grid is best before each return, and with which that began.
    let mut best: Vec<(usize, usize)> = Vec::new();
    for (at, ts) in returns.iter().enumerate() {
        let (least, way) = least(&ways);
        best.push(way);
        for (way, grid) in ways.iter_mut().zip(&grids) {
            let changed = least + BITS_OF_CHANGE + bits_of_grid(grid);
            if at > 0 && changed < way.0 {
                *way = (changed, at);
            }
            way.0 += grid.map_or(0.0, |grid| bits_of_return(*ts, grid));
        }
    }
    let (_, (mut grid, mut first)) = least(&ways);
    let mut spans = Vec::new();
    loop {
        spans.push(Span {
            first,
            grid: grids[grid],
        });
        if first == 0 {
            break;
        }
        (grid, first) = best[first];
    }
    spans.reverse();
    spans
}

/// The least cost, of which grid that is, and with which return it began.
fn least(ways: &[(f64, usize)]) -> (f64, (usize, usize)) {
    let ways = ways.iter().enumerate();
    let least = ways.min_by(|(_, one), (_, other)| one.0.total_cmp(&other.0));
    least.map_or((0.0, (0, 0)), |(grid, (bits, first))| {
        (*bits, (grid, *first))
    })
}

/// How many bits more or less a return needs than if it came at any time.
fn bits_of_return(ts: u64, grid: Grid) -> f64 {
    let chance = (LATE_NS as f64 / grid.period as f64).min(MOST);
    let late = (ts % grid.period + grid.period - grid.phase) % grid.period;
    if late < LATE_NS {
        (chance / MOST).log2()
    } else {
        ((1.0 - chance) / (1.0 - MOST)).log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Periods, each with the first return that comes with it.
    fn periods(returns: &[u64], last: u64) -> Vec<(usize, Option<u64>)> {
        let spans = spans(returns, last * MS).into_iter();
        spans
            .map(|span| (span.first, span.grid.map(|grid| grid.period / MS)))
            .collect()
    }

    /// Returns so soon after every one or two of these periods from some ms on, now and then a ms late.
    fn after(period: u64, from: u64, number: u64) -> impl Iterator<Item = u64> {
        let periods = (0..number).map(|n| n + n / 3);
        periods.map(move |n| (from + n * period) * MS + n % 4 * 300_000)
    }

    #[test]
    fn returns_tell_the_period() {
        for period in [10, 20, 50, 100] {
            let returns: Vec<u64> = after(period, 1007, 30).collect();
            assert_eq!(periods(&returns, 100), [(0, Some(period))]);
        }
        let returns: Vec<u64> = after(70, 1007, 30).collect();
        assert_eq!(periods(&returns, 70), [(0, Some(70))]);
        assert_eq!(periods(&[], 100), [(0, None)]);
    }

    #[test]
    fn a_period_changes_if_that_explains_enough() {
        let changed = |before: u64| {
            let short = after(10, 1007, before);
            short.chain(after(50, 2007, 40)).collect::<Vec<u64>>()
        };
        assert_eq!(periods(&changed(30), 50), [(0, Some(10)), (30, Some(50))]);
        assert_eq!(periods(&changed(3), 50), [(0, Some(50))]);
    }

    #[test]
    fn what_comes_at_any_time_has_no_period() {
        let mut ts = 1000 * MS;
        let mut at_any_time = (0..60u64).map(|n| {
            ts += (n * n * 7 + n * 13) % 97 * MS;
            ts
        });
        let returns: Vec<u64> = at_any_time.by_ref().take(40).collect();
        assert_eq!(periods(&returns, 100), [(0, None)]);
        let grid = after(20, returns[39] / MS + 507, 30);
        let both: Vec<u64> = returns.iter().copied().chain(grid).collect();
        assert_eq!(periods(&both, 20), [(0, None), (40, Some(20))]);
    }
}
