//! [`Launch`]: a kernel call that checks its grid and block and names both when it fails.

use std::ffi::c_void;

use cudarc::driver::result;

use crate::buffer::{Buffer, Plain};
use crate::device::{Device, count};
use crate::error::{GpuError, words};
use crate::module::Kernel;

/// Blocks, threads and dynamic shared memory of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, bytes.
    pub shared_bytes: usize,
}

impl LaunchShape {
    /// `n_blocks` blocks of `n_threads`.
    pub fn line(n_blocks: usize, n_threads: usize) -> Self {
        let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { grid: [clip(n_blocks), 1, 1], block: [clip(n_threads), 1, 1], shared_bytes: 0 }
    }

    /// Enough blocks of `n_threads` for one thread per element.
    pub fn covering(n: usize, n_threads: usize) -> Self {
        Self::line(n.div_ceil(n_threads), n_threads)
    }

    /// With dynamic shared memory.
    #[must_use]
    pub fn shared(self, bytes: usize) -> Self {
        Self { shared_bytes: bytes, ..self }
    }
}

/// Arguments being gathered for one kernel; they are passed in the order of the calls.
#[derive(Debug)]
pub struct Launch<'a> {
    kernel: &'a Kernel,
    /// Each argument in its own 8-byte aligned cells.
    arguments: Vec<Vec<u64>>,
}

impl Kernel {
    /// Begins a launch.
    pub fn launch(&self) -> Launch<'_> {
        Launch { kernel: self, arguments: Vec::new() }
    }
}

impl Launch<'_> {
    /// Passes a buffer's address.
    #[must_use]
    pub fn buffer<T: Plain>(self, buffer: &Buffer<T>) -> Self {
        self.value(buffer.address())
    }

    /// Passes a value: a number or a `repr(C)` struct.
    #[must_use]
    pub fn value<T: Plain>(mut self, value: T) -> Self {
        let mut cells = vec![0_u64; size_of::<T>().div_ceil(8).max(1)];
        // SAFETY: the cells are at least as large as T; u64 alignment covers every device type in use.
        unsafe { std::ptr::copy_nonoverlapping(&raw const value, cells.as_mut_ptr().cast::<T>(), 1) };
        self.arguments.push(cells);
        self
    }

    /// Queues the launch on the device's stream.
    ///
    /// # Errors
    /// [`GpuError::Launch`] naming kernel, grid and block.
    ///
    /// # Safety
    /// The arguments must match the kernel's parameters in number, order, size and meaning, and the kernel must stay
    /// inside the buffers it is given. Inside [`Device::capture`] the buffers must outlive the graph.
    pub unsafe fn run(mut self, device: &Device, shape: LaunchShape) -> Result<(), GpuError> {
        check(device, shape).map_err(|message| self.error(shape, message))?;
        let shared = &device.shared;
        let bound = shared.context.bind_to_thread();
        bound.map_err(|e| self.error(shape, words(e)))?;
        self.kernel.allow_shared(shape.shared_bytes).map_err(|message| self.error(shape, message))?;
        count(&shared.meter.launches, 1);
        let mut pointers: Vec<*mut c_void> = self.arguments.iter_mut().map(|a| a.as_mut_ptr().cast()).collect();
        let [gx, gy, gz] = shape.grid;
        let [bx, by, bz] = shape.block;
        let bytes = u32::try_from(shape.shared_bytes).unwrap_or(u32::MAX);
        let (function, stream) = (self.kernel.function.cu_function(), shared.stream.cu_stream());
        // SAFETY: the caller promises the arguments; function and stream live in the same context.
        let launched =
            unsafe { result::launch_kernel(function, (gx, gy, gz), (bx, by, bz), bytes, stream, &mut pointers) };
        launched.map_err(|e| self.error(shape, words(e)))
    }

    fn error(&self, shape: LaunchShape, message: String) -> GpuError {
        let LaunchShape { grid, block, shared_bytes } = shape;
        GpuError::Launch { kernel: self.kernel.name().to_owned(), grid, block, shared_bytes, message }
    }
}

fn check(device: &Device, shape: LaunchShape) -> Result<(), String> {
    let facts = device.facts();
    let threads: u64 = shape.block.iter().map(|&n| u64::from(n)).product();
    let [gx, gy, gz] = shape.grid;
    if threads == 0 || threads > facts.threads_per_block as u64 {
        return Err(format!("a block has 1 to {} threads", facts.threads_per_block));
    }
    if gx == 0 || gx > i32::MAX as u32 || gy == 0 || gy > 65_535 || gz == 0 || gz > 65_535 {
        return Err("a grid has 1 to 2147483647 × 65535 × 65535 blocks".to_owned());
    }
    if shape.shared_bytes > facts.shared_bytes_per_block {
        return Err(format!("the device has {} B of shared memory for a block", facts.shared_bytes_per_block));
    }
    Ok(())
}
