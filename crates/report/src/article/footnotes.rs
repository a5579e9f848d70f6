//! What a reader must know of single printed figures, numbered as they come up.

use coretwin_stats::article2003::printed::Remark;

/// Marks of footnotes; more kinds of remark than these there are not.
const MARKS: [&str; 4] = ["¹", "²", "³", "⁴"];

/// The footnotes of one table.
#[derive(Default)]
pub(super) struct Footnotes(Vec<String>);

impl Footnotes {
    /// The figure's text with the mark of its footnote.
    pub(super) fn marked(&mut self, text: String, remark: Option<&Remark>) -> String {
        let Some(remark) = remark else { return text };
        let sentence = sentence(remark);
        let place = self.0.iter().position(|known| *known == sentence).unwrap_or_else(|| {
            self.0.push(sentence);
            self.0.len() - 1
        });
        format!("{text} {}", MARKS.get(place).unwrap_or(&"*"))
    }

    /// All of them, each after its mark.
    pub(super) fn text(&self) -> String {
        let marked = self.0.iter().zip(MARKS.iter().chain(std::iter::repeat(&"*")));
        let notes: Vec<String> = marked.map(|(text, mark)| format!("{mark} {text}")).collect();
        notes.join(" ")
    }
}

/// What a remark means.
pub(super) fn sentence(remark: &Remark) -> String {
    match remark {
        Remark::SingleCall => {
            "One call each, of 11 to 43 s in a test of 10 s: no spread is known, and nothing follows \
             about SMT."
                .to_owned()
        }
        Remark::PagePlacement => {
            "Where the kernel happened to put the pages: the table is as large as that processor's \
             last cache. Not an effect of SMT."
                .to_owned()
        }
        Remark::NarrowLong => {
            "There long had 32 bits; on a 64-bit machine of today it has 64.".to_owned()
        }
        Remark::Misprint { printed, meant } => {
            let whole = |text: &str| {
                text.parse::<u64>().map_or_else(|_| text.to_owned(), crate::number::whole)
            };
            format!(
                "Misprint: Table 7 prints {} for ht; its own percentage and geometric mean need {}.",
                whole(printed),
                whole(meant)
            )
        }
    }
}
