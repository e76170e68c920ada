//! Other servers that a Workload can depend on. An application uses each through its outputs, with the client tools of the
//! server's image, also after a restart of the server.

use orchestra_e2e::platform::Error;
use serde_json::json;

use super::{
    dependencies::{restart_server, server},
    fields::{does_not_leak, secret_of},
};
use crate::{
    cluster::setting,
    document::workload,
    space::Space,
    suite::Skip,
    wait::{contains, same, until},
};

/// Idle application for commands, with a dependency whose outputs are its variables.
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

    /// Output of a command in the application, retried until it succeeds: DNS names of new servers resolve with a delay.
    async fn exec(&self, command: &str) -> Result<String, Error> {
        until(command, async || self.space.exec("shop", "app", command).await).await
    }

    async fn restart_server(&self) -> Result<(), Error> {
        restart_server(self.space, &server(self.space).await?).await
    }

    /// Checks that a secret output does not leak.
    async fn keeps_secret(&self, output: &str) -> Result<(), Error> {
        let (name, key) = secret_of(self.space, "shop", "it", output).await?;
        does_not_leak(self.space, &self.space.secret(&name, &key).await?).await
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
    shop.exec(r#"[ "$URI" = "mysql://$NAME:$MYSQL_PWD@$HOST:$PORT/$DATABASE" ]"#).await?;
    let client = r#"mysql -h "$HOST" -P "$PORT" -u "$NAME" -N -e "#;
    shop.exec(&format!(r#"{client} "create table if not exists visits (name text)" "$DATABASE""#)).await?;
    shop.exec(&format!(r#"{client} "insert into visits values ('one')" "$DATABASE""#)).await?;
    shop.restart_server().await?;
    let rows = shop.exec(&format!(r#"{client} "select name from visits" "$DATABASE""#)).await?;
    same("the rows after a restart", rows.trim(), "one")?;
    let nobody =
        space.exec("shop", "app", &format!(r#"MYSQL_PWD=wrong {client} "select 1" 2>&1 || true"#)).await?;
    contains("with a wrong password", &nobody, "Access denied")?;
    shop.keeps_secret("password").await
}

pub(super) async fn amqp(space: &Space) -> Result<(), Error> {
    let shop = Shop::open(space, "PROBE", "amqp", &[("URI", "uri")]).await?;
    shop.exec(r#"amqp-declare-queue --url="$URI" -d -q visits"#).await?;
    shop.exec(r#"amqp-publish --url="$URI" -r visits -p -b one"#).await?;
    shop.restart_server().await?;
    let message = shop.exec(r#"amqp-get --url="$URI" -q visits"#).await?;
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
        .exec(&format!(r#"{tools}-topics.sh --bootstrap-server "$SERVERS" --describe --topic "$TOPIC""#))
        .await?;
    contains("the topic", &described, "PartitionCount: 3")?;
    shop.exec(&format!(
        r#"echo one | {tools}-console-producer.sh --bootstrap-server "$SERVERS" --topic "$TOPIC""#
    ))
    .await?;
    shop.restart_server().await?;
    let message = shop
        .exec(&format!(
            r#"{tools}-console-consumer.sh --bootstrap-server "$SERVERS" --topic "$TOPIC" --from-beginning \
               --max-messages 1 --timeout-ms 20000 2>/dev/null"#
        ))
        .await?;
    same("the message after a restart", message.trim(), "one")
}

pub(super) async fn s3(space: &Space) -> Result<(), Error> {
    if setting("E2E_LOAD").is_some() && setting("E2E_MINIO").is_none() {
        return Err(Skip("E2E_MINIO is not set: no MinIO for the image").into());
    }
    let outputs =
        [("ENDPOINT", "endpoint"), ("BUCKET", "bucket"), ("KEY", "access_key_id"), ("SECRET", "secret_key")];
    let image = "quay.io/minio/minio:RELEASE.2025-04-22T22-12-26Z";
    let shop = Shop::open(space, image, "s3", &outputs).await?;
    let client =
        r#"export MC_CONFIG_DIR=/tmp/mc; mc -q alias set it "$ENDPOINT" "$KEY" "$SECRET" >/dev/null && "#;
    shop.exec(&format!(r#"{client} echo one | mc -q pipe "it/$BUCKET/visit""#)).await?;
    shop.restart_server().await?;
    let object = shop.exec(&format!(r#"{client} mc -q cat "it/$BUCKET/visit""#)).await?;
    same("the object after a restart", object.trim(), "one")?;
    let wrong = r#"MC_CONFIG_DIR=/tmp/wrong mc alias set it "$ENDPOINT" "$KEY" wrong-secret 2>&1 || true"#;
    contains("with a wrong key", &space.exec("shop", "app", wrong).await?, "does not match")?;
    shop.keeps_secret("secret_key").await
}
