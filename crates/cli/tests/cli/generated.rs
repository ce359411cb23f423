//! Help, completions and man pages.

use crate::command::Folder;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

const COMMANDS: [&str; 19] = [
    "",
    "run",
    "compare",
    "study",
    "study list",
    "study show",
    "study run",
    "check",
    "workload",
    "bench",
    "machine",
    "machine list",
    "machine show",
    "program",
    "program list",
    "program show",
    "kernel",
    "completions",
    "man",
];

#[test]
fn every_command_has_help_in_two_lengths() {
    let folder = Folder::new("generated_help");
    for command in COMMANDS {
        let long = folder.run(&format!("{command} --help")).clean();
        assert!(long.contains("Usage: fairwind"), "{command}");
        assert!(folder.run(&format!("{command} -h")).clean().len() <= long.len());
    }
    let help = folder.run("run --help").clean();
    for told in [
        "130",
        "NO_NAME",
        "docs/report.md",
        "desktop-8",
        "KernelShark",
        "10 s",
        "hz",
    ] {
        assert!(help.contains(told), "{told}");
    }
    assert!(folder.run("--version").clean().starts_with("fairwind "));
}

#[test]
fn completions_know_the_commands_and_options() {
    let folder = Folder::new("generated_completions");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.run(&format!("completions {shell}")).clean();
        for word in ["machine", "csv-table", "feature"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let script = folder.run("completions bash").clean();
    let mut bash = Command::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    bash.stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    assert!(bash.wait().unwrap().success());
}

#[test]
fn man_pages_are_made_for_every_command() {
    let folder = Folder::new("generated_man");
    let page = folder.run("man").clean();
    assert!(page.contains(".TH fairwind 1"));
    assert_eq!(folder.run("man --dir pages/man1").clean(), "");
    for command in COMMANDS {
        let name = ["fairwind"]
            .into_iter()
            .chain(command.split_whitespace())
            .collect::<Vec<_>>()
            .join("-");
        let page = fs::read_to_string(folder.0.join(format!("pages/man1/{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{name}");
    }
    let written = fs::read_dir(folder.0.join("pages/man1")).unwrap().count();
    assert_eq!(written, COMMANDS.len());
}
