"""What functions of libraries of pictures give: arrays of NumPy, and pictures of PIL."""

from __future__ import annotations

from .values import NDARRAY, PROVEN, UNKNOWN, Instance, Value

ROOTS = frozenset(("cv2", "imageio", "skimage", "scipy", "matplotlib", "tifffile", "PIL"))
"""The libraries of whose functions `picture_call` tells what they give."""
_OPENCV = frozenset(
    f"cv2.{name}"
    for name in """imread imdecode cvtColor resize flip rotate transpose warpAffine warpPerspective remap undistort
    copyMakeBorder getRotationMatrix2D getAffineTransform getPerspectiveTransform filter2D blur boxFilter medianBlur
    GaussianBlur bilateralFilter Canny Laplacian Sobel dilate erode morphologyEx add subtract multiply addWeighted
    absdiff bitwise_and bitwise_or bitwise_not bitwise_xor normalize equalizeHist applyColorMap LUT merge""".split()
)
_OTHERS = frozenset(
    """imageio.imread imageio.v2.imread imageio.v3.imread skimage.io.imread skimage.img_as_float skimage.img_as_ubyte
    skimage.transform.resize skimage.transform.rescale skimage.color.gray2rgb skimage.color.rgb2gray
    skimage.color.rgb2lab skimage.color.lab2rgb scipy.misc.imread scipy.misc.imresize scipy.ndimage.imread
    scipy.ndimage.zoom scipy.ndimage.rotate scipy.ndimage.gaussian_filter matplotlib.pyplot.imread
    matplotlib.image.imread tifffile.imread""".split()
)


_PIL = frozenset(
    f"PIL.Image.{name}" for name in "open new fromarray frombytes frombuffer merge blend composite".split()
)
_OF_PIL = frozenset(
    """convert resize crop rotate transpose transform copy filter point quantize reduce effect_spread
    remap_palette""".split()
)
"""Methods of a picture that give another one."""
PICTURE = Instance(PROVEN, class_name="PIL.Image.Image")
"""A picture of PIL."""


def picture_call(name: str) -> Value:
    """What a function gives by its full name; unknown where that is no array and no picture, or not always one."""
    if name in _PIL:
        return PICTURE
    return NDARRAY if name in _OPENCV or name in _OTHERS else UNKNOWN


def picture_method(base: Value, method: str) -> Value:
    """What a method of a picture of PIL gives: unknown where that is no picture, or the object is none."""
    return PICTURE if base == PICTURE and method in _OF_PIL else UNKNOWN
