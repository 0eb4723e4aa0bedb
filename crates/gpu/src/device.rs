//! [`Device`]: one GPU, one context, one stream, and the [`Traffic`] between it and the host.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaModule, CudaStream};

use crate::error::GpuError;
use crate::library::{driver_present, nvrtc_present};
use crate::module::Arch;

/// What a device is; all that kernels size themselves from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceFacts {
    /// The ordinal it was opened by.
    pub ordinal: usize,
    /// The driver's name for it.
    pub name: String,
    /// Compute capability.
    pub arch: Arch,
    /// Streaming multiprocessors.
    pub n_sm: usize,
    /// Shared memory a block may ask for, bytes.
    pub shared_bytes_per_block: usize,
    /// 32-bit registers of a multiprocessor.
    pub registers_per_sm: usize,
    /// Threads of a block at most.
    pub threads_per_block: usize,
    /// Device memory, bytes.
    pub memory_bytes: usize,
}

impl fmt::Display for DeviceFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = self.memory_bytes as f64 / (1u64 << 30) as f64;
        write!(f, "cuda:{} {} ({}, {} SMs, {gib:.0} GiB)", self.ordinal, self.name, self.arch, self.n_sm)
    }
}

/// Copies between host and device, and times the host waited. Every [`Buffer`](crate::Buffer) of a device counts here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Copies host → device.
    pub to_device: u64,
    /// Bytes host → device.
    pub to_device_bytes: u64,
    /// Copies device → host.
    pub to_host: u64,
    /// Bytes device → host.
    pub to_host_bytes: u64,
    /// Times the host waited for the device.
    pub syncs: u64,
    /// Kernel launches.
    pub launches: u64,
}

impl Traffic {
    /// What happened since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            to_device: self.to_device - earlier.to_device,
            to_device_bytes: self.to_device_bytes - earlier.to_device_bytes,
            to_host: self.to_host - earlier.to_host,
            to_host_bytes: self.to_host_bytes - earlier.to_host_bytes,
            syncs: self.syncs - earlier.syncs,
            launches: self.launches - earlier.launches,
        }
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { to_device, to_device_bytes, to_host, to_host_bytes, syncs, launches } = self;
        write!(
            f,
            "{to_device} copies to the device ({to_device_bytes} B), {to_host} to the host ({to_host_bytes} B), \
             {syncs} synchronisations, {launches} launches"
        )
    }
}

#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub(crate) to_device: AtomicU64,
    pub(crate) to_device_bytes: AtomicU64,
    pub(crate) to_host: AtomicU64,
    pub(crate) to_host_bytes: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) launches: AtomicU64,
}

/// Adds to one counter of the meter.
pub(crate) fn count(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

/// One GPU with one stream: all work is in order, and nothing runs on a default stream. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) meter: Meter,
    /// Loaded modules by everything that makes their code.
    pub(crate) modules: Mutex<HashMap<String, Arc<CudaModule>>>,
    facts: DeviceFacts,
}

impl Device {
    /// Opens the GPU `ordinal`.
    ///
    /// # Errors
    /// [`GpuError::NoDriver`] or [`GpuError::NoDevice`], [`GpuError::NoNvrtc`], all that is missing as
    /// [`GpuError::Missing`], or the driver's own error.
    pub fn open(ordinal: usize) -> Result<Self, GpuError> {
        let mut missing = Vec::new();
        if driver_present() {
            let found = device_count()?;
            if ordinal >= found {
                missing.push(GpuError::NoDevice { ordinal, found });
            }
        } else {
            missing.push(GpuError::NoDriver);
        }
        if !nvrtc_present() {
            missing.push(GpuError::NoNvrtc);
        }
        GpuError::unless_none(missing)?;
        let failed = |what: &str| {
            let what = format!("cuda:{ordinal}: {what}");
            move |e| GpuError::driver(what, e)
        };
        let context = CudaContext::new(ordinal).map_err(failed("creating the context"))?;
        // SAFETY: there is one stream, so its own order is all the ordering that is needed; no slice exists yet.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failed("creating the stream"))?;
        Self::with(context, stream)
    }

    /// The GPU of a stream that another library has made and works on too: everything queued here and there is in
    /// order.
    /// Its context no longer tracks the use of buffers by events: do not use its buffers on a second stream.
    ///
    /// # Errors
    /// [`GpuError::NoNvrtc`], or the driver's own error.
    pub fn on_stream(stream: &Arc<CudaStream>) -> Result<Self, GpuError> {
        if !nvrtc_present() {
            return Err(GpuError::NoNvrtc);
        }
        let context = stream.context().clone();
        // SAFETY: as the documentation asks, there is one stream.
        unsafe { context.disable_event_tracking() };
        Self::with(context, stream.clone())
    }

    fn with(context: Arc<CudaContext>, stream: Arc<CudaStream>) -> Result<Self, GpuError> {
        let ordinal = context.ordinal();
        let failed = |e| GpuError::driver(format!("cuda:{ordinal}: reading attributes"), e);
        let facts = facts(ordinal, &context).map_err(failed)?;
        let shared = Shared { context, stream, meter: Meter::default(), modules: Mutex::default(), facts };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// What it is.
    pub fn facts(&self) -> &DeviceFacts {
        &self.shared.facts
    }

    /// Everything copied and waited for so far.
    pub fn traffic(&self) -> Traffic {
        let meter = &self.shared.meter;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Traffic {
            to_device: read(&meter.to_device),
            to_device_bytes: read(&meter.to_device_bytes),
            to_host: read(&meter.to_host),
            to_host_bytes: read(&meter.to_host_bytes),
            syncs: read(&meter.syncs),
            launches: read(&meter.launches),
        }
    }

    /// Device memory free now, bytes.
    ///
    /// # Errors
    /// The driver's.
    pub fn free_bytes(&self) -> Result<usize, GpuError> {
        let info = self.shared.context.mem_get_info();
        info.map(|(free, _)| free).map_err(|e| GpuError::driver("reading free memory", e))
    }

    /// Waits until everything queued is done; counted.
    ///
    /// # Errors
    /// A fault of any kernel queued before.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        count(&self.shared.meter.syncs, 1);
        self.shared.stream.synchronize().map_err(|e| GpuError::driver("waiting for the stream", e))
    }
}

fn device_count() -> Result<usize, GpuError> {
    match CudaContext::device_count() {
        Ok(n) => Ok(usize::try_from(n).unwrap_or(0)),
        Err(e) if format!("{e:?}").contains("NO_DEVICE") => Ok(0),
        Err(e) => Err(GpuError::driver("counting devices", e)),
    }
}

fn facts(ordinal: usize, context: &CudaContext) -> Result<DeviceFacts, cudarc::driver::DriverError> {
    let read = |attribute| context.attribute(attribute).map(|value| usize::try_from(value).unwrap_or(0));
    let (major, minor) = context.compute_capability()?;
    Ok(DeviceFacts {
        ordinal,
        name: context.name()?,
        arch: Arch(major.unsigned_abs() * 10 + minor.unsigned_abs()),
        n_sm: read(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        shared_bytes_per_block: read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        registers_per_sm: read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        threads_per_block: read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        memory_bytes: context.total_mem()?,
    })
}

/// What this machine offers, for `doctor`. Never fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Whether libcuda is there.
    pub driver: bool,
    /// CUDA version the driver supports, as 13000 for 13.0.
    pub driver_version: Option<i32>,
    /// Version of NVRTC, if it is there.
    pub nvrtc: Option<(i32, i32)>,
    /// Devices that can be opened.
    pub devices: Vec<DeviceFacts>,
    /// What is missing or broken, each with its remedy.
    pub problems: Vec<(String, Option<String>)>,
}

/// Looks for driver, NVRTC and devices without keeping any of them.
pub fn probe() -> Probe {
    let mut problems = Vec::new();
    let mut note = |error: &GpuError| problems.push((error.to_string(), error.hint()));
    let driver = driver_present();
    let nvrtc = crate::module::nvrtc_version();
    let mut devices = Vec::new();
    if !driver {
        note(&GpuError::NoDriver);
    }
    if nvrtc.is_none() {
        note(&GpuError::NoNvrtc);
    }
    if driver {
        match device_count() {
            Ok(0) => note(&GpuError::NoDevice { ordinal: 0, found: 0 }),
            Ok(n) => {
                for ordinal in 0..n {
                    let opened = CudaContext::new(ordinal).and_then(|context| facts(ordinal, &context));
                    match opened {
                        Ok(facts) => devices.push(facts),
                        Err(e) => note(&GpuError::driver(format!("opening cuda:{ordinal}"), e)),
                    }
                }
            }
            Err(error) => note(&error),
        }
    }
    let driver_version = if devices.is_empty() { None } else { driver_version() };
    Probe { driver, driver_version, nvrtc, devices, problems }
}

fn driver_version() -> Option<i32> {
    let mut version = 0;
    // SAFETY: libcuda is present; the call writes one int.
    unsafe { cudarc::driver::sys::cuDriverGetVersion(&raw mut version) }.result().ok()?;
    Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_is_told_so_and_nothing_panics() {
        let found = probe();
        if !found.driver {
            assert!(found.devices.is_empty());
            assert!(found.problems.iter().any(|(message, hint)| message.contains("driver") && hint.is_some()));
            let want = match found.nvrtc {
                Some(_) => GpuError::NoDriver,
                None => GpuError::Missing(vec![GpuError::NoDriver, GpuError::NoNvrtc]),
            };
            assert_eq!(Device::open(0).err(), Some(want));
        }
    }

    #[test]
    fn traffic_is_a_difference() {
        let earlier = Traffic { syncs: 2, to_host: 1, ..Traffic::default() };
        let later = Traffic { syncs: 3, to_host: 2, to_host_bytes: 64, ..Traffic::default() };
        assert_eq!(later.since(&earlier), Traffic { syncs: 1, to_host: 1, to_host_bytes: 64, ..Traffic::default() });
    }
}
