"""
=================================
K-SVD: a dictionary from the data
=================================

K-SVD (Aharon, Elad and Bruckstein, 2006) learns the atoms of a dictionary from the signals. Two steps
alternate. First `batch_omp` codes all signals over the present atoms. Then each atom and its coefficients
become the best rank-one fit to the signals that use the atom, while all other atoms stay fixed.

The signals in the figure are the overlapping patches of a noisy photograph, without their means (Elad and
Aharon, 2006). The learned dictionary starts from a fixed one, which consists of cosines. Both denoise the
photograph by the same rule: each patch is coded until its residual is at the level of the noise.

At the end, K-SVD gets 1500 mixtures of 3 atoms each, with noise at 20 dB, and finds more than 45 of the 50
atoms.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from threadpoolctl import threadpool_limits

import sparselin as sl


def ksvd(Y, D, rounds, k, residual=None):
    """Learn unit atoms from the signals in the columns of Y (n, N), starting from those of D (n, d)."""
    D = D.copy()
    for _ in range(rounds):
        X = sl.batch_omp(D, Y, k, residual=residual).coefficients.toarray()
        with threadpool_limits(1):  # the matrices below are too small for more threads
            update_atoms(Y, D, X, Y - D @ X)
    return D


def update_atoms(Y, D, X, R):
    """Change D and X in place, one atom at a time, and keep R = Y − DX."""
    worst = iter(np.argsort(-np.linalg.norm(R, axis=0)))
    for j in range(D.shape[1]):
        users = np.flatnonzero(X[j])
        E = R[:, users] + np.outer(D[:, j], X[j, users])  # the part that the other atoms leave
        twins = np.abs(D.T @ D[:, j]) > 0.99
        if len(users) and twins.sum() == 1:
            # The pair u, x = Eᵀu minimises ‖E − u xᵀ‖ if u is the first left singular vector of E, which is
            # the last eigenvector of EEᵀ. Because −u fits as well, choose the sign of the old atom.
            u = np.linalg.eigh(E @ E.T)[1][:, -1]
            D[:, j] = u * np.copysign(1, u @ D[:, j])
            X[j, users] = E.T @ D[:, j]
        else:  # an atom that is not used, or almost equals another one: take the signal with the worst fit
            y = Y[:, next(worst)]
            D[:, j], X[j] = y / np.linalg.norm(y), 0
        R[:, users] = E - np.outer(D[:, j], X[j, users])


def denoise(D, patches, level, shape):
    """Code the overlapping 8 × 8 patches (64, N), and average the patches that contain a pixel."""
    means = patches.mean(axis=0)
    fit = sl.batch_omp(D, patches - means, 32, residual=level).reconstruct(D) + means
    blocks = fit.T.reshape(shape[0] - 7, shape[1] - 7, 8, 8)
    total, count = np.zeros((2, *shape))
    for i, j in np.ndindex(8, 8):
        here = slice(i, i + len(blocks)), slice(j, j + blocks.shape[1])
        total[here] += blocks[:, :, i, j]
        count[here] += 1
    return total / count


def psnr(image):
    return -10 * np.log10(np.mean((image - photograph) ** 2))


def mosaic(D):
    """Return the first 225 atoms as 15 × 15 tiles with white edges, each scaled to the range [0, 1]."""
    tiles = np.ones((15, 15, 9, 9))
    low, high = D[:, :225].min(axis=0), D[:, :225].max(axis=0)
    tiles[:, :, :8, :8] = ((D[:, :225] - low) / (high - low)).T.reshape(15, 15, 8, 8)
    return tiles.swapaxes(1, 2).reshape(135, 135)[:-1, :-1]


photograph = load_sample_image("china.jpg")[230:358, 150:278] @ [0.299, 0.587, 0.114] / 255
rng, sigma = np.random.default_rng(0), 0.1
noisy = photograph + sigma * rng.standard_normal(photograph.shape)
patches = np.lib.stride_tricks.sliding_window_view(noisy, (8, 8)).reshape(-1, 64).T
level = 1.15 * sigma * 8

cosines = np.cos(np.pi / 16 * np.outer(np.arange(8), np.arange(16)))
cosines[:, 1:] -= cosines[:, 1:].mean(axis=0)
cosines /= np.linalg.norm(cosines, axis=0)
fixed = np.kron(cosines, cosines)[:, 1:]  # without the constant atom
learned = ksvd((patches - patches.mean(axis=0))[:, ::2], fixed, 8, 32, level)
by_fixed, by_learned = (denoise(D, patches, level, noisy.shape) for D in (fixed, learned))

images = {
    "noisy": noisy,
    "cosines": by_fixed,
    "K-SVD": by_learned,
    "photograph": photograph,
    "atoms of cosines": mosaic(fixed),
    "atoms of K-SVD": mosaic(learned),
}
figure, axes = plt.subplots(2, 3, figsize=(10, 7), layout="constrained")
for ax, (name, image) in zip(axes.flat, images.items(), strict=True):
    ax.imshow(image, cmap="gray", vmin=0, vmax=1)
    ax.set_title(f"{name}, {psnr(image):.1f} dB" if ax in axes[0] else name)
    ax.set_axis_off()
plt.show()

# %%
# The recovery of a known dictionary
# ----------------------------------
# An atom counts as found if its cosine with a learned atom exceeds 0.99 in modulus.

atoms = rng.standard_normal((20, 50))
atoms /= np.linalg.norm(atoms, axis=0)
codes = np.zeros((50, 1500))
chosen = rng.permuted(np.tile(np.arange(50), (1500, 1)), axis=1)[:, :3]
codes[chosen.T, np.arange(1500)] = rng.standard_normal((3, 1500))
clean, noise = atoms @ codes, rng.standard_normal((20, 1500))
signals = clean + 0.1 * np.linalg.norm(clean) / np.linalg.norm(noise) * noise
first = signals[:, :50] / np.linalg.norm(signals[:, :50], axis=0)
found = [int((np.abs(atoms.T @ D).max(axis=1) > 0.99).sum()) for D in (first, ksvd(signals, first, 80, 3))]
