//! The scheduler's own account before the recording: the debug file, version 0.11.
//!
//! Units.   The file prints ns as ms with six decimals.
//! Source.  kernel/sched/debug.c @ 6.1, 6.12.

use super::ClockFacts;
use fairwind_sched::Release;

/// A task before the recording, or at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFacts {
    /// Thread id.
    pub pid: i32,
    /// Its CPU.
    pub cpu: u32,
    /// Its name.
    pub comm: String,
    /// Virtual runtime, ns.
    pub vruntime: u64,
    /// Deadline, ns; 0 on 6.1.
    pub deadline: u64,
    /// Priority, 120 for nice 0.
    pub prio: i32,
    /// For how long it has run, ns.
    pub sum_exec: u64,
    /// Its group's path: a cgroup's, or that of its session's autogroup.
    pub group: String,
    /// It was running.
    pub runs: bool,
}

/// A fair queue before the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueFacts {
    /// Its CPU.
    pub cpu: u32,
    /// Its group.
    pub path: String,
    /// `zero_vruntime` (6.12) or `min_vruntime` (6.1), ns.
    pub min_vruntime: u64,
    /// Averages, as the kernel shows them.
    pub load_avg: u64,
    /// Averages, as the kernel shows them.
    pub runnable_avg: u64,
    /// Averages, as the kernel shows them.
    pub util_avg: u64,
}

/// A CPU's balancing before the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuFacts {
    /// Its number.
    pub cpu: u32,
    /// Jiffy of the next periodic balance.
    pub next_balance: u64,
    /// How long it is idle on average, ns.
    pub avg_idle: u64,
    /// The most that a newly idle balance has cost, ns.
    pub max_idle_balance_cost: u64,
}

#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) clock: Option<ClockFacts>,
    pub(super) cpus: Vec<CpuFacts>,
    pub(super) tasks: Vec<TaskFacts>,
    pub(super) queues: Vec<QueueFacts>,
    /// Some CPU's real-time tasks have a limit, if any is told.
    pub(super) rt_limited: Option<bool>,
}

/// How -1 ns is printed, which stands for no limit.
const RUNTIME_INF: &str = "0.000001";

/// Reads what is told; lines of other forms belong to parts that are not needed.
pub(super) fn read(release: Release, text: &str) -> Before {
    let mut before = Before::default();
    let mut cpu = 0;
    let mut jiffies = None;
    let mut sched_clock = None;
    let mut cpu_clock = None;
    let mut ktime = None;
    let mut in_queue = false;
    for line in text.lines() {
        let value = || line.rsplit(':').next().map(str::trim);
        if line.starts_with("jiffies") {
            jiffies = value().and_then(|value| value.parse().ok());
        } else if line.starts_with("ktime") {
            ktime = value().and_then(nanos);
        } else if line.starts_with("cpu_clk") {
            cpu_clock = value().and_then(nanos);
        } else if line.starts_with("sched_clk") {
            sched_clock = value().and_then(nanos);
        } else if let Some(rest) = line.strip_prefix("cpu#") {
            cpu = rest
                .split(',')
                .next()
                .and_then(|cpu| cpu.parse().ok())
                .unwrap_or(cpu);
            before.cpus.push(CpuFacts {
                cpu,
                ..Default::default()
            });
        } else if let Some((_, path)) = line
            .strip_prefix("cfs_rq[")
            .and_then(|rest| rest.split_once("]:"))
        {
            in_queue = true;
            before.queues.push(QueueFacts {
                cpu,
                path: path.to_owned(),
                ..Default::default()
            });
        } else if line.trim_start().starts_with(".rt_runtime") {
            let limited = value().is_some_and(|value| value != RUNTIME_INF);
            before.rt_limited = Some(limited || before.rt_limited == Some(true));
        } else if line.trim().is_empty() || line.contains("_rq[") {
            in_queue = false;
        } else if !in_queue
            && let Some(last) = before.cpus.last_mut()
            && cpu_line(last, line)
        {
        } else if in_queue && let Some(queue) = before.queues.last_mut() {
            queue_line(queue, line);
        } else if line.starts_with([' ', '>'])
            && let Some(task) = task_line(release, cpu, line)
        {
            before.tasks.push(task);
        }
    }
    // Clocks are not below zero: what reads as negative is damaged.
    let clock = |ns: &u64| ns.cast_signed() >= 0;
    let (sched_clock, cpu_clock) = (sched_clock.filter(clock), cpu_clock.filter(clock));
    before.clock =
        jiffies
            .zip(sched_clock)
            .zip(ktime.filter(clock))
            .map(|((jiffies, sched_clock), ktime)| ClockFacts {
                jiffies,
                sched_clock,
                cpu_clock: cpu_clock.unwrap_or(sched_clock),
                ktime,
            });
    before
}

/// The tunables among its lines, as the files of their names have them. There are more.
pub(super) fn tunables(text: &str) -> String {
    let lines =
        settings(text).filter_map(|(name, value)| Some(format!("{name}_ns {}", nanos(value)?)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The features, as the file of that name has them, which tells the order of their bits.
pub(super) fn features(text: &str, file: &str) -> Option<String> {
    let (_, mask) = settings(text).find(|(name, _)| *name == "features")?;
    let mask: u64 = mask.parse().ok()?;
    let words = file.split_whitespace().enumerate().map(|(bit, word)| {
        let name = word.strip_prefix("NO_").unwrap_or(word);
        let on = mask
            .checked_shr(bit as u32)
            .is_some_and(|mask| mask & 1 == 1);
        if on {
            name.to_owned()
        } else {
            format!("NO_{name}")
        }
    });
    Some(words.collect::<Vec<_>>().join(" "))
}

/// Names and values of what can be set.
fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (name, value) = line
            .trim()
            .strip_prefix(".sysctl_sched_")?
            .split_once(':')?;
        Some((name.trim(), value.trim()))
    })
}

/// True if the line tells a fact of the CPU. Jiffies are printed as if they were ns.
fn cpu_line(facts: &mut CpuFacts, line: &str) -> bool {
    let Some((key, value)) = line.split_once(':') else {
        return false;
    };
    let value = value.trim();
    // What is larger than the kernel's own bounds is damage.
    let number = |text: Option<u64>| text.unwrap_or(0).min(u64::from(u32::MAX));
    match key.trim() {
        ".next_balance" => facts.next_balance = number(nanos(value)),
        ".avg_idle" => facts.avg_idle = number(value.parse().ok()),
        ".max_idle_balance_cost" => facts.max_idle_balance_cost = number(value.parse().ok()),
        _ => return false,
    }
    true
}

fn queue_line(queue: &mut QueueFacts, line: &str) {
    let Some((key, value)) = line.split_once(':') else {
        return;
    };
    let value = value.trim();
    // A larger average is a damaged one: tasks weigh less than 2^17 each.
    let number = || value.parse::<u32>().unwrap_or(0).into();
    match key.trim() {
        ".zero_vruntime" | ".min_vruntime" => queue.min_vruntime = nanos(value).unwrap_or(0),
        ".load_avg" => queue.load_avg = number(),
        ".runnable_avg" => queue.runnable_avg = number(),
        ".util_avg" => queue.util_avg = number(),
        _ => {}
    }
}

/// 6.12 and later: `S comm pid vruntime E|N deadline slice sum switches prio …`; 6.1:
/// `S comm pid vruntime switches prio wait sum …`.
fn task_line(release: Release, cpu: u32, line: &str) -> Option<TaskFacts> {
    // The mark of the running task may touch the state.
    let runs = line.starts_with('>');
    let line = line.trim_start_matches([' ', '>']);
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.first()?.len() != 1 {
        return None;
    }
    // Names may have blanks: the columns are found from the first number that is a time.
    let at = (3..words.len()).find(|&at| nanos(words[at]).is_some())?;
    let (deadline, prio) = match release {
        Release::V6_1 => (0, at + 2),
        Release::V6_12 | Release::V6_18 => (nanos(words.get(at + 2)?)?, at + 6),
    };
    let sum_exec = at + 4;
    let columns = words.get(prio..)?;
    let path = { columns.iter() }.position(|word| word.starts_with('/'));
    let group = path.map_or("/".to_owned(), |path| columns[path..].join(" "));
    Some(TaskFacts {
        pid: words[at - 1].parse().ok()?,
        cpu,
        comm: words[1..at - 1].join(" "),
        vruntime: nanos(words[at])?,
        deadline,
        prio: columns.first()?.parse().ok()?,
        sum_exec: words.get(sum_exec).and_then(|sum| nanos(sum)).unwrap_or(0),
        group,
        runs,
    })
}

/// ms with six decimals as ns; below zero it wraps, as the kernel's numbers do.
fn nanos(text: &str) -> Option<u64> {
    let digits = text.trim_start_matches('-');
    let (ms, rest) = digits.split_once('.')?;
    if rest.len() != 6 {
        return None;
    }
    let ns = ms.parse::<u64>().ok()?.checked_mul(1_000_000)? + rest.parse::<u64>().ok()?;
    Some(if text.starts_with('-') {
        ns.wrapping_neg()
    } else {
        ns
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_and_queues_of_6_12() {
        let text = "ktime : 4759.396937\nsched_clk  : 4789.471467\njiffies : 4294893421\n\ncpu#1, 2249.999 MHz\n\n\
            cfs_rq[1]:/a\n  .zero_vruntime : -0.000002\n  .load_avg : 1644\n\nrt_rq[1]:\n\n\
            \x20S            task   PID       vruntime   eligible    deadline\n\
            \x20I     kworker/0:0H    9      2580.787683   E        2580.980429           0.700000 \
            51.804205        81     100         0.000000\n\
            >R             my cat   161      2877.336266   N        2877.959635           0.700000 \
            8.633254         3     120         2.046876         0.000000         0.000000   0      0        /a b/c\n";
        let before = read(Release::V6_12, text);
        let clock = before.clock.unwrap();
        assert_eq!(
            (clock.jiffies, clock.sched_clock, clock.ktime),
            (4_294_893_421, 4_789_471_467, 4_759_396_937)
        );
        assert_eq!(before.queues.len(), 1);
        let queue = &before.queues[0];
        assert_eq!((queue.cpu, queue.path.as_str()), (1, "/a"));
        assert_eq!(
            (queue.min_vruntime, queue.load_avg),
            (2_u64.wrapping_neg(), 1644)
        );
        let [worker, cat] = &before.tasks[..] else {
            panic!("two tasks: {:?}", before.tasks)
        };
        assert_eq!((worker.pid, worker.prio, worker.cpu), (9, 100, 1));
        assert_eq!((cat.comm.as_str(), cat.pid), ("my cat", 161));
        assert_eq!((worker.group.as_str(), cat.group.as_str()), ("/", "/a b/c"));
        assert_eq!((cat.vruntime, cat.deadline), (2_877_336_266, 2_877_959_635));
        assert_eq!(cat.sum_exec, 8_633_254);
        assert_eq!((worker.runs, cat.runs), (false, true));
    }

    #[test]
    fn tunables_have_the_names_of_their_files() {
        let text = "sysctl_sched\n  .sysctl_sched_latency                    : 6.000000\n  \
            .sysctl_sched_wakeup_granularity         : 0.750000\n  .sysctl_sched_features : 199346143\n";
        assert_eq!(
            tunables(text),
            "latency_ns 6000000\nwakeup_granularity_ns 750000"
        );
        assert_eq!(tunables(""), "");
    }

    #[test]
    fn features_are_bits_in_the_order_of_their_file() {
        let text =
            "sysctl_sched\n  .sysctl_sched_base_slice : 2.100000\n  .sysctl_sched_features : 5\n";
        let now = features(text, "PLACE_LAG NEXT_BUDDY NO_LAST_BUDDY\n");
        assert_eq!(now.as_deref(), Some("PLACE_LAG NO_NEXT_BUDDY LAST_BUDDY"));
        assert_eq!(features(text, "").as_deref(), Some(""));
        assert_eq!(features("cpu#0\n", "PLACE_LAG\n"), None);
    }

    #[test]
    fn tasks_of_6_1() {
        let text = "cpu#0\n S            init     1      2868.828633       521     120  46.287184 904.512030 0.000000 /autogroup-3\n";
        let before = read(Release::V6_1, text);
        let task = &before.tasks[0];
        assert_eq!(
            (task.pid, task.vruntime, task.prio, task.group.as_str()),
            (1, 2_868_828_633, 120, "/autogroup-3")
        );
        assert_eq!(task.sum_exec, 904_512_030);
        assert!(before.clock.is_none());
    }

    #[test]
    fn limits_of_real_time_tasks() {
        let limited = |text: &str| read(Release::V6_1, text).rt_limited;
        let unlimited = "cpu#0\nrt_rq[0]:\n  .rt_runtime                    : 0.000001\n";
        assert_eq!(limited("cpu#0\nrt_rq[0]:\n"), None);
        assert_eq!(limited(unlimited), Some(false));
        let one_is = unlimited.to_owned() + "cpu#1\nrt_rq[1]:\n  .rt_runtime : 950.000000\n";
        assert_eq!(limited(&(one_is + unlimited)), Some(true));
    }
}
