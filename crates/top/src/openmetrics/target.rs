//! What `--openmetrics` was given: a file or an address.

use crate::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file, replaced whole after every window.
    File(PathBuf),
    /// An address on which it is served.
    Address(SocketAddr),
}

impl Target {
    /// Reads `127.0.0.1:9741`, `[::1]:9741`, `:9741` and `localhost:9741` (both 127.0.0.1), or a
    /// path with a `/` in it or with the ending `.prom`. Errors: [`Error::Target`] if it is
    /// neither; [`Error::NotLoopback`] if others could reach the address and that was not allowed.
    pub fn parse(text: &str, allow_remote: bool) -> Result<Self, Error> {
        let local = |port: &str| {
            let port = port.parse().ok()?;
            Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
        };
        let port_alone = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':'));
        let address = text.parse().ok().or_else(|| local(port_alone?));
        match address {
            Some(address) if address.ip().is_loopback() || allow_remote => {
                Ok(Self::Address(address))
            }
            Some(address) => Err(Error::NotLoopback { address }),
            None if (text.contains('/') || text.ends_with(".prom")) && !text.ends_with('/') => {
                Ok(Self::File(PathBuf::from(text)))
            }
            None => Err(Error::Target { text: text.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stay_on_this_machine_unless_others_are_allowed() {
        let address = |text: &str, remote| match Target::parse(text, remote) {
            Ok(Target::Address(address)) => address.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(address(":9741", false), "127.0.0.1:9741");
        assert_eq!(address("localhost:9741", false), "127.0.0.1:9741");
        assert_eq!(address("[::1]:9741", false), "[::1]:9741");
        assert_eq!(address("0.0.0.0:9741", true), "0.0.0.0:9741");
        for remote in ["0.0.0.0:9741", "[::]:9741", "10.0.0.1:9741"] {
            let error = Target::parse(remote, false).expect_err(remote).to_string();
            assert!(
                error.contains("--allow-remote") && error.contains("127.0.0.1:9741"),
                "{error}"
            );
        }
    }

    #[test]
    fn files_are_paths_and_slips_are_not_files() {
        for path in ["./x", "/run/coretwin.prom", "coretwin.prom", "a:b/c"] {
            assert_eq!(Target::parse(path, false).expect(path), Target::File(path.into()));
        }
        for slip in ["9741", "localhost", "db1:9741", "127.0.0.1", "127.0.0.1:99999", "", "a/"] {
            let error = Target::parse(slip, true).expect_err(slip).to_string();
            assert!(error.contains("neither a file nor an address"), "{slip}: {error}");
        }
    }
}
