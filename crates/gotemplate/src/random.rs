//! Seeded random strings: the same seed gives the same strings, and nobody can predict them without it.

use sha2::{Digest, Sha256};

/// Random generator: SHA-256 of the seed and a counter.
#[derive(Debug)]
pub(crate) struct SeededRandom {
    seed: Vec<u8>,
    /// Number of blocks generated so far.
    count: u64,
    block: Vec<u8>,
    /// Strings that may be secret, in the order of their generation.
    pub(crate) strings: Vec<String>,
}

pub(crate) const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
pub(crate) const LETTERS_AND_DIGITS: &[u8] =
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
pub(crate) const DIGITS: &[u8] = b"0123456789";
pub(crate) const HEXADECIMAL: &[u8] = b"0123456789abcdef";

impl SeededRandom {
    pub(crate) fn new(seed: &[u8]) -> Self {
        Self { seed: seed.to_vec(), count: 0, block: Vec::new(), strings: Vec::new() }
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

    /// String of uniformly distributed characters of an alphabet.
    pub(crate) fn string(&mut self, alphabet: &[u8], length: usize) -> String {
        let size = alphabet.len().clamp(1, 256);
        // Bytes beyond the last multiple of the size would favour the first characters.
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

    /// Like [`Self::string`], recorded in [`Self::strings`].
    pub(crate) fn secret(&mut self, alphabet: &[u8], length: usize) -> String {
        let text = self.string(alphabet, length);
        if !text.is_empty() {
            self.strings.push(text.clone());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_determines_the_strings() {
        let draw = |seed: &[u8]| {
            let mut random = SeededRandom::new(seed);
            [random.secret(LETTERS_AND_DIGITS, 16), random.secret(LETTERS_AND_DIGITS, 16)]
        };
        assert_eq!(draw(b"one"), draw(b"one"));
        assert_ne!(draw(b"one"), draw(b"two"));
        let [first, second] = draw(b"one");
        assert_ne!(first, second);
    }

    #[test]
    fn characters_are_uniformly_distributed() {
        let text = SeededRandom::new(b"seed").string(DIGITS, 10_000);
        for digit in '0'..='9' {
            let count = text.chars().filter(|c| *c == digit).count();
            assert!((850..1150).contains(&count), "{digit} occurs {count} times");
        }
    }
}
