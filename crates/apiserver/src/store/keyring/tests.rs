use proptest::prelude::*;

use super::*;

const NAME: &[u8] = b"secrets\0shop\0db";

fn new_ring() -> Keyring {
    Keyring::parse(&Keyring::new_line().unwrap()).unwrap()
}

#[test]
fn records_of_all_keys_are_readable_and_the_first_key_encrypts() {
    let (old, new) = (Keyring::new_line().unwrap(), Keyring::new_line().unwrap());
    let record = Keyring::parse(&old).unwrap().seal(NAME, Revision(7), b"value").unwrap();
    let both = Keyring::parse(&format!("# the newest first\n{new}\n{old}")).unwrap();
    assert_eq!(both.open(NAME, Revision(7), &record).unwrap(), b"value");
    assert!(!both.is_current(KeyId::of_record(&record).unwrap()));
    let again = both.seal(NAME, Revision(7), b"value").unwrap();
    assert!(both.is_current(KeyId::of_record(&again).unwrap()));
    let new = Keyring::parse(&new).unwrap();
    assert_eq!(new.open(NAME, Revision(7), &again).unwrap(), b"value");
    let missing = KeyId::of_record(&record).unwrap();
    assert_eq!(new.open(NAME, Revision(7), &record), Err(Unreadable::NoKey(missing)));
}

#[test]
fn equal_values_have_different_records() {
    let ring = new_ring();
    let record = || ring.seal(NAME, Revision(7), b"value").unwrap();
    assert_ne!(record(), record());
}

#[test]
fn a_name_is_optional_and_has_to_fit_its_key() {
    let line = Keyring::new_line().unwrap();
    let (name, secret) = line.trim().split_once(' ').unwrap();
    assert_eq!(Keyring::parse(secret).unwrap().ids().next().unwrap().to_string(), name);
    let error = Keyring::parse(&format!("\n0123456789abcdef {secret}")).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains(name), "{error}");
}

#[test]
fn what_is_not_a_key_is_refused_by_its_line() {
    let secret = STANDARD.encode([7; KEY_BYTES]);
    for (text, expected) in [
        ("", InvalidKeys::Empty),
        ("# nothing but a comment\n", InvalidKeys::Empty),
        ("secret", InvalidKeys::NotAKey(1)),
        (&secret[..40], InvalidKeys::NotAKey(1)),
        (&format!("{secret}\n{}", STANDARD.encode([7; 16])), InvalidKeys::NotAKey(2)),
        (&format!("{secret}{secret}"), InvalidKeys::NotAKey(1)),
    ] {
        assert_eq!(Keyring::parse(text).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn keys_are_not_in_debug_output() {
    let line = Keyring::new_line().unwrap();
    let (name, secret) = line.trim().split_once(' ').unwrap();
    let text = format!("{:?}", Keyring::parse(&line).unwrap());
    assert!(text.contains(name) && !text.contains(secret), "{text}");
}

proptest! {
    #[test]
    fn a_record_opens_only_unchanged_and_for_its_object(
        content in proptest::collection::vec(any::<u8>(), 0..200),
        revision in any::<u64>(),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u32,
    ) {
        let ring = new_ring();
        let record = ring.seal(NAME, Revision(revision), &content).unwrap();
        prop_assert_eq!(ring.open(NAME, Revision(revision), &record).unwrap(), content);
        prop_assert_eq!(
            ring.open(b"secrets\0shop\0other", Revision(revision), &record),
            Err(Unreadable::Changed)
        );
        prop_assert_eq!(ring.open(NAME, Revision(revision ^ 1), &record), Err(Unreadable::Changed));
        prop_assert_eq!(
            ring.open(NAME, Revision(revision), &record[..at.index(record.len())]).is_err(),
            true
        );
        let mut changed = record.clone();
        changed[at.index(record.len())] ^= 1 << bit;
        prop_assert!(ring.open(NAME, Revision(revision), &changed).is_err());
    }
}
