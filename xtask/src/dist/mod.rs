//! `cargo xtask dist`: the files of a release. Two runs from the same commit, wherever they are, give the same bytes.
//!
//! For each target: the program (`build`), its licences and bill of materials (`packages`,
//! `rust_std`, `licences`, `sbom`), a tarball
//! with completions and man pages (`tarball`, `manual`). For static targets also a Debian package (`deb`) and an image
//! (`oci`). Then what installs them (`installers`, from templates under `deploy/dist`), and checksums (`digest`).

mod archive;
mod build;
mod contents;
mod deb;
mod digest;
mod installers;
mod licences;
mod manual;
mod oci;
mod packages;
mod release;
mod rust_std;
mod sbom;
mod tarball;
mod target;
mod templates;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use self::{archive::Entry, contents::Contents, packages::Metadata, release::Release, target::Target};
use crate::root;

/// Name of the file of checksums.
const CHECKSUMS: &str = "SHA256SUMS";

/// Repository of a workspace whose manifest names none.
const UNKNOWN_REPOSITORY: &str = "https://example.org/orchestra";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Target to build for; can be repeated. Targets with musl also give a Debian package and an image
    #[arg(long = "target", value_name = "TRIPLE", default_value = "x86_64-unknown-linux-musl", value_parser = Target::parse)]
    targets: Vec<Target>,
    /// Fail unless this tag is the one of the workspace version
    #[arg(long)]
    tag: Option<String>,
    /// Repository whose releases installers download [default: `repository` of the manifest]; needed with --tag
    #[arg(long, value_name = "URL")]
    repository: Option<String>,
    /// Folder to write to [default: `distrib` in the target folder]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Build from uncommitted changes, too
    #[arg(long)]
    allow_dirty: bool,
    /// Package this program instead of building one (not for releases)
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Put this program into the image instead of building one (not for releases)
    #[arg(long, value_name = "FILE")]
    image_program: Option<PathBuf>,
}

/// Builds the files and writes them.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if options.targets.len() > 1 && (options.program.is_some() || options.image_program.is_some()) {
        return Err("--program and --image-program need a single --target".to_owned());
    }
    let mut files = Vec::new();
    let mut tarballs = Vec::new();
    let (mut release, mut out) = (None, options.out.clone());
    for target in &options.targets {
        let metadata = Metadata::load(&target.triple)?;
        let release = match &release {
            Some(release) => release,
            None => release.insert(identify(options, &metadata)?),
        };
        out.get_or_insert_with(|| metadata.target_directory().join("distrib"));
        tarballs.push((target, files.len()));
        files.extend(of_target(options, release, target, &metadata)?);
    }
    let (Some(release), Some(out)) = (release, out) else {
        return Err("no target".to_owned());
    };
    let tarballs: Vec<_> = tarballs.into_iter().map(|(target, place)| (target, &files[place])).collect();
    let script = installers::script(&release, &tarballs)?;
    let formula = installers::formula(&release, &tarballs)?;
    files.push(script);
    files.extend(formula);
    files.push(Entry::file(CHECKSUMS, digest::sums(&files)));
    write(&out, &files)
}

fn identify(options: &Options, metadata: &Metadata) -> Result<Release, String> {
    let repository = match (options.repository.as_deref().or(metadata.repository()), &options.tag) {
        (Some(repository), _) => release::repository(repository)?,
        (None, Some(_)) => {
            return Err(
                "no repository is known, and installers of a tagged release need one; use --repository"
                    .to_owned(),
            );
        }
        (None, None) => {
            eprintln!(
                "warning: no repository is known, installers will name {UNKNOWN_REPOSITORY}; use --repository"
            );
            UNKNOWN_REPOSITORY.to_owned()
        }
    };
    let release = Release::of_checkout(repository, options.allow_dirty)?;
    if let Some(tag) = &options.tag {
        release.check_tag(tag)?;
    }
    Ok(release)
}

/// Files of one target, the tarball first.
fn of_target(
    options: &Options,
    release: &Release,
    target: &Target,
    metadata: &Metadata,
) -> Result<Vec<Entry>, String> {
    let name = installers::tarball_name(release, target);
    let lock = fs::read_to_string(root().join("Cargo.lock"))
        .map_err(|error| format!("failed to read Cargo.lock: {error}"))?;
    let checksums = sbom::checksums(&lock);
    let program = |contents: Contents, given: Option<&Path>| {
        let packages = metadata.packages(&target.triple, contents)?;
        let program = match given {
            Some(path) => {
                fs::read(path).map_err(|error| format!("failed to read {}: {error}", path.display()))?
            }
            None => build::program(release, target, contents, metadata, &packages)?,
        };
        let sbom = sbom::document(release, target, &packages, &checksums)?;
        Ok::<_, String>((program, packages, sbom))
    };

    let (code, packages, sbom) = program(Contents::Full, options.program.as_deref())?;
    let licences = licences::document(&packages, target)?;
    let installed = tarball::files(release, &code, &licences, &sbom)?;
    let inside: Vec<Entry> = installed.iter().map(|file| file.below(&name)).collect();
    let mut files = vec![
        Entry::file(format!("{name}.tar.gz"), archive::tar_gz(&inside, release.epoch)?),
        Entry::file(format!("{name}.cdx.json"), sbom),
        Entry::file(format!("{name}.licences.txt"), licences),
    ];
    if target.is_static {
        let (version, architecture) = (&release.version, target.architecture);
        // Debian's version has `~` before a pre-release, which GitHub replaces in the names of release files.
        let package = deb::package(release, target, &installed)?;
        files.push(Entry::file(format!("orchestra_{version}_{architecture}.deb"), package));
        let (code, packages, sbom) = program(Contents::Cluster, options.image_program.as_deref())?;
        let licences = licences::document(&packages, target)?;
        let layout = oci::layout(release, architecture, &code, &licences)?;
        let image = format!("orchestra-{version}-{architecture}.oci");
        files.push(Entry::file(format!("{image}.tar"), archive::tar(&layout, release.epoch)?));
        files.push(Entry::file(format!("{image}.cdx.json"), sbom));
    }
    Ok(files)
}

/// Writes the files to a folder that holds nothing but an earlier release, which they replace.
fn write(folder: &Path, files: &[Entry]) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("failed to write {}: {error}", path.display());
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for path in earlier_release(folder)? {
        fs::remove_file(&path).map_err(|error| failed(&path, error))?;
    }
    for file in files {
        let path = folder.join(&file.path);
        fs::write(&path, &file.content).map_err(|error| failed(&path, error))?;
        if file.executable {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&path, mode).map_err(|error| failed(&path, error))?;
        }
        println!("{:>10}  {}", file.content.len(), path.display());
    }
    Ok(())
}

/// Files of the release in a folder: those that its checksums list, and the checksums. Anything else is an error.
fn earlier_release(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("failed to read {}: {error}", folder.display());
    let sums = fs::read_to_string(folder.join(CHECKSUMS)).unwrap_or_default();
    let listed: BTreeSet<&str> =
        sums.lines().filter_map(|line| line.split_whitespace().nth(1)).chain([CHECKSUMS]).collect();
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if !name.to_str().is_some_and(|name| listed.contains(name)) {
            return Err(format!(
                "{} is neither empty nor an earlier release: {CHECKSUMS} does not list {}; use another --out",
                folder.display(),
                name.display()
            ));
        }
        files.push(entry.path());
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_other_files_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let files = [Entry::file("a", "1"), Entry::file(CHECKSUMS, "0123  a\n")];
        write(folder.path(), &files).unwrap();
        write(folder.path(), &files[1..]).unwrap();
        assert!(!folder.path().join("a").exists(), "an earlier release is replaced");
        // A release with added files, or checksums of another folder.
        fs::create_dir(folder.path().join("photos")).unwrap();
        assert!(write(folder.path(), &files).unwrap_err().contains("SHA256SUMS does not list photos"));
        assert!(folder.path().join("photos").exists() && folder.path().join(CHECKSUMS).exists());
        fs::remove_dir(folder.path().join("photos")).unwrap();
        fs::remove_file(folder.path().join(CHECKSUMS)).unwrap();
        fs::write(folder.path().join("notes"), "mine").unwrap();
        assert!(write(folder.path(), &files).unwrap_err().contains("neither empty nor an earlier release"));
        assert!(folder.path().join("notes").exists());
    }
}
