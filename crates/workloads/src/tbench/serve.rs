//! The server of tbench alone: `coretwin serve tbench`, and `coretwin run
//! tbench:server=127.0.0.1:7003`. It serves all clients at once, those of dbench 4's tbench too.

use super::server::{Event, Settings, accept_all, listen};
use crate::serve::ServeEvent;
use crate::{Error, sys};
use std::cell::Cell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How to serve tbench to clients elsewhere on this machine.
#[derive(Debug, Clone)]
pub struct TbenchOptions {
    pub address: SocketAddr,
    /// A thread for each connection instead of a process.
    pub threads: bool,
    /// The worker's executable, which serves a connection where processes do.
    pub worker: PathBuf,
    /// How long a client may be silent, or not read, before it is let go.
    pub patience: Duration,
    /// Whether to end when there has been a client and the last has gone.
    pub once: bool,
}

/// Serves tbench until `stop` says so, which is asked about twenty times a second. What goes wrong
/// with a client is an event.
pub fn serve_tbench(
    options: &TbenchOptions,
    stop: impl Fn() -> bool,
    mut on_event: impl FnMut(ServeEvent),
) -> Result<(), Error> {
    sys::open_more_files();
    let (listener, address) = listen(options.address)?;
    on_event(ServeEvent::Listening(address));
    let settings = Settings {
        clients: None,
        threads: options.threads,
        executable: Some(options.worker.clone()),
        core_sched: false,
        patience_s: Some(options.patience.as_secs_f64()),
    };
    let live = Cell::new(0_u64);
    let last_gone = Cell::new(false);
    let over = || stop() || (options.once && last_gone.get());
    accept_all(listener, &settings, Some(&over), &mut |event| match event {
        Event::Started => live.set(live.get() + 1),
        Event::Ended(ended) => {
            live.set(live.get().saturating_sub(1));
            last_gone.set(live.get() == 0);
            on_event(match ended.failure {
                Some(why) => ServeEvent::Failed(why),
                None => ServeEvent::Exchanged {
                    exchanges: ended.traffic.exchanges,
                    received_bytes: ended.traffic.requests_bytes,
                    sent_bytes: ended.traffic.replies_bytes,
                },
            });
        }
    })
}
