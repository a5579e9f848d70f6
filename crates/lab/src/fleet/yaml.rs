//! A record as YAML: block style, strings in JSON's quotes unless they are plain words.

use serde_json::Value;
use std::fmt::Write;

pub(super) fn document(value: &Value) -> String {
    let mut text = String::from("---\n");
    block(&mut text, value, 0);
    text
}

fn block(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let _ = write!(text, "{:indent$}{}:", "", scalar(&Value::String(key.clone())));
                inside(text, value, indent + 2);
            }
        }
        Value::Array(items) => {
            for item in items {
                let mut inner = String::new();
                block(&mut inner, item, indent + 2);
                // The first line follows the dash.
                let inner = inner.strip_prefix(&" ".repeat(indent + 2)).unwrap_or(&inner);
                let _ = write!(text, "{:indent$}- {inner}", "");
            }
        }
        plain => {
            let _ = writeln!(text, "{:indent$}{}", "", scalar(plain));
        }
    }
}

fn inside(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('\n');
            block(text, value, indent);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            block(text, value, indent);
        }
        plain => {
            let _ = writeln!(text, " {}", scalar(plain));
        }
    }
}

/// A value on one line. What any reader could take for a number, a truth value or null is quoted.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(word) if is_plain(word) => word.clone(),
        other => other.to_string(),
    }
}

fn is_plain(word: &str) -> bool {
    let reserved = ["true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"];
    word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
        && !reserved.contains(&word.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_of_maps_nest_and_doubtful_words_are_quoted() {
        let value = json!({"a": [{"b": 1, "c": ["x", "on"]}, "1"], "d": {}, "e": "two words: \n", "n": null});
        expect_test::expect![[r#"
            ---
            a:
              - b: 1
                c:
                  - x
                  - "on"
              - "1"
            d: {}
            e: "two words: \n"
            "n": null
        "#]]
        .assert_eq(&document(&value));
    }
}
