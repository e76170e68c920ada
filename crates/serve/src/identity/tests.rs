#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::{Identity, ServeError};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// Files in the order of their creation.
const FILES: [&str; 4] = ["pki/ca.pem", "pki/serving.pem", "pki/admin.pem", "kubeconfig"];
const ADDRESS: &str = "127.0.0.1:6443";
const DAY: Duration = Duration::from_hours(24);

fn prepare_at(folder: &Path, address: &str, now: SystemTime) -> Result<Identity, ServeError> {
    Identity::prepare(folder, address.parse::<SocketAddr>().unwrap(), now)
}

fn prepare(folder: &Path) -> Result<Identity, ServeError> {
    prepare_at(folder, ADDRESS, SystemTime::now())
}

/// Folder of an earlier start.
fn used_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path()).unwrap();
    folder
}

fn contents(folder: &Path) -> [String; 4] {
    FILES.map(|file| fs::read_to_string(folder.join(file)).unwrap())
}

/// Files that differ.
fn changes(before: &[String; 4], after: &[String; 4]) -> Vec<&'static str> {
    (0..4).filter(|&file| before[file] != after[file]).map(|file| FILES[file]).collect()
}

fn message(result: Result<Identity, ServeError>, folder: &Path) -> String {
    result.err().unwrap().to_string().replace(folder.to_str().unwrap(), "DATA")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_first_start_writes_files_for_their_owner_only() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    let identity = prepare(&folder).unwrap();
    assert_eq!(identity.kubeconfig, folder.join("kubeconfig"));
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("pki")), 0o700);
    for file in FILES {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
    assert_eq!(fs::read_dir(folder.join("pki")).unwrap().count(), 3, "no drafts are left");
}

#[test]
fn a_later_start_changes_nothing() {
    let folder = used_folder();
    let before = contents(folder.path());
    prepare(folder.path()).unwrap();
    assert_eq!(changes(&before, &contents(folder.path())), [""; 0]);
}

#[test]
fn loose_permissions_are_tightened() {
    let folder = used_folder();
    fs::set_permissions(folder.path().join("pki"), fs::Permissions::from_mode(0o755)).unwrap();
    for file in FILES {
        fs::set_permissions(folder.path().join(file), fs::Permissions::from_mode(0o644)).unwrap();
    }
    prepare(folder.path()).unwrap();
    assert_eq!(mode(&folder.path().join("pki")), 0o700);
    for file in FILES {
        assert_eq!(mode(&folder.path().join(file)), 0o600, "{file}");
    }
}

#[test]
fn the_next_start_completes_an_interrupted_first_start() {
    for written in 0..FILES.len() {
        let folder = used_folder();
        let before = contents(folder.path());
        for file in &FILES[written..] {
            fs::remove_file(folder.path().join(file)).unwrap();
        }
        let draft = folder.path().join(FILES[written]).with_added_extension("new");
        fs::write(&draft, "-----BEGIN CERTIF").unwrap();

        prepare(folder.path()).unwrap();
        let after = contents(folder.path());
        assert_eq!(before[..written], after[..written], "what was written stays");
        assert!(!draft.exists(), "{} is left", draft.display());
        prepare(folder.path()).unwrap();
        assert_eq!(changes(&after, &contents(folder.path())), [""; 0]);
    }
}

#[test]
fn a_lost_file_is_reissued_by_the_same_authority() {
    let table: [(&str, &[&str]); 3] = [
        ("pki/serving.pem", &["pki/serving.pem"]),
        ("pki/admin.pem", &["pki/admin.pem", "kubeconfig"]),
        ("kubeconfig", &[]),
    ];
    for (lost, remade) in table {
        let folder = used_folder();
        let before = contents(folder.path());
        fs::remove_file(folder.path().join(lost)).unwrap();
        prepare(folder.path()).unwrap();
        assert_eq!(changes(&before, &contents(folder.path())), remade, "without {lost}");
    }
}

#[test]
fn certificates_of_a_lost_authority_are_replaced() {
    let folder = used_folder();
    let before = contents(folder.path());
    for file in ["pki/ca.pem", "kubeconfig"] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    prepare(folder.path()).unwrap();
    assert_eq!(changes(&before, &contents(folder.path())), FILES);
}

#[test]
fn an_authority_that_a_kubeconfig_trusts_is_never_replaced() {
    let folder = used_folder();
    fs::remove_file(folder.path().join("pki/ca.pem")).unwrap();
    assert_eq!(
        message(prepare(folder.path()), folder.path()),
        "DATA/pki/ca.pem is missing, but DATA/kubeconfig still trusts it; restore it from a backup, or remove \
         DATA/pki and DATA/kubeconfig to start over with new certificates (copies of the kubeconfig stop \
         working)"
    );

    let other = used_folder();
    fs::copy(other.path().join("pki/ca.pem"), folder.path().join("pki/ca.pem")).unwrap();
    assert_eq!(
        message(prepare(folder.path()), folder.path()),
        "DATA/kubeconfig is damaged: it does not trust the authority in DATA/pki/ca.pem; delete it, and it is \
         recreated at the next start"
    );
}

#[test]
fn a_damaged_file_is_named_with_its_remedy() {
    let start_over = "restore it from a backup, or remove DATA/pki and DATA/kubeconfig to start over with new \
                      certificates (copies of the kubeconfig stop working)";
    let remove = "remove it; the next start makes a new one";
    let [authority, serving, admin, _] = contents(used_folder().path());
    let key = |text: &str| text[text.find("-----BEGIN PRIVATE").unwrap()..].to_owned();
    let certificate = |text: &str| text[..text.find("-----BEGIN PRIVATE").unwrap()].to_owned();
    let table = [
        ("pki/ca.pem", String::new(), "it has no private key", start_over),
        ("pki/ca.pem", serving.clone(), "it is not an authority that this program made", start_over),
        ("pki/serving.pem", "\0\u{1}rubbish".to_owned(), "it has no private key", remove),
        ("pki/serving.pem", key(&serving), "its certificate is invalid", remove),
        (
            "pki/admin.pem",
            certificate(&admin) + &key(&authority),
            "its certificate and private key do not match",
            remove,
        ),
        ("pki/admin.pem", admin[..admin.len() - 30].to_owned(), "its private key is invalid", remove),
    ];
    for (file, content, reason, remedy) in table {
        let folder = used_folder();
        fs::write(folder.path().join(file), content).unwrap();
        let message = message(prepare(folder.path()), folder.path());
        assert_eq!(message, format!("DATA/{file} is damaged: {reason}; {remedy}"));
    }
}

#[test]
fn a_new_address_gets_a_certificate_and_is_in_the_kubeconfig() {
    let folder = used_folder();
    let before = contents(folder.path());
    prepare_at(folder.path(), "127.0.0.1:7443", SystemTime::now()).unwrap();
    let other_port = contents(folder.path());
    assert_eq!(changes(&before, &other_port), ["kubeconfig"]);
    assert!(other_port[3].contains("server: https://127.0.0.1:7443\n"));

    prepare_at(folder.path(), "10.1.2.3:7443", SystemTime::now()).unwrap();
    let other_host = contents(folder.path());
    assert_eq!(changes(&other_port, &other_host), ["pki/serving.pem", "kubeconfig"]);
}

#[test]
fn the_kubeconfig_of_a_server_on_all_interfaces_names_the_loopback() {
    for (address, server) in [("0.0.0.0:1", "https://127.0.0.1:1"), ("[::]:2", "https://[::1]:2")] {
        let folder = tempfile::tempdir().unwrap();
        prepare_at(folder.path(), address, SystemTime::now()).unwrap();
        assert!(contents(folder.path())[3].contains(&format!("server: {server}\n")), "{address}");
    }
}

#[test]
fn entries_that_kubectl_adds_to_the_kubeconfig_are_kept() {
    let folder = used_folder();
    let path = folder.path().join("kubeconfig");
    let edited =
        contents(folder.path())[3].replace("user: orchestra\n", "user: orchestra\n    namespace: mine\n");
    fs::write(&path, &edited).unwrap();
    prepare(folder.path()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), edited);
}

#[test]
fn certificates_are_renewed_before_they_expire() {
    let now = SystemTime::now();
    let table: [(Duration, &[&str]); 2] =
        [(639 * DAY, &[]), (641 * DAY, &["pki/serving.pem", "pki/admin.pem", "kubeconfig"])];
    for (later, renewed) in table {
        let folder = used_folder();
        let before = contents(folder.path());
        prepare_at(folder.path(), ADDRESS, now + later).unwrap();
        assert_eq!(changes(&before, &contents(folder.path())), renewed, "{later:?}");
    }
}

#[test]
fn an_expired_authority_is_not_served() {
    let folder = used_folder();
    let result = prepare_at(folder.path(), ADDRESS, SystemTime::now() + 3651 * DAY);
    let message = message(result, folder.path());
    assert!(
        message.starts_with("the certificate authority in DATA/pki/ca.pem has expired; restore it"),
        "{message}"
    );
}
