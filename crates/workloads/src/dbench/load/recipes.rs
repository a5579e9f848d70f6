//! The two loads of our own, as counts of calls and bytes.
//!
//! `netbench-2002` is the article's: the 18 call types it names, 90,000 calls, 21 MB of files and
//! 132 MB moved for each client. It says nothing of how often each type comes; those counts are
//! ours, with more than two thirds of the calls moving data or naming files, as in every load of
//! its kind.
//!
//! `netbench` is a tenth of the load that dbench 4 ships, in counts, sizes and kinds of sessions.

pub(super) struct Recipe {
    pub(super) name: &'static str,
    /// Whether names are looked up without case before they are used.
    pub(super) resolves_names: bool,
    pub(super) folders: &'static [&'static str],
    /// Files that are written first and stay: how many of which size in bytes.
    pub(super) lasting: &'static [(u32, u64)],
    /// Size of the writes that make them, in bytes; each size above is a multiple of it.
    pub(super) lasting_write: u32,
    /// Names for files that come and go.
    pub(super) passing: u32,
    pub(super) sessions: Sessions,
    /// Sizes of reads in bytes, and how many of each.
    pub(super) reads: &'static [(u32, u32)],
    /// Sizes of writes in bytes, and how many of each.
    pub(super) writes: &'static [(u32, u32)],
    pub(super) opens_missing: u32,
    pub(super) paths_found: u32,
    pub(super) paths_missing: u32,
    pub(super) file_queries: u32,
    pub(super) file_system_queries: u32,
    pub(super) times_set: u32,
    pub(super) modes_set: u32,
    pub(super) finds: u32,
    pub(super) finds_missing: u32,
    /// Searches of one open, two reads and a close.
    pub(super) searches: u32,
    pub(super) flushes: u32,
    pub(super) renames: u32,
    pub(super) locks: u32,
    pub(super) unlinks: u32,
}

pub(super) struct Sessions {
    pub(super) idle: u32,
    pub(super) read: u32,
    pub(super) write: u32,
    pub(super) both: u32,
}

pub(super) const ALL: &[Recipe] = &[
    Recipe {
        name: "netbench",
        resolves_names: true,
        folders: &[
            "ACCOUNTS", "DRAFTS", "FIGURES", "LETTERS", "MINUTES", "NOTES", "ORDERS", "PLANS",
            "REPORTS", "TABLES",
        ],
        // 21.0 MB of the 24 MB that are live at most.
        lasting: &[(5, 1 << 20), (4, 1_835_008), (64, 131_072)],
        lasting_write: 65_536,
        passing: 90,
        sessions: Sessions { idle: 2137, read: 2137, write: 751, both: 751 },
        reads: &[(61_440, 1664), (16_384, 262), (8192, 525), (4096, 8485), (1024, 1484)],
        writes: &[
            (65_536, 1266),
            (49_152, 134),
            (20_480, 160),
            (16_384, 166),
            (8192, 165),
            (4096, 994),
            (1024, 323),
            (1, 742),
        ],
        opens_missing: 2103,
        paths_found: 4743,
        paths_missing: 2438,
        file_queries: 1258,
        file_system_queries: 1317,
        times_set: 645,
        modes_set: 0,
        finds: 1343,
        finds_missing: 1433,
        searches: 0,
        flushes: 555,
        renames: 335,
        locks: 26,
        unlinks: 1600,
    },
    Recipe {
        name: "netbench-2002",
        resolves_names: false,
        folders: &["CLIPART", "DATABASE", "SHEETS", "SLIDES", "WORDS"],
        lasting: &[(4, 1_572_864), (12, 786_432), (64, 65_536)],
        lasting_write: 32_768,
        passing: 120,
        sessions: Sessions { idle: 2000, read: 4800, write: 1600, both: 1515 },
        // 30,000 reads, 78,000,000 bytes.
        reads: &[
            (32_768, 1200),
            (4096, 8000),
            (512, 10_000),
            (256, 2000),
            (32, 8696),
            (25, 1),
            (1, 103),
        ],
        // 15,000 writes, 54,000,000 bytes.
        writes: &[(32_768, 800), (4096, 5200), (1024, 5600), (512, 1464), (497, 1), (1, 1935)],
        opens_missing: 0,
        paths_found: 8495,
        paths_missing: 0,
        file_queries: 3000,
        file_system_queries: 1000,
        times_set: 1000,
        modes_set: 1000,
        finds: 0,
        finds_missing: 0,
        searches: 1500,
        flushes: 1100,
        renames: 400,
        locks: 500,
        unlinks: 2000,
    },
];
