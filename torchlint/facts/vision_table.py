"""Names and arguments of torchvision that are deprecated or gone, and since which version.

Read in the sources of torchvision 0.12 to 0.28: what is not in them is `absent`, a
category stands where they warn.
"""

from __future__ import annotations

from ..torch_api.version import Version, behind_vision
from .reference import number

_MODELS = """alexnet convnext_base convnext_large convnext_small convnext_tiny densenet121 densenet161 densenet169 densenet201
    efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_b5 efficientnet_b6
    efficientnet_b7 googlenet inception_v3 mnasnet0_5 mnasnet0_75 mnasnet1_0 mnasnet1_3 mobilenet_v2 mobilenet_v3_large
    mobilenet_v3_small regnet_x_16gf regnet_x_1_6gf regnet_x_32gf regnet_x_3_2gf regnet_x_400mf regnet_x_800mf regnet_x_8gf
    regnet_y_128gf regnet_y_16gf regnet_y_1_6gf regnet_y_32gf regnet_y_3_2gf regnet_y_400mf regnet_y_800mf regnet_y_8gf
    resnet101 resnet152 resnet18 resnet34 resnet50 resnext101_32x8d resnext50_32x4d shufflenet_v2_x0_5 shufflenet_v2_x1_0
    shufflenet_v2_x1_5 shufflenet_v2_x2_0 squeezenet1_0 squeezenet1_1 vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19
    vgg19_bn vit_b_16 vit_b_32 vit_l_16 vit_l_32 wide_resnet101_2 wide_resnet50_2
    quantization.googlenet quantization.inception_v3 quantization.mobilenet_v2 quantization.mobilenet_v3_large
    quantization.resnet18 quantization.resnet50 quantization.resnext101_32x8d quantization.shufflenet_v2_x0_5
    quantization.shufflenet_v2_x1_0 video.mc3_18 video.r2plus1d_18 video.r3d_18""".split()
_ON_BACKBONES = """detection.fasterrcnn_mobilenet_v3_large_320_fpn detection.fasterrcnn_mobilenet_v3_large_fpn
    detection.fasterrcnn_resnet50_fpn detection.fcos_resnet50_fpn detection.keypointrcnn_resnet50_fpn
    detection.maskrcnn_resnet50_fpn detection.retinanet_resnet50_fpn detection.ssd300_vgg16
    detection.ssdlite320_mobilenet_v3_large segmentation.deeplabv3_mobilenet_v3_large segmentation.deeplabv3_resnet101
    segmentation.deeplabv3_resnet50 segmentation.fcn_resnet101 segmentation.fcn_resnet50
    segmentation.lraspp_mobilenet_v3_large""".split()
PRETRAINED = tuple(f"torchvision.models.{name}" for name in (*_MODELS, *_ON_BACKBONES))
"""The functions that made a model by `pretrained=` before `weights=` came."""
PRETRAINED_BACKBONE = tuple(f"torchvision.models.{name}" for name in _ON_BACKBONES)
_OLD_URLS = """alexnet densenet efficientnet googlenet inception mobilenetv2 mobilenetv3 regnet resnet shufflenetv2 squeezenet vgg
    vision_transformer""".split()
MODEL_URLS = tuple(f"torchvision.models.{module}.model_urls" for module in _OLD_URLS)
"""Dictionaries of addresses, which nobody was meant to read."""

_ABSENT = {"0.12": "absent"}
_THERE = {"0.12": "there"}
_WITH_WEIGHTS = {"0.12": "absent", "0.13": "there"}
_WARNED_FIRST = {"0.12": "UserWarning", "0.14": "absent"}
_STATES: dict[str, dict[str, str]] = {
    "torchvision.transforms.Scale": _ABSENT,
    "torchvision.transforms.RandomSizedCrop": _ABSENT,
    "torchvision.transforms.Resize": _THERE,
    "torchvision.transforms.RandomResizedCrop": _THERE,
    "torchvision.models.utils.load_state_dict_from_url": _ABSENT,
    "torchvision.transforms.functional_tensor.rgb_to_grayscale": {
        "0.12": "there",
        "0.15": "UserWarning",
        "0.17": "absent",
    },
    "torchvision.transforms.functional.rgb_to_grayscale": _THERE,
    "torchvision.utils.make_grid(range)": _WARNED_FIRST,
    "torchvision.utils.save_image(range)": _WARNED_FIRST,
    "torchvision.transforms.RandomRotation(resample)": _WARNED_FIRST,
    "torchvision.transforms.RandomAffine(resample)": _WARNED_FIRST,
    "torchvision.transforms.RandomAffine(fillcolor)": _WARNED_FIRST,
    "torchvision.transforms.functional.rotate(resample)": _WARNED_FIRST,
    "torchvision.transforms.functional.affine(resample)": _WARNED_FIRST,
    "torchvision.transforms.functional.affine(fillcolor)": _WARNED_FIRST,
    "torchvision.models.ResNet18_Weights": _WITH_WEIGHTS,
    **{f"{name}(weights)": _WITH_WEIGHTS for name in PRETRAINED},
    **{f"{name}(weights_backbone)": _WITH_WEIGHTS for name in PRETRAINED_BACKBONE},
    **{name: {"0.12": "there", "0.13": "UserWarning", "0.15": "absent"} for name in MODEL_URLS},
    **{f"{name}(pretrained)": {"0.12": "there", "0.13": "UserWarning"} for name in PRETRAINED},
    **{f"{name}(pretrained_backbone)": {"0.12": "there", "0.13": "UserWarning"} for name in PRETRAINED_BACKBONE},
}
STATES: dict[str, dict[Version, str]] = {
    key: {number(behind_vision(version)): state for version, state in states.items()} for key, states in _STATES.items()
}
"""The states of `api_table.states`, by the torch that a torchvision was made for."""
