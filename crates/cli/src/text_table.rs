//! Plain tables: aligned columns, no lines, so that they read well and can be cut by other tools.

use crate::output::HEADING;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Blanks between columns.
const GAP: usize = 2;

/// How a column is aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Lays rows out under their header, without blanks at the ends of lines.
fn layout(columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].width());
        cells.chain([columns[column].0.width()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.zip(&widths).zip(columns) {
            let blanks = " ".repeat(width - cell.width());
            let gap = if line.is_empty() { 0 } else { GAP };
            _ = match align {
                Align::Left => write!(line, "{:gap$}{cell}{blanks}", ""),
                Align::Right => write!(line, "{:gap$}{blanks}{cell}", ""),
            };
        }
        line.truncate(line.trim_end().len());
        line
    };
    let header = line(&mut columns.iter().map(|(name, _)| *name));
    let mut text = format!("{HEADING}{header}{HEADING:#}\n");
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
        text.push('\n');
    }
    text
}

/// The rows of a table whose columns differ from run to run.
pub(crate) struct Columns<'a, T> {
    rows: &'a [T],
    columns: Vec<(&'static str, Align)>,
    cells: Vec<Vec<String>>,
}

impl<'a, T> Columns<'a, T> {
    /// A table with one line for each of `rows`.
    pub(crate) fn of(rows: &'a [T]) -> Self {
        Columns {
            rows,
            columns: Vec::new(),
            cells: vec![Vec::new(); rows.len()],
        }
    }

    /// Adds a column of text.
    pub(crate) fn text(self, name: &'static str, cell: impl Fn(&T) -> String) -> Self {
        self.column(name, Align::Left, cell)
    }

    /// Adds a column of numbers.
    pub(crate) fn number(self, name: &'static str, cell: impl Fn(&T) -> String) -> Self {
        self.column(name, Align::Right, cell)
    }

    /// Adds columns only if some row has something to say in them.
    pub(crate) fn when(self, any: impl Fn(&T) -> bool, add: impl FnOnce(Self) -> Self) -> Self {
        if self.rows.iter().any(any) {
            add(self)
        } else {
            self
        }
    }

    fn column(mut self, name: &'static str, align: Align, cell: impl Fn(&T) -> String) -> Self {
        self.columns.push((name, align));
        for (row, cells) in self.rows.iter().zip(&mut self.cells) {
            cells.push(cell(row));
        }
        self
    }

    /// Lays the table out.
    pub(crate) fn layout(&self) -> String {
        layout(&self.columns, &self.cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_what_is_seen() {
        let rows = [("a", 5, false), ("\u{e4}\u{4e2d}", 1234, true)];
        let table = |odd: bool| {
            Columns::of(&rows)
                .text("name", |r| r.0.to_string())
                .number("n", |r| r.1.to_string())
                .when(|r| r.2 && odd, |c| c.text("odd", |r| r.2.to_string()))
                .layout()
        };
        let plain = |text: String| anstream::adapter::strip_str(&text).to_string();
        assert_eq!(
            plain(table(false)),
            "name     n\na        5\n\u{e4}\u{4e2d}   1234\n"
        );
        assert_eq!(plain(table(true)).lines().nth(1), Some("a        5  false"));
    }
}
