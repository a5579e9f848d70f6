//! What a client of tbench may send to the server.
#![no_main]

use coretwin_workloads::tbench::protocol::{MESSAGE_END, SHORTEST, Stream, Traffic, serve};
use libfuzzer_sys::fuzz_target;
use std::io;

struct Recorded<'a> {
    requests: &'a [u8],
    replied: usize,
}

impl Stream for Recorded<'_> {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(self.requests.len());
        let (now, rest) = self.requests.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.requests = rest;
        Ok(count)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.replied += bytes.len();
        Ok(())
    }
}

fuzz_target!(|requests: &[u8]| {
    let mut stream = Recorded { requests, replied: 0 };
    let mut buffer = vec![0; MESSAGE_END];
    let mut traffic = Traffic::default();
    let _ = serve(&mut stream, &mut buffer, &mut traffic);
    assert!(stream.replied <= requests.len() / SHORTEST * MESSAGE_END);
    assert_eq!(traffic.replies_bytes, stream.replied as u64);
});
