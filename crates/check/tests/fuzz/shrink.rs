//! Makes a case smaller that ends in a panic, as long as it still ends in the same one.

use crate::case::Case;
use crate::place;

/// A smaller case with a panic at the same place.
pub(crate) fn shrink(mut case: Case, at: &str) -> Case {
    let names: Vec<String> = case.files.keys().cloned().collect();
    let fails = |case: &Case| case.run().is_err_and(|panic| place(&panic) == at);
    for name in &names {
        let mut without = case.clone();
        without.files.remove(name);
        if fails(&without) {
            case = without;
        }
    }
    for name in &names {
        let Some(bytes) = case.files.get(name) else {
            continue;
        };
        if std::str::from_utf8(bytes).is_err() {
            continue;
        }
        let mut chunk = bytes.split(|&byte| byte == b'\n').count() / 2;
        while chunk > 0 {
            let mut start = 0;
            loop {
                let lines: Vec<&[u8]> = case.files[name]
                    .split_inclusive(|&byte| byte == b'\n')
                    .collect();
                if start >= lines.len() {
                    break;
                }
                let end = lines.len().min(start + chunk);
                let kept = [lines[..start].concat(), lines[end..].concat()].concat();
                let mut smaller = case.clone();
                smaller.files.insert(name.clone(), kept);
                if fails(&smaller) {
                    case = smaller;
                } else {
                    start = end;
                }
            }
            chunk /= 2;
        }
    }
    case
}
