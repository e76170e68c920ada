//! Where Workloads come from. What runs on the machine of its author may refer to the folder of the Score file and to
//! variables of the shell; the command line tells both, and neither becomes part of the object.

use std::{collections::BTreeMap, fmt, io, path::PathBuf};

use axum::{
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{Extensions, HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};

use crate::{
    Server,
    answer::{Code, Failure, Format},
    workload::{At, admit},
};

/// Where a Workload comes from. The values of variables may be secret.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Home {
    /// The folder of its Score file.
    pub folder: PathBuf,
    /// Where programs are looked for in the shell in which it was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The variables that it asks for.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Home").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Notes where Workloads come from.
pub trait Homes: Send + Sync {
    /// Notes where a Workload comes from.
    fn note(&self, namespace: &str, name: &str, home: Home) -> io::Result<()>;
}

/// Notes where a Workload comes from; it need not exist yet.
pub(crate) async fn note(
    State(server): State<Server>,
    at: At,
    extensions: Extensions,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let noted = async {
        let (namespace, name) = admit(&server, at, &extensions, "update", "home").await?;
        let homes = server
            .homes
            .as_ref()
            .ok_or_else(|| Failure::new(Code::NotFound, "Nothing here runs on the machine of its author."))?;
        let body = body.map_err(|_| Failure::new(Code::BadRequest, "The body cannot be read."))?;
        let home: Home = serde_json::from_slice(&body)
            .map_err(|_| Failure::new(Code::BadRequest, "The body must be JSON with a `folder`."))?;
        if !home.folder.is_absolute() {
            return Err(Failure::new(Code::BadRequest, "The folder must be an absolute path."));
        }
        homes.note(&namespace, &name, home).map_err(|error| {
            Failure::new(Code::Unavailable, format!("The platform cannot write to its data folder: {error}."))
        })
    };
    match noted.await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(failure) => failure.answer(Format::of(&headers)),
    }
}
