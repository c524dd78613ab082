"""YAML from anybody: plain values only, without what makes a short text a large value."""

from typing import Any

DEEPEST = 20
LONGEST_NUMBER = 100  # characters
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def read_yaml(text: str) -> Any:
    """The value of a YAML text; a ValueError says in one line why it has none.

    Aliases are refused (a few lines of them stand for billions of values), nesting has a limit,
    and a name stands once among its siblings.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise ValueError(f"line {mark.line + 1}: aliases are not read: write the value out")
            self.depth += 1
            if self.depth > DEEPEST:
                raise ValueError(f"it is nested over {DEEPEST} levels deep")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            tag = super().resolve(kind, value, implicit)
            # 1:30 is no number here: read in base 60, a long one would take minutes
            if tag in NUMBERS and (":" in value or len(value) > LONGEST_NUMBER):
                return "tag:yaml.org,2002:str"
            return tag

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key, _ in node.value:
                if isinstance(key.value, str) and key.value in seen:
                    line = key.start_mark.line + 1
                    raise ValueError(f"line {line}: {key.value[:80]} stands here a second time")
                seen.add(str(key.value))
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(_reason(error)) from None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())[:200]) from None


def _reason(error: Any) -> str:
    """The line and the problem, without the excerpt."""
    mark = getattr(error, "problem_mark", None)
    problem = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
    return f"line {mark.line + 1}: {problem}" if mark is not None else problem
