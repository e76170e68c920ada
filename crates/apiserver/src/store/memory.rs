//! A store for tests: what it keeps ends with the process.

use super::{Change, Contents, Store, StoreError};

/// Keeps nothing beyond the process.
#[derive(Debug, Default)]
pub struct Memory;

impl Store for Memory {
    fn load(&self) -> Result<Contents, StoreError> {
        Ok(Contents::default())
    }

    fn commit(&mut self, _: &[Change]) -> Result<(), StoreError> {
        Ok(())
    }
}
