//! Rows `select-10-fds` and `select-10-tcp-fds`: whether ten descriptors can be written to, which
//! all of them always can. They are ten names of one file, or of one connection.

use super::harness::peer::Peer;
use super::harness::{Bench, Place, each};
use super::native::descriptors::Descriptors;
use super::system_calls::{empty_file, opened};
use crate::{Error, socket};
use rustix::fs::OFlags;
use rustix::io::dup;
use std::os::fd::{AsFd, OwnedFd};

const DESCRIPTORS: i32 = 10;

/// Asks about ten names of the descriptor, and expects them all in the answer.
fn ten_of(one: OwnedFd, keeps: Option<Peer>) -> Result<Bench, Error> {
    let trouble = |error| Error::system("cannot open ten descriptors", error);
    let ten = (0..DESCRIPTORS).map(|_| dup(one.as_fd())).collect::<Result<Vec<_>, _>>();
    drop(one);
    let ten = Descriptors::new(ten.map_err(|error| trouble(error.into()))?).map_err(trouble)?;
    let ask = move || {
        let _lives = &keeps;
        Ok(ten.writable()? == DESCRIPTORS)
    };
    Ok(each("ask for ten descriptors", ask).note("looked_at", "10 descriptors"))
}

pub(super) fn select_10_fds(place: &Place) -> Result<Bench, Error> {
    ten_of(opened(&empty_file(place)?, OFlags::RDONLY)?, None)
}

/// The other end of the connection is another process's, which does nothing with it.
pub(super) fn select_10_tcp_fds(place: &Place) -> Result<Bench, Error> {
    let trouble = |error| Error::system("cannot connect over loopback", error);
    let (stream, other) = socket::tcp_pair().map_err(trouble)?;
    let server = Peer::start(place, SERVER, || {
        // Until this process is ended.
        std::io::copy(&mut &other, &mut std::io::sink()).map(drop).map_err(trouble)
    })?;
    drop(other);
    ten_of(stream.into(), Some(server))
}

/// No role of the row: it sleeps.
const SERVER: usize = usize::MAX;
