//! The configuration the running kernel was built with, where somebody kept it.

use crate::root::Root;
use coretwin_base::caps;
use flate2::read::MultiGzDecoder;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub file: String,
    text: String,
}

impl Config {
    /// Reads it: `/proc/config.gz` is the kernel's own word, then come the files that distributions
    /// lay beside the kernel. `None` if there is none of these.
    pub fn read(root: &Root) -> Option<Self> {
        let own = "proc/config.gz";
        if let Some(text) = unpacked(root, own) {
            return Some(Self { file: own.to_owned(), text });
        }
        let release = root.fact("proc/sys/kernel/osrelease").filter(|name| !name.contains('/'))?;
        let files = [
            format!("boot/config-{release}"),
            format!("usr/lib/modules/{release}/config"),
            format!("lib/modules/{release}/config"),
        ];
        files.into_iter().find_map(|file| Some(Self { text: root.text(&file).ok()?, file }))
    }

    /// The value of an option, `y` or `m` or a text; `None` if it is not set.
    pub fn value(&self, option: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.trim().strip_prefix(option)?.strip_prefix('='))
    }
}

fn unpacked(root: &Root, path: &str) -> Option<String> {
    let file = std::fs::File::open(root.path(path)).ok()?;
    let bytes = caps::MACHINE.read(MultiGzDecoder::new(file)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn the_kernels_own_word_comes_first() {
        let (_folder, root) = crate::fake::written("vm-adjacent");
        let put = |path: &str, bytes: &[u8]| {
            crate::fake::sched_ext::put(&root, path, bytes).expect("written");
        };
        put("proc/sys/kernel/osrelease", b"6.12.0-fake\n");
        assert_eq!(Config::read(&root), None);
        put("boot/config-6.12.0-fake", b"CONFIG_A=m\n# CONFIG_B is not set\nCONFIG_AB=y\n");
        let config = Config::read(&root).expect("config");
        assert_eq!(config.file, "boot/config-6.12.0-fake");
        assert_eq!((config.value("CONFIG_A"), config.value("CONFIG_B")), (Some("m"), None));
        put("proc/config.gz", b"torn");
        assert_eq!(Config::read(&root).expect("the other").file, "boot/config-6.12.0-fake");
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(b"CONFIG_A=y\n").expect("packed");
        put("proc/config.gz", &packed.finish().expect("packed"));
        let config = Config::read(&root).expect("config");
        assert_eq!((config.file.as_str(), config.value("CONFIG_A")), ("proc/config.gz", Some("y")));
    }
}
