"""Asking for memory before it is read.

Rows of a large table are looked up in no order, so that the processor cannot foresee them and would wait for each.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

Array = np.ndarray[Any, Any]

_LINE = 64
"""Bytes that a processor fetches at once."""


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def prefetch(table_YA: Array, row: int, first: int, num: int) -> None:
    """Ask for `num` columns of a row, from the first one on; nothing is waited for."""
    step = _LINE // table_YA.itemsize
    for column in range(first, first + num, step):
        _ask_for(table_YA, row, column)  # type: ignore[call-arg]


@intrinsic
def _ask_for(typing: Any, table: Any, row: Any, column: Any) -> Any:  # noqa: ARG001
    """Ask for the line that holds table[row, column]."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[0]
        array = context.make_array(kind)(context, builder, values[0])
        index = [
            context.cast(builder, value, each, types.intp)
            for value, each in zip(values[1:], signature.args[1:], strict=True)
        ]
        place = cgutils.get_item_pointer(context, builder, kind, array, index)  # type: ignore[no-untyped-call]
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        ask = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        # To be read, kept as near as possible, and data rather than a program.
        builder.call(ask, [builder.bitcast(place, byte), *(number(flag) for flag in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(table, row, column), emit
