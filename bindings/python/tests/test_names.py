"""The table of names is what every language has, and nothing else."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NAMES = (ROOT / "docs/reference/names.md").read_text("utf-8")

PYTHON = ROOT / "bindings/python/python/twindex"
CLUSTER = ROOT / "bindings/python-cluster/python/twindex_cluster"
SHARED = ROOT / "bindings/js/types.d.ts"

# The hosts, by their words in the table: a language, and the files that say what its classes have.
HOSTS = {
    "twindex": ("Rust", [ROOT / "engine/src/lib.rs"]),
    "cache": ("Rust", sorted((ROOT / "cache/src").rglob("*.rs"))),
    "durable": ("Rust", sorted((ROOT / "durable/src").rglob("*.rs"))),
    "cluster": ("Rust", sorted((ROOT / "cluster/src").rglob("*.rs"))),
    "python": ("Python", [PYTHON / "_twindex.pyi", PYTHON / "_watch.py"]),
    "python-cluster": ("Python", [CLUSTER / "__init__.pyi", CLUSTER / "_verbs.pyi"]),
    "node": ("JavaScript", [SHARED, ROOT / "bindings/node/index.d.ts"]),
    "wasm": ("JavaScript", [SHARED, ROOT / "wasm/npm/index.d.ts"]),
    "node-cluster": ("JavaScript", [ROOT / "bindings/node-cluster/index.d.ts"]),
}
CLUSTERS = ("cluster", "python-cluster", "node-cluster")

# What the sections of the table are about, where that is not a class of the section's name.
OPTIONS = {"open", "Cache, when it is made", "connect"}
TYPES: dict[str, dict[str, list[str]]] = {
    "Table": {"node-cluster": ["Table", "SortedTable"]}
    | {host: ["Table", "ExpiringTable"] for host in ("durable", "python")}
    | {host: ["Table", "SortedTable", "ExpiringTable"] for host in ("node", "wasm")},
    "Cursor": {"durable": ["ExpiringCursor"]},
    "open": {"durable": ["Options"], "python": ["open"], "node": ["OpenOptions"]},
    "Cache, when it is made": {
        "cache": ["CacheOptions"],
        "python": ["Cache()"],
        "node": ["CacheOptions"],
        "wasm": ["CacheOptions"],
    },
    "connect": {"cluster": ["Options"], "python-cluster": ["Options"], "node-cluster": ["ConnectOptions"]},
}


def rust(files: list[Path], name: str) -> set[str]:
    """The public functions of a type, those of macros included, but for hidden ones."""
    names = set()
    texts = "".join(file.read_text("utf-8") for file in files)
    macros = dict(re.findall(r"(?ms)^macro_rules! (\w+) \{\n(.*?)^\}", texts))
    used = re.findall(rf"(?m)^(\w+)!\({name}\b", texts)
    for file in files:
        if file.name in {"blocking.rs", "typed.rs"}:
            continue
        text = re.sub(
            r"(?m)^    #\[doc\(hidden\)\]\n(    #\[.*\n)*    pub fn \w+", "", file.read_text("utf-8")
        )
        for block in re.findall(rf"(?ms)^impl {name} \{{\n(.*?)^\}}", text):
            names.update(re.findall(r"(?m)^    pub (?:const )?(?:async )?fn (\w+)", block))
            used += re.findall(r"(?m)^    (\w+)!\(", block)
        if macro := {"SnapshotTable": "reading_verbs", "Options": "options"}.get(name):
            for block in re.findall(rf"(?ms)^{macro}! \{{\n(.*?)^\}}", text):
                names.update(re.findall(r"(?m)^    (\w+)[\[(:]", block))
    return names.union(*(re.findall(r"pub fn (\w+)", macros.get(macro, "")) for macro in used))


@cache
def parsed(file: Path) -> list[ast.stmt]:
    """The statements of a file."""
    return ast.parse(file.read_text("utf-8")).body


def python(files: list[Path], name: str) -> set[str]:
    """The methods and properties of a class and of its bases, and `len` for `__len__`; the arguments of a function by name."""
    if not files:
        return set()
    nodes = parsed(files[0])
    if name.endswith("()"):
        nodes = next(node.body for node in nodes if isinstance(node, ast.ClassDef) and node.name == name[:-2])
        name = "__new__"
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return {argument.arg for argument in node.args.kwonlyargs}
    found = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name]
    if not found:
        return python(files[1:], name)
    names: set[str] = set()
    for node in found[0].body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add("len" if node.name == "__len__" else node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    for base in found[0].bases:
        of = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(of, ast.Name):
            # `_Batch` is the next file's `Batch`. Tables in a cluster derive from what Twindex's do.
            own = [*files, PYTHON / "_twindex.pyi"]
            names |= python(files[1:], name) if of.id == f"_{name}" else python(own, of.id)
    return {name for name in names if not name.startswith("_")}


def typescript(files: list[Path], name: str) -> set[str]:
    """The members of a class and of the interfaces that it merges with or extends."""
    text = "\n".join(file.read_text("utf-8") for file in files)
    text = re.sub(r"/\*\*[\s\S]*?\*/|//.*", "", text)

    def members(name: str, seen: tuple[str, ...] = ()) -> set[str]:
        names: set[str] = set()
        for block in re.findall(rf"(?ms)^  namespace {name} \{{$(.*?)^  \}}", text):
            names.update(re.findall(r"function (\w+)", block))
        for found in re.finditer(rf"\b(?:class|interface) {name}\b([^{{]*)\{{", text):
            end, depth = found.end(), 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            # What lies in braces, brackets and generics is no member of this one.
            body = text[found.end() : end - 1]
            indent = min(
                (len(line) - len(line.lstrip()) for line in body.splitlines() if line.strip()), default=0
            )
            member = rf"(?m)^ {{{indent}}}(?:readonly |static |get |set )*([A-Za-z]\w*)[?]?[(<:]"
            names.update(re.findall(member, body))
            head = found[1]
            for kind, base, picked in re.findall(r"\b(Pick|Omit)<\s*(\w+)<[^>]*>,([^>]*)>", head):
                chosen = set(re.findall(r"'(\w+)'", picked))
                names |= members(base) & chosen if kind == "Pick" else members(base) - chosen
            head = re.sub(r"(?s)(Pick|Omit)<.*?>,.*?>", "", head)
            if "extends" in head:
                for base in re.findall(r"\b([A-Z]\w+)", re.sub(r"<[^<>]*>", "", head.split("extends", 1)[1])):
                    if base != name and base not in seen:
                        names |= members(base, (*seen, name))
        return names

    return members(name) - {"constructor", "private", "toJSON"}


READERS = {"Rust": rust, "Python": python, "JavaScript": typescript}


def excerpt(pattern: str, text: str) -> str:
    """What the first group of a pattern matches, which is there."""
    found = re.search(pattern, text)
    assert found is not None, pattern
    return found[1]


def text_of(path: str) -> str:
    """The text of a file of the repository."""
    return (ROOT / path).read_text("utf-8")


def section(title: str) -> str:
    """The lines below a title."""
    return excerpt(rf"(?ms)^## {re.escape(title)}\n(.*?)(?=^## |\Z)", NAMES)


def words(cell: str) -> set[str]:
    """The hosts in a cell."""
    found = set(re.findall(r"[\w-]+", cell))
    return found | set(CLUSTERS) if "clusters" in found else found


def named(title: str, host: str) -> set[str]:
    """The names of a host in a table."""
    text = section(title)
    if (absent := re.search(r"(?m)^Not in (.*)\.$", text)) and host in words(absent[1]):
        return set()
    head, _, *rows = ([cell.strip() for cell in line.split("|")] for line in text.splitlines() if "|" in line)
    column = head.index(HOSTS[host][0])
    return {name for row in rows if host not in words(row[-2]) for name in re.findall(r"`(\w+)", row[column])}


def members(names: list[str], host: str) -> set[str]:
    """What some types of a host have."""
    language, files = HOSTS[host]
    return set().union(*(READERS[language](files, name) for name in names))


TITLES = re.findall(r"(?m)^## (.*)\n+(?:Not in .*\n+)?\| thing \|", NAMES)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("title", TITLES)
def test_table_has_the_names_of_every_host_and_no_others(title: str, host: str) -> None:
    types = TYPES.get(title, {}).get(host, [] if title in OPTIONS else [title])
    has = members(types, host)
    says = named(title, host)
    assert has == says, f"the table lacks {sorted(has - says)}, and {host} lacks {sorted(says - has)}"


@pytest.mark.parametrize("host", HOSTS)
def test_tables_of_snapshots_and_transactions_have_names_of_tables(host: str) -> None:
    kinds = [f"{kind}{of}Table" for kind in ("", "Sorted", "Expiring") for of in ("Snapshot", "Transaction")]
    assert members(kinds, host) <= named("Table", host)


@pytest.mark.parametrize(
    ("host", "files"),
    [("python", [PYTHON / "aio.py"]), ("python-cluster", [CLUSTER / "aio.pyi", CLUSTER / "_verbs.pyi"])],
)
def test_names_for_asyncio_are_those_of_python(host: str, files: list[Path]) -> None:
    for title in ("Store", "Table", "Batch", "Changes", "Cursor"):
        assert python(files, title) <= named(title, host)


def test_feeds_have_one_word_for_each_kind_of_change() -> None:
    kinds = set(re.findall(r"(?m)^\| `(\w+)` \|", section("Kinds of changes")))
    effects = excerpt(r"(?s)pub enum Effect \{(.*?)\n\}", text_of("durable/src/change.rs"))
    # A watch says also that it lost changes.
    assert kinds == {name.lower() for name in re.findall(r"(?m)^    (\w+)", effects)} | {"lost"}
    literal = excerpt(r"kind: Literal\[(.*?)\]", text_of("bindings/python/python/twindex/_feed.py"))
    assert kinds == set(re.findall(r'"(\w+)"', literal))
    typings = text_of("bindings/node/index.d.ts") + SHARED.read_text("utf-8")
    ones = re.findall(r"readonly kind: ((?:'\w+'[ |]*)+)", typings)
    assert kinds == {kind for one in ones for kind in re.findall(r"\w+", one)}
