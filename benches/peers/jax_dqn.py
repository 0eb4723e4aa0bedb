"""The DQN gradient step in JAX: one jitted `lax.scan` over steps, everything on the device.

The work of gigabar's step (crates/learn/src/gpu): draw from a replay of 1 M transitions, gather features by bar index, double-DQN
target with a dueling head, Huber loss with importance weights, gradient, clip by global norm, Adam, soft target, new
priorities. Proportional replay the way it is written in JAX: a cumulative sum over all priorities and a binary search.
f32 throughout, without TF32; feature noise is left out.

    python benches/peers/jax_dqn.py
"""

import json
import statistics
import time
from argparse import ArgumentParser
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

N_BARS, N_FEATURE, N_PORTFOLIO, N_ACTION = 100_000, 48, 8, 5
HIDDEN = (256, 256)
CAPACITY = 1_000_000
ALPHA, BETA, EPS, TAU, LR, CLIP = 0.6, 0.6, 1e-2, 5e-3, 5e-4, 10.0
jax.config.update("jax_default_matmul_precision", "highest")


def network(rng: np.random.Generator) -> list[tuple[jax.Array, jax.Array]]:
    """Weights [n_in, n_out] and biases; the last layer is value ++ advantages."""
    widths = (N_FEATURE + N_PORTFOLIO, *HIDDEN, 1 + N_ACTION)
    layer = lambda i, o: (rng.uniform(-1, 1, (i, o)) / np.sqrt(i), np.zeros(o))  # noqa: E731
    return [tuple(jnp.asarray(x, jnp.float32) for x in layer(i, o)) for i, o in zip(widths, widths[1:], strict=False)]


def q_values(params: list, x: jax.Array) -> jax.Array:
    """[rows, n_input] → [rows, N_ACTION]"""
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    head = x @ params[-1][0] + params[-1][1]
    return head[:, :1] + head[:, 1:] - head[:, 1:].mean(1, keepdims=True)


def replay(rng: np.random.Generator) -> dict[str, jax.Array]:
    """A full ring of compact transitions."""
    bar = rng.integers(0, N_BARS - 3, CAPACITY)
    ring = {
        "bar": bar.astype(np.int32),
        "next_bar": (bar + 3).astype(np.int32),
        "portfolio": rng.normal(size=(CAPACITY, N_PORTFOLIO)).astype(np.float32),
        "next_portfolio": rng.normal(size=(CAPACITY, N_PORTFOLIO)).astype(np.float32),
        "action": rng.integers(0, N_ACTION, CAPACITY).astype(np.int32),
        "reward": rng.normal(size=CAPACITY).astype(np.float32),
        "discount": np.full(CAPACITY, 0.95**3, np.float32),
    }
    return {name: jnp.asarray(x) for name, x in ring.items()}


def step(features: jax.Array, ring: dict, batch: int, prioritised: bool, state: tuple, key: jax.Array) -> tuple:
    """One gradient step."""
    params, target, first, second, t, priorities = state
    if prioritised:
        cumulative = jnp.cumsum(priorities)
        mass = (jnp.arange(batch) + jax.random.uniform(key, (batch,))) / batch * cumulative[-1]
        slots = jnp.clip(jnp.searchsorted(cumulative, mass, side="right"), 0, CAPACITY - 1)
        weights = (CAPACITY * priorities[slots] / cumulative[-1]) ** -BETA
        weights = weights / weights.max()
    else:
        slots = jax.random.randint(key, (batch,), 0, CAPACITY)
        weights = jnp.ones(batch)
    row = lambda bar, portfolio: jnp.concatenate([features[ring[bar][slots]], ring[portfolio][slots]], 1)  # noqa: E731
    now, then = row("bar", "portfolio"), row("next_bar", "next_portfolio")
    best = q_values(params, then).argmax(1)
    bootstrap = jnp.take_along_axis(q_values(target, then), best[:, None], 1)[:, 0]
    goal = ring["reward"][slots] + ring["discount"][slots] * bootstrap

    def loss_of(params: list) -> tuple[jax.Array, jax.Array]:
        q = jnp.take_along_axis(q_values(params, now), ring["action"][slots][:, None], 1)[:, 0]
        td = q - goal
        slope = jnp.clip(td, -1.0, 1.0)
        return (weights * slope * (td - 0.5 * slope)).mean(), td

    (_, td), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, CLIP / norm), grads)
    t = t + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
    scale = LR / (1 - 0.9**t)
    root = jnp.sqrt(1 - 0.999**t)
    params = jax.tree.map(lambda w, m, v: w - scale * m / (jnp.sqrt(v) / root + 1e-8), params, first, second)
    target = jax.tree.map(lambda o, w: o + TAU * (w - o), target, params)
    if prioritised:
        priorities = priorities.at[slots].set((jnp.abs(td) + EPS) ** ALPHA)
    return (params, target, first, second, t, priorities), norm


@partial(jax.jit, static_argnames=("batch", "prioritised", "n"), donate_argnums=(2,))
def train(features: jax.Array, ring: dict, state: tuple, key: jax.Array, batch: int, prioritised: bool, n: int) -> tuple:
    """n steps; the norms of all gradients keep them honest."""
    return jax.lax.scan(partial(step, features, ring, batch, prioritised), state, jax.random.split(key, n))


def main() -> None:
    """Times every case: the median over runs of `steps` steps, the read inside."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    features, ring = jnp.asarray(rng.normal(size=(N_BARS, N_FEATURE)), jnp.float32), replay(rng)
    for batch in (256, 1_024):
        for prioritised in (False, True):
            params = network(rng)
            copy = lambda tree: jax.tree.map(jnp.copy, tree)  # noqa: E731
            zeros = jax.tree.map(jnp.zeros_like, params)
            priorities = jnp.asarray(rng.uniform(0.1, 1.0, CAPACITY), jnp.float32)
            state = (params, copy(params), zeros, copy(zeros), jnp.zeros((), jnp.float32), priorities)
            times = []
            for run in range(args.runs + 1):
                start = time.perf_counter()
                state, norms = train(features, ring, state, jax.random.key(run), batch, prioritised, args.steps)
                assert np.isfinite(np.asarray(norms)).all()
                times.append(time.perf_counter() - start)
            result = {
                "peer": f"jax {jax.__version__} {jax.default_backend()} scan",
                "batch": batch,
                "replay": "proportional" if prioritised else "uniform",
                "first_s": round(times[0], 3),
                "us_per_step": round(statistics.median(times[1:]) / args.steps * 1e6, 1),
            }
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
