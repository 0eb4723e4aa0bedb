//! Whether the driver and NVRTC can be loaded. `cudarc` panics when a library is missing, so these are asked first.

#[cfg(not(feature = "linked"))]
use std::sync::OnceLock;

/// Whether `libcuda` can be loaded.
#[cfg(not(feature = "linked"))]
pub(crate) fn driver_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: loading libcuda runs its initialisers only; they are made to be run at any time.
    *PRESENT.get_or_init(|| unsafe { cudarc::driver::sys::is_culib_present() })
}

/// Whether `libnvrtc` can be loaded; looks into `NVRTC_LIB_DIR` first.
#[cfg(not(feature = "linked"))]
pub(crate) fn nvrtc_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    *PRESENT.get_or_init(|| {
        load_from_named_folder();
        // SAFETY: loading libnvrtc runs its initialisers only; they are made to be run at any time.
        unsafe { cudarc::nvrtc::sys::is_culib_present() }
    })
}

/// A program that is linked with the libraries starts only where they are.
#[cfg(feature = "linked")]
pub(crate) fn driver_present() -> bool {
    true
}

/// As [`driver_present`].
#[cfg(feature = "linked")]
pub(crate) fn nvrtc_present() -> bool {
    true
}

/// Loads libnvrtc from `NVRTC_LIB_DIR` and keeps it, so that the later load by name finds it.
#[cfg(all(unix, not(feature = "linked")))]
fn load_from_named_folder() {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    let Some(folder) = std::env::var_os("NVRTC_LIB_DIR") else { return };
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    // Builtins before the compiler that asks for them.
    files.sort();
    for file in files {
        let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("libnvrtc") && name.contains(".so") && !name.contains(".alt.") {
            // SAFETY: as in `nvrtc_present`; the folder is the user's own choice.
            if let Ok(library) = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_GLOBAL) } {
                std::mem::forget(library);
            }
        }
    }
}

#[cfg(all(not(unix), not(feature = "linked")))]
fn load_from_named_folder() {}
