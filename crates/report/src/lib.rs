//! Records in, text, Markdown, CSV, JSON and one self-contained HTML file out
