//! Get.

use super::{
    Call,
    list::{not_older, parse_version},
};
use crate::{
    http::answer::{Answer, Content},
    status::Status,
};

/// Reads an object.
pub(crate) async fn get(call: &Call<'_>) -> Result<Answer, Status> {
    let version = call.query.get("resourceVersion");
    if !version.is_empty() {
        parse_version(version).map_err(Status::internal)?;
    }
    not_older(call, version).await?;
    let object = call
        .api
        .ledger()
        .get(&call.key())
        .ok_or_else(|| Status::not_found(call.kind(), &call.target.name))?;
    Ok(Answer::ok(Content::Stored(object.revision, object.value)))
}
