//! Databases and caches, used by an application.

use orchestra_e2e::platform::Error;
use serde_json::{Value as Json, json};

use super::fields::{does_not_leak, secret_of};
use crate::{
    document::workload,
    space::Space,
    wait::{contains, holds, same, until},
};

/// Application that counts visits in postgres and responds with the number.
fn visits(name: &str, resource: &Json) -> Result<Json, Error> {
    let mut document = workload(
        name,
        r#"
        containers:
          app:
            image: PROBE
            command: [hold, httpd, -f, -p, "8080", -h, /www]
            variables: {URL: "${resources.db.uri}", PGHOST: "${resources.db.host}", PGPASSWORD: "${resources.db.password}"}
            files:
              /www/cgi-bin/visit:
                mode: "0755"
                noExpand: true
                content: |
                  #!/bin/sh
                  printf 'content-type: text/plain\r\n\r\n'
                  psql "$URL" -qAt -v ON_ERROR_STOP=1 -c 'create table if not exists visits (at timestamptz)' \
                    -c 'insert into visits values (now())' -c 'select count(*) from visits' 2>&1 | grep -v NOTICE
        service: {ports: {web: {port: 80, targetPort: 8080}}}
        "#,
    )?;
    document["spec"]["resources"] = json!({"db": resource});
    Ok(document)
}

/// Number of a visit, from the response of the application.
async fn visit(space: &Space, name: &str) -> Result<u32, Error> {
    let answer = space.ask(&format!("{name}:80"), "cgi-bin/visit").await?;
    Ok(answer.trim().parse().map_err(|_| format!("the application responded {answer:?}"))?)
}

/// Restarts the server of a dependency.
pub(super) async fn restart_server(space: &Space, pod: &str) -> Result<(), Error> {
    let before = space.get("v1", &format!("pods/{pod}")).await?["metadata"]["uid"].clone();
    space.kubectl(&format!("delete pod {pod} --wait=false")).await?;
    until("the server is restarted", async || {
        let pods = space.list("v1", "pods?labelSelector=score.dev%2Finstance").await?;
        let ready = |pod: &Json| {
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            pod["metadata"]["uid"] != before
                && conditions.clone().any(|it| it["type"] == "Ready" && it["status"] == "True")
        };
        holds(
            "none is ready",
            pods.iter().any(ready) && !pods.iter().any(|pod| pod["metadata"]["uid"] == before),
        )
    })
    .await
}

/// Pod of the only dependency of a namespace.
pub(super) async fn server(space: &Space) -> Result<String, Error> {
    let pods = space.list("v1", "pods?labelSelector=score.dev%2Finstance").await?;
    let pod = pods.first().ok_or("the dependency has no pod")?;
    Ok(pod["metadata"]["name"].as_str().unwrap_or_default().to_owned())
}

pub(super) async fn postgres(space: &Space) -> Result<(), Error> {
    let status = space.run(&visits("shop", &json!({"type": "postgres"}))?).await?;
    same("the line of the dependency", &status["claims"][0]["phase"], &json!("Bound"))?;
    let first = until("the application answers", async || visit(space, "shop").await).await?;
    same("the second visit", visit(space, "shop").await?, first + 1)?;
    restart_server(space, &server(space).await?).await?;
    let third = until("the database answers again", async || visit(space, "shop").await).await?;
    same("the visit after the database was restarted", third, first + 2)?;
    space.kubectl("delete pod -l app=shop --wait=false").await?;
    let fourth = until("the application answers again", async || {
        let number = visit(space, "shop").await?;
        holds("nobody counted", number > third)?;
        Ok(number)
    });
    holds("rows were lost", fourth.await? > third)?;
    let (name, key) = secret_of(space, "shop", "db", "password").await?;
    does_not_leak(space, &space.secret(&name, &key).await?).await
}

pub(super) async fn redis(space: &Space) -> Result<(), Error> {
    let document = workload(
        "shop",
        r#"
        containers:
          app:
            image: PROBE
            command: [hold, httpd, -f, -p, "8080", -h, /www]
            variables: {REDIS: "${resources.cache.uri}"}
            files:
              /www/cgi-bin/visit:
                mode: "0755"
                noExpand: true
                content: |
                  #!/bin/sh
                  printf 'content-type: text/plain\r\n\r\n'
                  redis-cli --no-auth-warning -u "$REDIS" incr visits
        resources: {cache: {type: redis}}
        service: {ports: {web: {port: 80, targetPort: 8080}}}
        "#,
    )?;
    space.run(&document).await?;
    let first = until("the application answers", async || visit(space, "shop").await).await?;
    same("the second visit", visit(space, "shop").await?, first + 1)?;
    let nobody = space
        .exec("shop", "app", "redis-cli -h $(echo $REDIS | sed 's/.*@//; s/:.*//') incr visits 2>&1")
        .await?;
    contains("without a password", &nobody, "NOAUTH")?;
    restart_server(space, &server(space).await?).await?;
    let third = until("the cache answers again", async || visit(space, "shop").await).await?;
    same("the visit after the cache was restarted", third, first + 2)
}

pub(super) async fn retain(space: &Space) -> Result<(), Error> {
    let resource =
        json!({"type": "postgres", "metadata": {"annotations": {"score.dev/deprovision": "Retain"}}});
    let document = visits("shop", &resource)?;
    space.run(&document).await?;
    let first = until("the application answers", async || visit(space, "shop").await).await?;
    let (name, key) = secret_of(space, "shop", "db", "password").await?;
    let password = space.secret(&name, &key).await?;
    space.delete("shop").await?;
    until("the server stops", async || same("servers", space.list("v1", "pods").await?.len(), 0)).await?;
    same("volumes kept", space.list("v1", "persistentvolumeclaims").await?.len(), 1)?;
    same("the password kept", space.secret(&name, &key).await?.as_str(), password.as_str())?;
    space.run(&document).await?;
    let (name, key) = secret_of(space, "shop", "db", "password").await?;
    same("the password found again", space.secret(&name, &key).await?.as_str(), password.as_str())?;
    let next = until("the application answers again", async || visit(space, "shop").await).await?;
    same("the next visit", next, first + 1)
}

pub(super) async fn delete(space: &Space) -> Result<(), Error> {
    space.run(&visits("shop", &json!({"type": "postgres"}))?).await?;
    until("the application answers", async || visit(space, "shop").await).await?;
    space.delete("shop").await?;
    until("nothing is left", async || {
        for (group, plural) in super::changes::CREATED_KINDS {
            let names: Vec<_> = super::changes::names_of(space, group, plural).await?;
            same(plural, names, Vec::new())?;
        }
        Ok(())
    })
    .await
}

pub(super) async fn shared(space: &Space) -> Result<(), Error> {
    let resource = json!({"type": "postgres", "id": "common"});
    space.apply(&visits("one", &resource)?).await?;
    space.apply(&visits("two", &resource)?).await?;
    space.until_ready("one").await?;
    space.until_ready("two").await?;
    let first = until("one answers", async || visit(space, "one").await).await?;
    let second = until("two answers", async || visit(space, "two").await).await?;
    holds(format!("they count apart: {first} and {second}"), second > first)?;
    space.delete("one").await?;
    let third = visit(space, "two").await?;
    same("after one of the sharers has left", third, second + 1)
}
