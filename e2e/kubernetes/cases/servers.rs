//! The other servers that a Workload can depend on: an application uses each with what it was told, also after the server
//! was started anew. Its own tools ask, which the image of the server has.

use orchestra_e2e::platform::Error;
use serde_json::json;

use super::{
    dependencies::{restart_server, server},
    fields::{is_told_nowhere, kept},
};
use crate::{
    cluster::setting,
    document::workload,
    space::Space,
    suite::Skip,
    wait::{contains, same, until},
};

/// An application that waits to be told what to do, with a dependency whose outputs are its variables.
struct Shop<'a> {
    space: &'a Space,
}

impl<'a> Shop<'a> {
    async fn open(
        space: &'a Space,
        image: &str,
        resource: &str,
        outputs: &[(&str, &str)],
    ) -> Result<Self, Error> {
        let mut document = workload("shop", &format!("containers: {{app: {{image: '{image}'}}}}"))?;
        let variables = outputs
            .iter()
            .map(|(name, output)| ((*name).to_owned(), json!(format!("${{resources.it.{output}}}"))));
        let app = &mut document["spec"]["containers"]["app"];
        app["command"] = json!(["sh", "-c", "trap exit TERM; while :; do sleep 1; done"]);
        app["variables"] = variables.collect();
        document["spec"]["resources"] = json!({"it": {"type": resource}});
        let status = space.run(&document).await?;
        same("the line of the dependency", &status["claims"][0]["phase"], &json!("Bound"))?;
        Ok(Self { space })
    }

    /// What a command of the application prints, once it succeeds: names of new servers are known after a moment.
    async fn does(&self, command: &str) -> Result<String, Error> {
        until(command, async || self.space.exec("shop", "app", command).await).await
    }

    async fn restart_server(&self) -> Result<(), Error> {
        restart_server(self.space, &server(self.space).await?).await
    }

    /// Nobody finds an output outside of the places for secrets.
    async fn keeps_secret(&self, output: &str) -> Result<(), Error> {
        let (name, key) = kept(self.space, "shop", "it", output).await?;
        is_told_nowhere(self.space, &self.space.secret(&name, &key).await?).await
    }
}

pub(super) async fn mysql(space: &Space) -> Result<(), Error> {
    let outputs = [
        ("HOST", "host"),
        ("PORT", "port"),
        ("NAME", "username"),
        ("MYSQL_PWD", "password"),
        ("DATABASE", "database"),
        ("URI", "uri"),
    ];
    let shop = Shop::open(space, "docker.io/library/mysql:8.4", "mysql", &outputs).await?;
    shop.does(r#"[ "$URI" = "mysql://$NAME:$MYSQL_PWD@$HOST:$PORT/$DATABASE" ]"#).await?;
    let client = r#"mysql -h "$HOST" -P "$PORT" -u "$NAME" -N -e "#;
    shop.does(&format!(r#"{client} "create table if not exists visits (name text)" "$DATABASE""#)).await?;
    shop.does(&format!(r#"{client} "insert into visits values ('one')" "$DATABASE""#)).await?;
    shop.restart_server().await?;
    let rows = shop.does(&format!(r#"{client} "select name from visits" "$DATABASE""#)).await?;
    same("the rows after a restart", rows.trim(), "one")?;
    let nobody =
        space.exec("shop", "app", &format!(r#"MYSQL_PWD=wrong {client} "select 1" 2>&1 || true"#)).await?;
    contains("with a wrong password", &nobody, "Access denied")?;
    shop.keeps_secret("password").await
}

pub(super) async fn amqp(space: &Space) -> Result<(), Error> {
    let shop = Shop::open(space, "PROBE", "amqp", &[("URI", "uri")]).await?;
    shop.does(r#"amqp-declare-queue --url="$URI" -d -q visits"#).await?;
    shop.does(r#"amqp-publish --url="$URI" -r visits -p -b one"#).await?;
    shop.restart_server().await?;
    let message = shop.does(r#"amqp-get --url="$URI" -q visits"#).await?;
    same("the message after a restart", message.trim(), "one")?;
    let wrong = r#"amqp-get --url="$(echo "$URI" | sed 's/app:[^@]*@/app:wrong@/')" -q visits 2>&1 || true"#;
    contains("with a wrong password", &space.exec("shop", "app", wrong).await?, "ACCESS_REFUSED")?;
    shop.keeps_secret("password").await
}

pub(super) async fn kafka(space: &Space) -> Result<(), Error> {
    let outputs = [("SERVERS", "bootstrap_servers"), ("TOPIC", "name"), ("PARTITIONS", "num_partitions")];
    let shop = Shop::open(space, "docker.io/apache/kafka:3.9.1", "kafka-topic", &outputs).await?;
    let tools = "/opt/kafka/bin/kafka";
    let described = shop
        .does(&format!(r#"{tools}-topics.sh --bootstrap-server "$SERVERS" --describe --topic "$TOPIC""#))
        .await?;
    contains("the topic", &described, "PartitionCount: 3")?;
    shop.does(&format!(
        r#"echo one | {tools}-console-producer.sh --bootstrap-server "$SERVERS" --topic "$TOPIC""#
    ))
    .await?;
    shop.restart_server().await?;
    let message = shop
        .does(&format!(
            r#"{tools}-console-consumer.sh --bootstrap-server "$SERVERS" --topic "$TOPIC" --from-beginning \
               --max-messages 1 --timeout-ms 20000 2>/dev/null"#
        ))
        .await?;
    same("the message after a restart", message.trim(), "one")
}

pub(super) async fn s3(space: &Space) -> Result<(), Error> {
    if setting("E2E_LOAD").is_some() && setting("E2E_MINIO").is_none() {
        return Err(Skip("E2E_MINIO does not say where MinIO is, of which its image is made").into());
    }
    let outputs =
        [("ENDPOINT", "endpoint"), ("BUCKET", "bucket"), ("KEY", "access_key_id"), ("SECRET", "secret_key")];
    let image = "quay.io/minio/minio:RELEASE.2025-04-22T22-12-26Z";
    let shop = Shop::open(space, image, "s3", &outputs).await?;
    let client =
        r#"export MC_CONFIG_DIR=/tmp/mc; mc -q alias set it "$ENDPOINT" "$KEY" "$SECRET" >/dev/null && "#;
    shop.does(&format!(r#"{client} echo one | mc -q pipe "it/$BUCKET/visit""#)).await?;
    shop.restart_server().await?;
    let object = shop.does(&format!(r#"{client} mc -q cat "it/$BUCKET/visit""#)).await?;
    same("the object after a restart", object.trim(), "one")?;
    let wrong = r#"MC_CONFIG_DIR=/tmp/wrong mc alias set it "$ENDPOINT" "$KEY" wrong-secret 2>&1 || true"#;
    contains("with a wrong key", &space.exec("shop", "app", wrong).await?, "does not match")?;
    shop.keeps_secret("secret_key").await
}
