"""What functions of libraries of pictures give: arrays of NumPy."""

from __future__ import annotations

from .values import NDARRAY, UNKNOWN, Value

ROOTS = frozenset(("cv2", "imageio", "skimage", "scipy", "matplotlib", "tifffile"))
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


def picture_call(name: str) -> Value:
    """What a function gives by its full name; unknown where that is no array, or not always one."""
    return NDARRAY if name in _OPENCV or name in _OTHERS else UNKNOWN
