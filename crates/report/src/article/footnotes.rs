//! What a reader must know of single printed figures, numbered as they come up.

use coretwin_article::printed::Remark;

/// Marks of footnotes; more kinds of remark than these there are not.
const MARKS: [&str; 4] = ["¹", "²", "³", "⁴"];

/// The footnotes of one table.
#[derive(Default)]
pub(super) struct Footnotes(Vec<String>);

impl Footnotes {
    /// The figure's text with the mark of its footnote.
    pub(super) fn marked(&mut self, text: String, remark: Option<&Remark>) -> String {
        let Some(remark) = remark else { return text };
        let sentence = remark.sentence();
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
