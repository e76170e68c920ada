//! Mounts of files and folders for a program, without a trace on the machine.
//!
//! The program gets a mount namespace of its own, which ends with the last process of the run. Root may create one; other users
//! may in a user namespace that maps them to themselves, unless the machine forbids it
//! ([`super::Launcher::can_place_files`] tries).
//!
//! A target that exists is covered by a bind mount. A target that does not exist needs an entry in its folder, and a folder of
//! the machine must not be changed: so that folder is **mirrored** first, by a tmpfs in which every entry is bind-mounted from
//! the original. `/` itself is mirrored by a new root. As in any container, entries that a program adds to a mirrored folder
//! itself (not to folders in it) are lost with the run. Within a volume nothing is mirrored, since that would hide what the
//! program writes there: an empty entry is created in its source.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, chown, symlink},
    },
    path::{Component, Path, PathBuf},
    process::ExitCode,
};

use rustix::{
    fd::OwnedFd,
    fs::{CWD, StatVfsMountFlags, statvfs},
    io::Errno,
    mount::{
        MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
        mount_bind_recursive, mount_change, mount_move, mount_remount, move_mount, open_tree, unmount,
    },
    process::{chroot, getegid, geteuid, pivot_root},
    thread::UnshareFlags,
};

use super::{Mount, NotStarted, PlaceError, PlacedFile};

/// Moves this process into a mount namespace with the files and mounts at their targets; does nothing if there are none.
/// `staging` is any folder that exists; it is covered temporarily.
pub(super) fn place(files: &[PlacedFile], mounts: &[Mount], staging: &Path) -> Result<(), NotStarted> {
    let mut targets = BTreeSet::new();
    for target in files.iter().map(|file| &file.target).chain(mounts.iter().map(|mount| &mount.target)) {
        check(target).map_err(|why| not_placed(target, why))?;
        if !targets.insert(target) {
            return Err(not_placed(target, PlaceError::Twice));
        }
    }
    let Some(first) = targets.first() else { return Ok(()) };
    let staging = staging.canonicalize().map_err(|error| not_placed(first, refused(error)))?;
    enter().map_err(|error| not_placed(first, no_namespace(&error)))?;
    let mut view = View { staging: &staging, tmpfs_devices: BTreeSet::new(), volumes: Vec::new() };
    let detached = view.gather(files, mounts)?;
    for (target, mounted) in &detached {
        view.attach(target, mounted).map_err(|why| not_placed(target, why))?;
    }
    for (target, _) in detached.iter().filter(|(_, mounted)| mounted.read_only) {
        protect(target).map_err(|error| not_placed(target, refused(error)))?;
    }
    Ok(())
}

/// Hidden command `orchestra __probe FOLDER`: whether this machine allows it. Really tries, with the hardest case: a file in a
/// folder that does not exist below `/`.
pub fn probe(staging: &Path) -> ExitCode {
    let target = PathBuf::from(format!("/orchestra-probe-{}/folder/file", std::process::id()));
    let file = PlacedFile { target: target.clone(), content: b"seen".to_vec(), mode: 0o400 };
    let placed = place(&[file], &[], staging).is_ok();
    if placed && fs::read(target).is_ok_and(|seen| seen == b"seen") {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A target is an absolute path below `/`, without `..`.
fn check(target: &Path) -> Result<(), PlaceError> {
    let mut components = target.components();
    let plain = components.next() == Some(Component::RootDir)
        && target.file_name().is_some()
        && components.all(|component| matches!(component, Component::Normal(_)));
    if plain { Ok(()) } else { Err(PlaceError::NoPlace) }
}

/// Reason why no mount namespace could be entered: the machine forbids it, or an unexpected error.
fn no_namespace(error: &io::Error) -> PlaceError {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        // NOSPC: the limit of user namespaces is 0. INVAL and NOSYS: the kernel is built without them.
        Some(Errno::PERM | Errno::ACCESS | Errno::NOSPC | Errno::INVAL | Errno::NOSYS) => {
            PlaceError::NotPermitted
        }
        _ => PlaceError::Refused { why: format!("a mount namespace could not be entered: {error}") },
    }
}

/// Reason why the source of a mount could not be read.
fn no_source(source: &Path, error: &io::Error) -> PlaceError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            PlaceError::NoSource { wanted: source.to_owned() }
        }
        _ => PlaceError::Refused { why: format!("`{}` cannot be read: {error}", source.display()) },
    }
}

/// Enters a mount namespace that does not propagate to the outside.
fn enter() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    if unshare(UnshareFlags::NEWNS).is_err() {
        unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    Ok(())
}

/// User and mount namespaces do not affect descriptors, which alone make this call unsafe.
#[allow(deprecated)]
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// Detached mount for a target.
struct DetachedMount {
    tree: OwnedFd,
    folder: bool,
    /// True if it is a volume, in which a program writes permanently.
    volume: bool,
    read_only: bool,
}

/// The mount namespace under construction.
struct View<'a> {
    staging: &'a Path,
    /// Devices of the tmpfs mirrors.
    tmpfs_devices: BTreeSet<u64>,
    /// Mount points of volumes.
    volumes: Vec<PathBuf>,
}

impl View<'_> {
    /// All mounts by target, outer ones first. Opened before anything is mounted, since a target may hide a source.
    fn gather(
        &mut self,
        files: &[PlacedFile],
        mounts: &[Mount],
    ) -> Result<BTreeMap<PathBuf, DetachedMount>, NotStarted> {
        let mut detached = BTreeMap::new();
        for wanted in mounts {
            let Mount { source, target, read_only } = wanted;
            let failed = |why| not_placed(target, why);
            let folder = fs::metadata(source).map_err(|error| failed(no_source(source, &error)))?.is_dir();
            let tree = clone_tree(source).map_err(|error| failed(refused(error)))?;
            let mounted = DetachedMount { tree, folder, volume: folder, read_only: *read_only };
            insert(&mut detached, target, mounted)?;
        }
        if files.is_empty() {
            return Ok(detached);
        }
        self.cover_staging().map_err(|error| not_placed(&files[0].target, refused(error)))?;
        for (index, file) in files.iter().enumerate() {
            let tree = self.write(index, file).map_err(|error| not_placed(&file.target, refused(error)))?;
            insert(
                &mut detached,
                &file.target,
                DetachedMount { tree, folder: false, volume: false, read_only: false },
            )?;
        }
        self.uncover_staging();
        Ok(detached)
    }

    /// Writes a file to the tmpfs; its detached mount.
    fn write(&self, index: usize, file: &PlacedFile) -> io::Result<OwnedFd> {
        let path = self.staging.join(index.to_string());
        OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path)?.write_all(&file.content)?;
        fs::set_permissions(&path, Permissions::from_mode(file.mode))?;
        clone_tree(&path)
    }

    /// Attaches a mount at its target.
    fn attach(&mut self, target: &Path, mounted: &DetachedMount) -> Result<(), PlaceError> {
        let point = self.point(target, mounted.folder)?;
        attach_tree(&mounted.tree, &point).map_err(refused)?;
        if mounted.volume {
            self.volumes.push(point);
        }
        Ok(())
    }

    /// Mount point for a target, created if needed; its real path.
    fn point(&mut self, target: &Path, folder: bool) -> Result<PathBuf, PlaceError> {
        let (there, missing) = resolve(target).map_err(refused)?;
        let is_folder = fs::metadata(&there).map_err(refused)?.is_dir();
        match (missing.as_os_str().is_empty(), is_folder) {
            (true, true) if !folder => return Err(PlaceError::FolderThere),
            (true, false) if folder => return Err(PlaceError::FileThere),
            (true, _) => return Ok(there),
            (false, false) => return Err(PlaceError::FileThere),
            (false, true) => {}
        }
        if !self.volumes.iter().any(|volume| there.starts_with(volume)) && !self.is_on_tmpfs(&there) {
            // A mirror of `/proc` or `/sys` would not change with the kernel.
            if ["/proc", "/sys"].iter().any(|kernel| there.starts_with(kernel)) {
                return Err(PlaceError::Refused { why: "the folder belongs to the kernel".to_owned() });
            }
            self.mirror(&there).map_err(refused)?;
        }
        let point = there.join(missing);
        make(&point, folder).map_err(refused)?;
        Ok(point)
    }

    /// Covers a folder by a tmpfs with the same entries.
    fn mirror(&mut self, folder: &Path) -> io::Result<()> {
        let original = fs::metadata(folder)?;
        // The staging folder may be one of the entries, and cannot be cloned once it is covered.
        let staging = clone_tree(self.staging)?;
        self.cover_staging()?;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let mirrored = self.staging.join(entry.file_name());
            if entry.path() == self.staging {
                fs::create_dir(&mirrored)?;
                attach_tree(&staging, &mirrored)?;
            } else {
                mirror_entry(&entry, &mirrored)?;
            }
        }
        // In a user namespace only the own user is mapped; the mode is what matters.
        chown(self.staging, Some(original.uid()), Some(original.gid())).ok();
        fs::set_permissions(self.staging, Permissions::from_mode(original.mode() & 0o7777))?;
        if folder == Path::new("/") {
            self.become_root()?;
        } else {
            mount_move(self.staging, folder)?;
        }
        // The entries brought copies of the staging folder with them.
        self.uncover_staging();
        Ok(())
    }

    /// Makes the staging folder the root. Where `pivot_root` is refused (the root is an initramfs, or a chroot) the old root stays,
    /// out of reach.
    fn become_root(&self) -> io::Result<()> {
        env::set_current_dir(self.staging)?;
        match pivot_root(".", ".") {
            Ok(()) => unmount(".", UnmountFlags::DETACH)?,
            Err(Errno::INVAL) => chroot(".")?,
            Err(error) => return Err(error.into()),
        }
        env::set_current_dir("/")
    }

    fn cover_staging(&mut self) -> io::Result<()> {
        mount("tmpfs", self.staging, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0700")?;
        self.tmpfs_devices.insert(fs::metadata(self.staging)?.dev());
        Ok(())
    }

    fn uncover_staging(&self) {
        while self.is_on_tmpfs(self.staging) && unmount(self.staging, UnmountFlags::DETACH).is_ok() {}
    }

    fn is_on_tmpfs(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| self.tmpfs_devices.contains(&found.dev()))
    }
}

/// Records a mount by the real path of its target.
fn insert(
    detached: &mut BTreeMap<PathBuf, DetachedMount>,
    target: &Path,
    mounted: DetachedMount,
) -> Result<(), NotStarted> {
    let (there, missing) = resolve(target).map_err(|error| not_placed(target, refused(error)))?;
    // Joining an empty path would add a slash.
    let place = if missing.as_os_str().is_empty() { there } else { there.join(missing) };
    match detached.insert(place, mounted) {
        None => Ok(()),
        Some(_) => Err(not_placed(target, PlaceError::Twice)),
    }
}

/// Existing part of a path, without links, and the missing rest.
fn resolve(target: &Path) -> io::Result<(PathBuf, PathBuf)> {
    for ancestor in target.ancestors() {
        match ancestor.canonicalize() {
            Ok(there) => {
                return Ok((there, target.strip_prefix(ancestor).unwrap_or(Path::new("")).to_owned()));
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Creates an empty folder or file, with its parents.
fn make(point: &Path, folder: bool) -> io::Result<()> {
    if folder {
        return fs::create_dir_all(point);
    }
    if let Some(parent) = point.parent() {
        fs::create_dir_all(parent)?;
    }
    // A dangling link is no file, and is in the way.
    if point.is_symlink() {
        fs::remove_file(point)?;
    }
    File::create_new(point).map(drop)
}

fn mirror_entry(entry: &fs::DirEntry, mirrored: &Path) -> io::Result<()> {
    let original = entry.path();
    let kind = entry.file_type()?;
    if kind.is_symlink() {
        return symlink(fs::read_link(original)?, mirrored);
    }
    if kind.is_dir() {
        fs::create_dir(mirrored)?;
    } else {
        File::create_new(mirrored)?;
    }
    match mount_bind_recursive(&original, mirrored) {
        Ok(()) => Ok(()),
        // Removed meanwhile.
        Err(Errno::NOENT) if kind.is_dir() => fs::remove_dir(mirrored),
        Err(Errno::NOENT) => fs::remove_file(mirrored),
        Err(error) => Err(error.into()),
    }
}

/// Detached recursive clone of a mount.
fn clone_tree(source: &Path) -> io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, source, flags)?)
}

/// Attaches a detached mount.
fn attach_tree(tree: &OwnedFd, point: &Path) -> io::Result<()> {
    Ok(move_mount(tree, "", CWD, point, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Makes a mount and all mounts below it read-only. Flags that the machine has locked stay.
fn protect(target: &Path) -> io::Result<()> {
    let mut points: BTreeSet<PathBuf> = mount_points()?;
    points.retain(|point| point.starts_with(target));
    for point in points {
        let has = statvfs(&point)?.f_flag;
        let kept = [
            (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
            (StatVfsMountFlags::NODEV, MountFlags::NODEV),
            (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
            (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
            (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
            (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
        ]
        .into_iter()
        .filter(|(flag, _)| has.contains(*flag))
        .fold(MountFlags::BIND | MountFlags::RDONLY, |flags, (_, flag)| flags | flag);
        mount_remount(&point, kept, "")?;
    }
    Ok(())
}

/// Mount points of this process.
fn mount_points() -> io::Result<BTreeSet<PathBuf>> {
    let table = fs::read("/proc/self/mountinfo")?;
    let lines = table.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4)).map(unescape).collect())
}

/// The table escapes blanks, tabs, line ends and backslashes as `\\` and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut path = Vec::new();
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'\\')
            .then(|| after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok()))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        path.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&path))
}

fn not_placed(target: &Path, why: PlaceError) -> NotStarted {
    NotStarted::NotPlaced { target: target.to_owned(), why }
}

fn refused(error: impl Into<io::Error>) -> PlaceError {
    PlaceError::Refused { why: error.into().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_an_absolute_path_below_the_root() {
        assert_eq!(check(Path::new("/a/b")), Ok(()));
        for bad in ["a/b", "/", "/a/../b", ""] {
            assert_eq!(check(Path::new(bad)), Err(PlaceError::NoPlace), "{bad}");
        }
    }

    #[test]
    fn escapes_in_the_mount_table_are_decoded() {
        assert_eq!(unescape(br"/a\040b\134c"), Path::new(r"/a b\c"));
    }
}
