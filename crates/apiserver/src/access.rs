//! Who asks, and what they may do.
//!
//! Every request passes [`authenticate`] and [`authorise`] before anything is read. Whoever is known may do everything
//! so far; roles take their place in [`authorise`].

use axum::http::Extensions;

use crate::{
    http::route::{Other, Route},
    status::Status,
};

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name of the user.
    pub name: String,
    /// The groups of the user.
    pub groups: Vec<String>,
}

impl Caller {
    /// The administrator.
    pub fn admin() -> Self {
        Self { name: "admin".to_owned(), groups: vec!["system:masters".to_owned()] }
    }
}

/// Finds out who asks. Whoever accepts connections puts a [`Caller`] beside each request it could tell the caller of.
pub fn authenticate(extensions: &Extensions) -> Option<&Caller> {
    extensions.get()
}

/// Decides whether a caller may do what it asks for.
pub fn authorise(caller: Option<&Caller>, route: &Route) -> Result<(), Status> {
    // Strangers learn that the server lives and how old it is.
    let public = matches!(route, Route::Other(Other::Health | Other::Ping | Other::Version));
    if caller.is_some() || public { Ok(()) } else { Err(Status::unauthorized()) }
}
