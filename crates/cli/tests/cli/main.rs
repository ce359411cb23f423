//! The command as its users see it: arguments in; output, messages, files and exit code out.

mod bench;
mod check;
mod command;
mod compare;
mod errors;
mod examples;
mod forms;
mod generated;
mod interrupt;
mod kernel_files;
mod listings;
mod options;
mod programs;
mod studies;
mod tables;
mod traces;
mod workload;
