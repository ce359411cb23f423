//! The per-CPU table of `lscpu -J -e`.

use serde_json::{Map, Value};

use crate::caches::Caches;
use crate::cpulist::CPU_MAX;
use crate::load::Found;
use crate::places::FoundCpu;

pub(super) fn read(rows: &[Value]) -> Result<Found, String> {
    let mut found = Found {
        caches: Caches::default(),
        ..Found::default()
    };
    let mut offline = 0;
    for (idx, row) in rows.iter().enumerate() {
        let Some(row) = row.as_object() else {
            return Err(format!("row {idx} of \"cpus\" is not an object"));
        };
        if is_offline(row) {
            offline += 1;
            continue;
        }
        let os = number(row, "cpu").map_err(|what| format!("row {idx}: {what}"))?;
        let Some(os) = os else {
            return Err(format!("row {idx} has no number \"cpu\""));
        };
        if found.cpus.iter().any(|cpu| cpu.os == os) {
            return Err(format!("CPU {os} is there twice"));
        }
        let field = |name| number(row, name).map_err(|what| format!("CPU {os}: {what}"));
        let package = field("socket")?.unwrap_or(0);
        let caches = cache_ids(row);
        let llc = caches.iter().max_by_key(|(level, _)| *level);
        let l2 = caches.iter().find(|(level, _)| *level == 2);
        found.cpus.push(FoundCpu {
            os,
            core: u64::from(package) << 32 | u64::from(field("core")?.unwrap_or(os)),
            cluster: match (field("cluster")?, l2, llc) {
                (Some(cluster), _, _) => Some(u64::from(cluster)),
                (None, Some((_, l2)), Some((3.., _))) => Some(*l2),
                _ => None,
            },
            // Cache numbers are unique among the caches of one level.
            llc: llc.map(|(level, id)| u64::from(*level) << 32 | id),
            package,
            node: field("node")?.unwrap_or(0),
            capacity: u32::MAX,
        });
    }
    if offline > 0 {
        found.notes.push(format!("{offline} offline CPUs left out"));
    }
    if found.cpus.is_empty() {
        return Err("no online CPU in it".to_string());
    }
    Ok(found)
}

fn is_offline(row: &Map<String, Value>) -> bool {
    match row.get("online") {
        Some(Value::Bool(online)) => !online,
        Some(Value::String(text)) => text == "no",
        _ => false,
    }
}

/// A field that is a number, a number in a string, or absent (`-`, null).
fn number(row: &Map<String, Value>, name: &str) -> Result<Option<u32>, String> {
    let wrong = |value: &Value| format!("\"{name}\" is {value}, not a number from 0 to {CPU_MAX}");
    let value = match row.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text == "-" || text.is_empty() => return Ok(None),
        Some(value @ Value::String(text)) => text.parse::<u64>().map_err(|_| wrong(value))?,
        Some(value) => value.as_u64().ok_or_else(|| wrong(value))?,
    };
    match u32::try_from(value) {
        Ok(number) if number <= CPU_MAX => Ok(Some(number)),
        _ => Err(wrong(&Value::from(value))),
    }
}

/// Level and number of each data cache, from a column such as `"l1d:l1i:l2:l3": "0:0:0:0"`.
fn cache_ids(row: &Map<String, Value>) -> Vec<(u32, u64)> {
    let Some((names, ids)) = row
        .iter()
        .find(|(name, _)| name.to_lowercase().starts_with("l1"))
    else {
        return Vec::new();
    };
    let names = names.to_lowercase();
    let ids = ids.as_str().unwrap_or("");
    names
        .split(':')
        .zip(ids.split(':'))
        .filter(|(name, _)| !name.ends_with('i'))
        .filter_map(|(name, id)| {
            let level = name
                .trim_start_matches('l')
                .trim_end_matches('d')
                .parse()
                .ok()?;
            Some((level, id.parse().ok()?))
        })
        .collect()
}
