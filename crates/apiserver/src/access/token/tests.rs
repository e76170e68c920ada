#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use super::*;

const NOW: i64 = 1_800_000_000;

fn claims() -> Claims {
    Claims {
        aud: vec![ISSUER.to_owned(), "vault".to_owned()],
        exp: NOW + 600,
        iat: NOW,
        iss: ISSUER.to_owned(),
        jti: "one".to_owned(),
        bound: Bound {
            namespace: "shop".to_owned(),
            secret: None,
            serviceaccount: ObjectRef { name: "robot".to_owned(), uid: "u1".to_owned() },
        },
        nbf: NOW,
        sub: "system:serviceaccount:shop:robot".to_owned(),
    }
}

fn tokens() -> Tokens {
    Tokens::new(TokenKey::generate().unwrap())
}

fn ours() -> [String; 1] {
    [ISSUER.to_owned()]
}

fn verdict(tokens: &Tokens, token: &str) -> Result<(), TokenError> {
    tokens.verify(token, &ours(), NOW).map(drop)
}

/// Token with another header or body, and the signature of the original.
fn replaced(token: &str, part: usize, value: &Value) -> String {
    let mut parts: Vec<String> = token.split('.').map(str::to_owned).collect();
    parts[part] = URL_SAFE_NO_PAD.encode(serde_json::to_vec(value).unwrap());
    parts.join(".")
}

#[test]
fn a_signed_token_is_valid_for_its_audiences_and_its_time() {
    let tokens = tokens();
    let token = tokens.sign(&claims()).unwrap();
    let (found, audiences) = tokens.verify(&token, &ours(), NOW).unwrap();
    assert_eq!((&*found, audiences), (&claims(), ours().to_vec()));
    let check =
        |audience: &str, now| tokens.verify(&token, &[audience.to_owned()], now).map(|(_, common)| common);
    assert_eq!(check("vault", NOW), Ok(vec!["vault".to_owned()]));
    assert_eq!(check("other", NOW), Err(TokenError::Audience));
    assert_eq!(check(ISSUER, NOW + 599).map(drop), Ok(()));
    assert_eq!(check(ISSUER, NOW + 600), Err(TokenError::Expired));
    assert_eq!(check(ISSUER, NOW - 60).map(drop), Ok(()), "a clock that was set back a little");
    assert_eq!(check(ISSUER, NOW - 61), Err(TokenError::NotYetValid));
}

#[test]
fn a_token_of_another_key_is_invalid() {
    let token = tokens().sign(&claims()).unwrap();
    assert_eq!(verdict(&tokens(), &token), Err(TokenError::Invalid));
}

#[test]
fn a_key_is_restored_from_its_file() {
    let random = SystemRandom::new();
    let file = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let restored = || Tokens::new(TokenKey::from_pkcs8(file.as_ref()).unwrap());
    assert_eq!(verdict(&restored(), &restored().sign(&claims()).unwrap()), Ok(()));
    assert!(TokenKey::from_pkcs8(b"nonsense").is_err());
}

#[test]
fn forged_tokens_are_invalid() {
    let tokens = tokens();
    let token = tokens.sign(&claims()).unwrap();
    let id = tokens.key.0.id.clone();
    let mut other = claims();
    other.sub = "system:serviceaccount:shop:admin".to_owned();
    let body = |claims: &Claims| serde_json::to_value(claims).unwrap();
    let header = |alg: &str| json!({"alg": alg, "kid": id});
    let unsigned = |alg: &str| {
        let token = replaced(&token, 0, &header(alg));
        format!("{}.", token.rsplit_once('.').unwrap().0)
    };
    // The public key as the secret of a symmetric algorithm.
    let symmetric = {
        let token = replaced(&token, 0, &header("HS256"));
        let (content, _) = token.rsplit_once('.').unwrap();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, tokens.key.public());
        format!("{content}.{}", URL_SAFE_NO_PAD.encode(ring::hmac::sign(&key, content.as_bytes())))
    };
    for forged in [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "a.b".to_owned(),
        "a.b.c".to_owned(),
        token.trim_end_matches(|c| c != '.').to_owned(),
        format!("{token}A"),
        format!("{token}=="),
        format!("{token}.{token}"),
        format!(" {token}"),
        token.to_ascii_lowercase(),
        unsigned("none"),
        unsigned("None"),
        unsigned("ES256"),
        symmetric,
        replaced(&token, 0, &header("RS256")),
        replaced(&token, 0, &header("ES384")),
        replaced(&token, 0, &header("es256")),
        replaced(&token, 0, &json!({"kid": id})),
        replaced(&token, 1, &body(&other)),
        replaced(&token, 1, &body(&Claims { exp: NOW * 2, ..claims() })),
        "a".repeat(MAX_TOKEN_BYTES + 1),
    ] {
        assert_eq!(verdict(&tokens, &forged), Err(TokenError::Invalid), "{forged:.200}");
    }
    assert_eq!(verdict(&tokens, &token), Ok(()), "the token itself is still valid");
}

#[test]
fn a_signed_token_with_other_claims_than_ours_is_invalid() {
    let tokens = tokens();
    let foreign = Claims { iss: "https://example.org".to_owned(), ..claims() };
    let other_user = Claims { sub: "system:serviceaccount:bank:robot".to_owned(), ..claims() };
    for claims in [foreign, other_user] {
        assert_eq!(verdict(&tokens, &tokens.sign(&claims).unwrap()), Err(TokenError::Invalid));
    }
}

#[test]
fn headers_with_another_key_or_a_critical_extension_are_invalid() {
    let tokens = tokens();
    let sign = |header: Value| {
        let part = |value: Vec<u8>| URL_SAFE_NO_PAD.encode(value);
        let body = serde_json::to_vec(&claims()).unwrap();
        let content = format!("{}.{}", part(serde_json::to_vec(&header).unwrap()), part(body));
        let signature = tokens.key.0.pair.sign(&tokens.key.0.random, content.as_bytes()).unwrap();
        format!("{content}.{}", URL_SAFE_NO_PAD.encode(signature))
    };
    assert_eq!(verdict(&tokens, &sign(json!({"alg": "ES256"}))), Ok(()));
    assert_eq!(verdict(&tokens, &sign(json!({"alg": "ES256", "kid": "x"}))), Err(TokenError::Invalid));
    let critical = json!({"alg": "ES256", "crit": ["b64"], "b64": false});
    assert_eq!(verdict(&tokens, &sign(critical)), Err(TokenError::Invalid));
}

#[test]
fn remembered_tokens_are_bounded_and_still_expire() {
    let tokens = tokens();
    let token = tokens.sign(&claims()).unwrap();
    assert_eq!(verdict(&tokens, &token), Ok(()));
    assert_eq!(tokens.verify(&token, &ours(), NOW + 600).map(drop), Err(TokenError::Expired));
    for number in 0..=MAX_VERIFIED {
        let mut verified = tokens.verified.lock().unwrap();
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_le_bytes());
        verified.insert(key, Arc::new(claims()));
    }
    let next = tokens.sign(&Claims { jti: "two".to_owned(), ..claims() }).unwrap();
    assert_eq!(verdict(&tokens, &next), Ok(()));
    assert!(tokens.verified.lock().unwrap().len() <= MAX_VERIFIED);
}

#[test]
fn the_user_of_a_token_is_its_service_account() {
    let caller = claims().caller();
    assert_eq!((&*caller.name, &*caller.uid), ("system:serviceaccount:shop:robot", "u1"));
    assert_eq!(caller.groups, ["system:serviceaccounts", "system:serviceaccounts:shop"]);
    assert_eq!(caller.extra["authentication.kubernetes.io/credential-id"], ["JTI=one"]);
}

#[test]
fn the_public_key_verifies_tokens_elsewhere() {
    let tokens = tokens();
    let document = tokens.key_document();
    let part = |name: &str| URL_SAFE_NO_PAD.decode(document["keys"][0][name].as_str().unwrap()).unwrap();
    let point = [vec![4], part("x"), part("y")].concat();
    let token = tokens.sign(&claims()).unwrap();
    let (content, signature) = token.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
    assert!(key.verify(content.as_bytes(), &signature).is_ok());
}
