//! A file that is opened for writing and does not change: what is written stays in memory.
//!
//! A file that was not closed, as after a crash, has to be repaired before it can be read. That must not happen before it is
//! known that this program may open it.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use redb::StorageBackend;

const BLOCK: usize = 4096;

/// File with written blocks in memory.
#[derive(Debug)]
pub(super) struct Overlay {
    file: File,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    len: u64,
    blocks: BTreeMap<u64, Box<[u8]>>,
}

impl Overlay {
    /// Opens a file for reading.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(Self { file, state: Mutex::new(State { len, blocks: BTreeMap::new() }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic leaves whole blocks behind.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Block of the file; zeros after its end.
    fn block(&self, number: u64) -> io::Result<Box<[u8]>> {
        let mut block = vec![0; BLOCK].into_boxed_slice();
        let mut read = 0;
        while read < BLOCK {
            match self.file.read_at(&mut block[read..], number * BLOCK as u64 + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(block)
    }
}

/// Blocks of a range: the number, the offset in the block, and the range of the bytes.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done >= length {
            return None;
        }
        let at = offset + done as u64;
        let within = usize::try_from(at % BLOCK as u64).ok()?;
        let size = (BLOCK - within).min(length - done);
        let range = done..done + size;
        done += size;
        Some((at / BLOCK as u64, within, range))
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if offset.saturating_add(out.len() as u64) > state.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (number, within, range) in pieces(offset, out.len()) {
            let size = range.len();
            match state.blocks.get(&number) {
                Some(block) => out[range].copy_from_slice(&block[within..within + size]),
                None => out[range].copy_from_slice(&self.block(number)?[within..within + size]),
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.state().len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        for (number, within, range) in pieces(offset, data.len()) {
            let size = range.len();
            let block = match state.blocks.entry(number) {
                Entry::Occupied(block) => block.into_mut(),
                Entry::Vacant(empty) => empty.insert(self.block(number)?),
            };
            block[within..within + size].copy_from_slice(&data[range]);
        }
        state.len = state.len.max(offset + data.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_bytes_are_read_again_and_the_file_keeps_its_own() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let content: Vec<u8> = (0..10_000_u32).map(|number| (number % 251) as u8).collect();
        std::fs::write(place.path(), &content).unwrap();
        let overlay = Overlay::open(place.path()).unwrap();
        let mut expected = content.clone();
        expected.resize(20_000, 0);
        overlay.set_len(20_000).unwrap();
        for (offset, length) in [(0, 1), (4090, 20), (4096, 4096), (9_990, 5_000), (19_999, 1)] {
            overlay.write(offset as u64, &vec![255; length]).unwrap();
            expected[offset..offset + length].fill(255);
        }
        let mut found = vec![0; 20_000];
        overlay.read(0, &mut found).unwrap();
        assert!(found == expected);
        assert!(overlay.read(19_999, &mut [0; 2]).is_err());
        assert!(std::fs::read(place.path()).unwrap() == content);
    }
}
