//! A word as any shell takes it.

/// Puts a word in single quotes, unless it needs none.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_gives_back_what_was_quoted() {
        for word in ["a b", "it's", "$HOME", "", "a\nb", "`x`", "plain/path-1", "\\"] {
            let echoed = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .expect("a shell");
            assert_eq!(String::from_utf8_lossy(&echoed.stdout), word);
        }
    }
}
