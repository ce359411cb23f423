//! What ends a command early, and how it is told.
//!
//! Model.       One message that says what is wrong and where, hints on how to mend it, and the
//!              exit code. The code is 2 where the user asked for something wrong and 1 where the
//!              system failed.

use crate::output;
use std::fmt::Display;
use std::process::ExitCode;

/// Exit code of a command that was asked for something wrong.
const WRONG_INPUT: u8 = 2;
/// Exit code of a command that the system let down.
const FAILED: u8 = 1;

/// A failure to tell the user of.
#[derive(Debug)]
pub(crate) struct Error {
    message: String,
    hints: Vec<String>,
    code: u8,
}

impl Error {
    /// The user asked for something wrong.
    pub(crate) fn input(message: impl Display) -> Self {
        Error {
            message: message.to_string(),
            hints: Vec::new(),
            code: WRONG_INPUT,
        }
    }

    /// The system let the command down.
    pub(crate) fn failed(message: impl Display) -> Self {
        Error {
            code: FAILED,
            ..Error::input(message)
        }
    }

    /// Adds a way to mend it.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Says first where it was found.
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Prints the message and its hints.
    pub(crate) fn print(&self) -> ExitCode {
        output::error(&self.message, &self.hints);
        ExitCode::from(self.code)
    }
}

impl From<fairwind_machine::Error> for Error {
    fn from(error: fairwind_machine::Error) -> Self {
        let mut failure = Error::input(&error);
        let fairwind_machine::Error::Unknown { spec, presets } = &error else {
            return failure;
        };
        if let Some(name) = crate::suggest::nearest(spec, presets.iter().map(String::as_str)) {
            failure = failure.hint(format!("did you mean '{name}'?"));
        }
        failure.hint("'fairwind machine list' describes the presets")
    }
}

impl From<fairwind_workload::Error> for Error {
    fn from(error: fairwind_workload::Error) -> Self {
        Error::input(error)
    }
}

impl From<fairwind_workload::programs::SpecError> for Error {
    fn from(error: fairwind_workload::programs::SpecError) -> Self {
        Error::input(&error).hint(error.hint())
    }
}

impl From<fairwind_sim::SetupError> for Error {
    fn from(error: fairwind_sim::SetupError) -> Self {
        Error::input(error)
    }
}

impl From<fairwind_lab::RunError> for Error {
    fn from(error: fairwind_lab::RunError) -> Self {
        match error {
            fairwind_lab::RunError::Setup(error) => Error::input(error),
            fairwind_lab::RunError::Store(error) => Error::failed(error),
        }
    }
}

impl From<fairwind_trace::Error> for Error {
    fn from(error: fairwind_trace::Error) -> Self {
        Error::input(error)
    }
}
