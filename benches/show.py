"""Shows what `cargo xtask bench` measured: tables, a page, and the picture of the README.

    python3 benches/show.py RECORDS.jsonl [--against OLDER.jsonl] [--page PAGE.html] [--pictures FOLDER]

Each system's figures are the medians of the rounds. A ratio is formed within each round, since a shared machine may be twice
as slow a minute later, and the median of the ratios is shown; over 1 means that Twindex is better, whatever the unit. The
published figures of the five reports (published.jsonl) stand beside rows of their kind, without a ratio: they are from other
machines.
"""

from __future__ import annotations

import argparse
import html
import json
import platform
import statistics
from pathlib import Path
from typing import Any, NamedTuple

#: What the page and the picture show of each host: a row's ending, a figure, threads, and a title.
ASPECTS = [
    ("hash", "insert", "1", "Adding a pair"),
    ("hash", "insert_many", "1", "Adding many at once"),
    ("hash", "select", "1", "Finding a key"),
    ("hash", "select", "2", "Finding a key, two threads"),
    ("hash", "select_many", "1", "Finding many at once"),
    ("sorted", "insert", "1", "Adding a pair, kept in order"),
    ("sorted", "scan", "1", "Walking all pairs in order"),
    ("hash", "bytes", "1", "Bytes of a pair"),
    ("sorted", "bytes", "1", "Bytes of a pair, in order"),
]
GROUPS = {"/s": "Speed", "bytes": "Memory"}
HOSTS = {"python": "Python", "node": "Node", "rust": "Rust", "wasm_node": "WebAssembly in Node", "wasm": "WebAssembly in wasmtime"}
#: Those of the picture.
PICTURED = ["python", "node", "rust", "wasm_node"]
#: Text, quiet text, a bar, a bar of less than 1x.
GROUNDS = {
    "measured.svg": ("#1d2430", "#5a6472", "#2f74b5", "#c0392b"),
    "measured-dark.svg": ("#e6e9ee", "#9aa5b4", "#5aa2e0", "#e58a7b"),
}
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
section { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 1rem 2rem }
h2 { grid-column: 1 / -1; margin: 1.5rem 0 0 } table { border-spacing: 0 3px; width: 100% } caption { text-align: left; font-weight: 600 }
th { text-align: left; font-weight: 400; width: 8rem } i { display: block; height: .9rem; background: #8b95a3 } .ours i { background: #2f74b5 }
td:last-child { text-align: right; white-space: nowrap; width: 9rem } pre { overflow: auto; font-size: 13px }
"""


class Line(NamedTuple):
    """All figures of one kind: a row with its parameters."""

    row: str
    params: tuple[tuple[str, str], ...]
    figure: str
    unit: str


#: By system and round.
Values = dict[str, dict[int, float]]


def read(path: Path) -> tuple[dict[str, str], dict[Line, Values], dict[str, str]]:
    """What a run was, its figures, and what each row is about."""
    run, lines, about = {}, {}, {}
    for text in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(text)
        if "run" in record:
            run = record
            continue
        params = tuple(sorted((name, str(value)) for name, value in record["params"].items()))
        line = Line(record["row"], params, record["figure"], record["unit"])
        about.setdefault(line.row, record.get("about", ""))
        lines.setdefault(line, {}).setdefault(system_of(record), {})[record["round"]] = record["value"]
    return run, lines, about


def system_of(record: dict[str, Any]) -> str:
    """Its name, with the host where a row is about several."""
    host, row = record.get("host", ""), record["row"]
    is_own = host in {"", "peers", "rust"} or row.startswith(host.replace("-", "_"))
    return record["system"] if is_own and not row.startswith("wasm_native") else f"{host}:{record['system']}"


def advantage(unit: str, ours: float, theirs: float) -> float:
    """How many times better ours is: more is better of rates and hits, less of bytes and times."""
    better, worse = (ours, theirs) if unit in {"/s", "%"} else (theirs, ours)
    return better / worse if worse else float("inf") if better else 1.0


def ratio(unit: str, ours: dict[int, float], theirs: dict[int, float]) -> float | None:
    """The median of the rounds that both have."""
    rounds = [advantage(unit, ours[each], theirs[each]) for each in ours if each in theirs]
    return statistics.median(rounds) if rounds else None


def shown(value: float, unit: str) -> str:
    if unit == "/s" and value >= 1e4:
        return f"{value / 1e6:.3g} M/s"
    if unit == "ns":
        return f"{value / 1e3:.3g} us" if value >= 1e3 else f"{value:.0f} ns"
    return f"{value:.4g}{unit if unit in {'/s', '%'} else ' ' + unit}"


def published_beside(line: Line, reports: list[dict[str, Any]]) -> list[str]:
    """The figures of the five reports that are of the same kind."""
    params, found = dict(line.params), []
    for one in reports:
        value = one["values"].get(params.get(one.get("by", ""), ""))
        is_same = (one["row"], one["figure"]) == (line.row, line.figure)
        if is_same and value is not None and one.get("params", {}).items() <= params.items():
            found.append(f"{one['system']} {shown(value, line.unit)}")
    return found


def tables(lines: dict[Line, Values], about: dict[str, str], older: dict[Line, Values]) -> str:
    """A table in Markdown for each row."""
    published = Path(__file__).with_name("published.jsonl").read_text(encoding="utf-8")
    text, reports = [], [json.loads(one) for one in published.splitlines()]
    for row in dict.fromkeys(line.row for line in lines):
        own = {line: values for line, values in lines.items() if line.row == row}
        systems = list(dict.fromkeys(system for values in own.values() for system in values))
        ours, others = systems[0], systems[1:]
        # Fields that all lines share are printed once.
        every = [dict(line.params) for line in own]
        common = {name: value for name, value in every[0].items() if all(each.get(name) == value for each in every)}
        said = ", ".join(f"{name} {value}" for name, value in common.items())
        text += [f"\n{': '.join(filter(None, [row, about.get(row)]))}{f' ({said})' if said else ''}\n", f"| | {' | '.join(systems)} |" + (" then |" if older else "")]
        text.append("|---" * (len(systems) + 1 + bool(older)) + "|")
        for line, values in own.items():
            params = " ".join(f"{name} {value}" for name, value in line.params if name not in common)
            mine = values.get(ours, {})
            cells = [f"{line.figure} {params}".strip()]
            for system in systems:
                cell = shown(statistics.median(values[system].values()), line.unit) if system in values else ""
                times = ratio(line.unit, mine, values.get(system, {})) if system in others else None
                cells.append(cell if times is None else f"{cell} ({times:.2f}x)")
            if older:
                then, now = (list(values.get(ours, {}).values()) for values in (older.get(line, {}), values))
                both = (statistics.median(then), statistics.median(now)) if then and now else None
                cells.append(f"{shown(both[0], line.unit)} ({advantage(line.unit, both[1], both[0]):.2f}x)" if both else "")
            text.append(f"| {' | '.join(cells)} |")
            if beside := published_beside(line, reports):
                text.append(f"| published | {'; '.join(beside)} |" + " |" * (len(systems) - 1 + bool(older)))
    return "\n".join(text)


class Aspect(NamedTuple):
    """One figure of one host: medians of ours and of the rival, and the ratio."""

    title: str
    unit: str
    rival: str
    theirs: float
    ours: float
    times: float


def aspects(lines: dict[Line, Values], host: str) -> list[Aspect]:
    found = []
    for index, figure, threads, title in ASPECTS:
        same = {line: values for line, values in lines.items() if (line.row, line.figure) == (f"{host}_{index}", figure)}
        # The others take part with one thread. The first of them is what most programs use.
        both = next((values for values in same.values() if len(values) > 1), None)
        own = next((next(iter(values.values())) for line, values in same.items() if dict(line.params).get("threads", "1") == threads), None)
        if both and own:
            unit, rival = next(iter(same)).unit, list(both)[1]
            medians = (statistics.median(both[rival].values()), statistics.median(own.values()))
            found.append(Aspect(title, unit, rival.split(":")[-1], *medians, ratio(unit, own, both[rival]) or 0.0))
    return found


def summary(all_aspects: dict[str, list[Aspect]]) -> str:
    """One sentence for each host."""

    def span(times: list[float]) -> str:
        return " to ".join(dict.fromkeys(f"{time:.1f}" for time in (min(times), max(times))))

    text = []
    for host, found in all_aspects.items():
        rivals = " and ".join(dict.fromkeys(one.rival for one in found))
        speed = [one.times for one in found if one.unit == "/s"]
        memory = [one.times for one in found if one.unit == "bytes"]
        if speed:
            smaller = f" and {span(memory)} times smaller" if memory else ""
            text.append(f"{HOSTS[host]}: {span(speed)} times as fast{smaller} than {rivals}")
    return "\n".join(text)


def page(run: dict[str, str], all_aspects: dict[str, list[Aspect]], table: str) -> str:
    """A page that needs nothing but itself."""
    escape = html.escape
    body = [f"<h1>Twindex beside what programs use today</h1><p>{escape(summary(all_aspects)).replace(chr(10), '<br>')}</p>"]
    for host, found in all_aspects.items():
        body.append(f'<section><h2 id="{host}">{HOSTS[host]}</h2>')
        for one in found:
            bars = [(one.rival, "", one.theirs, ""), ("Twindex", "ours", one.ours, f" <b>{one.times:.1f}x</b>")]
            rows = "".join(
                f'<tr class="{kind}"><th>{escape(name)}</th><td><i style="width:{100 * value / max(one.ours, one.theirs):.1f}%"></i></td>'
                f"<td>{shown(value, one.unit)}{times}</td></tr>"
                for name, kind, value, times in bars
            )
            less = " (less is better)" if one.unit == "bytes" else ""
            body.append(f"<table><caption>{one.title}{less}</caption>{rows}</table>")
        body.append("</section>")
    body.append(f"<h2>All figures</h2><pre>{escape(table)}</pre><p>{escape(said_of(run))}</p>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Twindex, measured</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def machine() -> str:
    cpu = Path("/proc/cpuinfo")
    names = [line.split(":")[1].strip() for line in cpu.read_text().splitlines() if line.startswith("model name")] if cpu.exists() else []
    return f"{names[0]}, {len(names)} hardware threads" if names else platform.processor()


def said_of(run: dict[str, str]) -> str:
    words = [run.get(name, "") for name in ("run", "build", "rustc", "commit")]
    return ". ".join(word for word in [*words, f"{machine()}, {platform.platform()}"] if word)


def picture(run: dict[str, str], all_aspects: dict[str, list[Aspect]], ground: tuple[str, str, str, str]) -> str:
    """Bars as long as their ratios, by host, with a line that marks 1x."""
    text, quiet, bar, loss = ground
    labels, column, bar_length, head, height = 190, 190, 120, 62, 26
    hosts = [host for host in PICTURED if host in all_aspects]
    most = max([1.0, *(one.times for host in hosts for one in all_aspects[host])])
    tops, bottom, units = {}, head, {one.title: one.unit for host in hosts for one in all_aspects[host]}
    svg = []
    for unit, group in GROUPS.items():
        svg.append(f'<text x="0" y="{bottom + 19}" font-weight="600">{group}</text>')
        for title in (title for *_, title in ASPECTS if units.get(title) == unit):
            bottom += height
            tops[title] = bottom
            svg.append(f'<text x="0" y="{bottom + 18}">{title}</text>')
        bottom += height + 8
    for number, host in enumerate(hosts):
        left = labels + column * number
        rivals = ", ".join(dict.fromkeys(one.rival for one in all_aspects[host]))
        svg.append(f'<text x="{left}" y="18" font-size="15" font-weight="600">{HOSTS[host]}</text>')
        svg.append(f'<text x="{left}" y="36" fill="{quiet}" font-size="12">beside {rivals}</text>')
        for one in all_aspects[host]:
            length, top = bar_length * one.times / most, tops[one.title]
            svg.append(f'<rect x="{left}" y="{top + 6}" width="{length:.1f}" height="15" rx="2" fill="{bar if one.times >= 1 else loss}"/>')
            svg.append(f'<text x="{max(left + length, left + bar_length / most) + 6:.1f}" y="{top + 18}" font-weight="600">{one.times:.1f}x</text>')
        mark = left + bar_length / most
        svg.append(f'<text x="{mark:.1f}" y="{head - 6}" fill="{quiet}" font-size="11" text-anchor="middle">1x</text>')
        svg.append(f'<path d="M{mark:.1f} {head}V{bottom - 8}" stroke="{quiet}" stroke-dasharray="3 3"/>')
    caption = "How many times as fast, or as small, as what programs use today. Longer is better; red is worse. One thread where none is named."
    source = html.escape(f"{run.get('run', '')} at {run.get('commit', '')}: a million pairs of 16 + 16 bytes. {run.get('build', '')}, {machine()}")
    for place, words in enumerate([caption, source]):
        svg.append(f'<text x="0" y="{bottom + 16 + 18 * place}" fill="{quiet}" font-size="12">{words}</text>')
    box = f'viewBox="0 0 {labels + column * len(PICTURED)} {bottom + 44}" font-family="system-ui, sans-serif" font-size="13"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {box} fill="{text}" role="img"><title>Twindex beside what programs use today</title>'
    return "\n".join([opening, *svg, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--brief", action="store_true", help="one sentence for each host")
    options = parser.parse_args()
    run, lines, about = read(options.records)
    older = read(options.against)[1] if options.against else {}
    table = tables(lines, about, older)
    all_aspects = {host: found for host in HOSTS if (found := aspects(lines, host))}
    print(f"\n{summary(all_aspects)}\n" if options.brief else f"{table}\n\n{summary(all_aspects)}\n{said_of(run)}")
    if options.page:
        options.page.write_text(page(run, all_aspects, table), encoding="utf-8")
        print(f"The page: {options.page}")
    for name, ground in GROUNDS.items() if options.pictures else ():
        (options.pictures / name).write_text(picture(run, all_aspects, ground), encoding="utf-8")


if __name__ == "__main__":
    main()
