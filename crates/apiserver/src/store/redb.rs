//! Durable store: one redb file in the data folder.

use ::redb::{Database, DatabaseError, ReadOnlyDatabase, ReadableDatabase, ReadableTable, TableDefinition};

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Contents, Folder, Key, Object, Revision, Store, StoreError, StoredChange};

/// Objects: `resource NUL namespace NUL name` to eight bytes of revision and the content.
const OBJECTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("objects");
/// Format of the file, and last revision.
const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");

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
    open: Opener,
    _folder: Folder,
}

impl Redb {
    /// Format of the file. A newer format is refused.
    pub const FORMAT: u64 = 1;

    /// Opens or creates the store of a data folder. A damaged file, or one of a newer format, is left unchanged.
    pub fn open(folder: Folder) -> Result<Self, StoreError> {
        Self::open_by(folder, |path| Database::builder().set_cache_size(CACHE_BYTES).create(path))
    }

    fn open_by(folder: Folder, open: Opener) -> Result<Self, StoreError> {
        let path = folder.file("objects.redb");
        let failed = |cause: String| StoreError {
            action: "open the store",
            cause: format!("{}: {cause}", path.display()),
        };
        let damaged = |error: DatabaseError| {
            failed(format!("{error}; restore it from a backup, or move it away to start with an empty store"))
        };
        if !path.exists() {
            Self::make(&path).map_err(|error| failed(error.to_string()))?;
        }
        private(&path).map_err(|error| failed(error.to_string()))?;
        // Opening a file for writing changes it, so the format is read first.
        match ReadOnlyDatabase::open(&path) {
            Ok(database) => refuse_newer(&database).map_err(failed)?,
            // Not closed, as after a crash. Opening it for writing repairs it.
            Err(DatabaseError::RepairAborted) => {}
            Err(error) => return Err(damaged(error)),
        }
        let database = open(&path).map_err(damaged)?;
        refuse_newer(&database).map_err(failed)?;
        Ok(Self { database: Some(database), path, open, _folder: folder })
    }

    /// Creates an empty store under another name and renames it: a crash leaves a complete store or none.
    fn make(path: &Path) -> Result<(), ::redb::Error> {
        let draft = path.with_added_extension("new");
        // A file left by a start that was killed; the folder is locked by this process.
        let _ = fs::remove_file(&draft);
        private(&draft)?;
        let database = Database::create(&draft)?;
        let write = database.begin_write()?;
        {
            let mut facts = write.open_table(FACTS)?;
            facts.insert(FORMAT, Self::FORMAT)?;
            facts.insert(REVISION, 0)?;
            write.open_table(OBJECTS)?;
        }
        write.commit()?;
        drop(database);
        fs::rename(&draft, path)?;
        #[cfg(unix)]
        if let Some(folder) = path.parent() {
            fs::File::open(folder)?.sync_all()?;
        }
        Ok(())
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

    fn read_all(database: &Database) -> Result<Contents, ::redb::Error> {
        let read = database.begin_read()?;
        let revision = read.open_table(FACTS)?.get(REVISION)?.map_or(0, |revision| revision.value());
        let mut objects = Vec::new();
        for entry in read.open_table(OBJECTS)?.iter()? {
            let (key, value) = entry?;
            let (Some(key), Some(object)) = (decode_key(key.value()), decode(value.value())) else {
                let what = "an entry cannot be read; restore the file from a backup";
                return Err(::redb::Error::Corrupted(what.to_owned()));
            };
            objects.push((key, object));
        }
        Ok(Contents { revision: Revision(revision), objects })
    }

    fn write_all(&mut self, batch: &[StoredChange]) -> Result<(), ::redb::Error> {
        let write = self.database()?.begin_write()?;
        {
            let mut objects = write.open_table(OBJECTS)?;
            for change in batch {
                let key = encode_key(&change.key);
                match &change.value {
                    Some(value) => {
                        let mut bytes = Vec::with_capacity(8 + value.len());
                        bytes.extend_from_slice(&change.revision.0.to_be_bytes());
                        bytes.extend_from_slice(value);
                        objects.insert(key.as_slice(), bytes.as_slice())?;
                    }
                    None => drop(objects.remove(key.as_slice())?),
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
        Self::read_all(database).map_err(|error| failed(error.to_string()))
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

/// Format of a database; `None` if it is new.
fn format(database: &impl ReadableDatabase) -> Result<Option<u64>, ::redb::Error> {
    let read = database.begin_read()?;
    match read.open_table(FACTS) {
        Ok(facts) => Ok(facts.get(FORMAT)?.map(|format| format.value())),
        Err(::redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn refuse_newer(database: &impl ReadableDatabase) -> Result<(), String> {
    match format(database).map_err(|error| error.to_string())? {
        Some(format) if format > Redb::FORMAT => Err(format!(
            "the data is of format {format}, and this program knows formats up to {}; use a newer program",
            Redb::FORMAT
        )),
        _ => Ok(()),
    }
}

fn encode_key(key: &Key) -> Vec<u8> {
    [&*key.resource, &*key.namespace, &*key.name].join("\0").into_bytes()
}

fn decode_key(bytes: &[u8]) -> Option<Key> {
    let mut parts = std::str::from_utf8(bytes).ok()?.split('\0');
    let key = Key::new(parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some(key)
}

fn decode(bytes: &[u8]) -> Option<Object> {
    let (revision, value) = bytes.split_first_chunk::<8>()?;
    Some(Object {
        revision: Revision(u64::from_be_bytes(*revision)),
        value: bytes::Bytes::copy_from_slice(value),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at once")]
mod tests {
    use std::{
        io,
        sync::atomic::{AtomicBool, Ordering},
    };

    use ::redb::{StorageBackend, backends::FileBackend};
    use bytes::Bytes;

    use super::*;

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
        let mut store = Redb::open_by(folder, |path| {
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
