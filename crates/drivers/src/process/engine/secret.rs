//! Secrets: values that are generated once, and certificates for local servers.

use std::{collections::BTreeSet, time::SystemTime};

use orchestra_api::claim::Output;
use orchestra_core::provision::{Bound, Provision};

use super::params::{Params, listed, refused};
use crate::{
    DriverError, ProvisionContext, SecretText,
    certificate::{self, CA, CERTIFICATE, KEY},
    process::local_bindings::LocalBinding,
    provision_context::{InstanceSecret, SecretData},
    random,
};

/// Class of certificates.
pub(super) const TLS: &str = "tls";
/// Default key.
const VALUE: &str = "secret";

/// Parameters of a class.
pub(super) fn params(class: &str) -> &'static [&'static str] {
    if class == TLS { &["dns", "hosts"] } else { &["keys"] }
}

pub(super) async fn ensure(
    class: &str,
    params: &Params,
    ctx: &dyn ProvisionContext,
) -> Result<(Provision, Option<LocalBinding>), DriverError> {
    let (kept, keys, message) = if class == TLS {
        let mut hosts: BTreeSet<String> = params.texts("hosts")?.into_iter().collect();
        hosts.extend(params.texts("dns")?);
        let kept = ctx.update_secret(&|is| certificate::renewed(is, &hosts, SystemTime::now())).await?;
        let names = hosts.iter().map(String::as_str).chain(["localhost"]);
        let message = format!("Ready to use: a certificate for {}, signed by `{CA}`.", listed(names));
        (kept, vec![CERTIFICATE.to_owned(), KEY.to_owned(), CA.to_owned()], message)
    } else {
        let mut keys = params.texts("keys")?;
        if keys.is_empty() {
            keys.push(VALUE.to_owned());
        }
        if let Some(key) = keys.iter().find(|key| !is_key(key)) {
            return Err(refused(format!(
                "The parameter `keys` has {key:?}, which is not a valid key: use letters, digits, `-`, `_` and `.`."
            )));
        }
        let kept = ctx.update_secret(&|is| completed(is, &keys)).await?;
        (kept, keys, "Ready to use; its values were generated once and do not change.".to_owned())
    };
    let binding = LocalBinding::Secret { name: kept.name.clone(), keys: keys.clone() };
    Ok((Provision::Bound(Bound { message, ..of_keys(&kept, keys) }), Some(binding)))
}

/// Secret output for each key.
pub(super) fn of_keys(kept: &InstanceSecret, keys: impl IntoIterator<Item = String>) -> Bound {
    Bound {
        outputs: keys.into_iter().map(|key| (key.clone(), Output::SecretKeyRef(kept.key(&key)))).collect(),
        versions: [(kept.name.clone(), kept.version.clone())].into(),
        message: String::new(),
    }
}

/// Generates missing values. Values that are no longer asked for stay, so that a later request gets the same.
fn completed(is: &SecretData, keys: &[String]) -> Result<SecretData, DriverError> {
    let mut contents = is.clone();
    for key in keys.iter().filter(|key| !is.contains_key(*key)) {
        contents.insert(key.clone(), SecretText::new(random::generate()?));
    }
    Ok(contents)
}

/// True if a text is a valid key of a Secret.
pub(super) fn is_key(key: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !key.is_empty() && key.len() <= 253 && key.chars().all(is_inside) && !key.starts_with("..") && key != "."
}
