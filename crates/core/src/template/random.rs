//! Random texts that follow from a seed: the same seed gives the same texts, and no one can tell them without it.

use sha2::{Digest, Sha256};

/// Draws from a seed, and remembers what was drawn.
#[derive(Debug)]
pub(crate) struct Draws {
    seed: Vec<u8>,
    /// Blocks so far.
    count: u64,
    block: Vec<u8>,
    /// The texts that were drawn, in order.
    pub(crate) drawn: Vec<String>,
}

/// Letters of both sizes.
pub(crate) const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Letters and digits.
pub(crate) const LETTERS_AND_DIGITS: &[u8] =
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/// Digits.
pub(crate) const DIGITS: &[u8] = b"0123456789";
/// Digits of hexadecimal numbers.
pub(crate) const HEXADECIMAL: &[u8] = b"0123456789abcdef";

impl Draws {
    pub(crate) fn new(seed: &[u8]) -> Self {
        Self { seed: seed.to_vec(), count: 0, block: Vec::new(), drawn: Vec::new() }
    }

    fn byte(&mut self) -> u8 {
        loop {
            if let Some(byte) = self.block.pop() {
                return byte;
            }
            let mut sha = Sha256::new();
            sha.update((self.seed.len() as u64).to_be_bytes());
            sha.update(&self.seed);
            sha.update(self.count.to_be_bytes());
            self.count += 1;
            self.block = sha.finalize().to_vec();
        }
    }

    /// A text of letters from an alphabet, each as likely as any other.
    pub(crate) fn text(&mut self, alphabet: &[u8], length: usize) -> String {
        let size = alphabet.len().clamp(1, 256);
        // Bytes that would make some letters likelier than others are passed over.
        let fair = 256 - 256 % size;
        let mut text = String::with_capacity(length);
        while text.len() < length {
            let byte = usize::from(self.byte());
            if byte < fair {
                text.push(alphabet.get(byte % size).copied().map_or('0', char::from));
            }
        }
        text
    }

    /// As [`Draws::text`], and remembered as a text that may be secret.
    pub(crate) fn secret(&mut self, alphabet: &[u8], length: usize) -> String {
        let text = self.text(alphabet, length);
        if !text.is_empty() {
            self.drawn.push(text.clone());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_texts_and_another_seed_others() {
        let draw = |seed: &[u8]| {
            let mut draws = Draws::new(seed);
            [draws.secret(LETTERS_AND_DIGITS, 16), draws.secret(LETTERS_AND_DIGITS, 16)]
        };
        assert_eq!(draw(b"one"), draw(b"one"));
        assert_ne!(draw(b"one"), draw(b"two"));
        let [first, second] = draw(b"one");
        assert_ne!(first, second);
    }

    #[test]
    fn every_letter_of_the_alphabet_is_drawn_about_as_often() {
        let text = Draws::new(b"seed").text(DIGITS, 10_000);
        for digit in '0'..='9' {
            let count = text.chars().filter(|c| *c == digit).count();
            assert!((850..1150).contains(&count), "{digit} was drawn {count} times");
        }
    }
}
