//! What the firmware or root has set on a machine: `spr-2x60,no_turbo,disable=C6`.
//!
//! Model.       `no_turbo`: cores run at their base frequency (`intel_pstate/no_turbo`), at which running time then counts in
//!              full in utilisation. `disable=STATE`: no CPU enters that idle state (`cpuidle/stateN/disable`).
//! Source.      arch/x86/kernel/cpu/aperfmperf.c `arch_set_max_freq_ratio` @ 6.1, 6.12.
//! Not here.    Frequency governors: they do not exist here, and all frequencies are those of `performance`.

use crate::error::Error;
use crate::idle::IdleStates;
use crate::machine::Machine;

const NO_TURBO: &str = "no_turbo";
const DISABLE: &str = "disable=";

fn is_setting(word: &str) -> bool {
    word == NO_TURBO || word.starts_with(DISABLE)
}

/// Splits the settings off the end of a specification.
pub(crate) fn split(spec: &str) -> (&str, Vec<&str>) {
    let mut machine = spec;
    let mut settings = Vec::new();
    while let Some((before, word)) = machine.rsplit_once(',')
        && is_setting(word)
    {
        settings.insert(0, word);
        machine = before;
    }
    (machine, settings)
}

/// Sets a machine so.
pub(crate) fn apply(machine: &mut Machine, settings: &[&str]) -> Result<(), Error> {
    for setting in settings {
        if let Some(name) = setting.strip_prefix(DISABLE) {
            disable(machine, name)?;
        } else {
            machine.costs.frequency.turbo.clear();
            machine.costs.frequency.invariance_cores = 0;
        }
        machine.notes.push(format!("set: {setting}"));
    }
    Ok(())
}

/// Takes an idle state away; the first one stays, as the kernel needs one.
fn disable(machine: &mut Machine, name: &str) -> Result<(), Error> {
    let states = machine.costs.idle.states();
    let Some(at) = (1..states.len()).find(|&at| states[at].name == name) else {
        let names: Vec<&str> = states[1..].iter().map(|state| &state.name[..]).collect();
        return Err(Error::Setting {
            machine: machine.name.clone(),
            setting: format!("{DISABLE}{name}"),
            what: format!("expected one of its idle states: {}", names.join(", ")),
        });
    };
    let mut left = states.to_vec();
    left.remove(at);
    machine.costs.idle = IdleStates::new(left).expect("the first state is left, in order");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_what_follows_the_machine() {
        assert_eq!(split("spr-2x60"), ("spr-2x60", vec![]));
        assert_eq!(
            split("a,b.toml,no_turbo,disable=C6"),
            ("a,b.toml", vec!["no_turbo", "disable=C6"])
        );
    }

    #[test]
    fn without_turbo_all_cores_run_at_base_and_count_in_full() {
        let plain = Machine::load("spr-2x60").unwrap().costs.frequency;
        let set = Machine::load("spr-2x60,no_turbo").unwrap().costs.frequency;
        assert!(plain.khz(60) > plain.base_khz && plain.scale_per_1024(60) < 1024);
        assert_eq!([1, 60].map(|cores| set.khz(cores)), [set.base_khz; 2]);
        assert_eq!(set.scale_per_1024(60), 1024);
        // 1.90 of the 2.95 GHz that the kernel's times are of.
        assert_eq!(set.kernel_speed_per_1024(60), 659);
    }

    #[test]
    fn a_state_that_is_disabled_is_gone() {
        let machine = Machine::load("spr-2x60,disable=C6").unwrap();
        assert_eq!(machine.costs.idle.idle_state_for(u64::MAX), 2);
        assert_eq!(machine.notes, ["set: disable=C6"]);
        for (spec, error) in [
            (
                "spr-2x60,disable=C7",
                "machine 'spr-2x60', disable=C7: expected one of its idle states: C1, C1E, C6",
            ),
            (
                "spr-2x60,disable=POLL",
                "machine 'spr-2x60', disable=POLL: expected one of its idle states: C1, C1E, C6",
            ),
            (
                "spr-2x60,noturbo",
                "machine 'spr-2x60', noturbo: no such setting; expected no_turbo or disable=STATE",
            ),
        ] {
            assert_eq!(Machine::load(spec).unwrap_err().to_string(), error);
        }
    }
}
