//! The agreement table of docs/fidelity.md is what the check finds today.
//!
//! `make fidelity` writes it anew.

use super::{recordings, report};
use fairwind_check::report::{percent, share};
use fairwind_check::{Class, Count, Measure, Report, Score};
use std::fmt::Write;
use std::fs;

const BEGIN: &str = "<!-- agreement: made by make fidelity -->\n";
const END: &str = "<!-- end of agreement -->\n";

const HEAD: &str = "\
| recording | measure | decisions | agree % | chance % | FIFO % | least vruntime % | ours | race | not recorded |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

fn row(name: &str, report: &Report, measure: Measure, score: &Score) -> String {
    let decisions = score.count.decisions;
    let of_agree = |agree| share(Count { decisions, agree }).map_or("-".into(), percent);
    let baseline = |agree: Option<u64>| agree.map_or("-".into(), of_agree);
    let chance = (score.chance_ppm / 10).checked_div(decisions);
    // Numbers are not guessed.
    let chance = chance
        .filter(|&chance| chance != 0)
        .map_or("-".into(), percent);
    let mut causes = [0; 3];
    for (class, count) in report.classes(measure) {
        causes[match class {
            Class::Ours => 0,
            Class::Race => 1,
            Class::NotRecorded(_) => 2,
        }] += count;
    }
    let [ours, race, not_recorded] = causes;
    format!(
        "| `{name}` | {} | {decisions} | {} | {} | {} | {} | {ours} | {race} | {not_recorded} |\n",
        measure.name(),
        of_agree(score.count.agree),
        chance,
        baseline(score.fifo),
        baseline(score.least_vruntime),
    )
}

fn table() -> String {
    let mut table = HEAD.to_owned();
    let folders = fs::read_dir(recordings()).unwrap();
    let mut folders: Vec<_> = folders.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    for folder in folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let report = report(name);
        for (&measure, score) in &report.scores {
            let _ = write!(table, "{}", row(name, report, measure, score));
        }
    }
    table
}

#[test]
fn the_table_of_the_page_is_what_is_found_today() {
    let path = recordings().join("../docs/fidelity.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the mark before the table");
    let (written, after) = rest.split_once(END).expect("the mark behind the table");
    let found = table();
    if std::env::var_os("WRITE_FIDELITY").is_some() {
        fs::write(&path, [before, BEGIN, &found, END, after].concat()).unwrap();
    } else {
        assert!(
            written == found,
            "docs/fidelity.md is out of date: run 'make fidelity'. The check finds\n{found}"
        );
    }
}
