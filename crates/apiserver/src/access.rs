//! Authentication and authorisation of requests.
//!
//! Every request passes [`authenticate`] and [`authorise`] before its body is read. An authenticated user may do
//! everything so far; roles belong in [`authorise`].

use axum::http::Extensions;

use crate::{
    http::route::{Other, Route},
    status::Status,
};

/// Authenticated user of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// User name.
    pub name: String,
    /// Groups.
    pub groups: Vec<String>,
}

impl Caller {
    /// Administrator of the server.
    pub fn admin() -> Self {
        Self { name: "admin".to_owned(), groups: vec!["system:masters".to_owned()] }
    }
}

/// User of a request. The listener adds a [`Caller`] as an extension of each authenticated request.
pub fn authenticate(extensions: &Extensions) -> Option<&Caller> {
    extensions.get()
}

/// Authorises a request.
pub fn authorise(caller: Option<&Caller>, route: &Route) -> Result<(), Status> {
    // Health and version are public.
    let public = matches!(route, Route::Other(Other::Health | Other::Ping | Other::Version));
    if caller.is_some() || public { Ok(()) } else { Err(Status::unauthorized()) }
}
