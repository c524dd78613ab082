"""A kernel as PTX, read: instructions, labels, parameters."""

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Instruction:
    guard: str
    unless: bool
    parts: tuple[str, ...]  # of the operation: ld, global, v4, b32
    operands: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'.'.join(self.parts)} {', '.join(self.operands)}"


@dataclass
class Program:
    parameters: list[str]
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


def parse(ptx: str) -> Program:
    text = re.sub(r"//[^\n]*", "", ptx)
    head, body = re.search(r"\.entry\s+\w+\((.*?)\)(.*)", text, re.S).groups()  # type: ignore[union-attr]
    body = body[body.index("{") + 1 : body.index("$L__func_end0")]
    found = Program(re.findall(r"(\w+)\s*(?:,|$)", head.strip(), re.M))
    body = re.sub(r"^\s*\.(loc|reg|pragma|section|file)[^\n]*", "", body, flags=re.M)
    body = re.sub(r"^\s*[{}]\s*$", "", body, flags=re.M)  # of assembly that was written by hand
    for piece in body.split(";"):
        while label := re.match(r"\s*(\$\w+):", piece):
            found.labels[label[1]] = len(found.instructions)
            piece = piece[label.end() :]
        if not piece.strip():
            continue
        guard, unless, name, rest = re.match(
            r"\s*(?:@(!?)(%p\w+)\s+)?([\w.:]+)\s*(.*)", piece, re.S
        ).group(2, 1, 3, 4)  # type: ignore[union-attr]
        operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,{\[]*", rest)
        cleaned = tuple(operand.strip() for operand in operands)
        parts = tuple(name.replace("::", "_").split("."))
        found.instructions.append(Instruction(guard or "", bool(unless), parts, cleaned))
    return found
