"""The colours of figures differ, ΔE*76 in CIELAB, for dichromats too, whom Machado et al. (2009) simulate."""

import itertools
import re

import numpy as np
import pytest

from sparselin import plots
from sparselin.plots.explorer.pages import style

# severity 1, of linear RGB: Machado, Oliveira, Fernandes, IEEE Trans. Vis. Comput. Graph. 15 (2009), table 1
VISIONS = {
    "three kinds of cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# sRGB (IEC 61966-2-1) to XYZ; its white, of row sums, is D65
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(colour):
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    t = XYZ @ np.clip(rgb, 0, 1) / XYZ.sum(axis=1)
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def least(colours, vision):
    points = [lab(np.asarray(VISIONS[vision]) @ linear(colour)) for colour in colours]
    return min(np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2))


def test_the_conversion():
    """Values of Lindbloom's calculator for sRGB, and a grey, which every simulation leaves a grey."""
    np.testing.assert_allclose(lab(linear("#ff0000")), [53.24, 80.09, 67.20], atol=0.02)
    np.testing.assert_allclose(lab(linear("#0000ff")), [32.30, 79.19, -107.86], atol=0.02)
    for vision in VISIONS.values():
        np.testing.assert_allclose(lab(vision @ linear("#808080")), [53.59, 0, 0], atol=0.02)


@pytest.mark.parametrize("vision", VISIONS)
def test_any_two_colours_differ(vision):
    assert len(plots.PALETTE) == 8
    assert least([*plots.PALETTE, plots.GREY, "#000000"], vision) >= 17


def test_the_test_is_red_for_other_palettes():
    before = ["#2a6f97", "#d98032", "#b3261e", "#1b7f5c", "#5b6b7b", "#7b5ea7"]
    assert least(before, "deuteranopia") < 6
    assert least(before, "tritanopia") < 10


def test_lines_are_seen_on_white():
    """The contrast of WCAG 2, (1 + 0.05)/(Y + 0.05): 3 for lines, 4.5 for letters, which GREY has."""
    contrast = [1.05 / (XYZ[1] @ linear(colour) + 0.05) for colour in (*plots.PALETTE, plots.GREY)]
    assert min(contrast) >= 3
    assert contrast[-1] >= 4.5


@pytest.mark.parametrize("vision", VISIONS)
def test_the_colours_of_the_explorer_differ_in_dark_mode(vision):
    """In dark mode the explorer has its own colours, as different as those on white; contrast 4."""
    dark = style().split("prefers-color-scheme: dark")[1]
    colours = re.findall(r"--feature-\d: (#\w{6});", dark)
    ink, paper, grey = (re.search(rf"--{name}: (#\w{{6}});", dark)[1] for name in ("ink", "paper", "grey"))
    assert len(colours) == 8
    assert least([*colours, ink, grey], vision) >= 17
    light = [XYZ[1] @ linear(colour) + 0.05 for colour in (*colours, ink, grey)]
    assert min(light) / (XYZ[1] @ linear(paper) + 0.05) >= 4


def test_the_explorer_has_the_colours_of_figures_in_light_mode():
    light = style().split("prefers-color-scheme: dark")[0]
    assert re.findall(r"--feature-\d: (#\w{6});", light) == list(plots.PALETTE)
