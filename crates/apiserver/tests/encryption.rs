//! Secrets are encrypted on disk, and readable only with their keys.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use bytes::Bytes;
use orchestra_apiserver::{
    ledger::{Expected, Ledger, Options},
    store::{Folder, Key, KeyFile, Redb, Revision, Store, StoreError, StoredChange},
};
use redb::{Database, ReadableTable, TableDefinition};
use tempfile::TempDir;

const CANARY: &[u8] = b"canary-5up3r-s3cr3t";
const OBJECTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("objects");
const SEALED: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("sealed");
const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");

fn open(folder: &Path) -> Result<Redb, StoreError> {
    Redb::open(Folder::hold(folder).unwrap())
}

fn key_path(folder: &Path) -> PathBuf {
    folder.join("pki/encryption.key")
}

fn canary(number: u64) -> Bytes {
    Bytes::from([CANARY, number.to_string().as_bytes()].concat())
}

fn secret(number: u64) -> StoredChange {
    let key = Key::new("secrets", "shop", &format!("s{number}"));
    StoredChange { revision: Revision(number), key, value: Some(canary(number)) }
}

/// Names and values of the objects.
fn objects(store: &Redb) -> Vec<(String, Bytes)> {
    let loaded = store.load().unwrap().objects.into_iter();
    let mut objects: Vec<_> = loaded.map(|(key, object)| (key.name.to_string(), object.value)).collect();
    objects.sort();
    objects
}

/// Data folder with secrets.
fn folder(secrets: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    store.commit(&(1..=secrets).map(secret).collect::<Vec<_>>()).unwrap();
    folder
}

/// All files of a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Files of a folder that contain a text.
fn files_with(folder: &Path, text: &[u8]) -> Vec<PathBuf> {
    let contains = |path: &PathBuf| fs::read(path).unwrap().windows(text.len()).any(|window| window == text);
    files(folder).into_iter().filter(contains).collect()
}

/// Puts a new key first, as `docs/embedded-api.md` says.
fn add_key(folder: &Path) {
    let random = tempfile::tempdir().unwrap();
    drop(open(random.path()).unwrap());
    let new = fs::read_to_string(key_path(random.path())).unwrap();
    let old = fs::read_to_string(key_path(folder)).unwrap();
    fs::write(key_path(folder), new + &old).unwrap();
}

/// Lines of a key file that have keys.
fn key_lines(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(key_path(folder)).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// Asserts that a start is refused with these texts, and that it leaves all files alone.
fn assert_refused(folder: &Path, texts: &[&str]) {
    let state = || {
        let key = fs::read(key_path(folder)).ok();
        (fs::read(folder.join("objects.redb")).unwrap(), key, files(folder).len())
    };
    let before = state();
    let error = open(folder).unwrap_err().to_string();
    for text in texts {
        assert!(error.contains(text), "{text:?} is not in: {error}");
    }
    assert!(before == state(), "a refused start has changed a file: {error}");
}

#[tokio::test]
async fn no_file_has_the_value_of_a_secret_at_any_time() {
    let folder = tempfile::tempdir().unwrap();
    let start = || Ledger::open(open(folder.path()).unwrap(), Options::default()).unwrap();
    let ledger = start();
    let key = |resource: &str| Key::new(resource, "shop", "db");
    let control = b"control-is-found";
    ledger.write(key("configmaps"), Expected::Absent, Some(Bytes::from_static(control))).await.unwrap();
    assert_eq!(files_with(folder.path(), control).len(), 1, "the search finds what is not encrypted");

    let created = ledger.write(key("secrets"), Expected::Absent, Some(canary(1))).await.unwrap();
    assert_eq!(files_with(folder.path(), CANARY), Vec::<PathBuf>::new(), "after a create");
    ledger.write(key("secrets"), Expected::At(created), Some(canary(2))).await.unwrap();
    assert_eq!(files_with(folder.path(), CANARY), Vec::<PathBuf>::new(), "after an update");
    drop(ledger);
    let ledger = loop {
        // The writer thread of the old ledger unlocks the folder when it ends.
        if let Ok(held) = Folder::hold(folder.path()) {
            break Ledger::open(Redb::open(held).unwrap(), Options::default()).unwrap();
        }
        std::thread::yield_now();
    };
    let object = ledger.get(&key("secrets")).unwrap();
    assert_eq!(object.value, canary(2));
    assert_eq!(files_with(folder.path(), CANARY), Vec::<PathBuf>::new(), "after a restart");
    ledger.write(key("secrets"), Expected::At(object.revision), None).await.unwrap();
    assert_eq!(files_with(folder.path(), CANARY), Vec::<PathBuf>::new(), "after a deletion");
}

/// Makes the store of a program without encryption; one of its secrets was deleted and is in a free page.
fn make_plain_store(folder: &Path) {
    let database = Database::create(folder.join("objects.redb")).unwrap();
    let entry = |number: u64| [&number.to_be_bytes(), &*canary(number)].concat();
    for number in 1..=50 {
        let write = database.begin_write().unwrap();
        {
            let mut facts = write.open_table(FACTS).unwrap();
            facts.insert("format", 1).unwrap();
            facts.insert("revision", number).unwrap();
            let mut objects = write.open_table(OBJECTS).unwrap();
            let key = format!("secrets\0shop\0s{number}");
            objects.insert(key.as_bytes(), entry(number).as_slice()).unwrap();
            if number == 50 {
                objects.remove(b"secrets\0shop\0s1".as_slice()).unwrap();
                objects.insert(b"configmaps\0shop\0s1".as_slice(), entry(0).as_slice()).unwrap();
            }
        }
        write.commit().unwrap();
    }
}

#[test]
fn plain_secrets_of_an_earlier_program_are_encrypted_at_the_first_start() {
    let folder = tempfile::tempdir().unwrap();
    make_plain_store(folder.path());
    assert_eq!(files_with(folder.path(), &canary(1)).len(), 1, "a deleted one is still in the file");
    let store = open(folder.path()).unwrap();
    let contents = store.load().unwrap();
    assert_eq!(contents.revision, Revision(50));
    let mut expected: Vec<_> = (2..=50).map(|number| (format!("s{number}"), canary(number))).collect();
    expected.push(("s1".to_owned(), canary(0)));
    expected.sort();
    assert_eq!(objects(&store), expected);
    let revision_of = |name: &str| {
        let found = contents.objects.iter().find(|(key, _)| &*key.name == name);
        found.map(|(_, object)| object.revision.0)
    };
    assert_eq!(revision_of("s7"), Some(7));
    let plain: Vec<u64> =
        (1..=50).filter(|number| !files_with(folder.path(), &canary(*number)).is_empty()).collect();
    assert_eq!(plain, [0; 0]);
}

#[test]
fn a_new_first_key_encrypts_everything_again_and_the_old_one_can_go() {
    let folder = folder(3);
    let before = objects(&open(folder.path()).unwrap());
    let old = fs::read_to_string(key_path(folder.path())).unwrap();
    let (old_name, _) =
        key_lines(folder.path())[0].split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    add_key(folder.path());
    let new = key_lines(folder.path())[0].clone();

    // Too early: nothing was encrypted with the new key so far.
    let both = fs::read_to_string(key_path(folder.path())).unwrap();
    fs::write(key_path(folder.path()), &new).unwrap();
    assert_refused(folder.path(), &[&old_name, "encryption.key", "add the line of the missing key"]);

    fs::write(key_path(folder.path()), both).unwrap();
    assert_eq!(objects(&open(folder.path()).unwrap()), before);
    let id: Vec<u8> =
        (0..8).map(|at| u8::from_str_radix(&old_name[2 * at..2 * at + 2], 16).unwrap()).collect();
    assert_eq!(files_with(folder.path(), &id), Vec::<PathBuf>::new(), "no page has a record of the old key");
    assert_eq!(files_with(folder.path(), CANARY), Vec::<PathBuf>::new());

    fs::write(key_path(folder.path()), &new).unwrap();
    assert_eq!(objects(&open(folder.path()).unwrap()), before);
    fs::write(key_path(folder.path()), old).unwrap();
    let new_name = new.split_once(' ').unwrap().0;
    assert_refused(folder.path(), &[new_name, &old_name]);
}

#[test]
fn a_lost_key_file_is_not_replaced_while_it_is_needed() {
    let folder = folder(1);
    let name = key_lines(folder.path())[0].split_once(' ').unwrap().0.to_owned();
    fs::remove_file(key_path(folder.path())).unwrap();
    assert_refused(folder.path(), &[&name, "is missing", "restore the file from a backup"]);
}

#[test]
fn a_refused_start_after_a_crash_changes_nothing_either() {
    let crashed = tempfile::tempdir().unwrap();
    {
        let folder = folder(0);
        let mut store = open(folder.path()).unwrap();
        store.commit(&[secret(1)]).unwrap();
        fs::create_dir(crashed.path().join("pki")).unwrap();
        // A copy of a file in use is as a crash leaves it.
        for name in ["objects.redb", "pki/encryption.key"] {
            fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
        }
    }
    // Makes the file of the lock.
    drop(Folder::hold(crashed.path()).unwrap());
    let path = crashed.path().join("objects.redb");
    let is_repaired = || redb::ReadOnlyDatabase::open(&path).is_ok();
    assert!(!is_repaired());
    let key = fs::read_to_string(key_path(crashed.path())).unwrap();
    fs::remove_file(key_path(crashed.path())).unwrap();
    assert_refused(crashed.path(), &["is missing"]);
    assert!(!is_repaired());
    fs::write(key_path(crashed.path()), key).unwrap();
    add_key(crashed.path());
    assert_eq!(objects(&open(crashed.path()).unwrap()), [("s1".to_owned(), canary(1))]);
}

#[test]
fn a_key_file_without_a_use_can_be_lost() {
    let folder = folder(0);
    fs::remove_file(key_path(folder.path())).unwrap();
    open(folder.path()).unwrap().commit(&[secret(1)]).unwrap();
    assert_eq!(objects(&open(folder.path()).unwrap()).len(), 1);
}

#[test]
fn a_truncated_key_is_refused() {
    let folder = folder(1);
    let text = fs::read_to_string(key_path(folder.path())).unwrap();
    fs::write(key_path(folder.path()), &text[..text.len() - 10]).unwrap();
    assert_refused(folder.path(), &["line 2 is not a key", "restore the file from a backup"]);
    fs::write(key_path(folder.path()), "").unwrap();
    assert_refused(folder.path(), &["has no key"]);
}

/// Table of encrypted objects.
type Sealed<'a> = redb::Table<'a, &'static [u8], &'static [u8]>;

/// Changes the entries of encrypted objects outside the platform.
fn tamper(folder: &Path, change: impl Fn(&mut Sealed<'_>)) {
    let database = Database::create(folder.join("objects.redb")).unwrap();
    let write = database.begin_write().unwrap();
    change(&mut write.open_table(SEALED).unwrap());
    write.commit().unwrap();
}

fn get(table: &Sealed<'_>, name: &[u8]) -> Vec<u8> {
    table.get(name).unwrap().unwrap().value().to_vec()
}

#[test]
fn changed_and_swapped_records_are_refused_by_their_name() {
    const FIRST: &[u8] = b"secrets\0shop\0s1";
    const SECOND: &[u8] = b"secrets\0shop\0s2";
    let changes: [&dyn Fn(&mut Sealed<'_>); 4] = [
        &|table| {
            let mut record = get(table, FIRST);
            *record.last_mut().unwrap() ^= 1;
            table.insert(FIRST, record.as_slice()).unwrap();
        },
        &|table| {
            let (first, second) = (get(table, FIRST), get(table, SECOND));
            table.insert(FIRST, second.as_slice()).unwrap();
            table.insert(SECOND, first.as_slice()).unwrap();
        },
        &|table| {
            let mut record = get(table, FIRST);
            record[7] ^= 1;
            table.insert(FIRST, record.as_slice()).unwrap();
        },
        &|table| {
            let record = get(table, FIRST);
            table.insert(FIRST, &record[..30]).unwrap();
        },
    ];
    for change in changes {
        let folder = folder(2);
        tamper(folder.path(), change);
        let store = open(folder.path()).unwrap();
        let error = store.load().unwrap_err().to_string();
        assert!(error.contains("secrets/shop/s1 cannot be decrypted"), "{error}");
        assert!(error.contains("restore the file from a backup"), "{error}");
        drop(store);
        // Neither does a rotation drop it.
        add_key(folder.path());
        assert_refused(folder.path(), &["secrets/shop/s1 cannot be decrypted"]);
    }
}

#[test]
fn a_plain_secret_in_an_encrypted_store_is_refused() {
    let folder = folder(1);
    let database = Database::create(folder.path().join("objects.redb")).unwrap();
    let write = database.begin_write().unwrap();
    let entry = [&9_u64.to_be_bytes(), b"forged".as_slice()].concat();
    write.open_table(OBJECTS).unwrap().insert(b"secrets\0shop\0s9".as_slice(), entry.as_slice()).unwrap();
    write.commit().unwrap();
    drop(database);
    let error = open(folder.path()).unwrap().load().unwrap_err().to_string();
    assert!(error.contains("secrets/shop/s9 is not encrypted"), "{error}");
    add_key(folder.path());
    assert_refused(folder.path(), &["secrets/shop/s9 is not encrypted"]);
}

#[test]
fn only_the_owner_can_read_the_key_and_the_file_of_an_operator_must_be_so() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let folder = folder(1);
    let own = key_path(folder.path());
    assert_eq!((mode(own.parent().unwrap()), mode(&own)), (0o700, 0o600));
    set(&own, 0o644);
    drop(open(folder.path()).unwrap());
    assert_eq!(mode(&own), 0o600, "others lose access");

    let elsewhere = tempfile::tempdir().unwrap();
    let given = elsewhere.path().join("keys");
    let open_given = || Redb::open_with(Folder::hold(folder.path()).unwrap(), &KeyFile::at(&given));
    let error = open_given().unwrap_err().to_string();
    assert!(error.contains("does not exist") && error.contains("openssl rand"), "{error}");
    fs::copy(&own, &given).unwrap();
    set(&given, 0o640);
    let error = open_given().unwrap_err().to_string();
    assert!(error.contains("mode 640") && error.contains("chmod 600"), "{error}");
    set(&given, 0o400);
    fs::remove_file(&own).unwrap();
    assert_eq!(objects(&open_given().unwrap()).len(), 1);
    assert!(!own.exists());
}

/// Child process: opens the store.
#[test]
#[ignore = "run by the other test, as a process that is killed"]
fn child() {
    let path = std::env::var("ORCHESTRA_TEST_FOLDER").unwrap();
    drop(open(Path::new(&path)).unwrap());
}

#[test]
fn a_rotation_can_be_killed_at_any_moment() {
    let folder = folder(2000);
    let before = objects(&open(folder.path()).unwrap());
    for moment in 0..20 {
        add_key(folder.path());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "encryption::child", "--ignored"])
            .env("ORCHESTRA_TEST_FOLDER", folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(moment * 5));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let store = open(folder.path()).unwrap();
    assert!(objects(&store) == before, "a secret was lost");
    assert_eq!(files_with(folder.path(), CANARY), Vec::<PathBuf>::new());
    drop(store);
    fs::write(key_path(folder.path()), &key_lines(folder.path())[0]).unwrap();
    assert!(objects(&open(folder.path()).unwrap()) == before, "only the last key is needed");
}
