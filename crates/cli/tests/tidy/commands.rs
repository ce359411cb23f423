//! Commands that the documents show are ones that the command line takes.
//!
//! Model. Lines of `sh` blocks that begin with `fairwind` or `make`. A `fairwind run` or `compare` is carried out for a short
//!        simulated time; a `fairwind study run` or `bench`, which may take minutes, is only parsed; every other `fairwind` command is
//!        carried out as it is. What they write goes into a folder of the test's own. A `make`
//!        target must be in the Makefile.

use crate::source_tree::{files_below, must_be_empty, root, text};
use std::path::Path;
use std::process::Command;

/// Options after which a file or folder to write is named.
const NAMES_OUTPUT: [&str; 5] = ["-o", "--trace", "--dir", "--kernel-files", "--resume"];

/// Commands of the `sh` blocks of a text; what follows `#`, `|` or `>` is not the command's.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_sh = false;
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            in_sh = language == "sh";
        } else if in_sh {
            let command = line
                .split(['#', '|', '>'])
                .next()
                .unwrap_or_default()
                .trim();
            let word = command.split(' ').next();
            if word == Some("fairwind") || word == Some("make") {
                found.push(command.to_string());
            }
        }
    }
    found
}

/// The words of a command, as a shell splits them: blanks between single quotes do not end a word.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (at, part) in command.split('\'').enumerate() {
        let quoted = at % 2 == 1;
        for (nth, piece) in part.split(|c: char| c == ' ' && !quoted).enumerate() {
            if nth > 0 {
                words.push(String::new());
            }
            words.last_mut().expect("there is one").push_str(piece);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Why a `fairwind` command fails, if it does.
fn failure(command: &str, folder: &Path) -> Option<String> {
    let mut arguments = words(command);
    arguments.remove(0);
    for i in 1..arguments.len() {
        if NAMES_OUTPUT.contains(&arguments[i - 1].as_str()) {
            arguments[i] = folder.join(&arguments[i]).to_string_lossy().into_owned();
        }
    }
    let is =
        |words: &[&str]| arguments.iter().zip(words).filter(|(a, b)| a == b).count() == words.len();
    if is(&["study", "run"]) || is(&["bench"]) {
        arguments.push("--help".to_string());
    }
    if { arguments.first() }.is_some_and(|name| name == "run" || name == "compare") {
        let own = arguments
            .iter()
            .position(|argument| argument == "-d" || argument == "--duration");
        if let Some(own) = own {
            arguments.drain(own..own + 2);
        }
        arguments.extend(["--duration".to_string(), "50ms".to_string()]);
    }
    let output = Command::new(env!("CARGO_BIN_EXE_fairwind"))
        .args(&arguments)
        .current_dir(root())
        .output();
    let output = output.expect("the command can be started");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn commands_in_documents_work() {
    let folder = std::env::temp_dir().join(format!("fairwind-tidy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for what the commands write");
    let makefile = text("Makefile");
    let mut broken = Vec::new();
    let mut count = 0;
    for document in files_below("", ".md") {
        for command in commands(&text(&document)) {
            count += 1;
            let why = match command.strip_prefix("make") {
                Some(target) if target.trim().is_empty() => None,
                Some(target) => {
                    let name = target.split_whitespace().next().unwrap_or_default();
                    let rule = format!("\n{name}:");
                    (!makefile.contains(&rule)).then(|| "no such target".to_string())
                }
                None => failure(&command, &folder),
            };
            broken.extend(why.map(|why| format!("{document}: {command}: {why}")));
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder was made above");
    assert!(
        count > 0,
        "no document shows a command: has the form of the blocks changed?"
    );
    must_be_empty("these commands fail", &broken);
}

#[test]
fn commands_are_told_from_what_surrounds_them() {
    let text = "```sh\nfairwind run a.json | head  # why\ncd x\nmake demo\n```\n```text\nfairwind no\n```\n";
    assert_eq!(commands(text), ["fairwind run a.json", "make demo"]);
}
