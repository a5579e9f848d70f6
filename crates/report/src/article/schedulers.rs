//! The article's tables of a measured study under each of its schedulers by itself: without siblings and with them, as
//! the article has its older kernel in Tables 4 to 6 and its newer one in Table 7.

use super::columns::{self, Footnotes};
use crate::document::Block;
use crate::{Study, words};
use coretwin_article::prediction::{Pair, by_scheduler};
use coretwin_article::tables::filled;
use coretwin_base::origin::Origin;

/// Nothing where the study has but one scheduler.
pub(super) fn blocks(study: &Study<'_>, notes: &mut Footnotes) -> Vec<Block> {
    let pairs = by_scheduler(study.plan, study.readings, study.summary.stopped_because);
    if pairs.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Text(opening(study, &pairs))];
    for pair in &pairs {
        let own = Study {
            plan: &pair.plan,
            readings: &pair.readings,
            environment: study.environment,
            summary: &pair.summary,
            licence: None,
        };
        for table in filled(own.plan) {
            let table = table.of_kernel(pair.kernel(), pair.scheduler());
            blocks.push(Block::Table(columns::table(&own, &table, notes)));
        }
    }
    blocks
}

fn opening(study: &Study<'_>, pairs: &[Pair]) -> String {
    let names: Vec<String> = pairs.iter().map(|pair| words::clean(pair.scheduler())).collect();
    let emulated = match study.summary.origin {
        Origin::Emulated => {
            " EMULATED: siblings of a guest share nothing, so its speed-ups are those of more CPUs, \
             and say nothing of SMT."
        }
        _ => "",
    };
    format!(
        "Under each scheduler by itself ({}), as the article has its kernels: Tables 4 to 6 of 2.4.19, Table 7 of \
         2.5.32. A scheduler of the time on a kernel of today is not the kernel of the time: system calls, network and \
         file systems are today's.{emulated}",
        names.join(", ")
    )
}
