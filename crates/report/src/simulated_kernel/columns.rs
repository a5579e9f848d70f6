//! Columns of text, the first to the left and all others to the right.

/// Lines of columns two spaces apart, each with a newline. Where they are wider than the page, the
/// table is cut into parts below each other, and the first column heads each.
pub(super) fn columns(rows: &[Vec<String>], page: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    let mut next = 1;
    loop {
        let begun = next;
        let mut used = widths.first().copied().unwrap_or(0);
        while next < count && (next == begun || used + 2 + widths[next] <= page) {
            used += 2 + widths[next];
            next += 1;
        }
        if begun > 1 {
            out.push('\n');
        }
        for row in rows {
            let mut line = format!("{:<1$}", row.first().map_or("", String::as_str), widths[0]);
            for (cell, width) in row.iter().zip(&widths).take(next).skip(begun) {
                line.push_str(&format!("  {cell:>width$}"));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        if next >= count {
            return out;
        }
    }
}

/// A row of cells with `|` between them.
pub(super) fn row(cells: &str) -> Vec<String> {
    cells.split('|').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_first_column_is_left_the_others_right() {
        let rows = ["a|10|x", "long|9|"].map(super::row);
        assert_eq!(super::columns(&rows, 80), "a     10  x\nlong   9\n");
    }

    #[test]
    fn a_table_wider_than_the_page_goes_on_below_under_its_first_column() {
        let rows = ["a|10|x|yy", "b|9||z"].map(super::row);
        assert_eq!(super::columns(&rows, 8), "a  10  x\nb   9\n\na  yy\nb   z\n");
    }
}
