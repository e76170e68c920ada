//! Keys that encrypt objects at rest: the first encrypts, all decrypt.
//!
//! ```text
//!  id of the key (8 bytes) | salt (32 bytes) | ciphertext and tag of AES-256-GCM
//! ```
//!
//! A record has a key of its own, derived (HKDF) from a key of the ring and 32 random bytes, its salt. That key encrypts
//! nothing else, so that its nonce is constant: two records share key and nonce only if 256 random bits repeat. Neither a
//! restored backup nor a repeated revision can reuse one. The name of the object and its revision are authenticated, so
//! that records cannot be swapped.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    error::Unspecified,
    hkdf::{HKDF_SHA256, Salt},
    hmac,
    rand::{SecureRandom, SystemRandom},
};

use super::Revision;

const KEY_BYTES: usize = 32;
const ID_BYTES: usize = 8;
const SALT_BYTES: usize = 32;

/// Separates the keys of records from other keys that are derived from the same one.
const PURPOSE: &[u8] = b"orchestra object at rest";

/// Name of a key, derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeyId([u8; ID_BYTES]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl KeyId {
    fn of(secret: &[u8; KEY_BYTES]) -> Self {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), b"orchestra key id");
        Self(*tag.as_ref().first_chunk().unwrap_or(&[0; ID_BYTES]))
    }

    /// Key of a record; `None` if the record is too short.
    pub(super) fn of_record(record: &[u8]) -> Option<Self> {
        record.first_chunk().map(|id| Self(*id))
    }
}

/// Keys of a store, at least one.
pub(super) struct Keyring {
    keys: Vec<(KeyId, [u8; KEY_BYTES])>,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys.iter().map(|(id, _)| id.to_string())).finish()
    }
}

/// Invalid content of a key file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidKeys {
    #[error("it has no key")]
    Empty,
    #[error("line {0} is not a key: 32 bytes in base64, perhaps after the name of the key and a space")]
    NotAKey(usize),
    #[error("line {line} has the name {given}, but the key of {actual}: it was changed")]
    OtherName { line: usize, given: String, actual: KeyId },
}

/// A record that cannot be decrypted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("its key {0} is missing")]
    NoKey(KeyId),
    #[error("it was changed outside the platform, or belongs to another object")]
    Changed,
}

impl Keyring {
    /// Reads the lines of a key file: base64 of 32 bytes, after the name of the key if the line has one. Lines with `#` are
    /// comments.
    pub(super) fn parse(text: &str) -> Result<Self, InvalidKeys> {
        let mut keys = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let (name, secret) = match text.split_once(char::is_whitespace) {
                Some((name, secret)) => (Some(name), secret.trim()),
                None => (None, text),
            };
            let bytes = STANDARD.decode(secret).map_err(|_| InvalidKeys::NotAKey(line))?;
            let secret = bytes.try_into().map_err(|_| InvalidKeys::NotAKey(line))?;
            let actual = KeyId::of(&secret);
            if let Some(given) = name.filter(|name| *name != actual.to_string()) {
                return Err(InvalidKeys::OtherName { line, given: given.to_owned(), actual });
            }
            keys.push((actual, secret));
        }
        if keys.is_empty() { Err(InvalidKeys::Empty) } else { Ok(Self { keys }) }
    }

    /// Line of a key file with a new key.
    pub(super) fn new_line() -> Result<String, Unspecified> {
        let mut secret = [0; KEY_BYTES];
        SystemRandom::new().fill(&mut secret)?;
        Ok(format!("{} {}\n", KeyId::of(&secret), STANDARD.encode(secret)))
    }

    /// Names of the keys; the first one encrypts.
    pub(super) fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.keys.iter().map(|(id, _)| *id)
    }

    /// True if records of this key need not be encrypted again.
    pub(super) fn is_current(&self, id: KeyId) -> bool {
        self.ids().next() == Some(id)
    }

    /// Encrypts the content of an object, known to the store by a key, at a revision.
    pub(super) fn seal(
        &self,
        name: &[u8],
        revision: Revision,
        content: &[u8],
    ) -> Result<Vec<u8>, Unspecified> {
        let (id, secret) = self.keys.first().ok_or(Unspecified)?;
        let mut salt = [0; SALT_BYTES];
        SystemRandom::new().fill(&mut salt)?;
        let mut sealed = content.to_vec();
        let tag = key_of_record(secret, &salt)?.seal_in_place_separate_tag(
            constant_nonce(),
            authenticated(name, revision),
            &mut sealed,
        )?;
        Ok([&id.0, salt.as_slice(), &sealed, tag.as_ref()].concat())
    }

    /// Decrypts a record of [`seal`](Self::seal).
    pub(super) fn open(&self, name: &[u8], revision: Revision, record: &[u8]) -> Result<Vec<u8>, Unreadable> {
        let (id, rest) = record.split_first_chunk().ok_or(Unreadable::Changed)?;
        let (salt, sealed) = rest.split_first_chunk::<SALT_BYTES>().ok_or(Unreadable::Changed)?;
        let id = KeyId(*id);
        let (_, secret) = self.keys.iter().find(|(known, _)| *known == id).ok_or(Unreadable::NoKey(id))?;
        let mut content = sealed.to_vec();
        let length = key_of_record(secret, salt)
            .and_then(|key| {
                let opened =
                    key.open_in_place(constant_nonce(), authenticated(name, revision), &mut content)?;
                Ok(opened.len())
            })
            .map_err(|Unspecified| Unreadable::Changed)?;
        content.truncate(length);
        Ok(content)
    }
}

fn key_of_record(secret: &[u8; KEY_BYTES], salt: &[u8; SALT_BYTES]) -> Result<LessSafeKey, Unspecified> {
    let derived = Salt::new(HKDF_SHA256, salt).extract(secret);
    let key: UnboundKey = derived.expand(&[PURPOSE], &AES_256_GCM)?.into();
    Ok(LessSafeKey::new(key))
}

/// Nonce of keys that encrypt one record only.
fn constant_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

/// Name and revision of the object. The revision has a fixed length, so that both are told apart.
fn authenticated(name: &[u8], revision: Revision) -> Aad<Vec<u8>> {
    Aad::from([&revision.0.to_be_bytes(), name].concat())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at once")]
mod tests;
