from .data import build_loaders as build_loaders
from .model import Net as Net
