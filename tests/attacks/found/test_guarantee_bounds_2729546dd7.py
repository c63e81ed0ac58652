"""Found by an attack: its own promises are broken: [('FR', 'certificate after the run')]"""  # fmt: skip

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = Case(
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
)  # fmt: skip


def test_case_2729546dd7():
    stands(CASE)
