//! CSV text as rows of cells, each with its place in the file.

use super::figure::Figure;

/// The most rows a table may have. Published tables are far smaller; the bound keeps the search
/// for misprints short on a file that is not such a table.
pub const ROWS_MAX: usize = 10_000;

/// A text that is not a table we can check: where it goes wrong, what is wrong there, what would help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("audit {file}: {why}")]
pub struct Error {
    file: String,
    why: String,
}

#[derive(Debug, Clone)]
pub(super) struct Sheet {
    pub(super) file: String,
    pub(super) headers: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// A row and its line in the file, from 1.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) cells: Vec<String>,
}

/// The place of a cell: index of its row, index of its column.
pub(super) type Place = (usize, usize);

impl Sheet {
    /// Reads CSV with a header line; a byte order mark and blanks around cells are ignored.
    pub(super) fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let table = |why: String| Error { file: file.to_owned(), why };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = LineIndex::new(text);
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|error| csv_error(file, &lines, &error))?;
        let headers: Vec<String> = headers.iter().map(str::to_owned).collect();
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| csv_error(file, &lines, &error))?;
            if rows.len() == ROWS_MAX {
                return Err(table(format!("it has more than {ROWS_MAX} rows; split it")));
            }
            let line = record.position().map_or(0, |position| lines.of_record(position.byte()));
            rows.push(Row { line, cells: record.iter().map(str::to_owned).collect() });
        }
        if rows.is_empty() {
            return Err(table("it has no rows below its header line".to_owned()));
        }
        Ok(Self { file: file.to_owned(), headers, rows })
    }

    /// The text of a cell; empty where there is none.
    pub(super) fn text(&self, (row, column): Place) -> &str {
        &self.rows[row].cells[column]
    }

    /// The figure in a cell; `None` where it is empty.
    pub(super) fn figure(&self, place: Place) -> Result<Option<Figure>, Error> {
        let text = self.text(place);
        if text.is_empty() {
            return Ok(None);
        }
        Figure::parse(text).map(Some).map_err(|why| self.cell_error(place, &why))
    }

    /// The figure of a rate, a time or a count: above zero.
    pub(super) fn positive(&self, place: Place) -> Result<Option<Figure>, Error> {
        let figure = self.figure(place)?;
        match &figure {
            Some(figure) if figure.value() <= 0.0 => {
                Err(self.cell_error(place, "must be above 0 for a ratio to be taken"))
            }
            _ => Ok(figure),
        }
    }

    /// Whether most of a column's filled cells are numbers.
    pub(super) fn is_numeric(&self, column: usize) -> bool {
        let filled = self.rows.iter().map(|row| row.cells[column].as_str());
        let filled: Vec<&str> = filled.filter(|text| !text.is_empty()).collect();
        let numbers = filled.iter().filter(|text| Figure::parse(text).is_ok()).count();
        numbers * 2 > filled.len()
    }

    pub(super) fn cell_error(&self, (row, column): Place, why: &str) -> Error {
        let text = self.text((row, column));
        let short: String = text.chars().take(40).collect();
        let (line, column) = (self.rows[row].line, &self.headers[column]);
        self.error(format!("line {line}, column {column}: '{short}' {why}"))
    }

    pub(super) fn error(&self, why: String) -> Error {
        Error { file: self.file.clone(), why }
    }
}

/// Byte offsets of line starts; lines end in LF, CR LF, or CR alone, as the reader takes them. Its
/// own line of a record counts from before the empty lines that it skips.
struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let ends = |at: &usize| match bytes[*at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let after = (0..bytes.len()).filter(ends).map(|at| at + 1);
        Self { text, starts: std::iter::once(0).chain(after).collect() }
    }

    fn of_record(&self, byte: u64) -> u64 {
        let from = usize::try_from(byte).unwrap_or(usize::MAX).min(self.text.len());
        let rest = &self.text.as_bytes()[from..];
        let skipped = rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        self.starts.partition_point(|&start| start <= from + skipped) as u64
    }
}

fn csv_error(file: &str, lines: &LineIndex<'_>, error: &csv::Error) -> Error {
    let line = error.position().map_or(1, |position| lines.of_record(position.byte()));
    let why = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} cells where the header line has {expected_len}")
        }
        _ => error.to_string(),
    };
    Error { file: file.to_owned(), why: format!("line {line}: {why}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_file() {
        let text = "\u{feff}a,b\n1,2\n\n\"x\ny\",4\r\n5, 6 \n";
        let sheet = Sheet::parse("t.csv", text).expect("sheet");
        assert_eq!(sheet.headers, ["a", "b"]);
        assert_eq!(sheet.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 4, 6]);
        assert_eq!(sheet.text((2, 1)), "6");
        let old = Sheet::parse("t.csv", "a,b\r1,2\r\r3,4\r").expect("sheet");
        assert_eq!(old.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn errors_name_the_place() {
        let uneven = Sheet::parse("t.csv", "a,b\n1,2\n\n3\n").expect_err("uneven").to_string();
        assert_eq!(uneven, "audit t.csv: line 4: it has 1 cells where the header line has 2");
        let empty = Sheet::parse("t.csv", "a,b\n").expect_err("empty").to_string();
        assert!(empty.contains("no rows"), "{empty}");
        let sheet = Sheet::parse("t.csv", "a,b\n1,4x\n").expect("sheet");
        let bad = sheet.figure((0, 1)).expect_err("bad").to_string();
        assert!(bad.starts_with("audit t.csv: line 2, column b: '4x' is not a number"), "{bad}");
        assert!(sheet.positive((0, 0)).is_ok());
    }
}
