//! CPU lists as text.
//!
//! Model.       `0-3,8` names CPUs 0 to 3 and 8; `0-15:2/4` the first 2 of every 4 of a range.
//! Source.      lib/bitmap-str.c `bitmap_parselist` @ 6.12 (without its `all` and `N`).

/// Highest CPU number taken; the largest kernels are built for this many.
pub(crate) const CPU_MAX: u32 = 8191;

/// What a list must look like.
const EXPECTED: &str = "a list of CPUs such as \"0-3,8\" or \"0-15:2/4\", 0 to 8191";

/// Reads a list; ascending, each CPU once, never empty.
pub(crate) fn cpu_list(text: &str) -> Result<Vec<u32>, &'static str> {
    let mut cpus = Vec::new();
    for part in text.split([',', ' ', '\n']).filter(|part| !part.is_empty()) {
        let (range, pattern) = match part.split_once(':') {
            Some((range, pattern)) => (range, Some(pattern)),
            None => (part, None),
        };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (number(first)?, number(last)?);
        let (used, group) = match pattern {
            Some(pattern) => {
                let (used, group) = pattern.split_once('/').ok_or(EXPECTED)?;
                (number(used)?, number(group)?)
            }
            None => (1, 1),
        };
        if first > last || group == 0 || used == 0 || used > group {
            return Err(EXPECTED);
        }
        cpus.extend((first..=last).filter(|cpu| (cpu - first) % group < used));
    }
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.is_empty() {
        Err(EXPECTED)
    } else {
        Ok(cpus)
    }
}

fn number(text: &str) -> Result<u32, &'static str> {
    let number = text.trim().parse().map_err(|_| EXPECTED)?;
    if number > CPU_MAX {
        Err(EXPECTED)
    } else {
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::cpu_list;

    #[test]
    fn ranges_patterns_and_order() {
        assert_eq!(cpu_list("0-3,8"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(cpu_list("8, 1,1"), Ok(vec![1, 8]));
        assert_eq!(cpu_list("0-9:2/4"), Ok(vec![0, 1, 4, 5, 8, 9]));
        for bad in [
            "", ",", "3-1", "a", "1-", "-1", "9000", "0-3:0/4", "0-3:5/4", "0-3:1",
        ] {
            assert!(cpu_list(bad).is_err(), "{bad:?}");
        }
    }
}
