"""Widgets that live in the page: no kernel, no library, no inline code.

A cell that shows a widget leaves two things in the page: the widget's state and a view
that names it. `mount` turns them into one block of data, a place that holds the
widget's picture, and links to classic scripts, which work from file:// and under a
strict Content-Security-Policy. The same state gives the same bytes: random model ids
become w0, w1, … in the order of the page.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform

from contextual.widgets import base

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
LOADER = Path(__file__).parent / "static" / "widgets-loader.js"
CAPTION = "Picture. Live in the web edition."
NOT_STATE = {"layout", "tabbable", "tooltip", "first"}
Pages = Mapping[str, Any]


def mount(soup: BeautifulSoup, context: Pages, static: Path) -> None:
    """Make the widgets of one page live; a page without any stays as it is.

    soup: the whole page; context: Sphinx's (its `pathto` gives relative addresses);
    static: the folder _static of the output. Called twice, it does nothing more.
    """
    models = saved_models(soup)
    names: dict[str, str] = {}
    block: dict[str, Any] = {}
    for view in soup.find_all("script", type=VIEW):
        model = json.loads(view.string or "")["model_id"]
        if model not in models:
            raise ValueError(f"a widget of {context['pagename']} left no state.")
        name = names.setdefault(model, f"w{len(names)}")
        block[name] = entry(models[model], static)
        place(soup, view, name, block[name]["widget"])
    if block:
        add_block(soup, block)
        add_files(soup, context, static, sorted({e["widget"] for e in block.values()}))


def saved_models(soup: BeautifulSoup) -> dict[str, Any]:
    """The state of every widget in the page, by model id; its scripts are removed."""
    models: dict[str, Any] = {}
    for script in soup.find_all("script", type=STATE):
        models |= json.loads(script.string or "")["state"]
        script.decompose()
    return models


def entry(model: Mapping[str, Any], static: Path) -> dict[str, Any]:
    """Which script a model needs, and its state without Jupyter's own traits.

    ValueError for a widget that is not of this book: it would not move.
    """
    state = model["state"]
    widget = state.get("_anywidget_id", "").rsplit(".", 2)
    if len(widget) < 3 or widget[0] != "contextual.widgets":
        what = state.get("_model_name", "a widget")
        raise ValueError(f"{what} would not move without a kernel: use a book widget.")
    kept = {k: v for k, v in state.items() if k[0] != "_" and k not in NOT_STATE}
    parts, first = kept["parts"], state.get("first", [])
    for name in parts.keys() - set(first):
        parts[name] = {"file": write_part(static, f"{widget[1]}-{name}", parts[name])}
    return {"widget": widget[1], "state": kept}


def write_part(static: Path, name: str, text: str) -> str:
    """Stored numbers as a classic script of their own; its name, with a hash."""
    file = f"{name}-{short_hash(text)}.js"
    call = f"ftc.part({json.dumps(file)},{json.dumps(text)});\n"
    write(static / "widgets" / file, call)
    return file


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def place(soup: BeautifulSoup, view: Tag, name: str, widget: str) -> None:
    """Where the widget will stand, holding its picture until then, or for good."""
    twin = view.find_parent(class_="ftc-place")
    box = soup.new_tag("div", attrs={"class": f"ftc-mount ftc-for-{widget}"})
    box["data-ftc"] = name
    image = twin.find("img") if isinstance(twin, Tag) else None
    if isinstance(image, Tag):
        image["loading"] = "lazy"
        figure = soup.new_tag("figure", attrs={"class": "ftc-twin"})
        caption = soup.new_tag("figcaption")
        caption.string = CAPTION
        figure.extend([image.extract(), caption])
        box.append(figure)
    (twin if isinstance(twin, Tag) else view).replace_with(box)


def add_block(soup: BeautifulSoup, block: Mapping[str, Any]) -> None:
    """The state as one block of data; `<` cannot end it early."""
    text = json.dumps(block, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    data = soup.new_tag("script", type="application/json", id="ftc-state")
    data.string = text.replace("<", "\\u003c")
    assert soup.body is not None
    soup.body.append(data)


def add_files(
    soup: BeautifulSoup, context: Pages, static: Path, widgets: list[str]
) -> None:
    """Write the files that these widgets need, once, and link them from the page."""
    files = page_files()
    wanted = ["widgets/kit.js", *(f"widgets/{name}.js" for name in widgets)]
    for name in [*wanted, "widgets/kit.css", LOADER.name]:
        write(static / name, files[name])
    assert soup.head is not None and soup.body is not None
    sheet = address(context, "widgets/kit.css")
    soup.head.append(soup.new_tag("link", rel="stylesheet", href=sheet))
    for name in [*wanted, LOADER.name]:
        script = soup.new_tag("script", src=address(context, name), defer="")
        soup.body.append(script)


def address(context: Pages, name: str) -> str:
    """A file of _static as this page links it, with a hash for the browser's cache."""
    path = context["pathto"](f"_static/{name}", 1)
    return f"{path}?v={short_hash(page_files()[name])}"


@functools.cache
def page_files() -> dict[str, str]:
    """Every file that pages share, by its name below _static."""
    files = {"widgets/kit.js": base.classic_kit()}
    classes = base.widget_classes()
    for name in classes:
        files[f"widgets/{name}.js"] = base.classic(name)
    sizes = [reserve(name, cls.reserve) for name, cls in sorted(classes.items())]
    files["widgets/kit.css"] = "\n".join([base.read_script("kit.css"), *sizes])
    files[LOADER.name] = LOADER.read_text(encoding="utf-8")
    return files


def reserve(name: str, heights: tuple[int, int, int]) -> str:
    """The room a widget needs in columns of three widths, kept free for it."""
    rules = [f".ftc-for-{name} > * {{ min-height: {height}px; }}" for height in heights]
    for place, width in ((1, 400), (2, 534)):
        rules[place] = f"@container (min-width: {width}px) {{ {rules[place]} }}"
    return "\n".join(rules)


class KeepPictures(SphinxPostTransform):
    """Where a cell's output is a widget, keep its picture too, beside the view.

    Runs before myst-nb drops all but one form of an output. The text of the output, the
    widget's sentence, becomes the picture's alt text.
    """

    default_priority = 3
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for bundle in list(self.document.findall(is_bundle)):
            kinds = {child["mime_type"]: child for child in bundle.children}
            if VIEW not in kinds or "image/png" not in kinds:
                continue
            alt = kinds["text/plain"].astext() if "text/plain" in kinds else ""
            pictures = list(kinds["image/png"].findall(nodes.image))
            for picture in pictures:
                picture["alt"] = " ".join(alt.split())
            both = [*kinds[VIEW].children, *pictures[:1]]
            bundle.replace_self(nodes.container("", *both, classes=["ftc-place"]))


def is_bundle(node: nodes.Node) -> bool:
    """Whether a node holds an output in several forms."""
    bundle = isinstance(node, nodes.container)
    return bundle and node.get("nb_element") == "mime_bundle"


def no_manager(app: Sphinx, config: Config) -> None:
    """Widgets start by themselves: none of Jupyter's scripts from other hosts.

    Outside the web edition a widget is its picture.
    """
    config.nb_ipywidgets_js = {}
    config.nb_mime_priority_overrides = [("epub", "image/png", 1), ("epub", VIEW, 99)]


def setup(app: Sphinx) -> None:
    app.add_post_transform(KeepPictures)
    app.connect("config-inited", no_manager)
