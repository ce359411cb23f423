//! The results of a bench as CSV: a line for each job; columns are named as the fields of the JSON form.

use super::results::Results;
use crate::error::Error;
use csv::Writer;

/// The table, with a header line; what is not known is empty.
pub(crate) fn render(results: &Results) -> Result<Vec<u8>, Error> {
    let failed =
        |error: &dyn std::fmt::Display| Error::failed(format!("cannot make the CSV: {error}"));
    let mut lines = Writer::from_writer(Vec::new());
    for job in &results.jobs {
        lines.serialize(job).map_err(|error| failed(&error))?;
    }
    lines.into_inner().map_err(|error| failed(&error))
}
