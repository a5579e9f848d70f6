//! Makes a load from a recipe and a seed.
//!
//! First come the folders and the lasting files; then everything else in random order, each call
//! where it is possible: files are read where there is something to read, and removed and renamed
//! where they are. So every call has the answer that stands beside it, and every count is the
//! recipe's.

use super::builder::{Builder, Opening};
use super::recipes::Recipe;
use super::{Call, Expect, Load};
use coretwin_base::random::Stream;

/// The number of the handle of a session: one file is open at a time, as almost always.
const NUMBER: u64 = 1;
/// Where the loads of this kind lock: a range that no data ever reach.
const LOCK_OFFSET: u64 = 2_147_483_538;
/// Names that a search asks for at most.
const NAMES_MAX: u32 = 1366;
const ROOT: &str = "/clients/client1";
const EXISTING: Opening = Opening { directory: false, create: false, truncate: false };
const NEW: Opening = Opening { directory: false, create: true, truncate: false };
const FOLDER: Opening = Opening { directory: true, create: true, truncate: false };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Session { reads: bool, writes: bool },
    OpenMissing,
    PathFound,
    PathMissing,
    FileSystem,
    Find,
    FindMissing,
    Search,
    Rename,
    Unlink,
}

pub(super) fn generate(recipe: &Recipe, seed: u64) -> Load {
    let mut making = Making::new(recipe, seed);
    // Refusals are for outside text: all that is made here is within the limits, as tests see.
    let _ = making.set_up().and_then(|()| making.walk());
    making.builder.finish()
}

struct Making<'a> {
    recipe: &'a Recipe,
    builder: Builder,
    stream: Stream,
    lasting: Vec<(String, u64)>,
    passing: Vec<Option<u64>>,
    present: u32,
    created: u32,
    reads: Vec<u32>,
    writes: Vec<u32>,
    session: Share,
    reading: Share,
    writing: Share,
}

/// Counts things off, to spread others evenly over them.
#[derive(Debug, Clone, Copy)]
struct Share {
    done: u64,
    all: u64,
}

impl Share {
    fn new(all: u32) -> Self {
        Self { done: 0, all: u64::from(all.max(1)) }
    }

    /// Of `amount`, the part that falls to the next one to be counted off.
    fn of(self, amount: u64) -> u64 {
        (self.done + 1) * amount / self.all - self.done * amount / self.all
    }

    fn has(self, amount: u32) -> bool {
        self.of(amount.into()) > 0
    }
}

impl<'a> Making<'a> {
    fn new(recipe: &'a Recipe, seed: u64) -> Self {
        let mut stream = Stream::new(seed, recipe.name, 0);
        let mut bag = |sizes: &[(u32, u32)]| {
            let all = sizes.iter().flat_map(|(size, count)| (0..*count).map(move |_| *size));
            let mut all: Vec<u32> = all.collect();
            stream.shuffle(&mut all);
            all
        };
        let (reads, writes) = (bag(recipe.reads), bag(recipe.writes));
        let sessions = &recipe.sessions;
        Self {
            recipe,
            builder: Builder::new(recipe.name, recipe.resolves_names),
            stream,
            lasting: Vec::new(),
            passing: vec![None; recipe.passing as usize],
            present: 0,
            created: 0,
            reads,
            writes,
            session: Share::new(sessions.idle + sessions.read + sessions.write + sessions.both),
            reading: Share::new(sessions.read + sessions.both),
            writing: Share::new(sessions.write + sessions.both),
        }
    }

    fn push(&mut self, call: Call) -> Result<(), String> {
        self.builder.push(call, Expect::Success)
    }

    fn open(&mut self, path: &str, opening: Opening) -> Result<(), String> {
        let path = self.builder.path(path)?;
        self.builder.open(path, NUMBER, opening, Expect::Success)
    }

    fn close(&mut self) -> Result<(), String> {
        let handle = self.builder.release(NUMBER)?;
        self.push(Call::Close(handle))
    }

    fn write(&mut self, offset: u64, size: u32) -> Result<(), String> {
        self.builder.transfer(true, NUMBER, (offset, size, size), Expect::Success)
    }

    fn set_up(&mut self) -> Result<(), String> {
        let root = self.builder.path(ROOT)?;
        let all = self.builder.path("/clients")?;
        self.push(Call::Deltree(root))?;
        self.push(Call::MakeDirectory(all))?;
        self.open(ROOT, FOLDER)?;
        self.close()?;
        for folder in self.recipe.folders {
            self.open(&format!("{ROOT}/{folder}"), FOLDER)?;
            self.close()?;
        }
        let sizes = self.recipe.lasting.iter();
        let sizes: Vec<u64> =
            sizes.flat_map(|(count, size)| (0..*count).map(move |_| *size)).collect();
        let chunk = self.recipe.lasting_write;
        for (index, size) in sizes.into_iter().enumerate() {
            let folder = self.recipe.folders[index % self.recipe.folders.len()];
            let path = format!("{ROOT}/{folder}/BASE{index:04}.DAT");
            self.open(&path, NEW)?;
            for part in 0..size / u64::from(chunk) {
                self.write(part * u64::from(chunk), chunk)?;
                if let Some(used) = self.writes.iter().position(|write| *write == chunk) {
                    self.writes.swap_remove(used);
                }
            }
            self.close()?;
            self.lasting.push((path, size));
        }
        // What was taken out left a pattern.
        self.stream.shuffle(&mut self.writes);
        Ok(())
    }

    /// Everything else, in random order; what is not possible yet waits.
    fn walk(&mut self) -> Result<(), String> {
        let mut items = self.items();
        self.stream.shuffle(&mut items);
        let mut waiting: Vec<Item> = Vec::new();
        for item in items {
            if self.possible(item) {
                self.item(item)?;
            } else {
                waiting.push(item);
            }
            if let Some(index) = waiting.iter().position(|item| self.possible(*item)) {
                let item = waiting.swap_remove(index);
                self.item(item)?;
            }
        }
        for item in waiting {
            if self.present == 0 {
                self.create_empty()?;
            }
            self.item(item)?;
        }
        let root = self.builder.path(ROOT)?;
        self.push(Call::Deltree(root))
    }

    fn items(&self) -> Vec<Item> {
        let (recipe, sessions) = (self.recipe, &self.recipe.sessions);
        [
            (Item::Session { reads: false, writes: false }, sessions.idle),
            (Item::Session { reads: true, writes: false }, sessions.read),
            (Item::Session { reads: false, writes: true }, sessions.write),
            (Item::Session { reads: true, writes: true }, sessions.both),
            (Item::OpenMissing, recipe.opens_missing),
            (Item::PathFound, recipe.paths_found),
            (Item::PathMissing, recipe.paths_missing),
            (Item::FileSystem, recipe.file_system_queries),
            (Item::Find, recipe.finds),
            (Item::FindMissing, recipe.finds_missing),
            (Item::Search, recipe.searches),
            (Item::Rename, recipe.renames),
            (Item::Unlink, recipe.unlinks),
        ]
        .into_iter()
        .flat_map(|(item, count)| (0..count).map(move |_| item))
        .collect()
    }

    fn possible(&self, item: Item) -> bool {
        match item {
            // So that there is something to look at, half of the names are kept.
            Item::Unlink => self.present > self.recipe.passing / 2,
            Item::Rename => (1..self.recipe.passing).contains(&self.present),
            _ => true,
        }
    }

    fn item(&mut self, item: Item) -> Result<(), String> {
        match item {
            Item::Session { reads, writes } => return self.session(reads, writes),
            Item::OpenMissing => {
                let path = self.missing("NONE")?;
                self.builder.open(path, NUMBER, EXISTING, Expect::Failure)?;
            }
            Item::PathFound => {
                let path = self.file_of(0).0;
                let path = self.builder.path(&path)?;
                self.push(Call::QueryPath(path))?;
            }
            Item::PathMissing => {
                let path = self.missing("NONE")?;
                self.builder.push(Call::QueryPath(path), Expect::Failure)?;
            }
            Item::FileSystem => self.push(Call::QueryFileSystem)?,
            Item::Find => {
                let path = self.missing("*")?;
                // So many names are found on average in the load this is made after.
                let call = Call::Find { path, maximum: NAMES_MAX, count: 11 };
                self.push(call)?;
            }
            Item::FindMissing => {
                let path = self.missing("NONE*")?;
                let call = Call::Find { path, maximum: NAMES_MAX, count: 0 };
                self.builder.push(call, Expect::Failure)?;
            }
            Item::Search => self.search()?,
            Item::Rename => self.rename()?,
            Item::Unlink => {
                if let Some(index) = self.pick(true) {
                    self.passing[index] = None;
                    self.present -= 1;
                    let path = self.builder.path(&self.name(index))?;
                    self.push(Call::Unlink(path))?;
                }
            }
        }
        Ok(())
    }

    fn search(&mut self) -> Result<(), String> {
        let folder = self.folder();
        let path = self.builder.path(&folder)?;
        self.builder.find_open(path, NUMBER)?;
        let handle = self.builder.release(NUMBER)?;
        self.push(Call::FindNext(handle))?;
        self.push(Call::FindNext(handle))?;
        self.push(Call::FindClose(handle))
    }

    fn rename(&mut self) -> Result<(), String> {
        let (Some(from), Some(to)) = (self.pick(true), self.pick(false)) else { return Ok(()) };
        self.passing[to] = self.passing[from].take();
        let from = self.builder.path(&self.name(from))?;
        let to = self.builder.path(&self.name(to))?;
        self.push(Call::Rename { from, to })
    }

    fn create_empty(&mut self) -> Result<(), String> {
        if let Some(index) = self.pick(false) {
            self.open(&self.name(index), NEW)?;
            self.close()?;
            self.came(index, 0);
        }
        Ok(())
    }

    fn came(&mut self, index: usize, size: u64) {
        self.passing[index] = Some(size);
        self.present += 1;
        self.created += 1;
    }

    fn session(&mut self, reading: bool, writing: bool) -> Result<(), String> {
        let share = self.session;
        self.session.done += 1;
        let reads = if reading { self.take_reads() } else { Vec::new() };
        let writes = if writing { self.take_writes() } else { Vec::new() };
        let written: u64 = writes.iter().map(|size| u64::from(*size)).sum();
        let needed = reads.iter().chain(&writes).copied().max().map_or(0, u64::from);
        let behind = u64::from(self.created) * share.all
            <= (u64::from(self.recipe.unlinks) + 1) * share.done;
        let new = match (reading, writing) {
            (false, true) => self.pick(false),
            (true, true) if needed <= written => self.pick(false),
            (false, false) if behind => self.pick(false),
            _ => None,
        };
        match new {
            Some(index) => {
                self.open(&self.name(index), NEW)?;
                self.ask_first(share)?;
                self.write_new(&writes, written)?;
                self.read(&reads, written)?;
                self.ask_last(share, writing)?;
                self.close()?;
                self.came(index, written);
            }
            None => {
                let (path, size) = self.file_of(needed);
                self.open(&path, EXISTING)?;
                self.ask_first(share)?;
                self.read(&reads, size)?;
                for write in writes {
                    let offset = self.offset(size, write);
                    self.write(offset, write)?;
                }
                self.ask_last(share, writing)?;
                self.close()?;
            }
        }
        Ok(())
    }

    fn take_reads(&mut self) -> Vec<u32> {
        let all = self.recipe.reads.iter().map(|(_, count)| u64::from(*count)).sum();
        let count = self.reading.of(all) as usize;
        self.reading.done += 1;
        self.reads.split_off(self.reads.len().saturating_sub(count))
    }

    fn take_writes(&mut self) -> Vec<u32> {
        let lasting = self.recipe.lasting.iter().map(|(count, size)| u64::from(*count) * size);
        let used = lasting.sum::<u64>() / u64::from(self.recipe.lasting_write);
        let all: u64 = self.recipe.writes.iter().map(|(_, count)| u64::from(*count)).sum();
        let count = self.writing.of(all - used) as usize;
        self.writing.done += 1;
        self.writes.split_off(self.writes.len().saturating_sub(count))
    }

    fn ask_first(&mut self, share: Share) -> Result<(), String> {
        let handle = self.builder.handle(NUMBER)?;
        if share.has(self.recipe.file_queries) {
            self.push(Call::QueryFile(handle))?;
        }
        if share.has(self.recipe.locks) {
            self.push(Call::Lock { handle, offset: LOCK_OFFSET, size: 1, lock: true })?;
        }
        Ok(())
    }

    fn ask_last(&mut self, share: Share, written: bool) -> Result<(), String> {
        let handle = self.builder.handle(NUMBER)?;
        if share.has(self.recipe.locks) {
            self.push(Call::Lock { handle, offset: LOCK_OFFSET, size: 1, lock: false })?;
        }
        let before = Share { done: self.writing.done.saturating_sub(1), ..self.writing };
        if written && before.has(self.recipe.flushes) {
            self.push(Call::Flush(handle))?;
        }
        if share.has(self.recipe.times_set) {
            self.push(Call::SetTimes(handle))?;
        }
        if share.has(self.recipe.modes_set) {
            self.push(Call::SetMode(handle))?;
        }
        Ok(())
    }

    /// Writes a new file from its begin; single bytes go to its end first, as programs do that ask
    /// for room.
    fn write_new(&mut self, writes: &[u32], total: u64) -> Result<(), String> {
        let (single, rest): (Vec<u32>, Vec<u32>) = writes.iter().partition(|size| **size == 1);
        for size in single {
            self.write(total - 1, size)?;
        }
        let mut offset = 0;
        for size in rest {
            self.write(offset, size)?;
            offset += u64::from(size);
        }
        Ok(())
    }

    /// Reads half of the time onwards from where it was, else from anywhere.
    fn read(&mut self, sizes: &[u32], file: u64) -> Result<(), String> {
        let mut next = 0;
        for size in sizes {
            let onwards = next + u64::from(*size) <= file && self.stream.below(2) == 0;
            let offset = if onwards { next } else { self.offset(file, *size) };
            self.builder.transfer(false, NUMBER, (offset, *size, *size), Expect::Success)?;
            next = offset + u64::from(*size);
        }
        Ok(())
    }

    /// A multiple of 512 from which `size` bytes fit into the file.
    fn offset(&mut self, file: u64, size: u32) -> u64 {
        self.stream.below(file.saturating_sub(size.into()) / 512 + 1) * 512
    }

    fn name(&self, index: usize) -> String {
        let folder = self.recipe.folders[index % self.recipe.folders.len()];
        format!("{ROOT}/{folder}/PASS{index:04}.TMP")
    }

    fn folder(&mut self) -> String {
        let folders = self.recipe.folders;
        let pick = self.stream.below(folders.len() as u64) as usize;
        format!("{ROOT}/{}", folders[pick])
    }

    fn missing(&mut self, name: &str) -> Result<super::PathId, String> {
        let folder = self.folder();
        self.builder.path(&format!("{folder}/{name}"))
    }

    /// A passing name at random, of a file that is there or of one that is not.
    fn pick(&mut self, present: bool) -> Option<usize> {
        let count = self.passing.len();
        let first = self.stream.below(count as u64) as usize;
        let all = (0..count).map(|step| (first + step) % count);
        all.into_iter().find(|index| self.passing[*index].is_some() == present)
    }

    /// A file of at least that size: one time in three a passing one, where there is one.
    fn file_of(&mut self, needed: u64) -> (String, u64) {
        if self.stream.below(3) == 0
            && let Some(index) = self.pick(true)
            && let Some(size) = self.passing[index].filter(|size| *size >= needed)
        {
            return (self.name(index), size);
        }
        // Every lasting file holds the largest read and write.
        let pick = self.stream.below(self.lasting.len() as u64) as usize;
        self.lasting[pick].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::KINDS;
    use super::super::recipes::ALL;
    use super::*;
    use std::collections::BTreeMap;

    fn counts(load: &Load) -> BTreeMap<&'static str, u32> {
        let mut counts = BTreeMap::new();
        for operation in &load.operations {
            *counts.entry(KINDS[operation.call.kind()]).or_default() += 1;
        }
        counts
    }

    #[test]
    fn netbench_2002_is_the_articles() {
        for seed in [1, 2, 99] {
            let load = generate(&ALL[1], seed);
            let counts = counts(&load);
            assert_eq!(load.operations.len(), 90_000, "{counts:?}");
            assert_eq!(load.bytes(), 132_000_000);
            let live = load.live_bytes_max as f64;
            assert!((live / 21e6 - 1.0).abs() < 0.03, "seed {seed}: {live}");
            for kind in [
                "open",
                "create",
                "close",
                "read",
                "write",
                "lock",
                "unlock",
                "query_path",
                "set_mode",
                "query_file",
                "set_times",
                "query_file_system",
                "find_open",
                "find_next",
                "find_close",
                "rename",
                "unlink",
                "flush",
            ] {
                assert!(counts.get(kind).is_some_and(|count| *count >= 400), "{kind}: {counts:?}");
            }
            assert!(load.operations.iter().all(|done| done.expect == Expect::Success));
            assert!(!load.resolves_names);
        }
    }

    #[test]
    fn netbench_has_the_proportions_of_the_load_it_is_made_after() {
        // A tenth of the counts of the load that dbench 4 ships.
        let wanted = [
            ("read", 12_420.0),
            ("write", 3950.0),
            ("close", 5820.0),
            ("query_path", 7181.0),
            ("find", 2776.0),
            ("unlink", 1600.0),
            ("query_file", 1258.0),
            ("set_times", 645.0),
            ("flush", 555.0),
            ("rename", 335.0),
            ("query_file_system", 1317.0),
            ("lock", 26.0),
            ("unlock", 26.0),
        ];
        for seed in [1, 2, 99] {
            let load = generate(&ALL[0], seed);
            let counts = counts(&load);
            for (kind, wanted) in wanted {
                let found = f64::from(counts[kind]);
                assert!((found / wanted - 1.0).abs() < 0.01, "{kind}: {found}, not {wanted}");
            }
            let opens = f64::from(counts["open"] + counts["create"]);
            assert!((opens / 7923.0 - 1.0).abs() < 0.01, "{opens}");
            let (read, written) = (load.read_bytes as f64, load.written_bytes as f64);
            assert!((read / 147_208_877.0 - 1.0).abs() < 0.01, "{read}");
            assert!((written / 101_597_417.0 - 1.0).abs() < 0.01, "{written}");
            let live = load.live_bytes_max as f64;
            assert!((live / 24e6 - 1.0).abs() < 0.05, "{live}");
            let failures = load.operations.iter().filter(|done| done.expect == Expect::Failure);
            assert_eq!(failures.count(), 2103 + 2438 + 1433);
        }
    }

    #[test]
    fn a_seed_is_a_load_and_another_seed_another() {
        let [first, again, other] = [5, 5, 6].map(|seed| generate(&ALL[0], seed));
        assert_eq!(first, again);
        assert_ne!(first.operations, other.operations);
    }
}
