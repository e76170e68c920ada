//! Ordered sets of field paths.

use std::collections::{BTreeMap, BTreeSet};

use super::path::PathElement;
use super::shape::Shape;

/// A set of paths as a tree. A step with children need not be a member itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    members: BTreeSet<PathElement>,
    children: BTreeMap<PathElement, Self>,
}

/// Node of a set that is being built: its membership and its children.
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// The path itself is a member.
    pub(super) member: bool,
    /// The paths below it.
    pub(super) below: Set,
}

impl Branch {
    /// Member with nothing below.
    pub(super) fn leaf() -> Self {
        Self { member: true, below: Set::default() }
    }
}

impl Set {
    /// The set of these paths of plain field names.
    pub(super) fn of_fields<'a>(paths: impl IntoIterator<Item = &'a [&'a str]>) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<_> = path.iter().map(|name| PathElement::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a path.
    fn insert(&mut self, path: &[PathElement]) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut node = self;
        for step in parents {
            node = node.children.entry(step.clone()).or_default();
        }
        node.insert_member(last.clone());
    }

    /// Adds a direct child and what is below it.
    pub(super) fn attach(&mut self, step: PathElement, branch: Branch) {
        if branch.member {
            self.insert_member(step.clone());
        }
        if !branch.below.is_empty() {
            self.insert_child(step, branch.below);
        }
    }

    /// Makes a direct child a member.
    pub(super) fn insert_member(&mut self, step: PathElement) {
        self.members.insert(step);
    }

    /// Puts a subtree below a direct child.
    pub(super) fn insert_child(&mut self, step: PathElement, child: Self) {
        self.children.insert(step, child);
    }

    /// The direct members, in order.
    pub(super) fn members(&self) -> impl Iterator<Item = &PathElement> {
        self.members.iter()
    }

    /// The direct children, in order.
    pub(super) fn children(&self) -> impl Iterator<Item = (&PathElement, &Self)> {
        self.children.iter()
    }

    /// True if a direct child is a member.
    pub(super) fn has_member(&self, step: &PathElement) -> bool {
        self.members.contains(step)
    }

    /// The subtree below a direct child.
    pub(super) fn child(&self, step: &PathElement) -> Option<&Self> {
        self.children.get(step)
    }

    /// True if the set is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// The paths of both sets.
    pub(super) fn union(mut self, other: &Self) -> Self {
        self.extend(other);
        self
    }

    fn extend(&mut self, other: &Self) {
        self.members.extend(other.members.iter().cloned());
        for (step, theirs) in &other.children {
            match self.children.get_mut(step) {
                Some(ours) => ours.extend(theirs),
                None => self.insert_child(step.clone(), theirs.clone()),
            }
        }
    }

    /// The paths that are in both sets.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: self
                .children_left(|step, ours| other.child(step).map(|theirs| ours.intersection(theirs))),
        }
    }

    /// The paths that are not in the other set.
    pub(super) fn difference(&self, other: &Self) -> Self {
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children_left(|step, ours| {
                Some(other.child(step).map_or_else(|| ours.clone(), |theirs| ours.difference(theirs)))
            }),
        }
    }

    /// The paths that are neither in the other set nor below one of its members.
    pub(super) fn recursive_difference(&self, other: &Self) -> Self {
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children_left(|step, ours| {
                (!other.has_member(step)).then(|| {
                    other.child(step).map_or_else(|| ours.clone(), |theirs| ours.recursive_difference(theirs))
                })
            }),
        }
    }

    fn children_left(
        &self,
        keep: impl Fn(&PathElement, &Self) -> Option<Self>,
    ) -> BTreeMap<PathElement, Self> {
        self.children
            .iter()
            .filter_map(|(step, child)| Some((step.clone(), keep(step, child)?)))
            .filter(|(_, child)| !child.is_empty())
            .collect()
    }

    /// The set in which a struct field with children is also a member itself.
    pub(super) fn with_named_parents(&self, shape: Option<Shape<'_>>) -> Self {
        let map = shape.and_then(Shape::map);
        let list = shape.and_then(Shape::list);
        let mut out = Self { members: self.members.clone(), children: BTreeMap::new() };
        for (step, child) in &self.children {
            let below = match step {
                PathElement::Field(name) => {
                    if map.is_some_and(|map| map.field(name).is_some()) {
                        out.insert_member(step.clone());
                    }
                    map.and_then(|map| map.child(name))
                }
                PathElement::Key(_) => list.map(|list| list.items),
                PathElement::Value(_) | PathElement::Index(_) => None,
            };
            out.insert_child(step.clone(), child.with_named_parents(below));
        }
        out
    }

    /// Number of paths.
    pub(super) fn len(&self) -> usize {
        self.members.len() + self.children.values().map(Self::len).sum::<usize>()
    }

    /// Paths as text: at each level the members first, then the children. Long shared prefixes could make this too much
    /// text, so it ends when `room` is used up.
    pub(super) fn shown(&self, room: &mut usize) -> Vec<String> {
        let mut out = Vec::new();
        self.show_below("", room, &mut out);
        out
    }

    fn show_below(&self, prefix: &str, room: &mut usize, out: &mut Vec<String>) {
        for member in &self.members {
            let text = format!("{prefix}{member}");
            let Some(left) = room.checked_sub(text.len()) else { return };
            *room = left;
            out.push(text);
        }
        for (step, child) in &self.children {
            let prefix = format!("{prefix}{step}");
            if prefix.len() > *room {
                return;
            }
            child.show_below(&prefix, room, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&[&str]]) -> Set {
        Set::of_fields(paths.iter().copied())
    }

    fn shown(set: &Set) -> Vec<String> {
        set.shown(&mut 1000)
    }

    #[test]
    fn paths_list_members_first() {
        assert_eq!(
            shown(&set(&[&["b"], &["a", "x"], &["c", "y", "z"], &["a"]])),
            [".a", ".b", ".a.x", ".c.y.z"]
        );
    }

    #[test]
    fn sets_combine() {
        let left = set(&[&["a"], &["a", "x"], &["a", "y"], &["b"]]);
        let right = set(&[&["a", "x"], &["b"], &["c", "d"]]);
        assert_eq!(shown(&left.clone().union(&right)), [".a", ".b", ".a.x", ".a.y", ".c.d"]);
        assert_eq!(shown(&left.intersection(&right)), [".b", ".a.x"]);
        assert_eq!(shown(&left.difference(&right)), [".a", ".a.y"]);
        assert!(left.difference(&left).is_empty());
        assert_eq!(left.difference(&left), Set::default());
    }

    #[test]
    fn a_recursive_difference_removes_everything_below_a_member() {
        let all = set(&[&["status"], &["status", "phase"], &["spec", "a"], &["spec", "b", "c"]]);
        assert_eq!(shown(&all.recursive_difference(&set(&[&["status"]]))), [".spec.a", ".spec.b.c"]);
        assert_eq!(shown(&all.recursive_difference(&set(&[&["spec", "b"], &["status"]]))), [".spec.a"]);
        assert_eq!(shown(&all.difference(&set(&[&["status"]]))), [".spec.a", ".spec.b.c", ".status.phase"]);
    }

    #[test]
    fn a_listing_ends_when_the_limit_is_reached() {
        let all = set(&[&["a", "b"], &["a", "c"], &["d", "e"]]);
        assert_eq!(all.len(), 3);
        assert_eq!(all.shown(&mut 8), [".a.b", ".a.c"]);
    }
}
