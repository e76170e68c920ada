//! Key that signs the tokens of a data directory: made at the first start, and reused by later ones, so that tokens stay
//! valid.

use crate::ServeError;
use crate::private_file;
use rcgen::KeyPair;
use std::path::Path;

/// ECDSA key with P-256 in PKCS#8, as DER. Its file is readable by its owner only.
pub fn token_key(data_dir: &Path) -> Result<Vec<u8>, ServeError> {
    let folder = data_dir.join("pki");
    private_file::make_folder(&folder)?;
    let path = folder.join("tokens.pem");
    let Some(text) = private_file::read(&path)? else {
        let key = KeyPair::generate()?;
        private_file::replace(&path, &key.serialize_pem())?;
        return Ok(key.serialize_der());
    };
    let key = KeyPair::from_pem(&text).map_err(|_| ServeError::Damaged {
        path,
        reason: "it has no private key".to_owned(),
        remedy: "remove it; the next start makes a new one, and all tokens become invalid".to_owned(),
    })?;
    Ok(key.serialize_der())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_key_is_private_and_stays_the_same() {
        let data = tempfile::tempdir().unwrap();
        let key = token_key(data.path()).unwrap();
        assert_eq!(token_key(data.path()).unwrap(), key);
        let path = data.path().join("pki/tokens.pem");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        token_key(data.path()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "others lose access");
    }

    #[test]
    fn a_damaged_key_is_reported_and_not_replaced() {
        let data = tempfile::tempdir().unwrap();
        token_key(data.path()).unwrap();
        let path = data.path().join("pki/tokens.pem");
        fs::write(&path, "nonsense").unwrap();
        let error = token_key(data.path()).unwrap_err().to_string();
        assert!(error.contains("tokens.pem") && error.contains("remove it"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "nonsense");
    }
}
