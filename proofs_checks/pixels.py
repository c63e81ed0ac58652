"""The pixels of an image that a method selects, and whether these pixels touch each other."""

import math

from proofs_checks.networks import BY_PIECE, mean_and_error, settle


def pixels(support, width=28):
    """Return the row and the column in the image of each selected pixel."""
    return [divmod(pixel, width) for pixel in support]


def adjacent(support):
    """Return the number of pairs of selected pixels that touch each other, at a side or at a corner."""
    found = set(pixels(support))
    steps = ((0, 1), (1, -1), (1, 0), (1, 1))
    return sum((i + a, j + b) in found for i, j in found for a, b in steps)


def touching(first, second):
    """Return the share of the pixels in `first` that are in `second`, or touch a pixel of `second`."""
    near = {(i + a, j + b) for i, j in pixels(second) for a in (-1, 0, 1) for b in (-1, 0, 1)}
    return sum(pixel in near for pixel in pixels(first)) / len(first)


def supports(address):
    """Return the selected features for each seed, from the stored records of a method.

    `address` is (study, data, method, k, setting, learner).
    """
    return {record.piece.seed: record.support for record in BY_PIECE[address[:-1]]}


def clustering(address):
    """Return the mean number of pairs of touching pixels over the seeds of a method, and its standard
    error.
    """
    return mean_and_error([adjacent(support) for support in supports(address).values()])


def pairs_at_distance_one(support):
    """Return the number of pairs of selected pixels that touch at a side or a corner, counted over all pairs.

    The checks compare this number with that of `adjacent`.
    """
    at = pixels(support)
    return sum(max(abs(a - c), abs(b - d)) == 1 for i, (a, b) in enumerate(at) for c, d in at[:i])


def settle_pictures(check, case, figure, adjacent):
    """Check a sentence of a paper by `settle`, and check `adjacent`, the number of pairs of pixels that
    touch.
    """
    settle(check, [case], figure)
    if not case.lacking:
        every = [support for address in case.addresses for support in supports(address).values()]
        check.over(every, lambda support: adjacent(support) == pairs_at_distance_one(support))
        counts = ", ".join(
            f"{address[2]} {address[4]} {clustering(address)[0]:.1f}" for address in case.addresses
        )
        check.measured(f"pairs of pixels that touch: {counts}")


def share_at_distance_one(first, second):
    """Return the share of the pixels in `first` that are in `second` or touch a pixel of it, over all pairs.

    The checks compare this share with that of `touching`.
    """
    near = [min(max(abs(a - c), abs(b - d)) for c, d in pixels(second)) <= 1 for a, b in pixels(first)]
    return sum(near) / len(near)


def shares(ours, theirs, seeds):
    """Return the mean agreement of two methods, and the mean agreement of two seeds of the first method.

    The agreement of two sets of pixels is the share of the pixels of the first set that are in the second
    set, or touch a pixel of it (`touching`). The first number compares the two methods with the same seed,
    and is the mean over the seeds. The second compares the first method with itself, and is the mean over the
    pairs of different seeds.
    """
    across = [touching(ours[seed], theirs[seed]) for seed in seeds]
    within = [touching(ours[a], ours[b]) for a in seeds for b in seeds if a != b]
    return sum(across) / len(across), sum(within) / len(within)


def jackknife(statistic, seeds):
    """Return a statistic of the seeds and its jackknife standard error √((n − 1)/n·Σ(t₍ᵢ₎ − t̄)²).

    Here n is the number of seeds, t₍ᵢ₎ the statistic without seed i, and t̄ the mean of the t₍ᵢ₎. If the
    statistic is a mean, this error is the usual s/√n, where s is the standard deviation. With fewer than
    three seeds the error is ∞.
    """
    if len(seeds) < 3:
        return statistic(seeds), math.inf
    without = [statistic([seed for seed in seeds if seed != left]) for left in seeds]
    return statistic(seeds), mean_and_error(without)[1] * (len(seeds) - 1)


def similarity(pair):
    """Return whether two methods agree more than two seeds of the first: a difference and its standard error.

    The difference is that of the two means of `shares`, over the seeds that both methods have. The standard
    error is that of the jackknife.
    """
    ours, theirs = map(supports, pair)

    def excess(seeds):
        across, within = shares(ours, theirs, seeds)
        return across - within

    return jackknife(excess, sorted(ours.keys() & theirs.keys()))
