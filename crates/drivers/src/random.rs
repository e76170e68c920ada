//! Random secrets.

use ring::rand::{SecureRandom, SystemRandom};

use orchestra_api::condition::Reason;

use crate::DriverError;

const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Length in characters: about 190 bits.
const LENGTH: usize = 32;

/// New secret of letters and digits, which needs no escape in a URL or a shell.
pub(crate) fn generate() -> Result<Vec<u8>, DriverError> {
    let random = SystemRandom::new();
    let mut text = Vec::with_capacity(LENGTH);
    let mut bytes = [0; LENGTH];
    while text.len() < LENGTH {
        random.fill(&mut bytes).map_err(|_| without_numbers())?;
        // Bytes beyond the last multiple of 62 would make some letters more likely.
        let fair = bytes.iter().filter(|byte| usize::from(**byte) < 256 / LETTERS.len() * LETTERS.len());
        text.extend(fair.map(|byte| LETTERS[usize::from(*byte) % LETTERS.len()]));
    }
    text.truncate(LENGTH);
    Ok(text)
}

fn without_numbers() -> DriverError {
    DriverError::transient(
        Reason::BindingPending,
        "This machine has no entropy for random numbers; retrying.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_unique_and_need_no_escaping() {
        let (one, other) = (generate().unwrap(), generate().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), LENGTH);
        assert!(one.iter().all(u8::is_ascii_alphanumeric));
    }
}
