//! [`Buffer`]: named device memory that counts its copies. [`Pinned`]: page-locked host memory for the one read.

use cudarc::driver::{CudaEvent, CudaSlice, DevicePtr, DeviceRepr, ValidAsZeroBits, result};

use crate::device::{Device, count};
use crate::error::GpuError;

/// A value that means the same bits on host and device.
///
/// # Safety
/// `repr(C)`, no pointers or references to host memory, every bit pattern valid, and the CUDA type it stands for has the
/// same size and field offsets (assert both).
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($t:ty),*) => {$(
        // SAFETY: a primitive number; CUDA's type of the same width has the same representation.
        unsafe impl Plain for $t {}
    )*};
}
plain!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// Carries a [`Plain`] through cudarc's own traits.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
struct Cell<T>(T);

// SAFETY: `Plain` promises the representation.
unsafe impl<T: Plain> DeviceRepr for Cell<T> {}
// SAFETY: `Plain` promises that every bit pattern, so also zero, is valid.
unsafe impl<T: Plain> ValidAsZeroBits for Cell<T> {}

/// Device memory of `len` elements of `T`. Its copies and waits count in [`Device::traffic`].
#[derive(Debug)]
pub struct Buffer<T> {
    name: &'static str,
    device: Device,
    slice: Option<CudaSlice<Cell<T>>>,
    len: usize,
}

impl Device {
    /// `len` zeros. A length of 0 allocates nothing; its device pointer is null.
    ///
    /// # Errors
    /// [`GpuError::Driver`] naming the buffer, when memory is short.
    pub fn zeros<T: Plain>(&self, name: &'static str, len: usize) -> Result<Buffer<T>, GpuError> {
        let slice = if len == 0 {
            None
        } else {
            let slice = self.shared.stream.alloc_zeros(len).map_err(|e| {
                GpuError::driver(format!("buffer `{name}`: allocating {len} × {} B", size_of::<T>()), e)
            })?;
            Some(slice)
        };
        Ok(Buffer { name, device: self.clone(), slice, len })
    }

    /// A copy of `host` on the device.
    ///
    /// # Errors
    /// As [`Device::zeros`].
    pub fn upload<T: Plain>(&self, name: &'static str, host: &[T]) -> Result<Buffer<T>, GpuError> {
        let mut buffer = self.zeros(name, host.len())?;
        buffer.write(host)?;
        Ok(buffer)
    }

    /// Page-locked host memory of `len` zeros.
    ///
    /// # Errors
    /// [`GpuError::Driver`] naming the buffer.
    pub fn pinned<T: Plain>(&self, name: &'static str, len: usize) -> Result<Pinned<T>, GpuError> {
        let failed = |e| GpuError::driver(format!("pinned buffer `{name}`"), e);
        self.shared.context.bind_to_thread().map_err(failed)?;
        let bytes = (len * size_of::<T>()).max(1);
        // SAFETY: flags 0 is plain page-locked memory; it is zeroed before anything reads it.
        let memory = unsafe {
            let memory = result::malloc_host(bytes, 0).map_err(failed)?;
            memory.cast::<u8>().write_bytes(0, bytes);
            memory
        };
        Ok(Pinned { name, device: self.clone(), memory: memory.cast(), len })
    }
}

impl<T: Plain> Buffer<T> {
    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The name it was made with.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Address on the device; null when empty.
    pub fn address(&self) -> u64 {
        self.slice.as_ref().map_or(0, |slice| slice.device_ptr(&self.device.shared.stream).0)
    }

    /// Overwrites everything from the host.
    ///
    /// # Errors
    /// [`GpuError::Length`] or the driver's.
    pub fn write(&mut self, host: &[T]) -> Result<(), GpuError> {
        self.check(host.len())?;
        let Some(slice) = &mut self.slice else { return Ok(()) };
        let meter = &self.device.shared.meter;
        count(&meter.to_device, 1);
        count(&meter.to_device_bytes, size_of_val(host));
        // SAFETY: Cell is repr(transparent) over T.
        let cells = unsafe { std::slice::from_raw_parts(host.as_ptr().cast::<Cell<T>>(), host.len()) };
        let copied = self.device.shared.stream.memcpy_htod(cells, slice);
        copied.map_err(|e| GpuError::driver(format!("buffer `{}`: copying to the device", self.name), e))
    }

    /// Sets every byte to zero, on the device, in stream order.
    ///
    /// # Errors
    /// The driver's.
    pub fn clear(&mut self) -> Result<(), GpuError> {
        let Some(slice) = &mut self.slice else { return Ok(()) };
        let cleared = self.device.shared.stream.memset_zeros(slice);
        cleared.map_err(|e| GpuError::driver(format!("buffer `{}`: clearing", self.name), e))
    }

    /// Everything, on the host: one copy, one synchronisation.
    ///
    /// # Errors
    /// The driver's, also for a fault of a kernel queued before.
    pub fn read(&self) -> Result<Vec<T>, GpuError> {
        let Some(slice) = &self.slice else { return Ok(Vec::new()) };
        let meter = &self.device.shared.meter;
        count(&meter.to_host, 1);
        count(&meter.to_host_bytes, self.bytes());
        let cells = self.device.shared.stream.clone_dtoh(slice);
        let cells = cells.map_err(|e| GpuError::driver(format!("buffer `{}`: copying to the host", self.name), e))?;
        self.device.synchronize()?;
        Ok(cells.into_iter().map(|Cell(value)| value).collect())
    }

    /// Queues a copy of everything into `host`, without waiting: call [`Device::synchronize`] before reading `host`.
    /// Takes `host` by unique borrow of both for that reason: [`Pinned::get`] waits.
    ///
    /// # Errors
    /// [`GpuError::Length`] or the driver's.
    pub fn read_into(&self, host: &mut Pinned<T>) -> Result<(), GpuError> {
        self.check(host.len)?;
        if self.is_empty() {
            return Ok(());
        }
        let shared = &self.device.shared;
        count(&shared.meter.to_host, 1);
        count(&shared.meter.to_host_bytes, self.bytes());
        let failed = |e| GpuError::driver(format!("buffer `{}`: copying to `{}`", self.name, host.name), e);
        shared.context.bind_to_thread().map_err(failed)?;
        // SAFETY: both are `len` elements; the pinned memory outlives the copy because dropping it waits first.
        let copied = unsafe {
            let target = std::slice::from_raw_parts_mut(host.memory, host.len);
            result::memcpy_dtoh_async(target, self.address(), shared.stream.cu_stream())
        };
        copied.map_err(failed)
    }

    /// Queues a copy of everything into `host` and gives it back once [`PendingRead::wait`] has waited for that copy
    /// alone: what is queued later goes on meanwhile.
    ///
    /// # Errors
    /// As [`Self::read_into`].
    pub fn queue_read(&self, mut host: Pinned<T>) -> Result<PendingRead<T>, GpuError> {
        self.read_into(&mut host)?;
        let done = self.device.shared.stream.record_event(None);
        let done = done.map_err(|e| GpuError::driver(format!("buffer `{}`: marking its copy", self.name), e))?;
        Ok(PendingRead { host, done })
    }

    fn check(&self, got: usize) -> Result<(), GpuError> {
        if got == self.len {
            Ok(())
        } else {
            Err(GpuError::Length { buffer: self.name.to_owned(), expected: self.len, got })
        }
    }
}

/// Page-locked host memory: copies into it run without a staging copy.
#[derive(Debug)]
pub struct Pinned<T> {
    name: &'static str,
    device: Device,
    memory: *mut T,
    len: usize,
}

// SAFETY: the memory is owned and only reached through the borrow rules of `self`.
unsafe impl<T: Send> Send for Pinned<T> {}

impl<T: Plain> Pinned<T> {
    /// Waits for the stream (one counted synchronisation), then shows the contents.
    ///
    /// # Errors
    /// A fault of any kernel queued before.
    pub fn get(&self) -> Result<&[T], GpuError> {
        self.device.synchronize()?;
        // SAFETY: `len` elements, initialised at allocation; the stream is idle, so nothing writes.
        Ok(unsafe { std::slice::from_raw_parts(self.memory, self.len) })
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        let shared = &self.device.shared;
        let waited = shared.stream.synchronize();
        shared.context.record_err(waited);
        // SAFETY: allocated by malloc_host, freed once; no copy is in flight after the wait.
        let freed = unsafe { result::free_host(self.memory.cast()) };
        shared.context.record_err(freed);
    }
}

/// A copy to the host on its way, from [`Buffer::queue_read`].
#[derive(Debug)]
pub struct PendingRead<T> {
    host: Pinned<T>,
    done: CudaEvent,
}

impl<T: Plain> PendingRead<T> {
    /// Waits until the copy is there (one counted synchronisation, with the copy and not with the stream); the values,
    /// and the memory for the next copy.
    ///
    /// # Errors
    /// A fault of any kernel queued before the copy.
    pub fn wait(self) -> Result<(Vec<T>, Pinned<T>), GpuError> {
        let Self { host, done } = self;
        count(&host.device.shared.meter.syncs, 1);
        done.synchronize().map_err(|e| GpuError::driver(format!("waiting for `{}`", host.name), e))?;
        // SAFETY: `len` elements, initialised at allocation; the only copy into them is done.
        let values = unsafe { std::slice::from_raw_parts(host.memory, host.len) }.to_vec();
        Ok((values, host))
    }
}
