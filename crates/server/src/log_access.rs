//! Access to logs that are followed: they end with the permission or the token of their caller.

use std::{sync::Arc, time::Duration};

use axum::http::Extensions;
use futures_util::{StreamExt as _, stream::BoxStream};
use tokio::time::{Instant, sleep_until};

use crate::{
    Server,
    access::{Access, AccessRequest, Caller, CredentialCheck, authenticate},
    error::Error,
};

/// Interval of reviews: often enough where no authorizer reports that a permission is [revoked](Access::revoked), and two
/// requests to the API of a cluster.
const REVIEW_INTERVAL: Duration = Duration::from_mins(1);

/// Access of a caller to the logs of a Workload.
pub(crate) struct LogAccess {
    access: Arc<dyn Access>,
    caller: Caller,
    credential: Option<CredentialCheck>,
    namespace: String,
    name: String,
}

impl LogAccess {
    pub(crate) fn of(
        server: &Server,
        extensions: &Extensions,
        namespace: &str,
        name: &str,
    ) -> Result<Self, Error> {
        Ok(Self {
            access: Arc::clone(&server.access),
            caller: authenticate(extensions)?.clone(),
            credential: extensions.get().cloned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Lines for as long as the caller has access. None is sent while a review is due.
    pub(crate) fn limit<T: Send + 'static>(self, lines: BoxStream<'static, T>) -> BoxStream<'static, T> {
        let reviewed = Instant::now();
        let limited = futures_util::stream::unfold(
            (self, lines, reviewed),
            |(access, mut lines, mut reviewed)| async move {
                loop {
                    if reviewed.elapsed() >= REVIEW_INTERVAL {
                        if !access.lasts().await {
                            return None;
                        }
                        reviewed = Instant::now();
                    }
                    tokio::select! {
                        biased;
                        () = sleep_until(reviewed + REVIEW_INTERVAL) => {}
                        line = lines.next() => return Some((line?, (access, lines, reviewed))),
                    }
                }
            },
        );
        limited.boxed()
    }

    /// False once the credential is invalid or the permission is revoked. A review that fails says neither: it is repeated.
    async fn lasts(&self) -> bool {
        if let Some(credential) = &self.credential
            && !credential.is_valid().await
        {
            return false;
        }
        let Self { namespace, name, .. } = self;
        let request = AccessRequest { verb: "get", namespace, name, subresource: "log" };
        self.access.review(&self.caller, &request).await.unwrap_or(true)
    }
}
