//! A kernel's type information, from which the functions of sched_ext are read.

#![no_main]

use coretwin_host::sched_ext::btf;
use libfuzzer_sys::fuzz_target;

/// Puts a header that fits in front, so that more than headers is tried: the first byte says how much of the rest
/// is types, in parts of 128.
fn whole(bytes: &[u8]) -> Option<Vec<u8>> {
    let (share, body) = bytes.split_first()?;
    let types = (body.len() * usize::from(*share) / 128).min(body.len()) & !3;
    let mut whole = vec![0x9f, 0xeb, 1, 0];
    for word in [24, 0, types, types, body.len() - types] {
        whole.extend_from_slice(&(word as u32).to_le_bytes());
    }
    whole.extend_from_slice(body);
    Some(whole)
}

fuzz_target!(|bytes: &[u8]| {
    let _ = btf::functions(bytes);
    if let Some(Ok(found)) = whole(bytes).map(|bytes| btf::functions(&bytes)) {
        assert!(found.public.keys().all(|name| name.starts_with("scx_bpf_")));
        assert!(found.malformed().count() <= found.public.len());
    }
});
