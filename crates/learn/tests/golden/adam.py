"""Writes adam.csv: AdamW in f64, the textbook form (Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019, algorithm 2).

Columns: weight_decay, step, theta_0, theta_1, theta_2. Run: python3 adam.py > adam.csv
"""
from math import sqrt

lr, b1, b2, eps = 1e-2, 0.9, 0.999, 1e-8
for decay in (0.0, 0.1):
    theta = [0.5, -1.0, 2.0]
    m, v = [0.0] * 3, [0.0] * 3
    for t in range(1, 6):
        grad = [0.1 * t, -0.3, 1e-3 * t * t - 0.01]
        for i, g in enumerate(grad):
            theta[i] -= lr * decay * theta[i]
            m[i] = b1 * m[i] + (1 - b1) * g
            v[i] = b2 * v[i] + (1 - b2) * g * g
            m_hat, v_hat = m[i] / (1 - b1**t), v[i] / (1 - b2**t)
            theta[i] -= lr * m_hat / (sqrt(v_hat) + eps)
        print(f"{decay:g},{t}," + ",".join(repr(x) for x in theta))
