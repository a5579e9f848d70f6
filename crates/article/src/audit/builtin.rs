//! The tables that come with the program: the article's seven, and the note's times.

#[derive(Debug, Clone, Copy)]
pub struct Table {
    pub name: &'static str,
    pub title: &'static str,
    pub csv: &'static str,
}

macro_rules! table {
    ($name:literal, $title:literal) => {
        Table {
            name: $name,
            title: $title,
            csv: include_str!(concat!("../../../../data/article/", $name)),
        }
    };
}

const TABLES: &[Table] = &[
    table!("table1_lmbench.csv", "Table 1: Linux APIs (LMbench), 2.4.19"),
    table!("table2_aim9.csv", "Table 2: single-user work (AIM9), 2.4.19"),
    table!("table3_chat_sizes.csv", "Table 3: sizes of the chat runs"),
    table!("table4_chat.csv", "Table 4: chat, 2.4.19"),
    table!("table5_dbench.csv", "Table 5: dbench, 2.4.19"),
    table!("table6_tbench.csv", "Table 6: tbench, 2.4.19"),
    table!("table7_kernel_2_5_32.csv", "Table 7: chat, dbench and tbench, 2.5.32"),
    table!("cputime_gzip9.csv", "The note on CPU time: gzip alone and beside spinners"),
];

/// The tables of the article (*Hyper-Threading speeds Linux*, 2003) and the times of the note
/// (*Hyper-threading and CPU time*), as printed.
pub fn builtin() -> &'static [Table] {
    TABLES
}
