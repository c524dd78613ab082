"""Looking inside: the numbers behind each picture. Nothing here draws."""

from unspool.inspect.cliff import cliff, descend, surface
from unspool.inspect.fixed_points import FixedPoint, fixed_points
from unspool.inspect.flow import Flow, flow, gradient_flow
from unspool.inspect.graph import Graph, paths, unrolled
from unspool.inspect.jacobians import (
    bound,
    norm_bound,
    products,
    scalar_products,
    singular_values,
    step_jacobians,
)
from unspool.inspect.neighbours import nearest
from unspool.inspect.properties import PROPERTIES, labels_of, read_labels
from unspool.inspect.ranks import candidates, token_ranks
from unspool.inspect.reading import Reading, read
from unspool.inspect.relu import random_relu
from unspool.inspect.trajectory import trajectory
from unspool.inspect.units import Found, find_units, search
from unspool.inspect.watch import Watched, watch

__all__ = [
    "PROPERTIES", "FixedPoint", "Flow", "Found", "Graph", "Reading", "Watched", "bound",
    "candidates", "cliff", "descend", "find_units", "fixed_points", "flow", "gradient_flow",
    "labels_of", "nearest", "norm_bound", "paths", "products", "random_relu", "read",
    "read_labels", "scalar_products", "search", "singular_values", "step_jacobians", "surface",
    "token_ranks", "trajectory", "unrolled", "watch",
]  # fmt: skip
