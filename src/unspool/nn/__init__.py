"""Layers and cells that stand in for torch.nn's: same arguments, shapes, weights and classes."""

from unspool.nn.cells import GRUCell as GRUCell
from unspool.nn.cells import LSTMCell as LSTMCell
from unspool.nn.cells import RNNCell as RNNCell
from unspool.nn.layers import GRU as GRU
from unspool.nn.layers import LSTM as LSTM
from unspool.nn.layers import RNN as RNN
