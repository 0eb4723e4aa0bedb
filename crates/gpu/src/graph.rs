//! [`Graph`]: launches recorded once and replayed as one, which costs the host one call and the device less between
//! them.

use std::fmt;
use std::sync::atomic::Ordering;

use cudarc::driver::CudaGraph;
use cudarc::driver::sys::{CUgraphInstantiate_flags as Flags, CUstreamCaptureMode as Mode};

use crate::device::{Device, count};
use crate::error::GpuError;

/// Recorded launches. Their arguments are frozen: what must change from one replay to the next lives in device memory.
pub struct Graph {
    name: &'static str,
    device: Device,
    graph: CudaGraph,
    n_launches: usize,
}

// SAFETY: a graph may be used from any thread, by one at a time; it is not `Sync`.
unsafe impl Send for Graph {}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({}, {} launches)", self.name, self.n_launches)
    }
}

impl Device {
    /// Records the launches that `record` queues, without running them. Nothing else may use the device meanwhile, and
    /// `record` may neither allocate, nor copy, nor wait, nor load a kernel.
    ///
    /// # Errors
    /// Those of `record`; [`GpuError::Driver`] naming the graph when something forbidden was done or nothing recorded.
    pub fn capture<E: From<GpuError>>(
        &self,
        name: &'static str,
        record: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph, E> {
        let shared = &self.shared;
        let failed = |e| E::from(GpuError::driver(format!("recording graph `{name}`"), e));
        shared.stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(failed)?;
        let before = self.traffic();
        let recorded = record();
        // Whatever happened, the stream must leave the capture.
        let ended = shared.stream.end_capture(Flags(0));
        // Recorded is not launched.
        let n_launches = self.traffic().since(&before).launches;
        shared.meter.launches.fetch_sub(n_launches, Ordering::Relaxed);
        recorded?;
        let nothing = || GpuError::Driver { what: format!("graph `{name}`"), message: "nothing was recorded".into() };
        let graph = ended.map_err(failed)?.ok_or_else(nothing)?;
        graph.upload().map_err(failed)?;
        Ok(Graph { name, device: self.clone(), graph, n_launches: n_launches as usize })
    }
}

impl Graph {
    /// Queues everything recorded; each kernel counts as a launch.
    ///
    /// # Errors
    /// [`GpuError::Driver`] naming the graph.
    pub fn launch(&self) -> Result<(), GpuError> {
        count(&self.device.shared.meter.launches, self.n_launches);
        self.graph.launch().map_err(|e| GpuError::driver(format!("launching graph `{}`", self.name), e))
    }

    /// Kernels of one replay.
    pub fn n_launches(&self) -> usize {
        self.n_launches
    }
}
