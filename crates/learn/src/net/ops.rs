//! The two operations a multilayer perceptron spends its time in, as Candle custom operations with their own backward
//! pass.
//!
//! Candle's stock CPU matmul asks the operating system for the core count at every call (about 35 µs, several times the
//! product itself at our sizes) and may split the work over a pool shared with other folds. [`Dense`] multiplies
//! through `ndarray` (single-threaded `matrixmultiply`), so the work stays on the trainer's thread, wherever in a rayon
//! pool that is. Both operations are checked against Candle's stock operations, forward and backward.

use super::Activation;
use candle_core::{CpuStorage, CustomOp1, CustomOp3, Layout, Result, Shape, Storage, Tensor};
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};

/// y = x·Wᵀ + b. x `[n_row, n_in]`, W `[n_out, n_in]`, b `[n_out]` → y `[n_row, n_out]`.
pub(super) struct Dense;

/// y = f(x), elementwise.
pub(super) struct Activate(pub(super) Activation);

fn flat<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&storage.as_slice::<f32>()?[start..end]),
        None => candle_core::bail!("the network's operations need contiguous tensors"),
    }
}

/// Calls `f` with the tensor's values, without copying them.
fn with_flat<R>(tensor: &Tensor, f: impl FnOnce(&[f32]) -> Result<R>) -> Result<R> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(cpu) => f(flat(cpu, layout)?),
        _ => candle_core::bail!("the network's operations run on the CPU"),
    }
}

fn view(values: &[f32], rows: usize, columns: usize) -> Result<ArrayView2<'_, f32>> {
    ArrayView2::from_shape((rows, columns), values).map_err(candle_core::Error::wrap)
}

/// `out[m, n] = a[m, k] · b[k, n] + beta·out`.
fn multiply(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>, beta: f32, out: &mut [f32]) -> Result<()> {
    let shape = (a.nrows(), b.ncols());
    let mut out = ArrayViewMut2::from_shape(shape, out).map_err(candle_core::Error::wrap)?;
    general_mat_mul(1.0, &a, &b, beta, &mut out);
    Ok(())
}

impl CustomOp3 for Dense {
    fn name(&self) -> &'static str {
        "dense"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        w: &CpuStorage,
        w_layout: &Layout,
        b: &CpuStorage,
        b_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (n_row, n_in) = x_layout.shape().dims2()?;
        let (n_out, _) = w_layout.shape().dims2()?;
        let bias = flat(b, b_layout)?;
        let mut out = Vec::with_capacity(n_row * n_out);
        (0..n_row).for_each(|_| out.extend_from_slice(bias));
        multiply(view(flat(x, x_layout)?, n_row, n_in)?, view(flat(w, w_layout)?, n_out, n_in)?.t(), 1.0, &mut out)?;
        Ok((CpuStorage::F32(out), (n_row, n_out).into()))
    }

    /// dx = dy·W · dW = dyᵀ·x · db = Σ_rows dy. The gradient of an input that needs none is not computed.
    fn bwd(&self, x: &Tensor, w: &Tensor, b: &Tensor, _y: &Tensor, dy: &Tensor) -> Result<Gradients3> {
        let (n_row, n_in) = x.dims2()?;
        let n_out = b.dims1()?;
        let dy = dy.contiguous()?;
        let (mut dw, mut db) = (vec![0.0; n_out * n_in], vec![0.0; n_out]);
        let mut dx = x.track_op().then(|| vec![0.0; n_row * n_in]);
        with_flat(&dy, |dy| {
            let dy_view = view(dy, n_row, n_out)?;
            with_flat(x, |x| multiply(dy_view.t(), view(x, n_row, n_in)?, 0.0, &mut dw))?;
            for row in dy.chunks_exact(n_out) {
                db.iter_mut().zip(row).for_each(|(sum, d)| *sum += d);
            }
            match &mut dx {
                Some(dx) => with_flat(w, |w| multiply(dy_view, view(w, n_out, n_in)?, 0.0, dx)),
                None => Ok(()),
            }
        })?;
        let dx = dx.map(|dx| Tensor::from_vec(dx, (n_row, n_in), x.device())).transpose()?;
        let dw = Tensor::from_vec(dw, (n_out, n_in), x.device())?;
        Ok((dx, Some(dw), Some(Tensor::from_vec(db, n_out, x.device())?)))
    }
}

type Gradients3 = (Option<Tensor>, Option<Tensor>, Option<Tensor>);

impl CustomOp1 for Activate {
    fn name(&self) -> &'static str {
        "activate"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let out = flat(x, layout)?.iter().map(|&x| self.0.apply(x)).collect();
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, y: &Tensor, dy: &Tensor) -> Result<Option<Tensor>> {
        let dy = dy.contiguous()?;
        let dx = with_flat(x, |x| {
            with_flat(y, |y| {
                with_flat(&dy, |dy| {
                    let inputs = x.iter().zip(y).zip(dy);
                    Ok(inputs.map(|((&x, &y), &dy)| dy * self.0.derivative(x, y)).collect::<Vec<f32>>())
                })
            })
        })?;
        Ok(Some(Tensor::from_vec(dx, x.shape(), x.device())?))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use candle_core::{Device, Var};
    use gigabar_market::rng::Philox;

    fn random(shape: &[usize], stream: u64) -> Var {
        let mut rng = Philox::new(11, stream);
        let values: Vec<f32> = (0..shape.iter().product()).map(|_| (rng.uniform() * 2.0 - 1.0) as f32).collect();
        Var::from_vec(values, shape, &Device::Cpu).unwrap()
    }

    fn assert_close(a: &Tensor, b: &Tensor) {
        let (a, b) = (a.flatten_all().unwrap().to_vec1::<f32>().unwrap(), b.flatten_all().unwrap().to_vec1().unwrap());
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip::<Vec<f32>>(b) {
            assert!((a - b).abs() <= 2e-6 * (1.0 + b.abs()), "{a} is not {b}");
        }
    }

    /// Values and all gradients of the custom operations against the same formula in Candle's stock operations.
    #[test]
    fn equal_candles_stock_operations() {
        for activation in [Activation::Relu, Activation::Tanh, Activation::Silu] {
            let (x, w, b) = (random(&[7, 5], 0), random(&[3, 5], 1), random(&[3], 2));
            let c = random(&[7, 3], 3);
            let own = x.apply_op3(&w, &b, Dense).unwrap().apply_op1(Activate(activation)).unwrap();
            let stock = x.matmul(&w.t().unwrap()).unwrap().broadcast_add(&b).unwrap();
            let stock = match activation {
                Activation::Relu => stock.relu(),
                Activation::Tanh => stock.tanh(),
                Activation::Silu => stock.silu(),
            };
            let stock = stock.unwrap();
            assert_close(&own, &stock);
            let own_grads = (&own * c.as_tensor()).unwrap().sum_all().unwrap().backward().unwrap();
            let stock_grads = (&stock * c.as_tensor()).unwrap().sum_all().unwrap().backward().unwrap();
            for var in [&x, &w, &b] {
                assert_close(own_grads.get(var).unwrap(), stock_grads.get(var).unwrap());
            }
        }
    }
}
