//! [`GpuError`]: what failed, on which kernel or buffer, and how to mend it.

use thiserror::Error;

/// Anything that can go wrong between the host and a device.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GpuError {
    /// No `libcuda` on this machine.
    #[error("no CUDA driver: libcuda.so.1 cannot be loaded")]
    NoDriver,
    /// No `libnvrtc` on this machine.
    #[error("no CUDA run-time compiler: libnvrtc cannot be loaded")]
    NoNvrtc,
    /// The ordinal names no device.
    #[error("no CUDA device {ordinal}: the driver shows {found}")]
    NoDevice {
        /// Ordinal asked for.
        ordinal: usize,
        /// Devices the driver shows.
        found: usize,
    },
    /// Several things are missing at once; at least two.
    #[error("{}", joined(.0, "; "))]
    Missing(Vec<GpuError>),
    /// A driver call failed.
    #[error("{what}: {message}")]
    Driver {
        /// What was being done, with the buffer's or kernel's name.
        what: String,
        /// The driver's own words.
        message: String,
    },
    /// A kernel does not compile.
    #[error("kernel source `{source_name}` does not compile for {arch} with {flags:?}:\n{log}")]
    Compile {
        /// Name of the [`KernelSource`](crate::KernelSource).
        source_name: String,
        /// `sm_90` and the like.
        arch: String,
        /// Flags and `-D` constants.
        flags: Vec<String>,
        /// NVRTC's log; lines point into the named texts.
        log: String,
    },
    /// A launch outside the device's limits, or refused by the driver.
    #[error("kernel `{kernel}` with grid {grid:?}, block {block:?} and {shared_bytes} B of shared memory: {message}")]
    Launch {
        /// The `extern "C"` name.
        kernel: String,
        /// Blocks.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
        /// Dynamic shared memory of a block, bytes.
        shared_bytes: usize,
        /// Why.
        message: String,
    },
    /// A host slice or another buffer of the wrong length.
    #[error("buffer `{buffer}`: expected {expected} elements, got {got}")]
    Length {
        /// The buffer's name.
        buffer: String,
        /// Its length.
        expected: usize,
        /// The length offered.
        got: usize,
    },
}

/// Ends the hints of what makes a machine one without a GPU.
const OR_CPU: &str = ", or run with --device cpu";

impl GpuError {
    /// How to mend it, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NoDriver => "install NVIDIA's driver, or run with --device cpu",
            Self::NoNvrtc => {
                "pip install nvidia-cuda-nvrtc (no toolkit is needed) and set NVRTC_LIB_DIR or LD_LIBRARY_PATH to the folder \
                 that holds libnvrtc.so.13, or run with --device cpu"
            }
            Self::NoDevice { .. } => "name one that exists (--device cuda:0), or check CUDA_VISIBLE_DEVICES",
            Self::Driver { message, .. } if message.contains("OUT_OF_MEMORY") => {
                "free device memory, or evaluate fewer policies or shorter windows at once"
            }
            Self::Missing(errors) => {
                let hints: Vec<String> = errors.iter().filter_map(Self::hint).collect();
                let steps: Vec<&str> = hints.iter().map(|hint| hint.strip_suffix(OR_CPU).unwrap_or(hint)).collect();
                return Some(joined(&steps, "; ") + OR_CPU);
            }
            Self::Driver { .. } | Self::Compile { .. } | Self::Launch { .. } | Self::Length { .. } => return None,
        };
        Some(text.to_owned())
    }

    /// One error of all that is missing; `Ok` where nothing is.
    pub(crate) fn unless_none(mut missing: Vec<Self>) -> Result<(), Self> {
        match missing.len() {
            0 => Ok(()),
            1 => Err(missing.remove(0)),
            _ => Err(Self::Missing(missing)),
        }
    }

    pub(crate) fn driver(what: impl Into<String>, error: cudarc::driver::DriverError) -> Self {
        Self::Driver { what: what.into(), message: words(error) }
    }
}

fn joined(items: &[impl ToString], by: &str) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(by)
}

/// The driver's words for an error, and its name: `out of memory (CUDA_ERROR_OUT_OF_MEMORY)`.
pub(crate) fn words(error: cudarc::driver::DriverError) -> String {
    match (error.error_string(), error.error_name()) {
        (Ok(text), Ok(name)) => format!("{} ({})", text.to_string_lossy(), name.to_string_lossy()),
        _ => format!("{:?}", error.0),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn messages_name_the_place_and_hints_the_remedy() {
        let error = GpuError::Length { buffer: "equity".into(), expected: 3, got: 2 };
        assert_eq!(error.to_string(), "buffer `equity`: expected 3 elements, got 2");
        assert_eq!(error.hint(), None);
        let both = GpuError::unless_none(vec![GpuError::NoDriver, GpuError::NoNvrtc]).unwrap_err();
        let said =
            "no CUDA driver: libcuda.so.1 cannot be loaded; no CUDA run-time compiler: libnvrtc cannot be loaded";
        assert_eq!(both.to_string(), said);
        let hint = both.hint().unwrap_or_default();
        assert!(hint.contains("NVIDIA's driver") && hint.contains("nvidia-cuda-nvrtc"), "{hint}");
        assert_eq!(hint.matches("--device cpu").count(), 1, "{hint}");
        assert_eq!(GpuError::unless_none(vec![GpuError::NoNvrtc]), Err(GpuError::NoNvrtc));
        assert_eq!(GpuError::unless_none(vec![]), Ok(()));
        assert!(GpuError::NoNvrtc.hint().is_some_and(|h| h.contains("nvidia-cuda-nvrtc")));
    }
}
