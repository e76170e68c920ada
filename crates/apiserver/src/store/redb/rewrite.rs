//! Rewriting of the file, with everything confidential encrypted by the first key.
//!
//! A value that was removed or replaced stays in free pages of a redb file. So plain text of an earlier version, and records
//! of a key that is to be given up, only leave the file with all its pages: its content is copied to a new file, which is
//! synced and takes its name. A crash leaves the old file or the new one, both complete.

use std::{fs, io, ops::Bound, path::Path};

use redb::{Database, Durability, ReadTransaction, ReadableDatabase};

use super::{
    FACTS, FORMAT, Found, OBJECTS, REVISION, Redb, SEALED, corrupted, decode, decode_key, draft_of,
    is_confidential, not_encrypted, open_unchanged, private, sealed_entry,
};
use crate::store::{Revision, keyring::Keyring};

/// Limits of a batch, which is in memory.
const BATCH_ENTRIES: usize = 1000;
const BATCH_BYTES: usize = 16 * 1024 * 1024;

/// Entries of a batch; the last field is true for those that are encrypted.
type Batch = Vec<(Vec<u8>, Vec<u8>, bool)>;

/// Replaces a store that is closed.
pub(super) fn rewrite(path: &Path, found: &Found, keys: &Keyring) -> Result<(), redb::Error> {
    let draft = draft_of(path);
    private(&draft)?;
    let copied = copy(&*open_unchanged(path)?, &draft, found, keys);
    if copied.is_err() {
        // Without space on the disk, the draft would take the rest of it.
        let _ = fs::remove_file(&draft);
    }
    copied?;
    Ok(replace(path)?)
}

/// Gives the draft the name of the store.
pub(super) fn replace(path: &Path) -> io::Result<()> {
    fs::rename(draft_of(path), path)?;
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Empty store, at a revision.
pub(super) fn empty(path: &Path, revision: Revision) -> Result<Database, redb::Error> {
    let database = Database::create(path)?;
    let write = database.begin_write()?;
    {
        let mut facts = write.open_table(FACTS)?;
        facts.insert(FORMAT, Redb::FORMAT)?;
        facts.insert(REVISION, revision.0)?;
        write.open_table(OBJECTS)?;
        write.open_table(SEALED)?;
    }
    write.commit()?;
    Ok(database)
}

fn copy(from: &dyn ReadableDatabase, draft: &Path, found: &Found, keys: &Keyring) -> Result<(), redb::Error> {
    let read = from.begin_read()?;
    let revision = read.open_table(FACTS)?.get(REVISION)?.map_or(0, |revision| revision.value());
    let to = empty(draft, Revision(revision))?;
    // Earlier formats have no table of encrypted objects.
    let tables: &[bool] = if found.has_encryption() { &[false, true] } else { &[false] };
    for &was_sealed in tables {
        let mut last: Option<Vec<u8>> = None;
        loop {
            let batch = next_batch(&read, found, was_sealed, last.as_deref(), keys)?;
            let Some((key, ..)) = batch.last() else { break };
            last = Some(key.clone());
            write_batch(&to, &batch)?;
        }
    }
    // Syncs the batches before it, too.
    let write = to.begin_write()?;
    write.open_table(FACTS)?.insert(REVISION, revision)?;
    write.commit()?;
    Ok(())
}

/// The next entries of a table, after a key, as they are in the new file.
fn next_batch(
    read: &ReadTransaction,
    found: &Found,
    was_sealed: bool,
    last: Option<&[u8]>,
    keys: &Keyring,
) -> Result<Batch, redb::Error> {
    let table = read.open_table(if was_sealed { SEALED } else { OBJECTS })?;
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let start = last.map_or(Bound::Unbounded, Bound::Excluded);
    for entry in table.range::<&[u8]>((start, Bound::Unbounded))? {
        let (name, value) = entry?;
        let (name, value) = (name.value(), value.value());
        let (Some(key), Some((revision, content))) = (decode_key(name), decode(value)) else {
            return Err(corrupted("an entry cannot be read"));
        };
        let (value, is_sealed) = if was_sealed {
            let content = keys.open(name, revision, content);
            let content =
                content.map_err(|error| corrupted(&format!("{key} cannot be decrypted: {error}")))?;
            (sealed_entry(keys, name, revision, &content)?, true)
        } else if is_confidential(&key.resource) {
            if found.has_encryption() {
                return Err(not_encrypted(&key));
            }
            (sealed_entry(keys, name, revision, content)?, true)
        } else {
            (value.to_vec(), false)
        };
        bytes += value.len();
        batch.push((name.to_vec(), value, is_sealed));
        if batch.len() >= BATCH_ENTRIES || bytes >= BATCH_BYTES {
            break;
        }
    }
    Ok(batch)
}

fn write_batch(to: &Database, batch: &Batch) -> Result<(), redb::Error> {
    let mut write = to.begin_write()?;
    // The last transaction syncs the file.
    write.set_durability(Durability::None)?;
    {
        let mut objects = write.open_table(OBJECTS)?;
        let mut sealed = write.open_table(SEALED)?;
        for (key, value, is_sealed) in batch {
            let table = if *is_sealed { &mut sealed } else { &mut objects };
            table.insert(key.as_slice(), value.as_slice())?;
        }
    }
    write.commit()?;
    Ok(())
}
