//! [`write_whole`]: a file is there whole or not at all.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Ends the name of a file that is being written.
pub(super) const TEMPORARY: &str = ".tmp";

/// Writes beside `path`, flushes to the disk, then renames.
pub(super) fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(TEMPORARY);
    let beside = PathBuf::from(beside);
    let mut file = BufWriter::new(File::create(&beside)?);
    fill(&mut file)?;
    file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(&beside, path)?;
    Ok(sync_folder(path)?)
}

/// Makes the rename itself durable.
#[cfg(unix)]
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}
