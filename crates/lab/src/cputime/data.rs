//! What the default work compresses: text of made-up words, from a seed.

use coretwin_base::random::Stream;

/// Words of the vocabulary.
const WORDS: u64 = 4096;
/// Letters, about as often as in English.
const LETTERS: &[u8] = b"eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrr\
ddddllllcccuuummmwwffggyyppbbvkjxqz";

/// Text of that many bytes, the same for the same seed: words of 2 to 9 letters, frequent ones more
/// often, eleven a line. It compresses to between a third and a half, as text does.
pub fn text(seed: u64, bytes: usize) -> Vec<u8> {
    let mut stream = Stream::new(seed, "cputime-text", 0);
    let mut word = || -> Vec<u8> {
        let letters = 2 + stream.below(8);
        (0..letters).map(|_| LETTERS[stream.below(LETTERS.len() as u64) as usize]).collect()
    };
    let words: Vec<Vec<u8>> = (0..WORDS).map(|_| word()).collect();
    let mut text = Vec::with_capacity(bytes + 16);
    let mut stream = Stream::new(seed, "cputime-text", 1);
    let mut column = 0;
    while text.len() < bytes {
        // The smaller of two draws: the first words come most often.
        let drawn = stream.next_u64();
        let index = ((drawn >> 32) % WORDS).min((drawn & 0xffff_ffff) % WORDS);
        text.extend_from_slice(&words[index as usize]);
        column += 1;
        text.push(if column % 11 == 0 { b'\n' } else { b' ' });
    }
    text.truncate(bytes);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_and_a_prefix_is_a_prefix() {
        let long = text(7, 100_000);
        assert_eq!(long.len(), 100_000);
        assert_eq!(text(7, 10_000), long[..10_000]);
        assert_ne!(text(8, 10_000), long[..10_000]);
    }
}
