//! Sockets and files that the tasks of a run share.

use coretwin_sim::kernel::program::Which;
use coretwin_sim::kernel::work::Work;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PIECE_BYTES: usize = 64 << 10;
/// How often a task that waits looks whether the time is up.
const LOOK: Duration = Duration::from_millis(100);

pub(super) struct Objects {
    /// The sending and the receiving end. Messages keep whole, so that many may receive.
    sockets: Vec<(UnixDatagram, UnixDatagram)>,
    files: Vec<(File, u64)>,
}

impl Objects {
    pub(super) fn new(work: &Work) -> io::Result<Self> {
        let socket = |_| {
            let (send, receive) = UnixDatagram::pair()?;
            send.set_write_timeout(Some(LOOK))?;
            receive.set_read_timeout(Some(LOOK))?;
            Ok((send, receive))
        };
        let file = |bytes: &u64| {
            let path = std::env::temp_dir().join(format!("coretwin-{}", std::process::id()));
            let file = File::create_new(&path)?;
            file.set_len(*bytes)?;
            let file = File::open(&path)?;
            // Nobody else needs its name.
            std::fs::remove_file(&path)?;
            Ok((file, *bytes))
        };
        Ok(Self {
            sockets: (0..work.sockets.len()).map(socket).collect::<io::Result<_>>()?,
            files: work.files.iter().map(file).collect::<io::Result<_>>()?,
        })
    }

    pub(super) fn send(&self, over: &AtomicBool, which: u32, bytes: u64) {
        let Some((socket, _)) = self.sockets.get(which as usize) else { return };
        let piece = vec![0; PIECE_BYTES.min(bytes as usize)];
        let mut left = bytes as usize;
        while left > 0 && !over.load(Ordering::Relaxed) {
            match socket.send(&piece[..piece.len().min(left)]) {
                Ok(sent) => left -= sent.min(left),
                Err(error) if waits(&error) => {}
                Err(_) => return,
            }
        }
    }

    pub(super) fn receive(&self, over: &AtomicBool, which: u32, bytes: u64) {
        let Some((_, socket)) = self.sockets.get(which as usize) else { return };
        let mut piece = vec![0; PIECE_BYTES];
        let mut left = bytes as usize;
        while left > 0 && !over.load(Ordering::Relaxed) {
            match socket.recv(&mut piece) {
                Ok(came) => left -= came.min(left),
                Err(error) if waits(&error) => {}
                Err(_) => return,
            }
        }
    }

    /// Reads from a file at an offset, around its end.
    pub(super) fn read(&self, which: u32, bytes: u64, offset: u64) {
        let Some((file, length)) = self.files.get(which as usize) else { return };
        let mut piece = vec![0; PIECE_BYTES.min(bytes as usize)];
        let mut left = bytes as usize;
        let mut at = offset % length.max(&1);
        while left > 0 {
            let count = piece.len().min(left);
            match file.read_at(&mut piece[..count], at) {
                Ok(0) if at > 0 => at = 0,
                Ok(read) if read > 0 => {
                    left -= read;
                    at += read as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }
}

pub(super) fn number(which: Which, own: &[u32]) -> u32 {
    match which {
        Which::Number(number) => number,
        Which::Own(place) => own.get(usize::from(place)).copied().unwrap_or(u32::MAX),
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
