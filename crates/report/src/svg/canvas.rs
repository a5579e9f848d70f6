//! Writes SVG elements. Colours, strokes and font sizes are classes of the page's style sheet, so
//! that a figure follows the colour scheme, the width of the screen and the printer.
//!
//! Output is byte-stable: every coordinate is written with at most one decimal.

use std::fmt::Write;

#[derive(Debug)]
pub(crate) struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

/// Which end of a text lies at its position.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// Writing to a string cannot fail.
    fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        let _ = self.body.write_fmt(arguments);
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(place);
        self.put(format_args!(r#"<path class="{class}" d="M{x1} {y1}L{x2} {y2}"/>"#));
    }

    pub(crate) fn rectangle(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let (x, y) = (place(from.0.min(to.0)), place(from.1.min(to.1)));
        let (width, height) = (place((to.0 - from.0).abs()), place((to.1 - from.1).abs()));
        self.put(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#
        ));
    }

    pub(crate) fn path(&mut self, data: &str, class: &str) {
        if !data.is_empty() {
            self.put(format_args!(r#"<path class="{class}" d="{data}"/>"#));
        }
    }

    pub(crate) fn text(&mut self, at: (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let (x, y) = (place(at.0), place(at.1));
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let text = escape(text);
        self.put(format_args!(r#"<text class="{class}" x="{x}" y="{y}"{anchor}>{text}</text>"#));
    }

    /// What is drawn inside shows the title under a resting pointer.
    pub(crate) fn titled(&mut self, title: &str, draw: impl FnOnce(&mut Self)) {
        self.put(format_args!("<g><title>{}</title>", escape(title)));
        draw(self);
        self.body.push_str("</g>");
    }

    /// The finished element, an ornament that a screen reader passes over.
    pub(crate) fn finish_hidden(self) -> String {
        let (width, height, body) = (place(self.width), place(self.height), self.body);
        format!(
            r#"<svg class="key" viewBox="0 0 {width} {height}" aria-hidden="true">{body}</svg>"#
        )
    }

    /// The finished element. The title and the description are what a screen reader says; `id`
    /// sets them apart from those of other figures of the page.
    pub(crate) fn finish(self, id: &str, class: &str, title: &str, description: &str) -> String {
        let (title, description) = (escape(title), escape(description));
        let (width, height, body) = (place(self.width), place(self.height), self.body);
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="{class}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{id}-title {id}-about"><title id="{id}-title">{title}</title><desc id="{id}-about">{description}</desc>{body}</svg>"#
        )
    }
}

/// A coordinate: one decimal, no trailing zero, never "NaN" or "-0".
pub(crate) fn place(coordinate: f64) -> String {
    if !coordinate.is_finite() {
        return "0".to_owned();
    }
    let tenths = (coordinate * 10.0).round().clamp(-1e9, 1e9) as i64;
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
    if rest == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_written_one_way() {
        for (coordinate, text) in
            [(1.0, "1"), (-0.04, "0"), (12.349, "12.3"), (-3.25, "-3.3"), (f64::NAN, "0")]
        {
            assert_eq!(place(coordinate), text);
        }
    }

    #[test]
    fn hostile_text_stays_text() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.text((1.0, 1.0), Anchor::Start, "tick", "</text><script>&\"");
        let svg = canvas.finish("f1", "wide", "a<b", "");
        assert!(svg.contains("&lt;/text&gt;&lt;script&gt;&amp;&quot;</text>"), "{svg}");
        assert!(!svg.contains("<script"), "{svg}");
    }
}
