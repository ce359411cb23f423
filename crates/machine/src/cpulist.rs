//! CPU lists (`0-3,8`) and hwloc bit masks (`0x3,0xffffffff`): reading both, writing lists.

/// Highest CPU number accepted, so that a damaged file cannot ask for all memory.
pub(crate) const CPU_MAX: u32 = 65_535;

/// Reads a list such as `0-3,8,10-14:2`, in the kernel's notation; an empty list is legal.
pub(crate) fn parse_list(text: &str) -> Result<Vec<u32>, String> {
    let mut cpus = Vec::new();
    let text = text.trim();
    if text.is_empty() {
        return Ok(cpus);
    }
    for part in text.split(',') {
        let part = part.trim();
        let (range, step) = match part.split_once(':') {
            Some((range, step)) => (range, number(step)?),
            None => (part, 1),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(range)?, number(range)?),
        };
        if first > last || step == 0 {
            return Err(format!("'{part}' is not a range of CPUs"));
        }
        cpus.extend((first..=last).step_by(step as usize));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

fn number(text: &str) -> Result<u32, String> {
    match text.trim().parse::<u32>() {
        Ok(cpu) if cpu <= CPU_MAX => Ok(cpu),
        _ => Err(format!(
            "'{}' is not a CPU number from 0 to {CPU_MAX}",
            text.trim()
        )),
    }
}

/// Reads an hwloc bit mask: 32-bit words in hexadecimal, most significant first. `0xf...f`
/// (infinitely many CPUs) is refused, empty words are 0.
pub(crate) fn parse_mask(text: &str) -> Result<Vec<u32>, String> {
    let words: Vec<&str> = text.trim().split(',').collect();
    if words.len() > (CPU_MAX as usize + 1) / 32 {
        return Err(format!("the mask has more than {} CPUs", CPU_MAX + 1));
    }
    let mut cpus = Vec::new();
    for (idx, word) in words.iter().rev().enumerate() {
        let word = word.trim();
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let bits = match digits {
            "" => 0,
            _ => u32::from_str_radix(digits, 16)
                .map_err(|_| format!("'{word}' is not a 32-bit hexadecimal word"))?,
        };
        cpus.extend(
            (0..32)
                .filter(|bit| bits >> bit & 1 == 1)
                .map(|bit| idx as u32 * 32 + bit),
        );
    }
    Ok(cpus)
}

/// Writes a sorted list of CPUs as ranges.
pub(crate) fn format_list(cpus: &[u32]) -> String {
    let mut out = String::new();
    let mut idx = 0;
    while idx < cpus.len() {
        let first = cpus[idx];
        let mut last = first;
        while idx + 1 < cpus.len() && cpus[idx + 1] == last + 1 {
            idx += 1;
            last = cpus[idx];
        }
        idx += 1;
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(&first.to_string());
        if last > first {
            out.push_str(&format!("-{last}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        assert_eq!(parse_list("0-3,8\n").unwrap(), [0, 1, 2, 3, 8]);
        assert_eq!(parse_list("0-6:3").unwrap(), [0, 3, 6]);
        assert_eq!(parse_list("").unwrap(), [0u32; 0]);
        assert!(parse_list("3-1").is_err());
        assert!(parse_list("0-99999999").is_err());
        assert!(parse_list("a").is_err());
        assert!(parse_list("0-4:0").is_err());
        assert_eq!(format_list(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(format_list(&[]), "");
    }

    #[test]
    fn masks() {
        assert_eq!(parse_mask("0x00000005").unwrap(), [0, 2]);
        assert_eq!(parse_mask("0x1,0x80000000").unwrap(), [31, 32]);
        assert_eq!(parse_mask("0x1,,0x0").unwrap(), [64]);
        assert!(parse_mask("0xf...f").is_err());
        assert!(parse_mask("0x100000000").is_err());
    }
}
