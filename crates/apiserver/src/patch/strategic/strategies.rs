//! Lists that strategic merge patches merge, by the schema of a kind.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::PatchError;
use crate::kinds::{Kind, builtin};

/// Structure of a value: its fields, and for lists the way to merge them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Node {
    properties: BTreeMap<String, Self>,
    items: Option<Box<Self>>,
    #[serde(rename = "x-kubernetes-patch-strategy")]
    strategy: String,
    #[serde(rename = "x-kubernetes-patch-merge-key")]
    merge_key: Option<String>,
}

/// Structures by kind: `v1/ConfigMap`. Read with the first patch.
static STRUCTURES: LazyLock<BTreeMap<String, Node>> = LazyLock::new(|| {
    // The text is compiled in, and tested.
    serde_json::from_str(builtin::SCHEMAS).unwrap_or_default()
});

/// Structure of a value; none if its fields are not declared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Structure<'s>(Option<&'s Node>);

/// Merge of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy<'s> {
    /// Objects are merged, lists are replaced.
    Default,
    /// Replaced.
    Replace,
    /// Lists are merged, by this key if their items are objects.
    Merge(Option<&'s str>),
}

impl<'s> Strategy<'s> {
    /// Key of the items of a list that is merged.
    pub(super) fn key(self) -> Option<&'s str> {
        match self {
            Self::Merge(key) => key,
            Self::Default | Self::Replace => None,
        }
    }
}

/// Structure of a kind.
pub(super) fn of(kind: &Kind) -> Structure<'static> {
    Structure(STRUCTURES.get(&format!("{}/{}", kind.api_version(), kind.kind)))
}

impl<'s> Structure<'s> {
    /// Strategy and structure of a field.
    pub(super) fn field(self, name: &str) -> Result<(Strategy<'s>, Self), PatchError> {
        let node = self.0.and_then(|node| node.properties.get(name)).ok_or_else(|| {
            PatchError::internal(format!("unable to find api field for the json field {name:?}"))
        })?;
        let strategy = match node.strategy.as_str() {
            "merge" => Strategy::Merge(node.merge_key.as_deref()),
            "replace" => Strategy::Replace,
            _ => Strategy::Default,
        };
        Ok((strategy, Self(Some(node))))
    }

    /// Strategy of a list, and the structure of its items.
    pub(super) fn list(self, name: &str) -> Result<(Strategy<'s>, Self), PatchError> {
        let (strategy, Self(node)) = self.field(name)?;
        Ok((strategy, Self(node.and_then(|node| node.items.as_deref()))))
    }
}
