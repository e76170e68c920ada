//! The certificates of servers that share one identity and have no folder of their own: as texts, which somebody else
//! keeps for all of them.

use super::ServeError;
use super::authority::Authority;
use super::credential::Credential;
use rustls::pki_types::ServerName;
use std::fmt;
use std::time::SystemTime;

/// An authority and a serving certificate of it, as PEM. Each text is a certificate followed by its key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Keepsake {
    /// The authority that clients trust.
    pub authority: String,
    /// What the server shows.
    pub serving: String,
}

impl fmt::Debug for Keepsake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keepsake")
    }
}

impl Keepsake {
    /// What is kept, completed for servers that are reached under these names: what is missing, unusable, about to
    /// expire or for other names is made anew. The authority stays as long as it can be used, so that whoever trusts it
    /// need not be told.
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

    /// The certificate of the authority, for those who shall trust it.
    pub fn trust(&self) -> String {
        Self::parted(&self.authority).0
    }

    /// The serving certificate and its key.
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
    fn what_is_good_stays_and_what_is_not_is_made_anew_under_the_same_authority() {
        let now = SystemTime::now();
        let names = ["orchestra.score-system.svc".to_owned(), "10.0.0.1".to_owned()];
        let first = Keepsake::default().completed(&names, now).unwrap();
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
    fn nothing_that_is_kept_can_keep_a_server_from_starting() {
        let names = ["localhost".to_owned()];
        let broken = Keepsake { authority: "nonsense".to_owned(), serving: String::new() };
        let made = broken.completed(&names, SystemTime::now()).unwrap();
        let (certificate, key) = made.served();
        assert!(certificate.contains("BEGIN CERTIFICATE") && key.contains("PRIVATE KEY"));
        assert!(!made.trust().contains("PRIVATE KEY"));
        assert!(!format!("{made:?}").contains("PRIVATE KEY"));
    }
}
