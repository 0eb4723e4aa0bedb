//! [`ModelForward`]: any Candle model as a policy on the GPU, recorded with the account's step into one CUDA graph.

use candle_core::cuda_backend::cudarc::driver::DevicePtr;
use candle_core::{CudaDevice, DType, Device, Storage, Tensor};
use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::gpu::{EvaluateError, GpuBacktestEvaluator, WindowInput, WindowSummary};
use gigabar_gpu::Device as GpuDevice;

/// A model: observations `[rows, n_feature + 8]` f32 to Q `[rows, n_action]` f32. Of a row's values only that row may
/// be read again, and nothing may be read back to the host.
pub trait ModelForward {
    /// Queues the forward pass.
    ///
    /// # Errors
    /// Candle's.
    fn forward(&self, observation: &Tensor) -> candle_core::Result<Tensor>;
}

impl<F: Fn(&Tensor) -> candle_core::Result<Tensor>> ModelForward for F {
    fn forward(&self, observation: &Tensor) -> candle_core::Result<Tensor> {
        self(observation)
    }
}

/// A GPU that Candle and gigabar share: one context, one stream. Make the model's tensors on [`Self::candle`].
#[derive(Debug, Clone)]
pub struct CandleGpu {
    candle: CudaDevice,
    gpu: GpuDevice,
}

impl CandleGpu {
    /// Opens the GPU `ordinal`.
    ///
    /// # Errors
    /// [`EvaluateError::Gpu`] as [`GpuDevice::open`], [`EvaluateError::Model`] when Candle cannot use it.
    pub fn open(ordinal: usize) -> Result<Self, EvaluateError> {
        // Says what is missing better than a library that panics without a driver.
        drop(GpuDevice::open(ordinal)?);
        let candle = CudaDevice::new_with_stream(ordinal).map_err(model)?;
        let gpu = GpuDevice::on_stream(&candle.cuda_stream())?;
        Ok(Self { candle, gpu })
    }

    /// The device of the model's tensors.
    pub fn candle(&self) -> Device {
        Device::Cuda(self.candle.clone())
    }

    /// Windows for [`Self::evaluate`].
    ///
    /// # Errors
    /// As [`GpuBacktestEvaluator::upload_windows`].
    pub fn upload_windows(&self, inputs: &[WindowInput<'_>]) -> Result<GpuBacktestEvaluator, EvaluateError> {
        GpuBacktestEvaluator::upload_windows(&self.gpu, inputs)
    }

    /// Runs the model greedily over every window of `evaluator`, made by [`Self::upload_windows`]. Returns the
    /// summaries `[n_windows]` and the actions of each window `[n_bars − 1]`. `levels` `[n_action]` are what the
    /// actions stand for.
    ///
    /// # Errors
    /// [`EvaluateError::Model`] for a model that fails or whose output has another shape; the device's.
    #[allow(unsafe_code)]
    pub fn evaluate(
        &self,
        evaluator: &mut GpuBacktestEvaluator,
        model: &dyn ModelForward,
        levels: &[f64],
        risk_free: f64,
    ) -> Result<(Vec<WindowSummary>, Vec<Vec<u8>>), EvaluateError> {
        let rows = evaluator.n_windows();
        let n_input = evaluator.n_feature() + N_PORTFOLIO;
        let observation = Tensor::zeros((rows, n_input), DType::F32, &self.candle()).map_err(self::model)?;
        let address = address_of(&observation)?;
        let _cache = self.candle.enable_cuda_graph_htod_cache();
        let forward = &mut |take: &mut gigabar_backtest::gpu::TakeQ<'_>| {
            let q = model.forward(&observation).and_then(|q| q.contiguous()).map_err(self::model)?;
            if q.dims() != [rows, levels.len()] || q.dtype() != DType::F32 {
                let message = format!("Q is {:?} {:?}, expected [{rows}, {}] F32", q.dims(), q.dtype(), levels.len());
                return Err(EvaluateError::Model { message });
            }
            take(address_of(&q)?)
        };
        // SAFETY: both addresses are those of tensors of the right shape that live while they are used; a graph's own
        // temporaries belong to it.
        unsafe { evaluator.evaluate_external(levels, address, forward, risk_free) }
    }
}

fn model(error: candle_core::Error) -> EvaluateError {
    EvaluateError::Model { message: error.to_string() }
}

/// Where a contiguous f32 tensor lies on the device.
fn address_of(tensor: &Tensor) -> Result<u64, EvaluateError> {
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cuda(storage) = &*storage else {
        return Err(EvaluateError::Model { message: "the model's output is not on the GPU".into() });
    };
    let slice = storage.as_cuda_slice::<f32>().map_err(model)?;
    let stream = storage.device.cuda_stream();
    let (base, _sync) = slice.device_ptr(&stream);
    Ok(base + (layout.start_offset() * size_of::<f32>()) as u64)
}
