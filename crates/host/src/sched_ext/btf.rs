//! The kernel's type information (BTF, Documentation/bpf/btf.rst), read as far as it takes to find the
//! functions that a sched_ext scheduler calls.
//!
//! From Linux 7.1 on many of them take a hidden last argument, `struct bpf_prog_aux *aux`, which the
//! build must take out of the public prototype. An older dwarves (pahole before 1.31) leaves it in;
//! then no scheduler can be loaded at all, whatever its version: the prototypes do not match. So the
//! prototypes are looked at, not the version of the kernel.

use std::collections::{BTreeMap, BTreeSet};

/// Where the running kernel shows it, below the root.
pub const FILE: &str = "sys/kernel/btf/vmlinux";
const PREFIX: &str = "scx_bpf_";
/// The function behind a public one of later kernels, which does have the hidden argument.
const BEHIND: &str = "_impl";
const HIDDEN: &str = "bpf_prog_aux";
/// The end of the name of an argument that callers see, and that the verifier fills in.
const FILLED_IN: &str = "__prog";
/// Without this function there is no scheduler of queues; it has been there from the first.
pub(crate) const NEEDED: &str = "scx_bpf_create_dsq";

const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
/// The kernel's own limit (`BTF_MAX_TYPE`).
const TYPES_MAX: usize = 0x000f_ffff;
/// Longest chain of `const` and `typedef` that is followed.
const CHAIN_MAX: usize = 8;

const POINTER: u32 = 2;
const STRUCT: u32 = 4;
const ENUM: u32 = 6;
const FORWARD: u32 = 7;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const FUNCTION: u32 = 12;
const PROTOTYPE: u32 = 13;
const ENUM64: u32 = 19;
/// The flags that a scheduler may set.
pub const OPS_FLAGS: &str = "scx_ops_flags";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Functions {
    /// Public functions, each with whether its prototype still shows the hidden argument.
    pub public: BTreeMap<String, bool>,
    /// The members of [`OPS_FLAGS`].
    pub flags: BTreeSet<String>,
}

impl Functions {
    pub fn malformed(&self) -> impl Iterator<Item = &str> {
        self.public.iter().filter(|(_, malformed)| **malformed).map(|(name, _)| name.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadBtf {
    #[error("it is no BTF: it does not begin with the magic number eb9f")]
    Magic,
    #[error("it is cut off or damaged: {0} lies outside of it")]
    Outside(&'static str),
    /// A kind of type that this reader does not know, so that the size of its entry is unknown.
    #[error("type {id} is of kind {kind}, which this version of coretwin does not know")]
    Kind { id: usize, kind: u32 },
    #[error("it has more than {TYPES_MAX} types")]
    TooMany,
}

pub fn functions(bytes: &[u8]) -> Result<Functions, BadBtf> {
    let btf = Btf::open(bytes)?;
    let mut found = Functions::default();
    for at in &btf.starts {
        let entry = btf.entry(*at)?;
        if !matches!(entry.kind, FUNCTION | ENUM | ENUM64) {
            continue;
        }
        let name = btf.name(entry.name)?;
        if entry.kind != FUNCTION {
            let size = tail(entry.kind, 1).unwrap_or_default();
            for index in (0..entry.count).filter(|_| name == OPS_FLAGS) {
                let member = btf.name(btf.word(*at as usize + 12 + size * index)?)?;
                found.flags.insert(member.to_owned());
            }
            continue;
        }
        if !name.starts_with(PREFIX) || name.ends_with(BEHIND) {
            continue;
        }
        let malformed = btf.shows_hidden(entry.reference)?;
        found.public.insert(name.to_owned(), malformed);
    }
    Ok(found)
}

/// Type information whose entries have been counted.
struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    little: bool,
    /// Where each type begins, from number 1 on.
    starts: Vec<u32>,
}

struct Entry {
    name: u32,
    kind: u32,
    /// Members, parameters and the like.
    count: usize,
    /// The size, or the type referred to.
    reference: u32,
}

impl<'a> Btf<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, BadBtf> {
        let head = bytes.get(..HEADER_BYTES).ok_or(BadBtf::Outside("the header"))?;
        let magic = [head[0], head[1]];
        let little = match (u16::from_le_bytes(magic), u16::from_be_bytes(magic)) {
            (MAGIC, _) => true,
            (_, MAGIC) => false,
            _ => return Err(BadBtf::Magic),
        };
        let word = |at| word(head, at, little).ok_or(BadBtf::Outside("the header"));
        let body = word(4)? as usize;
        let section = |offset: u32, length: u32, what| {
            let start = body.checked_add(offset as usize).ok_or(BadBtf::Outside(what))?;
            let end = start.checked_add(length as usize).ok_or(BadBtf::Outside(what))?;
            bytes.get(start..end).ok_or(BadBtf::Outside(what))
        };
        let types = section(word(8)?, word(12)?, "the types")?;
        let strings = section(word(16)?, word(20)?, "the names")?;
        let mut btf = Self { types, strings, little, starts: Vec::new() };
        let mut at = 0;
        while at < types.len() {
            if btf.starts.len() == TYPES_MAX {
                return Err(BadBtf::TooMany);
            }
            let start = u32::try_from(at).map_err(|_| BadBtf::Outside("a type"))?;
            let entry = btf.entry(start)?;
            btf.starts.push(start);
            let id = btf.starts.len();
            at +=
                12 + tail(entry.kind, entry.count).ok_or(BadBtf::Kind { id, kind: entry.kind })?;
        }
        Ok(btf)
    }

    fn word(&self, at: usize) -> Result<u32, BadBtf> {
        word(self.types, at, self.little).ok_or(BadBtf::Outside("a type"))
    }

    fn entry(&self, at: u32) -> Result<Entry, BadBtf> {
        let at = at as usize;
        let info = self.word(at + 4)?;
        Ok(Entry {
            name: self.word(at)?,
            kind: (info >> 24) & 0x1f,
            count: (info & 0xffff) as usize,
            reference: self.word(at + 8)?,
        })
    }

    /// The place and the head of the type of that number; `None` for `void`, which is 0.
    fn of(&self, number: u32) -> Result<Option<(u32, Entry)>, BadBtf> {
        let Some(index) = (number as usize).checked_sub(1) else { return Ok(None) };
        let at = *self.starts.get(index).ok_or(BadBtf::Outside("a type's number"))?;
        Ok(Some((at, self.entry(at)?)))
    }

    fn name(&self, offset: u32) -> Result<&'a str, BadBtf> {
        let rest = self.strings.get(offset as usize..).ok_or(BadBtf::Outside("a name"))?;
        let end = rest.iter().position(|byte| *byte == 0).ok_or(BadBtf::Outside("a name's end"))?;
        // Names of the kernel are ASCII; another one is none that is looked for.
        Ok(std::str::from_utf8(&rest[..end]).unwrap_or_default())
    }

    /// Whether the prototype of that number has the hidden argument among its own.
    fn shows_hidden(&self, prototype: u32) -> Result<bool, BadBtf> {
        let Some((at, prototype)) =
            self.of(prototype)?.filter(|(_, entry)| entry.kind == PROTOTYPE)
        else {
            return Ok(false);
        };
        for index in 0..prototype.count {
            let at = at as usize + 12 + 8 * index;
            let (name, kind) = (self.name(self.word(at)?)?, self.word(at + 4)?);
            if !name.ends_with(FILLED_IN) && self.is_hidden(kind)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_hidden(&self, kind: u32) -> Result<bool, BadBtf> {
        let mut number = kind;
        let mut is_pointer = false;
        for _ in 0..CHAIN_MAX {
            let Some((_, entry)) = self.of(number)? else { return Ok(false) };
            match entry.kind {
                POINTER if !is_pointer => is_pointer = true,
                CONST | VOLATILE | TYPEDEF => {}
                STRUCT | FORWARD if is_pointer => return Ok(self.name(entry.name)? == HIDDEN),
                _ => return Ok(false),
            }
            number = entry.reference;
        }
        Ok(false)
    }
}

fn word(bytes: &[u8], at: usize, little: bool) -> Option<u32> {
    let word: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    Some(if little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) })
}

/// Bytes behind the head of an entry, by kind; `None` for a kind that is not known.
fn tail(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        // int, var, decl_tag
        1 | 14 | 17 => 4,
        // array
        3 => 12,
        // struct, union, datasec
        4 | 5 | 15 => 12 * count,
        // enum, func_proto
        ENUM | PROTOTYPE => 8 * count,
        // enum64
        ENUM64 => 12 * count,
        // ptr, fwd, typedef, volatile, const, restrict, func, float, type_tag
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::sched_ext::{Types, btf as kernel};
    use proptest::prelude::*;

    #[test]
    fn a_prototype_with_the_hidden_argument_is_malformed() {
        let good = functions(&kernel(false)).expect("good");
        let names: Vec<&str> = good.public.keys().map(String::as_str).collect();
        assert_eq!(names, [NEEDED, "scx_bpf_kick_cpu", "scx_bpf_now", "scx_bpf_told"]);
        assert_eq!(good.malformed().count(), 0);
        assert!(good.flags.contains("SCX_OPS_ALLOW_QUEUED_WAKEUP"), "{:?}", good.flags);
        let bad = functions(&kernel(true)).expect("bad");
        assert_eq!(bad.malformed().collect::<Vec<_>>(), [NEEDED, "scx_bpf_kick_cpu"]);
    }

    #[test]
    fn what_is_no_btf_is_told_apart() {
        assert_eq!(functions(b""), Err(BadBtf::Outside("the header")));
        assert_eq!(functions(&[0; 64]), Err(BadBtf::Magic));
        let mut cut = kernel(false);
        cut.truncate(cut.len() - 1);
        assert_eq!(functions(&cut), Err(BadBtf::Outside("the names")));
        let mut later = Types::default();
        later.entry("later", 31, 0, &[], 0);
        let error = functions(&later.finish()).expect_err("unknown").to_string();
        assert!(error.contains("type 1 is of kind 31"), "{error}");
    }

    /// The kernel these tests run on, if it shows its types.
    #[test]
    fn the_running_kernel_is_read() {
        let Ok(bytes) = std::fs::read(std::path::Path::new("/").join(FILE)) else { return };
        let found = functions(&bytes).expect("readable");
        let has_it = std::path::Path::new("/sys/kernel/sched_ext").exists();
        assert_eq!(found.public.contains_key(NEEDED), has_it);
    }

    proptest! {
        #[test]
        fn damage_is_an_error_and_never_a_panic(at in 0_usize..600, byte in any::<u8>(), cut in 0_usize..600) {
            let mut bytes = kernel(true);
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = functions(&bytes);
            bytes.truncate(cut);
            let _ = functions(&bytes);
        }

        #[test]
        fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut bytes = vec![0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0];
            bytes.extend(noise);
            let _ = functions(&bytes);
        }
    }
}
