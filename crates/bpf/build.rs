//! Compiles every `c/NAME.bpf.c` into the object `NAME.bpf.o`, which the loaders embed.
//!
//! Only with the feature `bpf`; without it no compiler is asked for. The objects are made for any
//! kernel from 5.15 on: CO-RE places the members of structures when a program is loaded.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The oldest clang that keeps whole what a kernel compares with its own types.
const CLANG_MIN: u32 = 16;
/// The newest that is looked for by its number.
const CLANG_NEWEST: u32 = 24;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=CLANG");
    println!("cargo::rerun-if-changed=c");
    if env::var_os("CARGO_FEATURE_BPF").is_none() {
        return Ok(());
    }
    let clang = clang()?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo gives no OUT_DIR")?);
    for entry in fs::read_dir("c")? {
        let source = entry?.path();
        let name = source.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(stem) = name.strip_suffix(".bpf.c") {
            compile(&clang, &source, &out.join(format!("{stem}.bpf.o")))?;
        }
    }
    Ok(())
}

/// The compiler that CLANG names, or the first new enough.
fn clang() -> Result<String, Box<dyn Error>> {
    if let Ok(named) = env::var("CLANG") {
        return match version(&named) {
            Some(found) if found >= CLANG_MIN => Ok(named),
            Some(found) => {
                Err(format!("CLANG={named} is version {found}; {CLANG_MIN} or later is needed")
                    .into())
            }
            None => Err(format!("CLANG={named} does not tell its version; is it clang?").into()),
        };
    }
    let numbered = (CLANG_MIN..=CLANG_NEWEST).rev().map(|number| format!("clang-{number}"));
    let mut names = std::iter::once("clang".to_owned()).chain(numbered);
    names.find(|name| version(name).is_some_and(|found| found >= CLANG_MIN)).ok_or_else(|| {
        format!(
            "the feature bpf needs clang {CLANG_MIN} or later, and there is none: install one \
             (Debian: clang-19), name it by CLANG=, or build without the feature"
        )
        .into()
    })
}

/// The major version of a clang; `None` if there is no such program.
fn version(program: &str) -> Option<u32> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split("clang version ").nth(1)?.split('.').next()?.parse().ok()
}

fn compile(clang: &str, source: &Path, object: &Path) -> Result<(), Box<dyn Error>> {
    // v3 has the atomic exchanges, and every kernel from 5.12 on runs it.
    let status = Command::new(clang)
        .args(["-target", "bpf", "-mcpu=v3", "-g", "-O2", "-std=gnu11"])
        .args(["-Wall", "-Wextra", "-Werror", "-nostdinc", "-fdebug-compilation-dir=."])
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(object)
        .status()?;
    if !status.success() {
        return Err(format!("{clang} does not compile {}: {status}", source.display()).into());
    }
    Ok(())
}
