//! Secrets: values that are generated once, and certificates for servers of this machine.

use std::{collections::BTreeSet, time::SystemTime};

use orchestra_api::claim::Output;
use orchestra_core::provision::{Bound, Provision};

use super::params::{Params, listed, refused};
use crate::{
    DriverError, Neighbourhood, SecretText,
    certificate::{self, CA, CERTIFICATE, KEY},
    neighbourhood::{Contents, Kept},
    process::things::Thing,
    random,
};

/// The class of certificates.
pub(super) const TLS: &str = "tls";
/// The key where none is asked for.
const VALUE: &str = "secret";

/// What a class knows.
pub(super) fn params(class: &str) -> &'static [&'static str] {
    if class == TLS { &["dns", "hosts"] } else { &["keys"] }
}

pub(super) async fn ensure(
    class: &str,
    params: &Params,
    around: &dyn Neighbourhood,
) -> Result<(Provision, Option<Thing>), DriverError> {
    let (kept, keys, message) = if class == TLS {
        let mut hosts: BTreeSet<String> = params.texts("hosts")?.into_iter().collect();
        hosts.extend(params.texts("dns")?);
        let kept = around.keep(&|is| certificate::renewed(is, &hosts, SystemTime::now())).await?;
        let names = hosts.iter().map(String::as_str).chain(["localhost"]);
        let message = format!("Ready to use: a certificate for {}, which `{CA}` vouches for.", listed(names));
        (kept, vec![CERTIFICATE.to_owned(), KEY.to_owned(), CA.to_owned()], message)
    } else {
        let mut keys = params.texts("keys")?;
        if keys.is_empty() {
            keys.push(VALUE.to_owned());
        }
        if let Some(key) = keys.iter().find(|key| !is_key(key)) {
            return Err(refused(format!(
                "The parameter `keys` has {key:?}, which cannot be the name of a key: use letters, digits, `-`, `_` and `.`."
            )));
        }
        let kept = around.keep(&|is| completed(is, &keys)).await?;
        (kept, keys, "Ready to use; its values were generated once, and are kept.".to_owned())
    };
    let thing = Thing::Secret { name: kept.name.clone(), keys: keys.clone() };
    Ok((Provision::Bound(Bound { message, ..of_keys(&kept, keys) }), Some(thing)))
}

/// A secret output for each key.
pub(super) fn of_keys(kept: &Kept, keys: impl IntoIterator<Item = String>) -> Bound {
    Bound {
        outputs: keys.into_iter().map(|key| (key.clone(), Output::SecretKeyRef(kept.key(&key)))).collect(),
        versions: [(kept.name.clone(), kept.version.clone())].into(),
        message: String::new(),
    }
}

/// Generates what is missing. What is no longer asked for stays: whoever asks again gets the same.
fn completed(is: &Contents, keys: &[String]) -> Result<Contents, DriverError> {
    let mut contents = is.clone();
    for key in keys.iter().filter(|key| !is.contains_key(*key)) {
        contents.insert(key.clone(), SecretText::new(random::generate()?));
    }
    Ok(contents)
}

/// Whether something can be a key of a Secret.
pub(super) fn is_key(key: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !key.is_empty() && key.len() <= 253 && key.chars().all(is_inside) && !key.starts_with("..") && key != "."
}
