//! Writes the reports of all synthetic studies into a folder, to be looked at:
//! `cargo run -p coretwin-report --example sample_reports -- FOLDER`

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    for (name, records) in support::all() {
        for format in coretwin_report::FORMATS {
            let file = folder.join(format!("{name}.{}", format.name));
            std::fs::write(file, (format.render)(&records.study()))?;
        }
    }
    Ok(())
}
