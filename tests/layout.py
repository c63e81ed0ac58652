"""Habits of layout, read from the code: `python tests/layout.py FOLDER …` lists the exceptions."""

import ast
import functools
import sys

from house import PROJECT, ROOT, files, tree_of

MOST_BY_POSITION = 5


def _fields(node):
    """The names of the fields that a class defines."""
    return [
        part.target.id
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]


def _name(node):
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


@functools.cache
def records():
    """The dataclasses and named tuples of the library with more than five fields, inherited ones too."""
    trees = [tree_of(path) for path in files("sparselin")]
    classes = {node.name: node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def is_record(node):
        decorators = [
            _name(part.func if isinstance(part, ast.Call) else part) for part in node.decorator_list
        ]
        return "dataclass" in decorators or "NamedTuple" in map(_name, node.bases)

    def count(name):
        if name not in classes:
            return 0
        return len(_fields(classes[name])) + sum(count(_name(base)) for base in classes[name].bases)

    return {name for name, node in classes.items() if is_record(node) and count(name) > MOST_BY_POSITION}


def built_by_position(tree):
    """Yield the lines where such a record is built with arguments that have no keyword."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and _name(node.func) in records():
            yield node.lineno


def nested_conditionals(tree):
    """Yield the lines of conditional expressions that contain another one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp):
            inside = (part for child in ast.iter_child_nodes(node) for part in ast.walk(child))
            if any(isinstance(part, ast.IfExp) for part in inside):
                yield node.lineno


def squeezed(tree, lines):
    """Yield the lines of signatures and calls that the formatter may not lay out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            last = node.body[0].lineno - 1
        elif isinstance(node, ast.stmt) and isinstance(getattr(node, "value", None), ast.Call):
            last = node.end_lineno
        else:
            continue
        yield from (i for i in range(node.lineno, last + 1) if "# fmt: skip" in lines[i - 1])


def _form(node):
    """Return the shape of an expression, without its names, constants and operators."""
    if isinstance(node, list):
        return [_form(part) for part in node]
    if isinstance(node, ast.operator | ast.unaryop | ast.cmpop):
        return "operator"
    if not isinstance(node, ast.AST):
        return node
    left_out = ("value",) if isinstance(node, ast.Constant) else ("id", "attr")
    return [type(node), *(_form(part) for name, part in ast.iter_fields(node) if name not in left_out)]


def _are_of_one_form(a, b):
    """Return whether two values are constants, calls of one function, or equal in shape: `_form`."""
    signed = (node.operand if isinstance(node, ast.UnaryOp) else node for node in (a, b))
    if all(isinstance(node, ast.Constant) for node in signed):
        return True
    if isinstance(a, ast.Call) and isinstance(b, ast.Call) and ast.dump(a.func) == ast.dump(b.func):
        return True
    return _form(a) == _form(b)


def _places(nodes, context):
    """Return the names, fields and entries that nodes read (`ast.Load`) or bind (`ast.Store`)."""
    kinds = (ast.Name, ast.Attribute, ast.Subscript)
    parts = (part for node in nodes for part in ast.walk(node))
    return {ast.unparse(part) for part in parts if isinstance(part, kinds) and isinstance(part.ctx, context)}


def several_bindings(tree, lines):
    """Yield the lines of statements that bind several names to values that do not belong together.

    Values belong together if they are entries or fields of one thing, the same names in another order (a
    swap), or a pair of one form (`_are_of_one_form`). A statement whose value reads what an earlier name of
    it is bound to is one step, because its parts cannot stand one after the other. So is a statement with the
    words "in one step" in the line above: an interrupt must find all of its bindings, or none.
    """
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)):
            continue
        if not isinstance(node.value, ast.Tuple):
            continue
        names, values = node.targets[0].elts, node.value.elts
        swap = {ast.unparse(name) for name in names} == {ast.unparse(value) for value in values}
        of_one = all(isinstance(value, ast.Subscript | ast.Attribute) for value in values)
        of_one = of_one and len({ast.unparse(value.value) for value in values}) == 1
        pair = len(values) == 2 and _are_of_one_form(*values)
        one_step = any(
            _places(names[:i], ast.Store) & _places([value], ast.Load) for i, value in enumerate(values)
        )
        one_step |= "in one step" in lines[node.lineno - 2]
        if not (swap or of_one or pair or one_step):
            yield node.lineno


def unnamed_seeds(tree):
    """Yield the lines that map seeds to random generators, so that no variable has the seed of a draw."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "map":
            yield from [node.lineno] * (_name(node.args[0]) == "default_rng")


def exceptions(*folders):
    """Yield the rule and the place of each exception."""
    for path in files(*folders):
        tree, lines = tree_of(path), path.read_text(encoding="utf-8").splitlines()
        found = {
            "a record built by position": built_by_position(tree) if path.is_relative_to(ROOT) else (),
            "a nested conditional": nested_conditionals(tree),
            "a signature or call that is squeezed": squeezed(tree, lines),
            "several bindings": several_bindings(tree, lines),
            "a draw whose seed has no name": unnamed_seeds(tree),
        }
        for rule, numbers in found.items():
            yield from ((rule, f"{path.relative_to(PROJECT)}:{number}") for number in sorted(set(numbers)))


if __name__ == "__main__":
    for rule, place in exceptions(*sys.argv[1:]):
        sys.stdout.write(f"{place}: {rule}\n")
