//! Random workloads, as rt-app files.

use crate::draw::Draw;
use std::fmt::Write;

/// What a workload may contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contents {
    pub nr_cpus: u64,
    pub max_tasks: u64,
    pub max_groups: u64,
    pub limits: bool,
    pub rt: bool,
    pub locks: bool,
}

/// Paths of a random group tree of depth up to 5, parents first.
fn groups(draw: &mut Draw, contents: Contents) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for idx in 0..draw.range(0, contents.max_groups) {
        let shallow: Vec<&String> = paths
            .iter()
            .filter(|p| p.matches('/').count() < 5)
            .collect();
        let parent = match shallow.len() as u64 {
            0 => String::new(),
            n if draw.chance(70) => shallow[draw.range(0, n - 1) as usize].clone(),
            _ => String::new(),
        };
        paths.push(format!("{parent}/g{idx}"));
    }
    paths
}

fn group_settings(draw: &mut Draw, contents: Contents) -> String {
    let mut settings = Vec::new();
    if draw.chance(50) {
        let weight = draw.spread(1, 10_000);
        settings.push(format!(r#""cpu.weight": {weight}"#));
    } else if draw.chance(15) {
        settings.push(r#""cpu.idle": 1"#.to_string());
    }
    if contents.limits && draw.chance(40) {
        let period = draw.of(&[2_000, 5_000, 10_000, 20_000, 100_000]);
        let quota = draw.spread(1_000, period * contents.nr_cpus.min(4));
        settings.push(format!(r#""cpu.max": "{quota} {period}""#));
        if draw.chance(30) {
            let burst = draw.range(0, quota);
            settings.push(format!(r#""cpu.max.burst": {burst}"#));
        }
    }
    format!("{{ {} }}", settings.join(", "))
}

fn cpus(draw: &mut Draw, nr_cpus: u64) -> String {
    let count = draw.spread(1, nr_cpus);
    let cpus: Vec<String> = (0..count)
        .map(|_| draw.range(0, nr_cpus - 1).to_string())
        .collect();
    format!(r#""cpus": [{}]"#, cpus.join(", "))
}

/// Attributes; a task that is ever real-time is given no groups, as rt-app demands.
fn attrs(draw: &mut Draw, contents: Contents, paths: &[String], rt: bool) -> Vec<String> {
    let mut attrs = Vec::new();
    if rt && draw.chance(60) {
        let policy = draw.of(&["SCHED_FIFO", "SCHED_RR", "SCHED_FIFO", "SCHED_DEADLINE"]);
        attrs.push(format!(r#""policy": "{policy}""#));
        if policy == "SCHED_DEADLINE" {
            attrs.push(r#""dl-runtime": 1000, "dl-period": 10000"#.to_string());
        } else {
            attrs.push(format!(r#""priority": {}"#, draw.range(1, 99)));
        }
    } else {
        let policy = draw.of(&[
            "SCHED_OTHER",
            "SCHED_OTHER",
            "SCHED_OTHER",
            "SCHED_BATCH",
            "SCHED_IDLE",
        ]);
        attrs.push(format!(r#""policy": "{policy}""#));
        if draw.chance(40) {
            attrs.push(format!(r#""priority": {}"#, draw.range(0, 39) as i64 - 20));
        }
        if policy != "SCHED_IDLE" && draw.chance(20) {
            attrs.push(format!(r#""dl-runtime": {}"#, draw.spread(100, 50_000)));
        }
        if !rt && !paths.is_empty() && draw.chance(70) {
            let path = &paths[draw.range(0, paths.len() as u64 - 1) as usize];
            attrs.push(format!(r#""taskgroup": "{path}""#));
        }
    }
    if draw.chance(25) {
        attrs.push(cpus(draw, contents.nr_cpus));
    }
    attrs
}

/// One thing a task does; `at` makes its key unique.
fn event(draw: &mut Draw, contents: Contents, nr_tasks: u64, at: u64) -> String {
    let name = draw.of(&["x", "y", "z"]);
    let kinds = if contents.locks { 18 } else { 8 };
    match draw.range(0, kinds) {
        0..=2 => format!(r#""run{at}": {}"#, draw.spread(1, 5_000)),
        3 => format!(r#""runtime{at}": {}"#, draw.spread(1, 5_000)),
        4 | 5 => format!(r#""sleep{at}": {}"#, draw.spread(1, 10_000)),
        6 => {
            let mode = draw.of(&["relative", "absolute"]);
            let period = draw.spread(100, 10_000);
            format!(
                r#""timer{at}": {{ "ref": "unique{name}", "period": {period}, "mode": "{mode}" }}"#
            )
        }
        7 => format!(r#""yield{at}": """#),
        8 => format!(r#""mem{at}": {}"#, draw.spread(64, 100_000)),
        9 | 10 => format!(
            r#""lock{at}": "{name}", "run{at}": {}, "unlock{at}": "{name}""#,
            draw.spread(1, 1_000)
        ),
        11 => format!(r#""barrier{at}": "{name}""#),
        12 => format!(r#""suspend{at}": """#),
        13 | 14 => format!(r#""resume{at}": "t{}""#, draw.range(0, nr_tasks - 1)),
        15 => format!(r#""sem_wait{at}": "{name}""#),
        16 => format!(r#""sem_post{at}": "{name}""#),
        17 => format!(
            r#""lock{at}": "{name}", "wait{at}": {{ "ref": "c{name}", "mutex": "{name}" }}, "unlock{at}": "{name}""#
        ),
        _ => format!(r#""broad{at}": "c{name}""#),
    }
}

fn phase(
    draw: &mut Draw,
    contents: Contents,
    nr_tasks: u64,
    attrs: Vec<String>,
    loops: i64,
) -> String {
    let mut members = attrs;
    members.push(format!(r#""loop": {loops}"#));
    for at in 0..draw.range(1, 5) {
        members.push(event(draw, contents, nr_tasks, at));
    }
    // Something that takes time, so that no loop is mere overhead.
    let (word, us) = (draw.of(&["run", "run", "sleep"]), draw.spread(60, 3_000));
    members.push(format!(r#""{word}9": {us}"#));
    members.join(", ")
}

fn task(draw: &mut Draw, contents: Contents, paths: &[String], nr_tasks: u64) -> String {
    let rt = contents.rt && draw.chance(25);
    let own = attrs(draw, contents, paths, rt);
    let instances = draw.spread(1, 4);
    let delay = if draw.chance(50) {
        0
    } else {
        draw.range(0, 20_000)
    };
    let loops = if draw.chance(70) {
        -1
    } else {
        draw.range(1, 20) as i64
    };
    let head = format!(r#""instance": {instances}, "delay": {delay}"#);
    if draw.chance(70) {
        let body = phase(draw, contents, nr_tasks, own, loops);
        return format!("{{ {head}, {body} }}");
    }
    let mut phases = Vec::new();
    for idx in 0..draw.range(1, 3) {
        let changed = if draw.chance(40) {
            attrs(draw, contents, paths, rt)
        } else {
            Vec::new()
        };
        let loops = draw.range(1, 6) as i64;
        let body = phase(draw, contents, nr_tasks, changed, loops);
        phases.push(format!(r#""p{idx}": {{ {body} }}"#));
    }
    if draw.chance(30) {
        phases.push(r#""fork": { "fork": "child", "run": 10 }"#.to_string());
    }
    format!(
        r#"{{ {head}, {}, "loop": {}, "phases": {{ {} }} }}"#,
        own.join(", "),
        draw.range(1, 10),
        phases.join(", ")
    )
}

/// A file.
pub(crate) fn workload(draw: &mut Draw, contents: Contents) -> String {
    let paths = groups(draw, contents);
    let nr_tasks = draw.spread(1, contents.max_tasks);
    let mut text = String::from("{\n");
    if contents.locks && draw.chance(40) {
        text += "  \"global\": { \"pi_enabled\": true },\n";
    }
    let settings: Vec<String> = paths
        .iter()
        .map(|path| format!("    \"{path}\": {}", group_settings(draw, contents)))
        .collect();
    writeln!(text, "  \"cgroups\": {{\n{}\n  }},", settings.join(",\n")).unwrap();
    let mut tasks: Vec<String> = (0..nr_tasks)
        .map(|idx| format!("    \"t{idx}\": {}", task(draw, contents, &paths, nr_tasks)))
        .collect();
    let child = attrs(draw, contents, &paths, false).join(", ");
    tasks.push(format!(
        r#"    "child": {{ "instance": 0, {child}, "loop": 3, "run": 500, "sleep": 700 }}"#
    ));
    writeln!(text, "  \"tasks\": {{\n{}\n  }}\n}}", tasks.join(",\n")).unwrap();
    text
}
