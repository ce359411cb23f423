//! The form of a study file.
//!
//! Model.       TOML. `[workloads.NAME]` has the text of an rt-app file or the specification of programs; each
//!              `[[experiments]]` runs one of them on a machine, under the kernel `base` and, where a change is studied, under
//!              the kernel `with`; each of its `rows` is a metric and what was published of it. A row compares the metric
//!              under the two kernels or, with `against`, two metrics of one kernel. A question that nobody has published
//!              an answer to has rows without published figures.

use super::published::Published;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// A published experiment, and how it is done here.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// Its name: that of the file.
    #[serde(skip)]
    pub name: String,
    /// What it is about, in a line.
    pub title: String,
    /// By whom, where and when the figures were published, and of which kernel and machine.
    pub published: String,
    /// How the kernel here was set to come nearest to the published one.
    pub kernel: String,
    /// Which machine stands for the published one, and what of it is known.
    pub machine: String,
    /// What else must be known to read the result.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Runs a kernel, each with a seed of its own.
    pub seeds: u64,
    /// What `--quick` does less of.
    pub quick: Quick,
    /// What is run, by name.
    pub workloads: BTreeMap<String, WorkloadText>,
    /// What is compared.
    pub experiments: Vec<Experiment>,
}

/// A shorter study.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Runs a kernel.
    pub seeds: u64,
}

/// What is run: tasks of an rt-app file, programs, or both at once.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkloadText {
    /// The text of an rt-app file. `{{LOW..HIGH}}` stands for a whole number from LOW up to HIGH - 1, drawn from the seed:
    /// what a person who starts things by hand leaves to chance.
    #[serde(default)]
    rt_app: Option<String>,
    /// The same with less to do, for `--quick`.
    #[serde(default)]
    quick_rt_app: Option<String>,
    /// Programs with their parameters.
    #[serde(default)]
    pub programs: Vec<String>,
    /// The same with less to do, for `--quick`.
    #[serde(default)]
    quick_programs: Option<Vec<String>>,
}

impl WorkloadText {
    /// The text of the rt-app file for a seed.
    ///
    /// # Errors
    /// What stands between braces and is no range.
    pub fn rt_app(&self, seed: u64) -> Result<Option<String>, String> {
        self.rt_app
            .as_deref()
            .map(|text| draw(text, seed))
            .transpose()
    }
}

/// Puts numbers in place of the ranges in a text.
fn draw(text: &str, seed: u64) -> Result<String, String> {
    let mut drawn = String::new();
    let mut rest = text;
    let mut state = seed;
    while let Some((before, after)) = rest.split_once("{{") {
        let (range, after) = after.split_once("}}").ok_or("{{ without }}")?;
        let wrong = || format!("{{{{{range}}}}} is no range; expected one such as {{{{0..100}}}}");
        let (low, high) = range.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        let (low, high) = (number(low)?, number(high)?);
        if low >= high {
            return Err(wrong());
        }
        drawn.push_str(before);
        drawn.push_str(&(low + next(&mut state) % (high - low)).to_string());
        rest = after;
    }
    drawn.push_str(rest);
    Ok(drawn)
}

/// SplitMix64: any seed gives a good sequence. Its modulo favours low numbers by less than one in 10^9 for ranges of a
/// few seconds in µs.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A workload on a machine, without the change and with it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What the published table calls it.
    pub name: String,
    /// The machine.
    pub machine: String,
    /// One of the study's workloads.
    pub workload: String,
    /// `KERNEL[,SWITCH]…` without the change.
    pub base: String,
    /// With the change, which may be switches alone; none: there is no change, and rows compare metrics.
    pub with: Option<String>,
    /// The published figures.
    pub rows: Vec<Row>,
}

/// A metric, and what was published of it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Row {
    /// The metric here.
    pub metric: String,
    /// The metric to compare with, under the same kernel; none: the same under the kernel with the change.
    pub against: Option<String>,
    /// The published unit.
    pub unit: String,
    /// The published figures; none: nothing was published.
    pub published: Option<Published>,
    /// How near each side must be to its published number, where numbers and not their difference are compared.
    pub within_factor: Option<f64>,
    /// Why it is not reproduced, in a sentence.
    pub cause: Option<String>,
}

/// What is wrong with a study file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StudyError {
    /// The study and what is wrong.
    what: String,
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for StudyError {}

impl Study {
    /// Reads the text of a study called `name`.
    ///
    /// # Errors
    /// If it is not of this form, or not consistent.
    pub fn parse(name: &str, text: &str) -> Result<Study, StudyError> {
        let wrong = |what: String| StudyError {
            what: format!("study {name}: {what}"),
        };
        let mut study: Study = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        study.name = name.to_string();
        if study.experiments.is_empty() || study.seeds == 0 || study.quick.seeds == 0 {
            return Err(wrong("nothing to run".to_string()));
        }
        for (name, workload) in &study.workloads {
            if workload.rt_app.is_none() && workload.programs.is_empty() {
                return Err(wrong(format!(
                    "workload \"{name}\": neither rt-app nor programs"
                )));
            }
            let drawn = workload.rt_app(1);
            drawn.map_err(|what| wrong(format!("workload \"{name}\": {what}")))?;
        }
        for experiment in &study.experiments {
            let at = |what: &str| wrong(format!("experiment \"{}\": {what}", experiment.name));
            if !study.workloads.contains_key(&experiment.workload) {
                let what = format!("no workload \"{}\" in it", experiment.workload);
                return Err(at(&what));
            }
            if experiment.rows.is_empty() {
                return Err(at("no rows"));
            }
            for row in &experiment.rows {
                if row.against.is_some() == experiment.with.is_some() {
                    return Err(at(
                        "rows compare with another kernel or `against` another metric",
                    ));
                }
                if row.published.as_ref().is_some_and(|p| !p.is_sound()) {
                    return Err(at("published numbers must be there, and the base not 0"));
                }
                let numbers = row.published.as_ref().and_then(Published::means);
                if row.within_factor.is_some() && numbers.is_none() {
                    return Err(at("within-factor compares with published numbers"));
                }
            }
        }
        Ok(study)
    }

    /// The study as `--quick` runs it.
    pub fn quick(mut self) -> Study {
        self.seeds = self.quick.seeds;
        for workload in self.workloads.values_mut() {
            if let Some(programs) = workload.quick_programs.take() {
                workload.programs = programs;
            }
            if let Some(text) = workload.quick_rt_app.take() {
                workload.rt_app = Some(text);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Better;
    use crate::study::{Effect, Outcome, judge};

    const TEXT: &str = r#"
        title = "t"
        published = "p"
        kernel = "k"
        machine = "m"
        seeds = 3
        quick = { seeds = 1 }
        workloads.w.rt-app = "{}"
        [[experiments]]
        name = "e"
        machine = "1x1x1"
        workload = "w"
        base = "6.1"
        with = "hz=1000"
        [[experiments.rows]]
        metric = "elapsed"
        unit = "s"
        published = { base = [315, 315], with = [277, 244] }
        [[experiments.rows]]
        metric = "loops"
        unit = "1/s"
        published = { improvement_percent = 73.71, std_percent = [41.31, 22.02] }
        cause = "c"
    "#;

    /// (277 + 244) / 2 = 260.5 of 315 is 17.3 % less, and 23.33 of 315 is a spread of 7.41 %.
    #[test]
    fn numbers_become_effects() {
        let study = Study::parse("s", TEXT).unwrap();
        let rows = &study.experiments[0].rows;
        let published = |row: usize| rows[row].published.as_ref().unwrap();
        let seconds = published(0).effect(Better::Lower);
        assert!((seconds.percent - 17.301_6).abs() < 1e-4 && !seconds.noise);
        assert!((published(0).noise_percent() - 7.408).abs() < 1e-3);
        assert_eq!(published(0).means(), Some((315.0, 260.5)));
        let loops = published(1).effect(Better::Higher);
        assert_eq!((loops.percent, loops.noise), (73.71, false));
        // √(41.31² + 22.02²) = 46.81.
        assert!((published(1).noise_percent() - 46.81).abs() < 1e-2);
        let ours = Effect {
            percent: 20.0,
            noise: false,
        };
        assert_eq!(judge(seconds, 7.408, ours), Outcome::Reproduced);
    }

    #[test]
    fn chance_is_the_seed_s() {
        let text = "a {{0..100}} b {{5..6}} {{0..100000}}";
        let drawn = draw(text, 1).unwrap();
        assert_eq!(drawn, draw(text, 1).unwrap());
        assert_ne!(drawn, draw(text, 2).unwrap());
        assert!(drawn.contains(" b 5 "), "{drawn}");
        // Over a hundred seeds the mean of 0..100 is near 49.5, whose standard error is 2.9.
        let number = |seed| draw("{{0..100}}", seed).unwrap().parse::<f64>().unwrap();
        let mean = (0..100).map(number).sum::<f64>() / 100.0;
        assert!((35.0..65.0).contains(&mean), "{mean}");
        for wrong in ["{{3}}", "{{3..3}}", "{{a..b}}", "{{0..1"] {
            assert!(draw(wrong, 1).is_err(), "{wrong}");
        }
    }

    #[test]
    fn quick_is_fewer_runs_of_shorter_programs() {
        let programs = "workloads.w.programs = [\"a\"]\nworkloads.w.quick-programs = [\"b\"]\n\
                        workloads.w.rt-app = \"{}\"\nworkloads.w.quick-rt-app = \"{ }\"";
        let text = TEXT.replace("workloads.w.rt-app = \"{}\"", programs);
        let study = Study::parse("s", &text).unwrap();
        assert_eq!(
            (study.seeds, &*study.workloads["w"].programs),
            (3, &["a".into()][..])
        );
        let quick = study.quick();
        let text = quick.workloads["w"].rt_app(1).unwrap();
        assert_eq!(text.as_deref(), Some("{ }"));
        assert_eq!(
            (quick.seeds, &*quick.workloads["w"].programs),
            (1, &["b".into()][..])
        );
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (from, to, told) in [
            ("workload = \"w\"", "workload = \"v\"", "no workload \"v\""),
            ("with = \"hz=1000\"", "", "`against`"),
            ("seeds = 3", "seeds = 0", "nothing to run"),
            ("base = [315, 315]", "base = 0", "not 0"),
            ("base = [315, 315]", "base = []", "must be there"),
            ("title", "titel", "titel"),
            ("cause = \"c\"", "within-factor = 2.0", "within-factor"),
        ] {
            let error = Study::parse("s", &TEXT.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(told), "{error}");
        }
    }
}
