"""Sequential Attention's sentences about the pixels that it selects on MNIST: whether our records agree.

Source: *Sequential Attention for Feature Selection* (ICLR; the NeurIPS submission has the same numbers),
Appendices B.1 and B.4, Figures 5 and 9. The sentences about accuracies are in test_networks_sentences.py,
whose module docstring states how a sentence is compared with records.
"""

from proofs_checks import BOTH, networks, pixels
from proofs_checks.experiments.networks.printed import NAMES
from proofs_checks.experiments.networks.verdicts import larger, not_smaller
from proofs_checks.networks import figure
from proofs_checks.pixels import adjacent, touching


def diverse():
    """Return the comparisons of how many selected pixels touch, for Sequential Attention and four other
    methods.
    """
    first = networks.on_like_rows("mnist")
    others = [
        networks.attention("paper", "mnist", method=NAMES[name]) for name in ("LLY", "GL", "OMP", "CAE")
    ]
    return networks.Case(
        "mnist", tuple(networks.compared(larger, other, first, of=pixels.clustering) for other in others)
    )


DIVERSE = diverse()


@networks.sentence("SA-B.1-diverse", f"Appendix B.1, Figure 5 {BOTH}", [DIVERSE], "adjacent")
def test_diverse_pixels(check):
    """On MNIST, fewer pairs of pixels touch among Sequential Attention's 50 pixels than among the 50 pixels
    of each of four methods. They are the feature mask (LLY), the group LASSO (GL), OMP and the concrete
    autoencoder (CAE).

    Reading of: “Sequential Attention selects a highly diverse set of pixels due to its adaptivity”, with “the
    degree to which the selected pixels are ‘clustered’”

    Hypotheses: Our records are of the experiment of Table 2 on 10,000 rows, with the defaults of our
    implementation. The numbers of pairs are means over seeds.

    Tolerance: Each comparison is of two means, of which the statement says that the first is larger. Let D be
    the first mean minus the second, and SE the standard error of D. The statement is reproduced if D > 2 SE
    in every comparison, and not reproduced if D < −3 SE in one. There are four comparisons.
    """
    pixels.settle_pictures(check, DIVERSE, figure, adjacent)


def similar():
    """Return the comparison of two similarities of the pixels that Sequential Attention selects.

    The first is their similarity to Sequential LASSO's pixels, the second to Sequential Attention's own for
    other seeds.
    """
    pair = networks.on_like_rows("mnist"), networks.attention("paper", "mnist", method=NAMES["SL"])
    words = "share of pixels that touch Sequential LASSO's less that of another seed's"
    return networks.Case(
        "mnist", (networks.Comparison(not_smaller, pair, lambda: pixels.similarity(pair), words),)
    )


SIMILAR = similar()


@networks.sentence("SA-B.1-sequential-lasso", f"Appendix B.1, Figure 5 {BOTH}", [SIMILAR], "touching")
def test_similar_pixels(check):
    """On MNIST, Sequential Attention's 50 pixels agree with Sequential LASSO's 50 pixels as often as with
    Sequential Attention's own for another seed. A pixel agrees with a set of pixels if it is in the set or
    touches a pixel of the set.

    Reading of: “Sequential LASSO also selects a very similar set of pixels, as suggested by our theoretical
    analysis”

    Hypotheses: Our records are of the experiment of Table 2 on 10,000 rows, with the defaults of our
    implementation. The two methods are compared for the same seed, and the shares of pixels that agree are
    means over seeds.

    Tolerance: Let D be the first share minus the second, and SE its standard error by the jackknife. The
    statement is reproduced if D ≥ −2 SE and 2 SE ≤ 0.03, or if D ≥ 2 SE, and not reproduced if D < −3 SE.
    There is one comparison.
    """
    networks.settle(check, [SIMILAR], figure)
    if not SIMILAR.lacking:
        ours, theirs = map(pixels.supports, SIMILAR.addresses)
        every = [(first, second) for first in ours.values() for second in theirs.values()]
        check.over(every, lambda pair: networks.close(touching(*pair), pixels.share_at_distance_one(*pair)))
        across, within = pixels.shares(ours, theirs, sorted(ours.keys() & theirs.keys()))
        check.measured(f"{across:.2f} of them, and {within:.2f}")


def clumping():
    """Return the comparison of how many selected pixels touch if 64 are selected at once and if one is
    selected at a time.
    """
    one_at_a_time, all_at_once = (
        networks.attention("adaptivity", "mnist", setting, 64) for setting in ("1", "64")
    )
    return networks.Case(
        "mnist", (networks.compared(larger, all_at_once, one_at_a_time, of=pixels.clustering),)
    )


CLUMPING = clumping()


@networks.sentence("SA-figure-9", f"Appendix B.4, Figure 9 {BOTH}", [CLUMPING], "adjacent")
def test_clumping_pixels(check):
    """On MNIST, more pairs of the 64 selected pixels touch if all are selected at once than if they are
    selected one at a time.

    Reading of: “One observes that the selected pixels ‘clump together’ as i increases”

    Hypotheses: Our records are of the experiment of Table 9. Selecting one pixel at a time is compared with
    selecting 64 at once. The numbers of pairs are means over seeds.

    Tolerance: Each comparison is of two means, of which the statement says that the first is larger. Let D be
    the first mean minus the second, and SE the standard error of D. The statement is reproduced if D > 2 SE
    in every comparison, and not reproduced if D < −3 SE in one. There is one comparison.
    """
    pixels.settle_pictures(check, CLUMPING, figure, adjacent)
