"""Designs on which attacks found wrong answers; the sentence above each is what was wrong."""
# ruff: noqa: E501

import numpy as np
import pytest

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASES = {
    # ‖r‖² of (0, 1, 2, 3, 4) is 0.0, ‖y‖² = 2.710906717747951, lower_bound 0.605930713156113
    "best_subset_a498715d25": Case(
        "best_subset",
        np.array([
            [h("-0x1.334bfc69f12eep-2"), h("-0x1.334beda2a44c2p-2"), h("-0x1.334beb0c4deb8p-2"),
             h("-0x1.334bddbcc039ep-2"), h("-0x1.334bf06cdf093p-2")],
            [h("-0x1.7f43f1b2ace5cp+0"), h("-0x1.7f43f3e5dc138p+0"), h("-0x1.7f43f6cecdb0bp+0"),
             h("-0x1.7f43ee0134722p+0"), h("-0x1.7f43f61b5e53fp+0")],
            [h("-0x1.78f671aed4792p-2"), h("-0x1.78f6637d4652fp-2"), h("-0x1.78f676716f1d9p-2"),
             h("-0x1.78f669ea64071p-2"), h("-0x1.78f65de94849cp-2")],
            [h("-0x1.d3ea965a29e12p-2"), h("-0x1.d3ea832e65ee0p-2"), h("-0x1.d3ea7fd4456d1p-2"),
             h("-0x1.d3ea8ce8c9c29p-2"), h("-0x1.d3ea6ed4ecb48p-2")],
            [h("0x1.0814576b6905dp-1"), h("0x1.08144fef79c26p-1"), h("0x1.081452fe48193p-1"),
             h("0x1.08144b96d8756p-1"), h("0x1.08144f83388d3p-1")],
        ], np.float64),
        np.array([
            [h("0x1.4e116514b40c1p-3"), h("0x1.fac0d00f1ececp-2"), h("-0x1.9587d078898e7p-2"),
             h("-0x1.16eb5916a0fa8p+0"), h("0x1.0bf19a247b164p+0")],
        ], np.float64)[0],
        (), 0, "C",
    ),
    # first entry: A(S) = (0, 6), claimed (0,)
    "first_entry_89c8f31db9": Case(
        "first_entry",
        np.array([
            [1, 1, 0, 1, 1, 0, 0],
            [1, 0, 0, 0, 1, 1, 1],
            [1, 1, 1, 0, 1, 0, 0],
            [0, 0, 1, 0, 1, 1, 0],
            [1, 1, 0, 0, 0, 0, 0],
        ], np.float64),
        np.array([
            [0, 3, -1, 0, 1],
        ], np.float64)[0],
        (1,), 0, "C",
    ),
    # its own promises are broken: [('FR', 'certificate after the run')]
    "guarantee_bounds_2729546dd7": Case(
        "guarantee_bounds",
        np.array([
            [h("0x1.63fedf4aa7f0dp+0"), h("0x1.fed7c76e1d8b5p-1"), h("0x1.fed4c71d5a2aep-1"),
             h("0x1.fed6a3c65ffb6p-1"), h("0x1.63fee0e0f6628p+0")],
            [h("-0x1.e743ab26ae20fp-4"), h("0x1.eb4ec4ad60afep-4"), h("0x1.eb527948c9d5bp-4"),
             h("0x1.eb5f871285254p-4"), h("-0x1.e73ad1c84f51ap-4")],
            [h("-0x1.1e8a36e2bf655p+1"), h("0x1.17fe01951cdedp-3"), h("0x1.1802aa80f80dap-3"),
             h("0x1.17fe890ed9fd2p-3"), h("-0x1.1e8ac800cd3d1p+1")],
            [h("0x1.859be932b3d6bp-3"), h("0x1.aaa200a27683dp+0"), h("0x1.aaa1d990e8734p+0"),
             h("0x1.aaa16e7777532p+0"), h("0x1.859d78d011a36p-3")],
            [h("0x1.767d3139fbb23p+0"), h("0x1.365faf4ddcbbcp-1"), h("0x1.365f59da54baep-1"),
             h("0x1.365fa268f1e8ep-1"), h("0x1.767dcb0563b44p+0")],
            [h("0x1.d1e01abd124cbp-2"), h("0x1.8f9a0aa93d75dp-1"), h("0x1.8f997d1797bccp-1"),
             h("0x1.8f9ab55fb0fe9p-1"), h("0x1.d1df3e84231d9p-2")],
            [h("-0x1.566b5d67133c2p+0"), h("0x1.eb564a894104dp-5"), h("0x1.eb61a3090078bp-5"),
             h("0x1.eb5c2613795d2p-5"), h("-0x1.566b794c20ef5p+0")],
        ], np.float64),
        np.array([
            [h("0x1.276038d802323p-1"), h("-0x1.7d4d6ab8bb735p+0"), h("-0x1.a1d235eab19f8p-2"),
             h("-0x1.4a1c0acdf1235p+0"), h("-0x1.3bb22306c35cbp-1"), h("0x1.18ea32f8cc3c5p-1"),
             h("-0x1.2607957145742p-1")],
        ], np.float64)[0],
        (), 0, "C",
    ),
    # its own promises are broken: [('OMP', 'certificate after the run')]
    "guarantee_bounds_e95f106b3a": Case(
        "guarantee_bounds",
        np.array([
            [h("0x1.75f0760000000p+0"), h("0x1.75f0760000000p+0")],
            [h("-0x1.07a1260000000p-1"), h("-0x1.07a1240000000p-1")],
        ], np.float32),
        np.array([
            [8, -1],
        ], np.float32)[0],
        (), 1557985734, "C",
    ),
    # at λ = 4.931853549126064e-05 (of 5.512261421608359) the KKT conditions fail by 4.68e-12 at column 0;
    # rounding explains 9.19e-13
    "lasso_path_273b2a69c6": Case(
        "lasso_path",
        np.array([
            [h("-0x1.df5d161000000p+0"), h("0x1.327d8af800000p-2"), h("-0x1.df5d176800000p+0"), h("0x1.1e1d0a4000000p+0"), h("0x1.1e1d00c800000p+0")],
            [h("-0x1.1490333000000p-1"), h("0x1.b94dfdc000000p-1"), h("-0x1.149011f800000p-1"), h("0x1.378d079000000p-1"), h("0x1.378d071000000p-1")],
            [h("0x1.d2361ba000000p-4"), h("-0x1.6c67742800000p-3"), h("0x1.d2374f8800000p-4"), h("-0x1.7113ddc800000p-1"), h("-0x1.7113ebf800000p-1")],
            [h("0x1.249ef0d800000p-1"), h("0x1.15249c3000000p-4"), h("0x1.249ee79800000p-1"), h("0x1.b0c9e37800000p-2"), h("0x1.b0c9abf000000p-2")],
            [h("-0x1.37c2476800000p-2"), h("-0x1.53767b5800000p+0"), h("-0x1.37c2700800000p-2"), h("-0x1.db7a0e1000000p+0"), h("-0x1.db7a0a0000000p+0")],
            [h("-0x1.0ed6f42000000p-1"), h("0x1.1020005000000p-1"), h("-0x1.0ed6fd5000000p-1"), h("0x1.edc6b47800000p-2"), h("0x1.edc6829000000p-2")],
            [h("0x1.6048bb4800000p-1"), h("0x1.268562d000000p-2"), h("0x1.6048a51800000p-1"), h("0x1.5913252000000p+0"), h("0x1.5913284800000p+0")],
            [h("0x1.5801c64800000p-3"), h("0x1.62b0417000000p+0"), h("0x1.5801dc6800000p-3"), h("-0x1.24ab9ca800000p+0"), h("-0x1.24aba6c000000p+0")],
            [h("0x1.914075f000000p-1"), h("0x1.e257c95000000p-1"), h("0x1.9140744000000p-1"), h("0x1.5730e51000000p-3"), h("0x1.5730c55800000p-3")],
            [h("-0x1.cbc50e7000000p-1"), h("-0x1.e9185f8800000p-2"), h("-0x1.cbc5287800000p-1"), h("0x1.a72235f000000p+0"), h("0x1.a72238b000000p+0")],
            [h("0x1.8c05270800000p+0"), h("0x1.68a2c2d800000p-4"), h("0x1.8c051b6000000p+0"), h("-0x1.983eba5000000p-3"), h("-0x1.983ecfd800000p-3")],
            [h("-0x1.37360cc800000p-1"), h("-0x1.c3329d7000000p-2"), h("-0x1.37361e1800000p-1"), h("-0x1.11758e2000000p+1"), h("-0x1.1175969000000p+1")],
        ], np.float64),
        np.array([
            [h("0x1.8714dec000000p-1"), h("0x1.9431cf1800000p-8"), h("0x1.aa5b390000000p-3"), h("-0x1.0dc8cfa800000p-1"), h("0x1.0bf48c5000000p+0"), h("0x1.77fa33b800000p-4"), h("-0x1.ec653ea000000p-1"), h("0x1.8803e66000000p-4"), h("-0x1.666ca39000000p-1"), h("0x1.f25821e000000p-5"), h("-0x1.df69e80000000p-1"), h("0x1.363996a000000p+0")],
        ], np.float64)[0],
        (), 1557985761, "C",
    ),
    # NO_CORRELATION after [0], but c = [-1.33099168e-07] at [1] (e = [2.82968344e-11])
    "omp_803f1624d7": Case(
        "omp",
        np.array([
            [h("0x1.869fa00000000p+16"), h("0x1.869e400000000p+16")],
            [100001, h("0x1.869fa00000000p+16")],
        ], np.float64),
        np.array([
            [1024, 1024],
        ], np.float64)[0],
        (), 0, "C",
    ),
    # ValueError: zero-size array to reduction operation maximum which has no identity
    "omp_a3701dbd6e": Case(
        "omp",
        np.array([
            [h("-0x1.e994640000000p-2"), h("-0x1.e99c6e0000000p-2"), h("-0x1.e983c80000000p-2")],
            [h("-0x1.e3228a0000000p-2"), h("-0x1.e33bb20000000p-2"), h("-0x1.e353340000000p-2")],
            [h("-0x1.73de700000000p-1"), h("-0x1.73d49a0000000p-1"), h("-0x1.73d5820000000p-1")],
            [h("-0x1.2ad0880000000p-3"), h("-0x1.2abce20000000p-3"), h("-0x1.2ab4540000000p-3")],
        ], np.float32),
        np.array([
            [h("0x1.7060000000000p-2"), h("0x1.6b80000000000p-2"), h("0x1.17c0000000000p-1"),
             h("0x1.c180000000000p-4")],
        ], np.float32)[0],
        (), 0, "C",
    ),
    # RuntimeWarning: invalid value encountered in divide
    "regularized_bounds_688ba6351f": Case(
        "regularized_bounds",
        np.array([
            [0, 0],
            [0, 0],
            [0, 0],
        ], np.float64),
        np.array([
            [1, 2, 3],
        ], np.float64)[0],
        (), 0, "C",
    ),
    # Found by an attack, a flaw of its judge: achieved of g is 1.0, claimed
    # Interval(lower=0.9770822567976928, upper=0.9770963336226912, method='all sets',
    # rounding=2.847979759223048e-05)
    "regularized_bounds_e03d00bd58": Case(
        "regularized_bounds",
        np.array([
            [h("0x1.98b9200000000p-1"), h("0x1.98ba200000000p-1"), h("0x1.98ba000000000p-1")],
            [h("-0x1.60a1400000000p-2"), h("-0x1.609ee00000000p-2"), h("-0x1.609fe00000000p-2")],
            [h("0x1.07b4800000000p-2"), h("0x1.07b3800000000p-2"), h("0x1.07b4400000000p-2")],
        ], np.float32),
        np.array([
            [h("-0x1.0000000000000p-1"), 1, -2],
        ], np.float32)[0],
        (), 1864766824, "C",
    ),
    # γ = 0.12045899791193557 at (4, 2, 5), (0, 1, 3); U = [4, 2, 5], k = 3: [0.1483822826932811,
    # 0.17899677836570438], enumeration of 227 pairs
    "submodularity_ratio_563f119691": Case(
        "submodularity_ratio",
        np.array([
            [h("-0x1.1f49dc23a5c92p-1"), h("-0x1.1f2c111fb342fp-1"), h("-0x1.1f4287ae05a84p-1"),
             h("-0x1.1f6efc14c76fcp-1"), h("-0x1.1ed610f97e152p-1"), h("-0x1.1ec7fb7ace3d9p-1"),
             h("-0x1.1f0a2eb23a808p-1")],
            [h("-0x1.82247304b9841p-1"), h("-0x1.818e5c5b06e3cp-1"), h("-0x1.8261730142588p-1"),
             h("-0x1.82f1ab45dbfa5p-1"), h("-0x1.8281259c596f5p-1"), h("-0x1.82547c3d54ecdp-1"),
             h("-0x1.82c3bad7f99a8p-1")],
            [h("-0x1.e7ab3c2d24674p-4"), h("-0x1.ea7c0d3bc1e78p-4"), h("-0x1.f0e20ee61be9ep-4"),
             h("-0x1.e61663da34930p-4"), h("-0x1.ecbf359ac6896p-4"), h("-0x1.ef82de25460eep-4"),
             h("-0x1.e8ccd4e045feep-4")],
            [h("0x1.4ac2befb054f8p+1"), h("0x1.4aa31a51cc305p+1"), h("0x1.4ad4f48b27610p+1"),
             h("0x1.4adc06525f84bp+1"), h("0x1.4a97198c13522p+1"), h("0x1.4adb7082c94eap+1"),
             h("0x1.4ad125694c428p+1")],
            [h("0x1.43b70e4c6c361p-2"), h("0x1.41b5672f03077p-2"), h("0x1.4372a2bdb6f3ep-2"),
             h("0x1.42de761c6229cp-2"), h("0x1.433b26ce8b8c8p-2"), h("0x1.41ff8756d3f9fp-2"),
             h("0x1.41dc2850ec135p-2")],
            [h("0x1.48ad0dd3a9416p-3"), h("0x1.492156769fb28p-3"), h("0x1.4c1ab14b9279bp-3"),
             h("0x1.4654a3ef96810p-3"), h("0x1.48abfb8d1fe99p-3"), h("0x1.496adaf997670p-3"),
             h("0x1.4967163821513p-3")],
            [h("-0x1.94e5228c2ff58p-2"), h("-0x1.95190f70369f3p-2"), h("-0x1.92c67d66427f8p-2"),
             h("-0x1.93d9a8105a39ep-2"), h("-0x1.934b382803cf9p-2"), h("-0x1.938c9d4f4f317p-2"),
             h("-0x1.940046cafcec2p-2")],
            [h("-0x1.38568f968fbcbp-2"), h("-0x1.38541cc10a8a7p-2"), h("-0x1.3841a4ea2363fp-2"),
             h("-0x1.37f6f25971cf9p-2"), h("-0x1.39c3f78eb7994p-2"), h("-0x1.37d4621ae9760p-2"),
             h("-0x1.38e1da8f1e02ep-2")],
        ], np.float64),
        np.array([
            [h("-0x1.e08e1532fa644p+0"), h("-0x1.7ac4336a051d6p-1"), h("0x1.301c61d5956c6p-3"),
             h("-0x1.20454caf74b1ap+1"), h("-0x1.f6c5f5518e748p-1"), h("-0x1.5a3c3cc0be54cp-8"),
             h("0x1.833c7d2e06988p-1"), h("-0x1.09c7fd0d22dd4p+0")],
        ], np.float64)[0],
        (), 248, "C",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_found(case):
    stands(case)
