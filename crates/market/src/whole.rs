//! Files that are there whole or not at all: written beside their place, flushed to the disk, then given their name.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ends the name of a file that is being written.
pub const TEMPORARY: &str = ".tmp";

/// The temporary files of this process. Held while a file gets its name, so that [`abandon`] finds it begun or whole.
static BEGUN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file in the making, `PATH.tmp` until it is whole; dropped before, it leaves nothing.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    beside: PathBuf,
    file: BufWriter<File>,
}

impl Unfinished {
    /// Begins a file whose folder is there. What a process that was killed has left of it is written over.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::ResourceBusy`] when another process is writing the same file.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(TEMPORARY);
        let beside = PathBuf::from(beside);
        let mut begun = begun();
        let file = open(&beside)?;
        begun.push(beside.clone());
        Ok(Self { path: path.to_owned(), beside, file: BufWriter::new(file) })
    }

    /// As [`Self::begin`], for a file that must not be there yet: not now, and not when it is finished.
    ///
    /// # Errors
    /// As [`Self::begin`]; [`io::ErrorKind::AlreadyExists`].
    pub fn begin_new(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => Self::begin(path),
        }
    }

    /// Puts the file in its place, over one that is there.
    ///
    /// # Errors
    /// The system's.
    pub fn replace(self) -> io::Result<()> {
        self.finish(|beside, path| fs::rename(beside, path))
    }

    /// Puts the file in its place, where none may be.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::AlreadyExists`].
    pub fn keep(self) -> io::Result<()> {
        self.finish(|beside, path| match fs::hard_link(beside, path) {
            Ok(()) => fs::remove_file(beside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // A file system without hard links.
            Err(_) if fs::symlink_metadata(path).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(beside, path),
        })
    }

    fn finish(mut self, place: impl FnOnce(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        let mut begun = begun();
        place(&self.beside, &self.path)?;
        begun.retain(|path| *path != self.beside);
        drop(begun);
        sync_folder(&self.path)
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut begun = begun();
        if let Some(at) = begun.iter().position(|path| *path == self.beside) {
            begun.swap_remove(at);
            // What is half written helps nobody; that it could not be removed either adds nothing to the error.
            let _left = fs::remove_file(&self.beside);
        }
    }
}

/// Removes every file in the making, for a process about to end. From here on no file is begun, nor gets its name.
pub fn abandon() {
    let begun = begun();
    for path in begun.iter() {
        let _left = fs::remove_file(path);
    }
    std::mem::forget(begun);
}

fn begun() -> MutexGuard<'static, Vec<PathBuf>> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An empty file, locked against other processes until it is closed.
fn open(path: &Path) -> io::Result<File> {
    // What a link leads to is another file.
    if fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink()) {
        fs::remove_file(path)?;
    }
    loop {
        let file = OpenOptions::new().create(true).write(true).truncate(false).open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::ResourceBusy.into()),
            // A file system without locks is no reason to refuse.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // Between open and lock its writer may have finished it, and what is open here have got its name.
        if is_at(&file, path) {
            file.set_len(0)?;
            return Ok(file);
        }
    }
}

/// Whether an open file is the one of that name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |meta: &fs::Metadata| (meta.dev(), meta.ino());
    matches!((&file.metadata(), &fs::metadata(path)), (Ok(a), Ok(b)) if id(a) == id(b))
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Makes the name itself durable.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(folder.path().join("a.csv.tmp"), "longer than what comes, left by a process that was killed")
            .unwrap();
        let mut file = Unfinished::begin_new(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert_eq!(names(folder.path()), ["a.csv.tmp"]);
        assert_eq!(Unfinished::begin(&path).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        file.write_all(b" and half").unwrap();
        file.keep().unwrap();
        assert_eq!(
            (names(folder.path()), fs::read(&path).unwrap()),
            (vec!["a.csv".to_owned()], b"half and half".to_vec())
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_of_the_temporary_name_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a.csv"), folder.path().join("other"));
        fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("a.csv.tmp")).unwrap();
        let mut file = Unfinished::begin_new(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.keep().unwrap();
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!((fs::read(&path).unwrap(), fs::read(&other).unwrap()), (b"new".to_vec(), b"kept".to_vec()));
    }

    #[test]
    fn a_file_that_came_meanwhile_is_kept_and_one_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let mut file = Unfinished::begin_new(&path).unwrap();
        file.write_all(b"mine").unwrap();
        fs::write(&path, "theirs").unwrap();
        assert_eq!(file.keep().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((names(folder.path()), fs::read(&path).unwrap()), (vec!["a.csv".to_owned()], b"theirs".to_vec()));
        assert_eq!(Unfinished::begin_new(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        drop(Unfinished::begin(&path).unwrap());
        assert_eq!(names(folder.path()), ["a.csv"]);
        let mut over = Unfinished::begin(&path).unwrap();
        over.write_all(b"new").unwrap();
        over.replace().unwrap();
        assert_eq!((names(folder.path()), fs::read(&path).unwrap()), (vec!["a.csv".to_owned()], b"new".to_vec()));
    }
}
