//! Tokens of service accounts: signed JSON web tokens (ES256).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest,
    error::{KeyRejected, Unspecified},
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
        UnparsedPublicKey,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::caller::{self, Caller};

/// Issuer of the tokens, and their audience unless others are requested.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";
/// Signature algorithm, the only one that is accepted.
const ALGORITHM: &str = "ES256";
/// Maximum length of a token: ours have less than 2 KiB, unless their audiences are long.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// Tolerance for a clock that was set back.
const CLOCK_TOLERANCE_SECONDS: i64 = 60;
/// Remembered tokens with a valid signature.
const MAX_VERIFIED: usize = 1024;
/// DER of a P-256 public key, before its point.
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Claims of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    /// Audiences.
    pub aud: Vec<String>,
    /// End of validity, in seconds of Unix time.
    pub exp: i64,
    /// Time of issue.
    pub iat: i64,
    /// Issuer.
    pub iss: String,
    /// Unique id.
    pub jti: String,
    /// Objects that the token is bound to.
    #[serde(rename = "kubernetes.io")]
    pub bound: Bound,
    /// Start of validity.
    pub nbf: i64,
    /// User name.
    pub sub: String,
}

/// Objects that a token is bound to: it is valid as long as they exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bound {
    /// Namespace of all of them.
    pub namespace: String,
    /// Secret, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<ObjectRef>,
    /// Service account.
    pub serviceaccount: ObjectRef,
}

/// Name and uid of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectRef {
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
}

/// Reason for the rejection of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    /// It is not a token of this server.
    #[error("invalid bearer token")]
    Invalid,
    /// It is for others.
    #[error("the token is not for this audience")]
    Audience,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// Its time has not begun.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// The service account, or another bound object, was deleted.
    #[error("the token has been invalidated")]
    Invalidated,
}

/// Error of a signing key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// No key can be generated.
    #[error("failed to generate a key: the system has no random numbers")]
    Random,
    /// The key is not one of ECDSA with P-256 in PKCS#8.
    #[error("not a P-256 key in PKCS#8: {0}")]
    Rejected(KeyRejected),
}

/// Key that signs the tokens of service accounts.
#[derive(Clone)]
pub struct TokenKey(Arc<Signer>);

struct Signer {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    id: String,
}

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TokenKey({})", self.0.id)
    }
}

impl TokenKey {
    /// New key, for tests and servers that forget everything. Its tokens are invalid after a restart.
    pub fn generate() -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|Unspecified| KeyError::Random)?;
        Self::from_pkcs8(document.as_ref())
    }

    /// Key in PKCS#8.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random)
            .map_err(KeyError::Rejected)?;
        let public = [&P256_PREFIX, pair.public_key().as_ref()].concat();
        let id = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, &public));
        Ok(Self(Arc::new(Signer { pair, random, id })))
    }

    fn public(&self) -> &[u8] {
        self.0.pair.public_key().as_ref()
    }
}

/// Issuer and verifier of tokens.
#[derive(Debug)]
pub(crate) struct Tokens {
    key: TokenKey,
    /// Claims of tokens with a valid signature, by their hash: verification costs more than all the rest of a request.
    verified: Mutex<HashMap<[u8; 32], Arc<Claims>>>,
}

impl Tokens {
    /// Tokens of a key.
    pub(crate) fn new(key: TokenKey) -> Self {
        Self { key, verified: Mutex::default() }
    }

    /// Token with these claims.
    pub(crate) fn sign(&self, claims: &Claims) -> Result<String, Unspecified> {
        let header = json!({"alg": ALGORITHM, "kid": self.key.0.id});
        let part = |value: Vec<u8>| URL_SAFE_NO_PAD.encode(value);
        // Strings and numbers always convert.
        let body = serde_json::to_vec(claims).unwrap_or_default();
        let content = format!("{}.{}", part(crate::json::encode(&header)), part(body));
        let signature = self.key.0.pair.sign(&self.key.0.random, content.as_bytes())?;
        Ok(format!("{content}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Claims of a token that is valid at a time for one of these audiences; and which of them.
    pub(crate) fn verify(
        &self,
        token: &str,
        audiences: &[String],
        now: i64,
    ) -> Result<(Arc<Claims>, Vec<String>), TokenError> {
        let claims = self.claims(token)?;
        check_time(&claims, now)?;
        let common: Vec<String> = audiences.iter().filter(|one| claims.aud.contains(one)).cloned().collect();
        if common.is_empty() { Err(TokenError::Audience) } else { Ok((claims, common)) }
    }

    /// Claims of a token with a valid signature.
    fn claims(&self, token: &str) -> Result<Arc<Claims>, TokenError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::Invalid);
        }
        let hash = digest::digest(&digest::SHA256, token.as_bytes());
        let hash: [u8; 32] = hash.as_ref().try_into().map_err(|_| TokenError::Invalid)?;
        if let Some(known) = self.verified.lock().unwrap_or_else(PoisonError::into_inner).get(&hash) {
            return Ok(Arc::clone(known));
        }
        let claims = Arc::new(self.decode(token).ok_or(TokenError::Invalid)?);
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= MAX_VERIFIED {
            verified.clear();
        }
        verified.insert(hash, Arc::clone(&claims));
        Ok(claims)
    }

    fn decode(&self, token: &str) -> Option<Claims> {
        let (content, signature) = token.rsplit_once('.')?;
        let (header, body) = content.split_once('.')?;
        let header: Header = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
        let own = header.kid.is_none_or(|kid| kid == self.key.0.id);
        // An unknown critical extension would have to be understood.
        if header.alg != ALGORITHM || !own || header.crit.is_some() {
            return None;
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.key.public());
        key.verify(content.as_bytes(), &signature).ok()?;
        let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()?;
        let Bound { namespace, serviceaccount, .. } = &claims.bound;
        let consistent = claims.sub == caller::account_user(namespace, &serviceaccount.name);
        (claims.iss == ISSUER && consistent).then_some(claims)
    }

    /// Public keys, as `/openid/v1/jwks` shows them.
    pub(crate) fn key_document(&self) -> Value {
        let point = self.key.public().get(1..).unwrap_or_default();
        let (x, y) = point.split_at(point.len() / 2);
        json!({"keys": [{
            "use": "sig", "kty": "EC", "kid": self.key.0.id, "crv": "P-256", "alg": ALGORITHM,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        }]})
    }
}

/// Header of a token.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

/// Checks that a token is valid at a time.
pub(crate) fn check_time(claims: &Claims, now: i64) -> Result<(), TokenError> {
    if claims.exp <= now {
        return Err(TokenError::Expired);
    }
    if claims.nbf > now.saturating_add(CLOCK_TOLERANCE_SECONDS) {
        return Err(TokenError::NotYetValid);
    }
    Ok(())
}

/// `/.well-known/openid-configuration`
pub(crate) fn issuer_document() -> Value {
    json!({
        "issuer": ISSUER,
        "jwks_uri": format!("{ISSUER}/openid/v1/jwks"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [ALGORITHM],
    })
}

impl Claims {
    /// User of the token.
    pub(crate) fn caller(&self) -> Caller {
        let Bound { namespace, serviceaccount, .. } = &self.bound;
        let mut caller = Caller::service_account(namespace, &serviceaccount.name);
        caller.uid.clone_from(&serviceaccount.uid);
        let id = format!("JTI={}", self.jti);
        caller.extra.insert("authentication.kubernetes.io/credential-id".to_owned(), vec![id]);
        caller
    }
}

#[cfg(test)]
mod tests;
