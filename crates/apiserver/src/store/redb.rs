//! Durable store: one redb file in the data folder. Objects of confidential resources are encrypted in it.

#[cfg(unix)]
mod overlay;
mod rewrite;

use ::redb::{Database, DatabaseError, ReadOnlyDatabase, ReadableDatabase, ReadableTable, TableDefinition};

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;

use super::{
    Contents, Folder, Key, KeyFile, Object, Revision, Store, StoreError, StoredChange,
    keyring::{KeyId, Keyring},
};
use crate::kinds::builtin;

/// Objects: `resource NUL namespace NUL name` to eight bytes of revision and the content.
const OBJECTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("objects");
/// Objects of confidential resources: the same, with the content encrypted.
const SEALED: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("sealed");
/// Format of the file, and last revision.
const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");

/// First format with encrypted objects.
const FIRST_ENCRYPTED_FORMAT: u64 = 2;

/// Page cache in bytes. Objects are read once, at startup; later only the upper levels of the tree are read.
const CACHE_BYTES: usize = 8 * 1024 * 1024;

const FORMAT: &str = "format";
const REVISION: &str = "revision";

/// Function that opens a file for writing; tests replace it.
type Opener = fn(&Path) -> Result<Database, DatabaseError>;

/// Store in a redb file.
#[derive(Debug)]
pub struct Redb {
    path: PathBuf,
    /// None after a failed write: redb refuses further writes until the file is reopened.
    database: Option<Database>,
    keys: Keyring,
    open: Opener,
    _folder: Folder,
}

/// What a file has before it is opened for writing.
#[derive(Default)]
struct Found {
    format: Option<u64>,
    /// Keys of its encrypted objects.
    keys: BTreeSet<KeyId>,
}

impl Redb {
    /// Format of the file. A newer format is refused.
    pub const FORMAT: u64 = 2;

    /// Opens or creates the store of a data folder, with the key of the folder, which is made if nothing is encrypted
    /// yet.
    pub fn open(folder: Folder) -> Result<Self, StoreError> {
        let key_file = KeyFile::of_folder(&folder);
        Self::open_with(folder, &key_file)
    }

    /// Opens or creates the store of a data folder. A damaged file, one of a newer format, or one whose keys are missing
    /// is left unchanged. Objects that are encrypted with another key than the first one are encrypted again.
    pub fn open_with(folder: Folder, key_file: &KeyFile) -> Result<Self, StoreError> {
        Self::open_by(folder, key_file, |path| Database::builder().set_cache_size(CACHE_BYTES).create(path))
    }

    fn open_by(folder: Folder, key_file: &KeyFile, open: Opener) -> Result<Self, StoreError> {
        let path = folder.file("objects.redb");
        let failed = |cause: String| StoreError {
            action: "open the store",
            cause: format!("{}: {cause}", path.display()),
        };
        let damaged = |error: DatabaseError| {
            failed(format!("{error}; restore it from a backup, or move it away to start with an empty store"))
        };
        // Files left by a start that was killed; the folder is locked by this process.
        let _ = fs::remove_file(draft_of(&path));
        let is_new = !path.exists();
        let found = if is_new {
            Found::default()
        } else {
            private(&path).map_err(|error| failed(error.to_string()))?;
            Found::read(&*open_unchanged(&path).map_err(damaged)?).map_err(failed)?
        };
        let keys = match key_file.read(&folder)? {
            Some(keys) => keys,
            None if found.keys.is_empty() => key_file.make(&folder)?,
            None => return Err(missing(key_file, &found.keys, None)),
        };
        found.check_keys(&keys, key_file)?;
        if is_new {
            Self::make(&path).map_err(|error| failed(error.to_string()))?;
        }
        if !is_new && !found.is_current(&keys) {
            rewrite::rewrite(&path, &found, &keys).map_err(|error| {
                failed(format!("failed to encrypt the Secrets again: {error}; the file is unchanged"))
            })?;
        }
        let database = open(&path).map_err(damaged)?;
        Ok(Self { database: Some(database), keys, path, open, _folder: folder })
    }

    /// Creates an empty store under another name and renames it: a crash leaves a complete store or none.
    fn make(path: &Path) -> Result<(), ::redb::Error> {
        let draft = draft_of(path);
        private(&draft)?;
        drop(rewrite::empty(&draft, Revision(0))?);
        Ok(rewrite::replace(path)?)
    }

    /// Open file, reopened after a failed write.
    fn database(&mut self) -> Result<&Database, ::redb::Error> {
        match &mut self.database {
            Some(database) => Ok(database),
            closed => Ok(closed.insert((self.open)(&self.path)?)),
        }
    }

    /// The last change in the file.
    fn last(&mut self) -> Result<Revision, ::redb::Error> {
        let read = self.database()?.begin_read()?;
        Ok(Revision(read.open_table(FACTS)?.get(REVISION)?.map_or(0, |revision| revision.value())))
    }

    fn read_all(database: &Database, keys: &Keyring) -> Result<Contents, ::redb::Error> {
        let read = database.begin_read()?;
        let revision = read.open_table(FACTS)?.get(REVISION)?.map_or(0, |revision| revision.value());
        let mut objects = Vec::new();
        for entry in read.open_table(OBJECTS)?.iter()? {
            let (key, value) = entry?;
            let (Some(key), Some((revision, content))) = (decode_key(key.value()), decode(value.value()))
            else {
                return Err(corrupted("an entry cannot be read"));
            };
            if is_confidential(&key.resource) {
                return Err(not_encrypted(&key));
            }
            objects.push((key, Object { revision, value: Bytes::copy_from_slice(content) }));
        }
        for entry in read.open_table(SEALED)?.iter()? {
            let (name, value) = entry?;
            let (Some(key), Some((revision, record))) = (decode_key(name.value()), decode(value.value()))
            else {
                return Err(corrupted("an entry cannot be read"));
            };
            let content = keys.open(name.value(), revision, record);
            let content =
                content.map_err(|error| corrupted(&format!("{key} cannot be decrypted: {error}")))?;
            objects.push((key, Object { revision, value: content.into() }));
        }
        Ok(Contents { revision: Revision(revision), objects })
    }

    fn write_all(&mut self, batch: &[StoredChange]) -> Result<(), ::redb::Error> {
        let entries =
            batch.iter().map(|change| encode_change(change, &self.keys)).collect::<Result<Vec<_>, _>>()?;
        let write = self.database()?.begin_write()?;
        {
            let mut objects = write.open_table(OBJECTS)?;
            // Opened only if needed: other objects shall not pay for it.
            let mut sealed = None;
            for (change, (key, value)) in batch.iter().zip(entries) {
                let table = if is_confidential(&change.key.resource) {
                    match &mut sealed {
                        Some(table) => table,
                        none => none.insert(write.open_table(SEALED)?),
                    }
                } else {
                    &mut objects
                };
                match value {
                    Some(value) => drop(table.insert(key.as_slice(), value.as_slice())?),
                    None => drop(table.remove(key.as_slice())?),
                }
            }
            if let Some(last) = batch.last() {
                write.open_table(FACTS)?.insert(REVISION, last.revision.0)?;
            }
        }
        write.commit()?;
        Ok(())
    }
}

impl Store for Redb {
    fn load(&self) -> Result<Contents, StoreError> {
        let failed = |cause: String| StoreError { action: "read the store", cause };
        let database = self.database.as_ref().ok_or_else(|| failed("it is closed".to_owned()))?;
        Self::read_all(database, &self.keys).map_err(|error| failed(error.to_string()))
    }

    fn commit(&mut self, batch: &[StoredChange]) -> Result<(), StoreError> {
        let failed = |cause: String| StoreError { action: "write to the store", cause };
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else { return Ok(()) };
        if self.database.is_none()
            && self.last().map_err(|error| failed(error.to_string()))? >= first.revision
        {
            // Its revision would be used twice.
            return Err(failed(
                "the file holds a change that was reported as failed; start the server again".to_owned(),
            ));
        }
        let Err(error) = self.write_all(batch) else { return Ok(()) };
        self.database = None;
        // The batch may have reached the file although its sync failed.
        match self.last() {
            Ok(kept) if kept >= last.revision => Ok(()),
            _ => Err(failed(error.to_string())),
        }
    }
}

/// Creates the file if it is missing, readable for its owner only: it contains secrets.
#[cfg(unix)]
fn private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let file = fs::File::options().append(true).create(true).mode(0o600).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn private(_: &Path) -> std::io::Result<()> {
    Ok(())
}

impl Found {
    /// True if everything is encrypted with the first key.
    fn is_current(&self, keys: &Keyring) -> bool {
        self.has_encryption() && self.keys.iter().all(|id| keys.is_current(*id))
    }

    /// False for a file of an earlier program, whose Secrets are plain text.
    fn has_encryption(&self) -> bool {
        self.format.is_some_and(|format| format >= FIRST_ENCRYPTED_FORMAT)
    }

    /// Reads the format, and which keys are needed; refuses a newer format.
    fn read(database: &dyn ReadableDatabase) -> Result<Self, String> {
        let found = Self::of(database).map_err(|error| error.to_string())?;
        match found.format {
            Some(format) if format > Redb::FORMAT => Err(format!(
                "the data is of format {format}, and this program knows formats up to {}; use a newer program",
                Redb::FORMAT
            )),
            _ => Ok(found),
        }
    }

    fn of(database: &dyn ReadableDatabase) -> Result<Self, ::redb::Error> {
        let read = database.begin_read()?;
        let format = match read.open_table(FACTS) {
            Ok(facts) => facts.get(FORMAT)?.map(|format| format.value()),
            Err(::redb::TableError::TableDoesNotExist(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let mut keys = BTreeSet::new();
        // A newer format may have another table.
        if (FIRST_ENCRYPTED_FORMAT..=Redb::FORMAT).contains(&format.unwrap_or_default()) {
            for entry in read.open_table(SEALED)?.iter()? {
                let (_, value) = entry?;
                keys.extend(decode(value.value()).and_then(|(_, record)| KeyId::of_record(record)));
            }
        }
        Ok(Self { format, keys })
    }

    /// Refuses to start without a key that is still needed.
    fn check_keys(&self, keys: &Keyring, key_file: &KeyFile) -> Result<(), StoreError> {
        let known: BTreeSet<KeyId> = keys.ids().collect();
        let absent: BTreeSet<KeyId> = self.keys.difference(&known).copied().collect();
        if absent.is_empty() { Ok(()) } else { Err(missing(key_file, &absent, Some(keys))) }
    }
}

/// Opens a file to read it. It is not changed, also if it was not closed, as after a crash.
fn open_unchanged(path: &Path) -> Result<Box<dyn ReadableDatabase>, DatabaseError> {
    match ReadOnlyDatabase::open(path) {
        Ok(database) => Ok(Box::new(database)),
        #[cfg(unix)]
        Err(DatabaseError::RepairAborted) => {
            let unchanged = overlay::Overlay::open(path)?;
            Ok(Box::new(Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(unchanged)?))
        }
        // Opening it for writing repairs it.
        #[cfg(not(unix))]
        Err(DatabaseError::RepairAborted) => Ok(Box::new(Database::open(path)?)),
        Err(error) => Err(error),
    }
}

/// Error for keys that Secrets are encrypted with.
fn missing(key_file: &KeyFile, absent: &BTreeSet<KeyId>, keys: Option<&Keyring>) -> StoreError {
    let list =
        |ids: &mut dyn Iterator<Item = KeyId>| ids.map(|id| id.to_string()).collect::<Vec<_>>().join(", ");
    let absent = list(&mut absent.iter().copied());
    let cause = match keys {
        None => format!(
            "the file is missing, and the Secrets in the store are encrypted with the key {absent}; restore the file from a backup, or pass --encryption-key if it is elsewhere"
        ),
        Some(keys) => format!(
            "the Secrets in the store are encrypted with the key {absent}, and the file has only {}; add the line of the missing \
             key at the end of the file, and start again",
            list(&mut keys.ids())
        ),
    };
    key_file.failed("read the encryption key", cause)
}

/// True for resources whose objects are encrypted.
fn is_confidential(resource: &str) -> bool {
    builtin::CONFIDENTIAL.contains(&resource)
}

fn not_encrypted(key: &Key) -> ::redb::Error {
    corrupted(&format!("{key} is not encrypted: it was written outside the platform"))
}

fn corrupted(what: &str) -> ::redb::Error {
    ::redb::Error::Corrupted(format!("{what}; restore the file from a backup"))
}

/// File that becomes the store once it is complete.
fn draft_of(path: &Path) -> PathBuf {
    path.with_added_extension("new")
}

fn encode_key(key: &Key) -> Vec<u8> {
    [&*key.resource, &*key.namespace, &*key.name].join("\0").into_bytes()
}

fn decode_key(bytes: &[u8]) -> Option<Key> {
    let mut parts = std::str::from_utf8(bytes).ok()?.split('\0');
    let key = Key::new(parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some(key)
}

/// Key and entry of a changed object; no entry if it is removed.
fn encode_change(change: &StoredChange, keys: &Keyring) -> Result<(Vec<u8>, Option<Vec<u8>>), ::redb::Error> {
    let key = encode_key(&change.key);
    let Some(value) = &change.value else { return Ok((key, None)) };
    let entry = if is_confidential(&change.key.resource) {
        sealed_entry(keys, &key, change.revision, value)?
    } else {
        entry(change.revision, value)
    };
    Ok((key, Some(entry)))
}

fn entry(revision: Revision, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + content.len());
    bytes.extend_from_slice(&revision.0.to_be_bytes());
    bytes.extend_from_slice(content);
    bytes
}

fn sealed_entry(
    keys: &Keyring,
    name: &[u8],
    revision: Revision,
    content: &[u8],
) -> Result<Vec<u8>, ::redb::Error> {
    let record = keys.seal(name, revision, content);
    let record = record.map_err(|_| ::redb::Error::Io(std::io::Error::other("no random numbers")))?;
    Ok(entry(revision, &record))
}

/// Revision, and content or record, of an entry.
fn decode(bytes: &[u8]) -> Option<(Revision, &[u8])> {
    let (revision, content) = bytes.split_first_chunk::<8>()?;
    Some((Revision(u64::from_be_bytes(*revision)), content))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at once")]
mod tests {
    use std::{
        io,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;
    use ::redb::{StorageBackend, backends::FileBackend};

    /// True if the disk is full.
    static FULL: AtomicBool = AtomicBool::new(false);

    /// File on a disk that can be full.
    #[derive(Debug)]
    struct Disk(FileBackend);

    fn room() -> io::Result<()> {
        if FULL.load(Ordering::SeqCst) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    impl StorageBackend for Disk {
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.0.read(offset, out)
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            room()?;
            self.0.set_len(len)
        }

        fn sync_data(&self) -> io::Result<()> {
            room()?;
            self.0.sync_data()
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            room()?;
            self.0.write(offset, data)
        }
    }

    fn change(revision: u64) -> StoredChange {
        let key = Key::new("configmaps", "default", &format!("m{revision}"));
        StoredChange { revision: Revision(revision), key, value: Some(Bytes::from_static(b"x")) }
    }

    #[test]
    fn writes_continue_once_a_full_disk_has_space_again() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::hold(place.path()).unwrap();
        let key_file = KeyFile::of_folder(&folder);
        let mut store = Redb::open_by(folder, &key_file, |path| {
            let file = fs::File::options().read(true).write(true).open(path)?;
            Database::builder().create_with_backend(Disk(FileBackend::new(file)?))
        })
        .unwrap();
        store.commit(&[change(1)]).unwrap();
        FULL.store(true, Ordering::SeqCst);
        assert!(store.commit(&[change(2)]).is_err());
        assert!(store.commit(&[change(2)]).is_err(), "still full");
        FULL.store(false, Ordering::SeqCst);
        store.commit(&[change(2)]).unwrap();
        let names: Vec<String> =
            store.load().unwrap().objects.iter().map(|(key, _)| key.name.to_string()).collect();
        assert_eq!(names, ["m1", "m2"]);
    }
}
