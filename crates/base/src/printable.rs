//! Text from outside, made safe for a terminal: names of files and processes, records of others,
//! output of commands and of remote hosts.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character can steer a terminal or reorder the text around it: controls (C0 with line
/// ends and tabs, DEL, C1) and those that set the direction of writing.
pub fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}')
        || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The text with a space for every steering character, line ends and tabs too: for tables and
/// sentences, which such a character would break.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if is_steering(c) { ' ' } else { c }).collect()
}

/// The text as it may be printed: line ends and tabs stay, every other steering character is shown
/// as `\u001b`. JSON is the same data afterwards, for it writes a character so too.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_shown = |c: char| is_steering(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_shown(c) {
            // All of them are below U+10000.
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_shown_and_the_rest_stays() {
        assert_eq!(printable("a\tb\nç …"), "a\tb\nç …");
        assert_eq!(printable("\u{1b}[2J\r\u{7f}\u{9b}x"), "\\u001b[2J\\u000d\\u007f\\u009bx");
        assert_eq!(printable("a\u{202e}b\u{2066}\u{61c}"), "a\\u202eb\\u2066\\u061c");
        assert_eq!(printable("\0"), "\\u0000");
    }

    #[test]
    fn a_cleaned_text_is_one_line() {
        assert_eq!(clean("a\x1b[2Jb\nc\u{202E}d"), "a [2Jb c d");
    }

    #[test]
    fn json_stays_the_same_data() {
        let text = "\u{1b}]0;x\u{7} \u{7f}\u{9b}\u{202e}\"\\";
        let json = serde_json::to_string(text).expect("json");
        let back: String = serde_json::from_str(&printable(&json)).expect("still JSON");
        assert_eq!(back, text);
        assert!(!printable(&json).contains(is_steering));
    }
}
