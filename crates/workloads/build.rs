//! Builds the programs that rows of LMbench start (`hello/`), so that they need no compiler where they
//! run: they lie within the worker, which writes them into its scratch folder.
//!
//! A kind that cannot be built for this target is left empty, and the rows say so.

use std::path::Path;
use std::process::Command;

/// As C programs are by default: each call is looked up when it is first made.
const LAZY: [&str; 2] = ["-Ctarget-feature=-crt-static", "-Crelro-level=partial"];
/// What makes each kind: its name, its source, flags.
const KINDS: [(&str, &str, &[&str]); 3] = [
    ("dynamic", "hello/hello.rs", &LAZY),
    (
        "static",
        "hello/hello.rs",
        &[
            "--cfg=without_library",
            "-Ctarget-feature=+crt-static",
            "-Crelocation-model=static",
            "-Clink-args=-nostartfiles -nostdlib -static",
        ],
    ),
    ("parent", "hello/parent.rs", &LAZY),
];

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=hello");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let folder = variable("OUT_DIR");
    for (kind, source, flags) in KINDS {
        let program = Path::new(&folder).join(format!("hello-{kind}"));
        let mut rustc = Command::new(variable("RUSTC"));
        rustc.args(["--edition=2024", "--crate-name=hello", "-Cpanic=abort", "-Copt-level=2"]);
        rustc.args(["-Cstrip=symbols", "--target", &variable("TARGET"), source, "-o"]);
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
