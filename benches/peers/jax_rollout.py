"""The rollout in JAX: `lax.scan` over bars, all windows in lockstep, everything one jitted program.

Layer 1 of the features is one matrix product over all bars before the scan; a scan step adds the portfolio's part, runs
the rest of the network (f32, full precision) and the account (f64). Metrics are computed on the device and read once.
The scan's `unroll` is tuned per case on a short run.

    python benches/peers/jax_rollout.py                                  # all cases
    python benches/peers/jax_rollout.py --windows 8 --bars 100000 --scale 0.1
"""

import functools
import time

import jax
import jax.numpy as jnp
import numpy as np

import account
import common

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "highest")

Arrays = dict[str, jax.Array]


@functools.partial(jax.jit, static_argnames="unroll")
def evaluate(net: Arrays, features: jax.Array, bars: account.Bar, unroll: int) -> jax.Array:
    """[4, n_windows] from features [n_bars, n_windows, 48] and bars of [n_bars - 1, n_windows]."""
    levels = jnp.array(common.LEVELS)
    projected = features[:-1] @ net["w1_features"] + net["b1"]

    def step(a: account.Account, xs: tuple[jax.Array, account.Bar]) -> tuple[account.Account, jax.Array]:
        pre, bar = xs
        portfolio = jnp.stack(account.observe(jnp, a, bar), axis=-1).astype(jnp.float32)
        hidden = jax.nn.relu(pre + portfolio @ net["w1_portfolio"])
        hidden = jax.nn.relu(hidden @ net["w2"] + net["b2"])
        level = levels[jnp.argmax(hidden @ net["w3"] + net["b3"], axis=-1)]
        a = account.step(jnp, a, bar, level)
        return a, a.equity

    start = account.fresh(jnp.ones(features.shape[1]))
    end, path = jax.lax.scan(step, start, (projected, bars), unroll=unroll)
    final = account.closed_equity(jnp, end, bars.close_next[-1])
    path = jnp.concatenate([start.equity[None], path[:-1], final[None]])
    r = account.returns(jnp, path)
    sharpe = r.mean(0) / r.std(0, ddof=1) * common.PERIODS_PER_YEAR**0.5
    drawdown = (1.0 - path / jax.lax.cummax(path)).max(0)
    return jnp.stack([sharpe, final - common.INITIAL_CASH, drawdown, final])


class Peer:
    """The series and the network on the device."""

    def __init__(self, market: common.Market, net: common.Network) -> None:
        self.market = {name: jax.device_put(getattr(market, name)) for name in (*common.COLUMNS, "features")}
        self.net = {name: jax.device_put(value) for name, value in vars(net).items()}

    def windows(self, n_windows: int, n_bars: int) -> tuple[jax.Array, account.Bar]:
        """Cuts the windows on the device; not timed, as gigabar's upload is not."""
        rows = jnp.asarray(common.window_rows(self.market["close"].shape[0], n_windows, n_bars))
        cut = {name: self.market[name][rows] for name in common.COLUMNS}
        following = [cut[name][1:] for name in ("open", "high", "low", "close")]
        bars = account.Bar(*following, cut["close"][:-1], cut["sigma"][:-1])
        return jax.block_until_ready((self.market["features"][rows], bars))

    def evaluate(self, windows: tuple[jax.Array, account.Bar], unroll: int) -> common.Summaries:
        """Runs and reads; the read waits for the device."""
        return np.asarray(evaluate(self.net, *windows, unroll=unroll))


def tuned_unroll(peer: Peer, n_windows: int, n_bars: int, choices: list[int], budget_s: float) -> int:
    """The fastest choice on a short run; stops trying once `budget_s` is spent on compiling."""
    windows, best, start = peer.windows(n_windows, min(n_bars, 2_001)), {}, time.perf_counter()
    for unroll in choices:
        peer.evaluate(windows, unroll)
        best[unroll] = min(common.seconds(lambda u=unroll: peer.evaluate(windows, u)) for _ in range(2))
        if time.perf_counter() - start > budget_s:
            break
    return min(best, key=best.__getitem__)


def main() -> None:
    """Checks, then times every case."""
    parser = common.rollout_arguments("gigabar's rollout in JAX", scale=1.0)
    parser.add_argument("--unroll", default="1,4,16", help="choices to tune among (default 1,4,16)")
    args = parser.parse_args()
    market, net = common.random_walk(common.SERIES_BARS), common.random_network()
    peer = Peer(market, net)
    for unroll in (1, 4):
        small = lambda w, t, u=unroll: peer.evaluate(peer.windows(w, t), u)  # noqa: E731
        common.check_small(f"jax, unroll {unroll}", small, market, net)
    choices = [int(u) for u in args.unroll.split(",")]
    for n_windows, n_bars in common.cases(args):
        unroll = tuned_unroll(peer, n_windows, n_bars, choices, budget_s=8.0)
        windows = peer.windows(n_windows, n_bars)
        name = f"jax {jax.__version__} {jax.default_backend()} scan unroll={unroll}"
        common.measure(name, n_windows, n_bars, lambda w=windows, u=unroll: peer.evaluate(w, u), args.runs)
        del windows


if __name__ == "__main__":
    main()
