//! The rules of the house, held by a program.
//!
//! Model.    Each file here checks one kind of rule on the text of the whole checkout and lists every place that breaks
//!           it. Where a rule has exceptions, they stand in the rule's file, each with its reason.
//! Not here. What the compiler and clippy check: missing documentation, unsafe code, printing.

mod commands;
mod deviations;
mod edges;
mod files;
mod links;
mod releases;
mod source_tree;
mod words;
