//! Secret of an instance: its owner is the instance in its label.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use orchestra_api::{Reason, label};

use crate::driver::DriverError;

/// True if a Secret was created for the instance.
pub fn is_secret_of(secret: &ObjectMeta, instance: &str) -> bool {
    let owner = secret.labels.as_ref().and_then(|labels| labels.get(label::INSTANCE));
    owner.is_some_and(|owner| owner == instance)
}

/// Refuses to adopt a Secret that was not created for the instance: somebody else uses its content.
pub fn check_secret_owner(secret: &ObjectMeta, instance: &str) -> Result<(), DriverError> {
    if is_secret_of(secret, instance) {
        return Ok(());
    }
    let name = secret.name.as_deref().unwrap_or_default();
    Err(DriverError::unwatched(
        Reason::BindingFailed,
        format!(
            "The secret `{name}` already exists in this namespace and is not managed by orchestra; rename or delete it."
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_with_the_label_of_the_instance_is_adopted() {
        let secret = |instance: Option<&str>| ObjectMeta {
            name: Some("postgres-a".to_owned()),
            labels: instance.map(|instance| [(label::INSTANCE.to_owned(), instance.to_owned())].into()),
            ..ObjectMeta::default()
        };
        assert_eq!(check_secret_owner(&secret(Some("a")), "a"), Ok(()));
        for foreign in [secret(Some("b")), secret(None)] {
            let error = check_secret_owner(&foreign, "a").unwrap_err().to_string();
            assert!(error.starts_with("The secret `postgres-a` already exists"), "{error}");
        }
    }
}
