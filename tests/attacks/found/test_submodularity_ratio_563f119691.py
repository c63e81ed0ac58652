"""Found by an attack: γ = 0.12045899791193557 at (4, 2, 5), (0, 1, 3); U = [4, 2, 5], k = 3:
[0.1483822826932811, 0.17899677836570438], enumeration of 227 pairs"""  # fmt: skip

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = Case(
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
)  # fmt: skip


def test_case_563f119691():
    stands(CASE)
