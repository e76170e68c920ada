//! Certificates of servers that share one identity and have no data directory: texts that are stored elsewhere, such as
//! in a Secret.

use crate::ServeError;
use crate::authority::Authority;
use crate::credential::Credential;
use rustls::pki_types::ServerName;
use std::fmt;
use std::time::SystemTime;

/// Certificate authority and a serving certificate of it, as PEM. Each text is a certificate followed by its key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CertBundle {
    /// Authority that clients trust.
    pub authority: String,
    /// Serving certificate.
    pub serving: String,
}

impl fmt::Debug for CertBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CertBundle")
    }
}

impl CertBundle {
    /// The bundle, completed for servers with these names: a certificate that is missing, unusable, about to expire or
    /// for other names is issued again. The authority stays as long as it is usable, so that its clients need no update.
    pub fn completed(&self, names: &[String], now: SystemTime) -> Result<Self, ServeError> {
        let names: Vec<ServerName<'static>> =
            names.iter().filter_map(|name| ServerName::try_from(name.clone()).ok()).collect();
        let kept = Credential::from_pem(&self.authority).ok();
        let restored = kept.map(Authority::restore).transpose()?.flatten();
        let authority = match restored.filter(|authority| !authority.has_expired(now)) {
            Some(authority) => authority,
            None => Authority::create(now)?,
        };
        let kept = Credential::from_pem(&self.serving).ok();
        let good = kept.filter(|kept| authority.vouches_for_server(&kept.certificate, &names, now));
        let serving = match good {
            Some(serving) => serving,
            None => authority.issue_serving(&names, now)?,
        };
        Ok(Self { authority: authority.credential().to_pem(), serving: serving.to_pem() })
    }

    /// Certificate of the authority, for clients.
    pub fn trust(&self) -> String {
        Self::parted(&self.authority).0
    }

    /// Serving certificate and its key.
    pub fn served(&self) -> (String, String) {
        Self::parted(&self.serving)
    }

    fn parted(text: &str) -> (String, String) {
        Credential::from_pem(text).map(|it| (it.certificate_pem, it.key_pem)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use std::time::Duration;

    const YEAR: Duration = Duration::from_hours(365 * 24);

    #[test]
    fn usable_certificates_stay_and_others_are_reissued_by_the_same_authority() {
        let now = SystemTime::now();
        let names = ["orchestra.score-system.svc".to_owned(), "10.0.0.1".to_owned()];
        let first = CertBundle::default().completed(&names, now).unwrap();
        assert_eq!(first.completed(&names, now).unwrap(), first);

        let more = [names[0].clone(), "platform.example.org".to_owned()];
        for other in [first.completed(&more, now), first.completed(&names, now + 2 * YEAR)] {
            let other = other.unwrap();
            assert_eq!(other.authority, first.authority);
            assert_ne!(other.serving, first.serving);
        }
        let later = first.completed(&names, now + 11 * YEAR).unwrap();
        assert_ne!(later.authority, first.authority);
    }

    #[test]
    fn a_damaged_bundle_does_not_prevent_the_start() {
        let names = ["localhost".to_owned()];
        let broken = CertBundle { authority: "nonsense".to_owned(), serving: String::new() };
        let made = broken.completed(&names, SystemTime::now()).unwrap();
        let (certificate, key) = made.served();
        assert!(certificate.contains("BEGIN CERTIFICATE") && key.contains("PRIVATE KEY"));
        assert!(!made.trust().contains("PRIVATE KEY"));
        assert!(!format!("{made:?}").contains("PRIVATE KEY"));
    }
}
