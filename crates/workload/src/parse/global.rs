//! The "global" section.
//!
//! Source. rt-app src/rt-app_parse_config.c `parse_global`, src/rt-app_utils.c `ftrace_setup`.

use super::attrs::policy;
use super::context::Context;
use super::keys::{comment, unknown};
use crate::error::Error;
use crate::global::{Calibration, LogSize};
use crate::json::{Kind, Member, Value};

const KEYS: &[&str] = &[
    "duration",
    "default_policy",
    "pi_enabled",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    "calibration",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "frag",
];

/// Categories of the "ftrace" key; the tutorial's "run" is not among those rt-app takes.
const FTRACE: &[&str] = &["main", "task", "loop", "event", "stats", "none"];

/// Why settings of a real run change nothing here.
const REAL_RUN: &str = "it steers a real rt-app, not what tasks do";

/// Reads one member of a "global" section; later ones override earlier ones.
pub(crate) fn setting(cx: &mut Context<'_>, member: &Member) -> Result<(), Error> {
    let value = &member.value;
    let key = member.key.as_str();
    match key {
        "duration" => {
            let seconds = cx.int(value, -1, i64::from(i32::MAX), "seconds, or -1 for no end")?;
            // rt-app only sets its timer for durations above 0.
            cx.global.duration_s = (seconds > 0).then_some(seconds as u32);
        }
        "default_policy" => cx.global.default_policy = policy(cx, value)?,
        "pi_enabled" => cx.global.pi_enabled = cx.boolean(value)?,
        "cumulative_slack" => cx.global.cumulative_slack = cx.boolean(value)?,
        "io_device" => cx.global.io_device = cx.text(value, "a file's path")?.to_string(),
        "mem_buffer_size" => {
            let size = cx.int(value, 1, i64::from(i32::MAX), "bytes, 1 to 2147483647")?;
            cx.global.mem_buffer_size = size as u64;
        }
        _ => {
            if real_run(cx, key, value)? {
                cx.no_effect(key, member.at, REAL_RUN);
            } else if !comment(cx, member) {
                return Err(unknown(cx, member, KEYS, &[]));
            }
        }
    }
    Ok(())
}

/// Reads a setting that only a real run uses; false: it is none.
fn real_run(cx: &mut Context<'_>, key: &str, value: &Value) -> Result<bool, Error> {
    match key {
        "calibration" => cx.global.real_run.calibration = Some(calibration(cx, value)?),
        "lock_pages" => cx.global.real_run.lock_pages = Some(cx.boolean(value)?),
        "gnuplot" => cx.global.real_run.gnuplot = Some(cx.boolean(value)?),
        "logdir" => {
            cx.global.real_run.logdir = Some(cx.text(value, "a folder's path")?.to_string());
        }
        "log_basename" => {
            cx.global.real_run.log_basename = Some(cx.text(value, "a file's name")?.to_string());
        }
        "log_size" => cx.global.real_run.log_size = Some(log_size(cx, value)?),
        "ftrace" => cx.global.real_run.ftrace = Some(ftrace(cx, value)?),
        "frag" => {
            cx.count(value, "the divisor of older rt-apps")?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn calibration(cx: &Context<'_>, value: &Value) -> Result<Calibration, Error> {
    let expected = "\"CPU<n>\" or ns per loop, from 1";
    match &value.kind {
        Kind::Text(text) => {
            let cpu = text
                .strip_prefix("CPU")
                .and_then(|number| number.parse().ok());
            cpu.map(Calibration::Cpu)
                .ok_or_else(|| cx.bad(value, expected))
        }
        _ => {
            let ns = cx.int(value, 1, i64::from(i32::MAX), expected)?;
            Ok(Calibration::NsPerLoop(ns as u32))
        }
    }
}

fn log_size(cx: &Context<'_>, value: &Value) -> Result<LogSize, Error> {
    let expected = "\"file\", \"disable\", \"auto\" or MB, up to 2047";
    match &value.kind {
        Kind::Text(text) => {
            // rt-app compares lower case; its tutorial writes "Disable" and "Auto".
            let mode = text.to_ascii_lowercase();
            if ["file", "disable", "auto"].contains(&mode.as_str()) {
                Ok(LogSize::Mode(mode))
            } else {
                Err(cx.bad(value, expected))
            }
        }
        _ => Ok(LogSize::Megabytes(cx.int(value, 0, 2047, expected)? as u32)),
    }
}

fn ftrace(cx: &Context<'_>, value: &Value) -> Result<String, Error> {
    match &value.kind {
        // Older files switch all categories at once.
        Kind::Bool(true) => Ok("main,task,loop,event,stats".to_string()),
        Kind::Bool(false) => Ok("none".to_string()),
        Kind::Text(text) => {
            let known = |word: &str| {
                word.is_empty() || FTRACE.iter().any(|known| known.eq_ignore_ascii_case(word))
            };
            if text.split(',').all(known) {
                Ok(text.clone())
            } else {
                Err(cx.bad(value, format!("a list of {}", FTRACE.join(","))))
            }
        }
        _ => Err(cx.mistyped(value, "a list of categories")),
    }
}
