//! A survey in a guest with declared siblings: the way is whole, the bundle says EMULATED and does not
//! count as a processor measured.

use super::{Boot, Machine, Suite, Wanted};
use crate::vm::guest::{Guest, mount_one, output};
use crate::vm::qemu::Topology;
use anyhow::{Context, Result, ensure};
use std::path::Path;

pub(crate) const SUITE: Suite = Suite {
    name: "survey",
    about: "a survey of a guest with siblings is one bundle, marked and not counted",
    machines,
    guest,
};

const FOLDER: &str = "/tmp/kit";

/// The newest kernel, two cores of two siblings. It takes minutes, so a short run is without it.
fn machines(wanted: &Wanted) -> Vec<Machine> {
    let newest = wanted.kernels.last().filter(|_| !wanted.fast).cloned();
    let boots = vec![Boot::only(25)];
    let machine = |kernel| Machine { kernel, topology: Topology::new(1, 2, 2), boots };
    newest.map(machine).into_iter().collect()
}

fn guest(guest: &mut Guest) -> Result<()> {
    mount_one("tmpfs", "/dev/shm", "")?;
    output("busybox", &["ip", "link", "set", "lo", "up"])?;
    let mut bundle = String::new();
    guest.check_told(
        "a survey leaves one bundle, and says EMULATED before it writes it",
        || {
            let options = ["survey", "--yes", "--budget", "3m", "--out", FOLDER];
            let ran = output("coretwin", &options)?;
            let [shown, said] =
                [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            ensure!(matches!(ran.status.code(), Some(0 | 1)), "{}: {said}", ran.status);
            ensure!(shown.contains("EMULATED: it does not count"), "{shown}\n{said}");
            bundle = shown
                .lines()
                .find_map(|line| line.strip_prefix("bundle: "))
                .context("no bundle")?
                .to_owned();
            Ok(bundle.clone())
        },
    )?;
    guest.check_told("a fleet's report takes it and says EMULATED", || {
        let path = bundle.split(' ').next().unwrap_or_default();
        ensure!(Path::new(path).exists(), "{path} is not there");
        let ran = output("coretwin", &["fleet", "report", path, "--full"])?;
        let page = String::from_utf8_lossy(&ran.stdout).into_owned();
        ensure!(page.contains("EMULATED"), "{page}{}", String::from_utf8_lossy(&ran.stderr));
        Ok(page.lines().next().unwrap_or_default().to_owned())
    })?;
    guest.check_told("it is not counted as a processor measured", || {
        let ran = output("coretwin", &["generate", "machines", FOLDER])?;
        let table = String::from_utf8_lossy(&ran.stdout).into_owned();
        ensure!(table.contains("**0**; bundles that do not count"), "{table}");
        Ok(table)
    })?;
    Ok(())
}
