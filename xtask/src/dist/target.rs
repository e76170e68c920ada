//! Targets that a release can be built for.

/// Target triple, with what packages and images call its architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) triple: String,
    /// The name that Debian and OCI images share, such as `amd64`.
    pub(super) architecture: &'static str,
    /// Linked with musl: needs no library of the system, and runs in an empty image and on old distributions.
    pub(super) is_static: bool,
}

impl Target {
    /// Target triple of the command line.
    pub(super) fn parse(triple: &str) -> Result<Self, String> {
        let (architecture, rest) = match triple.split_once('-') {
            Some(("x86_64", rest)) => ("amd64", rest),
            Some(("aarch64", rest)) => ("arm64", rest),
            _ => return Err("unsupported architecture; use x86_64 or aarch64".to_owned()),
        };
        let is_static = match rest {
            "unknown-linux-musl" => true,
            "unknown-linux-gnu" => false,
            _ => return Err("unsupported system; use unknown-linux-musl or unknown-linux-gnu".to_owned()),
        };
        Ok(Self { triple: triple.to_owned(), architecture, is_static })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_the_architecture_of_packages_and_images() {
        for (triple, expected) in [
            ("x86_64-unknown-linux-musl", Some(("amd64", true))),
            ("aarch64-unknown-linux-musl", Some(("arm64", true))),
            ("x86_64-unknown-linux-gnu", Some(("amd64", false))),
            ("riscv64gc-unknown-linux-gnu", None),
            ("x86_64-pc-windows-msvc", None),
            ("x86_64", None),
        ] {
            let target = Target::parse(triple).ok();
            assert_eq!(target.map(|target| (target.architecture, target.is_static)), expected, "{triple}");
        }
    }
}
