//! Several comparisons with one baseline as one report: what got worse anywhere comes first.

use crate::document::{Block, Document, Section};
use crate::plot::Plot;
use crate::words;

const METHOD: &str = "method";

/// Section by section, comparison by comparison. The arms of each are its two heads, the baseline first.
pub(crate) fn together(documents: Vec<Document>) -> Document {
    let several = documents.len() > 1;
    let mut documents = documents.into_iter();
    let Some(mut whole) = documents.next() else {
        return Document { kind: "Coretwin comparison", ..Document::default() };
    };
    if !several {
        return whole;
    }
    named(&mut whole);
    for mut next in documents {
        named(&mut next);
        let place = whole.arms.len();
        whole.arms.extend(next.arms.drain(1..));
        // What is done to each is told once.
        for section in next.sections.into_iter().filter(|section| section.id != METHOD) {
            add(&mut whole.sections, section, place);
        }
        whole.sentences.extend(next.sentences);
        whole.headlines.extend(next.headlines);
        whole.facts = format!("{} | {}", whole.facts, next.facts);
        if let Some(notice) = next.notice.filter(|notice| whole.notice.as_ref() != Some(notice)) {
            whole.notice = Some(match whole.notice.take() {
                Some(known) => format!("{known} {notice}"),
                None => notice,
            });
        }
    }
    let others = whole.arms[1..].join(", ");
    whole.title = words::shorten(&format!("{others} against {}", whole.arms[0]), 90);
    whole
}

/// Puts the names of the two before what every section says of them.
fn named(document: &mut Document) {
    let [first, second] = document.arms.as_slice() else { return };
    let name = format!("{second} against {first}:");
    for section in document.sections.iter_mut().filter(|section| section.id != METHOD) {
        section.blocks.insert(0, Block::Text(name.clone()));
    }
}

/// Adds a section behind that of the same name; its second arm is now the one at `place`.
fn add(sections: &mut Vec<Section>, mut section: Section, place: usize) {
    for block in &mut section.blocks {
        let Block::Figures(figures) = block else { continue };
        for figure in figures {
            if let Plot::Forest(forest) = &mut figure.plot {
                let lines = forest.groups.iter_mut().flat_map(|group| &mut group.lines);
                lines.filter(|line| line.arm != 0).for_each(|line| line.arm = place);
            }
        }
    }
    match sections.iter_mut().find(|known| known.id == section.id) {
        Some(known) => known.blocks.append(&mut section.blocks),
        None => {
            let end = sections.iter().position(|known| known.id == METHOD);
            sections.insert(end.unwrap_or(sections.len()), section);
        }
    }
}
