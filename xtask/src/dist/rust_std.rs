//! Copyright notices of the Rust standard library, which is linked into every program and is no package of the dependency tree.
//!
//! Every toolchain has them in a generated HTML file, for the version of the compiler that builds the program.

use std::{fs, path::Path};

use super::build;

/// File of the toolchain, beside a folder of licence texts.
const NOTICES: &str = "share/doc/rust/COPYRIGHT-library.html";
const LICENCES: &str = "share/doc/rust/licenses";

/// Notices of the standard library.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Notices {
    /// Its own files: who holds the copyright, under which licences, and the texts of these.
    pub(super) own: Vec<String>,
    /// Packages that it is built from, on any target.
    pub(super) packages: Vec<Package>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// SPDX expression.
    pub(super) licence: String,
    pub(super) texts: Vec<String>,
}

impl Notices {
    /// Notices of the toolchain in use.
    pub(super) fn load() -> Result<Self, String> {
        Self::of_toolchain(&build::sysroot()?)
    }

    fn of_toolchain(sysroot: &Path) -> Result<Self, String> {
        let read = |name: &str| {
            let path = sysroot.join(name);
            fs::read_to_string(&path).map_err(|error| {
                format!(
                    "failed to read {}: {error}; the notices of the Rust standard library are part of a release: \
                     use a toolchain that rustup installed",
                    path.display()
                )
            })
        };
        let html = read(NOTICES)?;
        let mut notices = parse(&html).ok_or_else(|| format!("unknown format of {NOTICES}"))?;
        for licence in licences(own_part(&html).unwrap_or_default()) {
            notices.own.push(read(&format!("{LICENCES}/{licence}.txt"))?);
        }
        Ok(notices)
    }
}

fn parse(html: &str) -> Option<Notices> {
    let own = own_part(html)?;
    let (_, packages) = html.split_once("<h2 id=\"out-of-tree-dependencies\">")?;
    let packages = packages.split("<h3>").skip(1).map(package).collect::<Option<Vec<_>>>()?;
    (!packages.is_empty()).then(|| Notices { own: vec![text(own)], packages })
}

/// Part about the files of the library itself.
fn own_part(html: &str) -> Option<&str> {
    let (above, _) = html.split_once("<h2 id=\"out-of-tree-dependencies\">")?;
    above.find("<h2 id=\"longer-version\">").map(|start| &above[start..])
}

/// Package, from its title such as `📦 cfg-if-1.0.4` on.
fn package(part: &str) -> Option<Package> {
    let (title, rest) = part.split_once("</h3>")?;
    let title = title.trim_start_matches(|first: char| !first.is_ascii_alphanumeric());
    let ends = title.match_indices('-').map(|(end, _)| end);
    let end = ends.into_iter().find(|end| title[end + 1..].starts_with(|c: char| c.is_ascii_digit()))?;
    let pieces = rest.split("<pre>").skip(1);
    Some(Package {
        name: title[..end].to_owned(),
        version: title[end + 1..].to_owned(),
        licence: expressions(rest).next()?.replace('/', " OR "),
        texts: pieces.filter_map(|piece| Some(unescaped(piece.split_once("</pre>")?.0))).collect(),
    })
}

/// SPDX expressions that a part names.
fn expressions(part: &str) -> impl Iterator<Item = &str> {
    part.split("<b>License:</b> ").skip(1).filter_map(|rest| Some(rest.split_once("</p>")?.0))
}

/// Identifiers in the expressions of a part, each once.
fn licences(part: &str) -> std::collections::BTreeSet<&str> {
    let words = expressions(part).flat_map(|expression| expression.split([' ', '(', ')']));
    words.filter(|word| !["", "AND", "OR", "WITH"].contains(word)).collect()
}

/// Text of HTML, without tags and empty lines.
fn text(html: &str) -> String {
    let pieces = html.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    let text = unescaped(&pieces.collect::<String>());
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

fn unescaped(html: &str) -> String {
    let entities =
        [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&lt;", "<"), ("&gt;", ">")];
    let text =
        entities.iter().fold(html.to_owned(), |text, (entity, character)| text.replace(entity, character));
    text.replace("&#38;", "&").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTML: &str = "<h2 id=\"longer-version\">Longer version</h2>\n\n<p>Except as noted.</p>
<h2 id=\"in-tree-files\">In-tree files</h2>
<b>File/Directory:</b> <code>unicode_data.rs</code>\n<p><b>License:</b> Unicode-3.0 AND (MIT OR Zlib)</p>
<h2 id=\"out-of-tree-dependencies\">Out-of-tree dependencies</h2>
<h3>📦 r-efi-alloc-2.1.0</h3><p><b>License:</b> MIT/Apache-2.0</p><summary>LICENSE</summary><pre>
The &#34;Software&#34; of a &#60;b&#62; &amp; c</pre><pre>Second</pre>
<h3>📦 wasi-0.11.1+wasi-preview</h3><p><b>License:</b> MIT</p>";

    #[test]
    fn notices_of_the_library_and_of_its_packages_are_read_from_the_toolchain() {
        let notices = parse(HTML).unwrap();
        assert_eq!(
            notices.own,
            ["Longer version\nExcept as noted.\nIn-tree files\n\
              File/Directory: unicode_data.rs\nLicense: Unicode-3.0 AND (MIT OR Zlib)"]
        );
        let names = notices.packages.iter().map(|p| format!("{} {} {}", p.name, p.version, p.licence));
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["r-efi-alloc 2.1.0 MIT OR Apache-2.0", "wasi 0.11.1+wasi-preview MIT"]
        );
        assert_eq!(notices.packages[0].texts, ["\nThe \"Software\" of a <b> & c", "Second"]);
        let named: Vec<_> = licences(own_part(HTML).unwrap()).into_iter().collect();
        assert_eq!(named, ["MIT", "Unicode-3.0", "Zlib"]);
    }

    #[test]
    fn this_toolchain_has_the_notices_of_its_standard_library() {
        let notices = Notices::load().unwrap();
        assert!(notices.own.iter().any(|text| text.starts_with("UNICODE LICENSE V3")), "a licence text");
        for name in ["hashbrown", "libc", "cfg-if"] {
            let package = notices.packages.iter().find(|package| package.name == name);
            assert!(package.is_some_and(|package| !package.texts.is_empty()), "{name}");
        }
    }

    #[test]
    fn a_toolchain_without_notices_is_an_error_with_the_remedy() {
        let error = Notices::of_toolchain(Path::new("/nowhere")).unwrap_err();
        assert!(error.contains("/nowhere/share/doc/rust/COPYRIGHT-library.html"), "{error}");
        assert!(error.contains("use a toolchain that rustup installed"), "{error}");
        assert_eq!(parse("<html>another format</html>"), None);
    }
}
