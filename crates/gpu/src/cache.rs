//! Machine code kept between processes: what NVRTC has compiled once is read from a file the next time.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Where files go, unless it is set and empty, which keeps nothing.
const FOLDER_VARIABLE: &str = "GIGABAR_CACHE_DIR";

/// A folder of compiled kernels, one file each, named by everything that makes its bytes. Whatever goes wrong with it
/// costs a compilation and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelCache {
    folder: Option<PathBuf>,
}

impl KernelCache {
    /// `GIGABAR_CACHE_DIR`, else `gigabar` in the user's folder for caches.
    pub(crate) fn of_user() -> Self {
        let variable = |name: &str| std::env::var_os(name);
        Self { folder: folder(variable(FOLDER_VARIABLE), variable("XDG_CACHE_HOME"), variable("HOME")) }
    }

    /// The code kept under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.path(key)?).ok()?;
        // The file's own hash comes first, so that a damaged one is not taken.
        let (hash, image) = bytes.split_at_checked(32)?;
        (*hash == *Sha256::digest(image) && !image.is_empty()).then(|| image.to_vec())
    }

    /// Keeps `image` under `key`; complete or not at all.
    pub(crate) fn put(&self, key: &str, image: &[u8]) {
        if let Some(path) = self.path(key) {
            // A full or read-only disk is no reason to fail: the code is loaded already.
            let _ = write_whole(&path, image);
        }
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        let name: String = Sha256::digest(key).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Some(self.folder.as_ref()?.join(format!("{name}.cubin")))
    }
}

fn folder(own: Option<OsString>, cache: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let set = |value: Option<OsString>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
    match own {
        Some(own) => set(Some(own)),
        None => set(cache).or_else(|| Some(set(home)?.join(".cache"))).map(|base| base.join("gigabar").join("kernels")),
    }
}

fn write_whole(path: &Path, image: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut file = std::fs::File::create(&draft)?;
    let written = file.write_all(&Sha256::digest(image)).and_then(|()| file.write_all(image));
    written.and_then(|()| std::fs::rename(&draft, path)).inspect_err(|_| {
        let _ = std::fs::remove_file(&draft);
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_put_is_got_and_what_is_damaged_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let cache = KernelCache { folder: Some(dir.path().join("new")) };
        assert_eq!(cache.get("a"), None);
        cache.put("a", b"code");
        assert_eq!(cache.get("a").unwrap(), b"code");
        assert_eq!(cache.get("b"), None);
        let path = cache.path("a").unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(cache.get("a"), None);
        std::fs::write(&path, b"short").unwrap();
        assert_eq!(cache.get("a"), None);
        assert_eq!(std::fs::read_dir(dir.path().join("new")).unwrap().count(), 1, "no drafts are left");
    }

    #[test]
    fn the_folder_is_the_users_and_may_be_none() {
        let os = |text: &str| Some(OsString::from(text));
        assert_eq!(folder(os("/x"), os("/c"), os("/h")), Some("/x".into()));
        assert_eq!(folder(os(""), os("/c"), os("/h")), None);
        assert_eq!(folder(None, os("/c"), os("/h")), Some("/c/gigabar/kernels".into()));
        assert_eq!(folder(None, None, os("/h")), Some("/h/.cache/gigabar/kernels".into()));
        assert_eq!(folder(None, None, None), None);
    }

    #[test]
    fn a_place_that_cannot_be_written_costs_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), b"").unwrap();
        let cache = KernelCache { folder: Some(dir.path().join("file")) };
        cache.put("a", b"code");
        assert_eq!(cache.get("a"), None);
    }
}
