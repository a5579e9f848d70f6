//! Builds the program that rows of LMbench start (`hello/hello.rs`), so that they need no compiler
//! where they run: it lies within the worker, which writes it into its scratch folder.
//!
//! A kind that cannot be built for this target is left empty, and the rows say so.

use std::path::Path;
use std::process::Command;

const SOURCE: &str = "hello/hello.rs";
/// What makes each kind.
const KINDS: [(&str, &[&str]); 2] = [
    ("dynamic", &["-Ctarget-feature=-crt-static"]),
    (
        "static",
        &[
            "--cfg=without_library",
            "-Ctarget-feature=+crt-static",
            "-Crelocation-model=static",
            "-Clink-args=-nostartfiles -nostdlib -static",
        ],
    ),
];

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let folder = variable("OUT_DIR");
    for (kind, flags) in KINDS {
        let program = Path::new(&folder).join(format!("hello-{kind}"));
        let mut rustc = Command::new(variable("RUSTC"));
        rustc.args(["--edition=2024", "--crate-name=hello", "-Cpanic=abort", "-Copt-level=2"]);
        rustc.args(["-Cstrip=symbols", "--target", &variable("TARGET"), SOURCE, "-o"]);
        rustc.arg(&program).args(flags);
        if let Ok(linker) = std::env::var("RUSTC_LINKER") {
            rustc.arg(format!("-Clinker={linker}"));
        }
        let output = rustc.output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let why = said.lines().find(|line| line.starts_with("error")).unwrap_or("no reason");
            println!("cargo::warning=the {kind} program of lmbench is left out: {why}");
            std::fs::write(&program, [])?;
        }
    }
    Ok(())
}
