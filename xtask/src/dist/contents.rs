//! Two programs of a release, which differ in their cargo features.

/// Set of cargo features of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// Everything, for tarballs and packages.
    Full,
    /// The orchestrator of a cluster, for the image: no programs of a machine.
    Cluster,
}

impl Contents {
    /// Arguments that select the features, for `cargo build` and `cargo tree`.
    pub(super) const fn cargo_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Full => &[],
            Self::Cluster => &["--no-default-features", "--features", "kubernetes,template"],
        }
    }
}
