//! Names at the limits of what is allowed, and restricted namespaces.

use orchestra_e2e::platform::Error;
use serde_json::json;

use crate::{
    document::{of_profile, page},
    space::Space,
    wait::{contains, holds, until},
};

pub(super) async fn names(space: &Space) -> Result<(), Error> {
    let long = "a-name-that-is-exactly-as-long-as-a-name-is-allowed-to-be-here1";
    holds("63 characters", long.len() == 63)?;
    for name in [long, "9-lives", "xy"] {
        let status = space.run(&page(name, name)?).await?;
        let endpoint = status["endpoint"].as_str().unwrap_or_default();
        let service = endpoint.trim_start_matches("http://").split(['.', ':']).next().unwrap_or_default();
        let answer = until(format!("{name} answers at {endpoint}"), async || {
            space.ask(&format!("{service}:80"), "").await
        });
        contains(name, &answer.await?, name)?;
    }
    for name in [long, "9-lives", "xy"] {
        space.delete(name).await?;
    }
    Ok(())
}

pub(super) async fn restricted(space: &Space) -> Result<(), Error> {
    let enforce = json!({"metadata": {"labels": {
        "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest",
    }}});
    space.cluster.merge(&format!("/api/v1/namespaces/{}", space.name), &enforce).await?;
    let mut document = of_profile(page("shop", "restricted")?, "non-root");
    document["spec"]["containers"]["app"]["variables"]["DATABASE_URL"] = "${resources.db.uri}".into();
    document["spec"]["resources"] = json!({"db": {"type": "postgres"}, "cache": {"type": "redis"}});
    space.run(&document).await?;
    let user = space.exec("shop", "app", "id -u").await?;
    holds(format!("it runs as {user}"), user.trim() != "0")
}
