"""Teaching cells show the package's code word for word (`make sync`).

A cell headed `# kept in contextual/attention.py` shows one public name of that module.
`python -m tools.sync` rewrites such cells from the package, never the other way round;
with `--check` it changes nothing and fails with a diff. To start a new one, write the
header and below it only the name: `softmax`.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from tools.chapters import (
    HIDDEN,
    ROOT,
    Notebook,
    Problem,
    kept_module,
    listed_pages,
    name_of,
    notebooks,
    read,
    report,
    source,
    tags,
    write,
)

# The chapters that teach a module. Once all of them are in _toc.yml, every public
# name of the module has to be taught.
CHAPTERS = {
    "tokens": ("01_tokens",),
    "vectors": ("02_vectors",),
    "embedding": ("03_embedding_lookup",),
    "word2vec": ("04_word2vec_geometry", "05_learning_the_map"),
    "position": ("06_position_encoding",),
    "attention": ("07_attention",),
    "masking": ("08_masking",),
    "model": ("09_contextual_embeddings", "10_generate"),
}
LONGEST, LONGEST_CLASS, LONGEST_METHOD = 25, 45, 4


@dataclass(frozen=True)
class Definition:
    """One top-level function, class or constant of a module, as it is written there."""

    name: str
    text: str
    node: ast.stmt

    @property
    def public(self) -> bool:
        constant = isinstance(self.node, ast.Assign | ast.AnnAssign)
        return self.name[0] != "_" and (self.name.isupper() or not constant)


def defined_names(statement: ast.stmt) -> list[str]:
    """The names that a statement gives a value; a bare `name` counts as one."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        return [t.id for t in statement.targets if isinstance(t, ast.Name)]
    if isinstance(statement, ast.AnnAssign | ast.Expr):
        target = statement.target if hasattr(statement, "target") else statement.value
        return [target.id] if isinstance(target, ast.Name) else []
    return []


def definitions(path: Path) -> dict[str, Definition]:
    """Every top-level definition with its decorators and the comments right above."""
    text = path.read_text(encoding="utf-8")
    lines, found = text.splitlines(), {}
    for node in ast.parse(text).body:
        decorators = getattr(node, "decorator_list", [])
        start = min([node.lineno, *(d.lineno for d in decorators)]) - 1
        while start and lines[start - 1].startswith("#"):
            start -= 1
        for name in defined_names(node):
            block = "\n".join(lines[start : node.end_lineno])
            found[name] = Definition(name, block, node)
    return found


def from_package(text: str, module: dict[str, Definition]) -> str:
    """The kept cell `text` with every definition taken from the module."""
    names = [n for statement in ast.parse(text).body for n in defined_names(statement)]
    names = list(dict.fromkeys(names))
    if not names:
        raise ValueError("defines nothing; write the name to be taught below the head")
    for name in names:
        if name not in module:
            near = ", ".join(difflib.get_close_matches(name, module)) or "none"
            raise ValueError(f"{name} is not in the module (near it: {near})")
    head = text.split("\n", 1)[0].rstrip()
    return head + "\n" + "\n\n\n".join(module[name].text for name in names)


def too_long(definition: Definition) -> str | None:
    """Why a definition is too long to be taught, or None."""
    node = definition.node
    lines = len(definition.text.splitlines())
    if not isinstance(node, ast.ClassDef):
        return f"has {lines} lines, more than {LONGEST}" if lines > LONGEST else None
    if lines > LONGEST_CLASS:
        return f"has {lines} lines, more than {LONGEST_CLASS}"
    for method in node.body:
        if lines > LONGEST and isinstance(method, ast.FunctionDef):
            steps = len(method.body) - (ast.get_docstring(method) is not None)
            if steps > LONGEST_METHOD:
                return (
                    f"has {lines} lines; over {LONGEST} a class only holds state and "
                    f"calls taught functions, but {method.name} has {steps} statements"
                )
    return None


def coverage(root: Path, taught: dict[str, dict[str, list[str]]]) -> list[Problem]:
    """Public names that no cell teaches, though all chapters of their module are in."""
    problems = []
    listed = {Path(page).name for page in listed_pages(root)}
    for module, chapters in CHAPTERS.items():
        path = root / "contextual" / f"{module}.py"
        if not path.exists():
            continue
        waiting = [chapter for chapter in chapters if chapter not in listed]
        if waiting:
            print(f"contextual/{module}.py waits for {' and '.join(waiting)}.")
            continue
        for name, definition in definitions(path).items():
            if definition.public and name not in taught[module]:
                what = f"{name} is public, but no chapter teaches it"
                problems.append(Problem(f"contextual/{module}.py", what))
    return problems


def sync(root: Path, check: bool = False) -> list[Problem]:
    """Rewrite the kept cells, or only say what differs; then look at the rules."""
    problems: list[Problem] = []
    taught: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in notebooks(root):
        notebook = read(path)
        changed = _sync_notebook(root, path, notebook, taught, problems)
        if not check and changed and write(path, notebook):
            problems[:] = [p for p in problems if p not in changed]
            print(f"{path.name}: {len(changed)} kept cells written from the package.")
    for module, names in taught.items():
        for name, places in names.items():
            if len(places) > 1:
                what = f"{name} is taught more than once: {'; '.join(places)}"
                problems.append(Problem(f"contextual/{module}.py", what))
    return problems + coverage(root, taught)


def _sync_notebook(
    root: Path,
    path: Path,
    notebook: Notebook,
    taught: dict[str, dict[str, list[str]]],
    problems: list[Problem],
) -> list[Problem]:
    """Look at one notebook, change its kept cells in memory; the problems so mended."""
    changed = []
    for index, cell in enumerate(notebook["cells"]):
        module = kept_module(cell)
        if module is None:
            continue
        where = name_of(path, index)
        try:
            known = definitions(root / "contextual" / f"{module}.py")
            new = from_package(source(cell), known)
        except FileNotFoundError:
            problems.append(Problem(where, f"there is no contextual/{module}.py"))
            continue
        except (SyntaxError, ValueError) as error:
            problems.append(Problem(where, f"contextual/{module}.py: {error}"))
            continue
        if HIDDEN in tags(cell):
            what = f"a kept cell is never tagged {HIDDEN}: the reader builds on it"
            problems.append(Problem(where, what))
        for name in [n for s in ast.parse(new).body for n in defined_names(s)]:
            taught[module][name].append(where)
            long = too_long(known[name])
            if long:
                what = f"{name} {long}"
                problems.append(Problem(f"contextual/{module}.py", what))
        if new != source(cell):
            diff = difflib.unified_diff(
                source(cell).splitlines(),
                new.splitlines(),
                where,
                f"contextual/{module}.py",
                lineterm="",
            )
            what = "is not the package's code; run `make sync`\n" + "\n".join(diff)
            changed.append(Problem(where, what))
            problems.append(changed[-1])
            cell["source"] = new
    return changed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="sync", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--root", type=Path, default=ROOT, help="of the book")
    options = parser.parse_args(arguments)
    problems = sync(options.root, check=options.check)
    return report("sync", problems, "every kept cell is the package's code.")


if __name__ == "__main__":
    sys.exit(main())
