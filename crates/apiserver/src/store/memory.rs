//! In-memory store, for tests.

use super::{Contents, Store, StoreError, StoredChange};

/// Store without persistence.
#[derive(Debug, Default)]
pub struct Memory;

impl Store for Memory {
    fn load(&self) -> Result<Contents, StoreError> {
        Ok(Contents::default())
    }

    fn commit(&mut self, _: &[StoredChange]) -> Result<(), StoreError> {
        Ok(())
    }
}
