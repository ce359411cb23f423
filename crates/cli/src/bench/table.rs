//! The results of a bench as a table.

use super::results::{JobResults, Results};
use crate::text_table::Columns;
use std::fmt::Write;

/// The table; with a baseline, also ratios to it.
pub(crate) fn render(results: &Results, baseline: Option<&Results>) -> String {
    let mut text = format!(
        "{}, {} CPUs; jobs run on one\n\n",
        results.processor, results.cpus
    );
    let counted = results.counter.is_some();
    let table = Columns::of(&results.jobs)
        .text("job", |job| job.job.clone())
        .number("M events/s", |job| millions(job.events_per_s))
        .number("of bound", |job| format!("{:.1} %", 100.0 * job.of_bound))
        .number("sim s/s", |job| significant(job.simulated_s_per_s))
        .number("ticks/event", |job| {
            let events = (job.wakeups + job.switches) as f64;
            format!("{:.2}", job.ticks as f64 / events)
        })
        .when(
            |_| counted,
            |table| {
                table.number("instr/event", |job| {
                    job.instructions_per_event
                        .map_or(String::new(), |count| format!("{count:.0}"))
                })
            },
        )
        .number("start s", |job| format!("{:.2}", job.start_s))
        .number("B/task", |job| job.bytes_per_task.to_string())
        .number("B/CPU", |job| job.bytes_per_cpu.to_string())
        .number("peak MiB", |job| (job.peak_bytes >> 20).to_string());
    text.push_str(&table.layout());
    if let Some(counter) = results.counter {
        _ = writeln!(text, "\nInstructions are counted by {}.", counter.name());
    }
    if let Some(baseline) = baseline {
        text.push('\n');
        text.push_str(&ratios(results, baseline));
    }
    let [l1, l2, l3, far] = results.bound.load_ns;
    let [few, some, many] = results.bound.hold_ops_per_s.map(millions);
    _ = write!(
        text,
        "\nBound, measured in the same run:\n  \
         bare event queue, M steps/s    {few} with 16 events waiting, {some} with 256, {many} with 4096\n  \
         load that waits for the last   {l1:.1} ns from 32 KiB, {l2:.1} from 1 MiB, {l3:.1} from 16 MiB, {far:.1} from 128 MiB\n"
    );
    text
}

fn ratios(results: &Results, baseline: &Results) -> String {
    let both: Vec<(&JobResults, &JobResults)> = results
        .jobs
        .iter()
        .filter_map(|job| Some((job, baseline.of(&job.job)?)))
        .collect();
    let ratio = |now: f64, then: f64| {
        if then == 0.0 {
            String::new()
        } else {
            format!("{:.3}", now / then)
        }
    };
    let counts = |(now, then): &(&JobResults, &JobResults)| {
        now.instructions_per_event.zip(then.instructions_per_event)
    };
    let same_counter = results.counter == baseline.counter;
    let table = Columns::of(&both)
        .text("to the baseline", |(now, _)| now.job.clone())
        .number("events/s", |(now, then)| {
            ratio(now.events_per_s, then.events_per_s)
        })
        .when(
            |pair| same_counter && counts(pair).is_some(),
            |table| {
                table.number("instr/event", |pair| {
                    counts(pair).map_or(String::new(), |(now, then)| ratio(now, then))
                })
            },
        )
        .number("start", |(now, then)| ratio(now.start_s, then.start_s))
        .number("B/task", |(now, then)| {
            ratio(now.bytes_per_task as f64, then.bytes_per_task as f64)
        })
        .number("B/CPU", |(now, then)| {
            ratio(now.bytes_per_cpu as f64, then.bytes_per_cpu as f64)
        })
        .number("peak", |(now, then)| {
            ratio(now.peak_bytes as f64, then.peak_bytes as f64)
        });
    table.layout()
}

fn millions(number: f64) -> String {
    significant(number / 1e6)
}

/// Three digits that count.
fn significant(number: f64) -> String {
    let before = if number > 0.0 {
        number.log10().floor() as i32 + 1
    } else {
        1
    };
    format!("{number:.*}", (3 - before).clamp(0, 6) as usize)
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn three_digits_count() {
        for (number, text) in [
            (0.012_345, "0.0123"),
            (1.234, "1.23"),
            (56.78, "56.8"),
            (1234.5, "1234"),
            (0.0, "0.00"),
        ] {
            assert_eq!(significant(number), text);
        }
    }
}
