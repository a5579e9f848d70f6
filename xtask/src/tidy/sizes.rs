//! Files of at most 600 lines, functions of at most 70, tables of constants not counted; every
//! file says at its top what it is.

use super::Finding;
use super::source::Source;
use std::ops::RangeInclusive;

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

pub(super) fn check(path: &str, source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let tables = source.tables();
    let lines = source.lines - inside(&tables, &(1..=source.lines));
    if lines > FILE_LINES_MAX {
        findings.push(Finding::new(
            path,
            FILE_LINES_MAX + 1,
            format!("{lines} lines of {FILE_LINES_MAX} allowed; split the file by its subjects"),
        ));
    }
    for function in source.functions() {
        let lines = function.lines.clone().count() - inside(&tables, &function.lines);
        if lines > FUNCTION_LINES_MAX {
            findings.push(Finding::new(
                path,
                *function.lines.start(),
                format!(
                    "fn {} has {lines} lines of {FUNCTION_LINES_MAX} allowed; take steps out of it",
                    function.name
                ),
            ));
        }
    }
    if !source.comments.trim_start().starts_with("//!") {
        let what = "the file does not begin with //! docs; say what lives in it";
        findings.push(Finding::new(path, 1, what));
    }
    findings
}

/// How many lines of a range belong to tables.
fn inside(tables: &[RangeInclusive<usize>], range: &RangeInclusive<usize>) -> usize {
    let within = |table: &&RangeInclusive<usize>| {
        range.contains(table.start()) && range.contains(table.end())
    };
    tables.iter().filter(within).map(|table| table.clone().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<Finding> {
        check("x.rs", &Source::parse(text))
    }

    #[test]
    fn a_long_file_is_found_and_a_long_table_is_not() {
        let long = format!("//! Doc.\n{}", "// line\n".repeat(600));
        assert_eq!(findings(&long)[0].line, 601);
        let table = format!("//! Doc.\nconst T: &[u8] = &[\n{}];\n", "    1,\n".repeat(700));
        assert_eq!(findings(&table), []);
    }

    #[test]
    fn a_long_function_is_found_at_its_line() {
        let long = format!("//! Doc.\n\nfn long() {{\n{}}}\n", "    // }\n".repeat(69));
        let [finding] = findings(&long).try_into().expect("one finding");
        assert_eq!((finding.line, finding.what.contains("fn long has 71 lines")), (3, true));
        let short = format!("//! Doc.\nfn short() {{\n{}}}\n", "    x();\n".repeat(68));
        assert_eq!(findings(&short), []);
    }

    #[test]
    fn a_file_without_docs_is_found() {
        for text in ["", "fn x() {}\n", "// a comment\n//! late\n", "/// for an item\nfn x() {}\n"]
        {
            assert_eq!(findings(text).len(), 1, "{text}");
        }
    }
}
