//! Which CPUs are active in which round of group testing.
//!
//! Every CPU has a code word. For each letter there are two rounds: one with the CPUs whose letter
//! is 1, one with the others. So each CPU is active once per letter, and shares the round with
//! another exactly if their letters are equal. Any two words differ in [`APART`] letters at least:
//! so often every CPU is measured without any given other. Random words of about log₂ n + 12
//! letters have that property after few redraws (Gilbert, *A comparison of signalling alphabets*,
//! Bell System Technical Journal 31, 1952), and beyond it they make the rounds of two strangers
//! as different as chance does.

use coretwin_base::random::Stream;

/// Letters in which any two words differ at least. Three, so that one outlier does not matter.
const APART: u32 = 3;
/// Letters beyond log₂ of the number of words.
const MORE_LETTERS: u32 = 12;
/// Words drawn anew before a letter is added.
const REDRAWS: u32 = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Codes {
    /// Letters of each word, at most 64.
    pub(super) letters: u32,
    pub(super) words: Vec<u64>,
}

impl Codes {
    pub(super) fn draw(count: usize, random: &mut Stream) -> Self {
        let mut letters = letters(count);
        let mut words: Vec<u64> = Vec::with_capacity(count);
        while words.len() < count {
            let drawn = (0..REDRAWS)
                .map(|_| random.next_u64() & mask(letters))
                .find(|word| words.iter().all(|other| (word ^ other).count_ones() >= APART));
            match drawn {
                Some(word) => words.push(word),
                None if letters < u64::BITS => letters += 1,
                None => words.push(random.next_u64()),
            }
        }
        Self { letters, words }
    }

    pub(super) fn letter(&self, word: usize, letter: u32) -> bool {
        self.words[word] >> letter & 1 == 1
    }
}

/// Letters of the words of so many CPUs. Two have nobody else to be told apart from: for them
/// rounds alone and together are what counts.
pub(super) fn letters(count: usize) -> u32 {
    let more = if count <= 2 { 5 } else { MORE_LETTERS };
    count.max(2).next_power_of_two().ilog2() + more
}

fn mask(letters: u32) -> u64 {
    if letters >= u64::BITS { u64::MAX } else { (1 << letters) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_apart_and_grow_with_the_logarithm() {
        let mut lengths = Vec::new();
        for count in [1, 2, 3, 16, 64, 256, 1024] {
            let codes = Codes::draw(count, &mut Stream::new(1, "codes", count as u64));
            assert_eq!(codes.words.len(), count);
            for (index, a) in codes.words.iter().enumerate() {
                assert!(codes.words[..index].iter().all(|b| (a ^ b).count_ones() >= APART));
            }
            lengths.push(codes.letters);
        }
        assert_eq!(lengths, [6, 6, 14, 16, 18, 20, 22]);
    }
}
