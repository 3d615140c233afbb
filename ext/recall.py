"""Recall questions: an option chosen, a sentence about it, with no script at all.

In a chapter a question is one text cell that reads well without this extension:

    :::{recall} Question?
    1. first option
    2. second option

    <details><summary>Answers</summary>

    1. *Name of the misconception.* One sentence that says why it is wrong.
    2. **Right.** One sentence why.

    </details>
    :::

On the page it becomes a fieldset of native radio buttons. The sentence about an option
stands under it, hidden by the style sheet until the button is pressed, in a status
region, so that a screen reader speaks it. Print shows every sentence. Other builders
(LaTeX, text, EPUB) get the two lists. A question that does not keep to the form is a
warning, and so fails the build.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

RIGHT = "Right."
FEWEST, MOST = 2, 5
CELL_LINES = 10_000  # myst-nb numbers line 3 of cell 2 as 20003


class recall(nodes.General, nodes.Element):
    """A question, its options and its answers: paragraph, list, list."""


class recall_question(nodes.paragraph):
    """The question, a fieldset's legend."""


class recall_choice(nodes.General, nodes.Element):
    """One option and, below it, the sentence about it (pages only)."""


class recall_option(nodes.General, nodes.TextElement):
    """The option's words, a label with its radio button (pages only)."""


class recall_answer(nodes.General, nodes.Element):
    """The sentence about an option, a status region (pages only)."""


class RecallDirective(SphinxDirective):
    """`:::{recall} Question?`, as the head of this file shows."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        question = recall_question(self.arguments[0])
        inline, messages = self.state.inline_text(self.arguments[0], self.lineno)
        question += inline
        body = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, body)
        lists = [n for n in body.children if isinstance(n, nodes.enumerated_list)]
        wrong = what_is_wrong(lists, "\n".join(self.content))
        if wrong:
            place = (self.env.docname, self.lineno)
            message = f"recall question{cell(self.lineno)}: {wrong}"
            logger.warning(message, location=place, type="recall")
            return []
        lists[1]["classes"].append("recall-answers")
        node = recall("", question, *lists)
        number = self.env.new_serialno("recall") + 1
        node["ids"] = [f"recall-{number}"]
        return [node, *messages]


def cell(line: int) -> str:
    """` in cell 2`, counted from 1, if the line is one of a notebook."""
    return f" in cell {line // CELL_LINES}" if line >= CELL_LINES else ""


def what_is_wrong(lists: list[nodes.enumerated_list], source: str) -> str:
    """What keeps a question from being shown, or nothing."""
    if len(lists) != 2:
        return f"needs two numbered lists, options and answers, not {len(lists)}."
    options, answers = (items(one) for one in lists)
    if not FEWEST <= len(options) <= MOST:
        return f"has {len(options)} options, not {FEWEST} to {MOST}."
    if len(options) != len(answers):
        return f"has {len(options)} options but {len(answers)} answers."
    if "<details>" not in source or "</details>" not in source:
        return "must fold its answers with <details> and </details>."
    for number, item in enumerate([*options, *answers]):
        if len(item.children) != 1 or not isinstance(item[0], nodes.paragraph):
            return f"item {number % len(options) + 1} must be one paragraph."
    right = [answer for answer in answers if is_right(answer)]
    if len(right) != 1:
        return f"has {len(right)} answers that begin with **{RIGHT}**, not one."
    for number, answer in enumerate(answers, start=1):
        if not is_right(answer) and not misconception(answer):
            return f"answer {number} must begin with *the misconception's name.*"
        if not explanation(answer):
            return f"answer {number} has no sentence that says why."
    return ""


def items(one: nodes.enumerated_list) -> list[nodes.list_item]:
    """The items of a list."""
    return [item for item in one.children if isinstance(item, nodes.list_item)]


def first_and_rest(answer: nodes.list_item) -> tuple[nodes.Node, list[nodes.Node]]:
    """What an answer begins with and what follows; the parser leaves empty texts."""
    parts = [child for child in answer[0].children if child.astext()]
    return (parts[0], parts[1:]) if parts else (nodes.Text(""), [])


def is_right(answer: nodes.list_item) -> bool:
    """Whether an answer begins with **Right.**"""
    first, _ = first_and_rest(answer)
    return isinstance(first, nodes.strong) and first.astext() == RIGHT


def misconception(answer: nodes.list_item) -> str:
    """The emphasised name that a wrong answer begins with, or nothing."""
    first, _ = first_and_rest(answer)
    return first.astext() if isinstance(first, nodes.emphasis) else ""


def explanation(answer: nodes.list_item) -> str:
    """What an answer says after its name."""
    return "".join(child.astext() for child in first_and_rest(answer)[1]).strip()


class ShowChoices(SphinxPostTransform):
    """For a page, put each answer under its option; EPUB readers get the lists."""

    default_priority = 400
    formats = ("html",)

    def run(self, **_: Any) -> None:
        if self.app.builder.name == "epub":
            return
        for node in list(self.document.findall(recall)):
            question, options, answers = node.children
            node.children = []
            node += question
            for option, answer in zip(items(options), items(answers)):
                node += choice(option, answer, node["ids"][0])


def choice(
    option: nodes.list_item, answer: nodes.list_item, group: str
) -> recall_choice:
    """An option with its answer, for the radio buttons of one group."""
    right = is_right(answer)
    label = recall_option("", "", *option[0].children)
    label["group"] = group
    says = recall_answer("", *answer.children)
    shown = recall_choice("", label, says)
    shown["classes"] = ["recall-right" if right else "recall-wrong"]
    return shown


TICK = "M3 9.5l4 4 8-9"
CROSS = "M4 4l10 10M14 4L4 14"


def visit_recall(self: HTML5Translator, node: recall) -> None:
    tag = "div" if self.builder.name == "epub" else "fieldset"
    self.body.append(self.starttag(node, tag, CLASS="recall"))
    self.context.append(f"</{tag}>\n")


def depart_recall(self: HTML5Translator, node: recall) -> None:
    self.body.append(self.context.pop())


def visit_question(self: HTML5Translator, node: recall_question) -> None:
    tag = "p" if self.builder.name == "epub" else "legend"
    self.body.append(self.starttag(node, tag, "", CLASS="recall-question"))
    self.context.append(f"</{tag}>\n")


def depart_question(self: HTML5Translator, node: recall_question) -> None:
    self.body.append(self.context.pop())


def visit_choice(self: HTML5Translator, node: recall_choice) -> None:
    self.body.append(self.starttag(node, "div", CLASS="recall-choice"))


def depart_choice(self: HTML5Translator, node: recall_choice) -> None:
    self.body.append("</div>\n")


def visit_option(self: HTML5Translator, node: recall_option) -> None:
    group = escape(node["group"], quote=True)
    self.body.append(f'<label><input type="radio" name="{group}" /><span>')


def depart_option(self: HTML5Translator, node: recall_option) -> None:
    self.body.append("</span></label>\n")


def visit_answer(self: HTML5Translator, node: recall_answer) -> None:
    right = "recall-right" in node.parent["classes"]
    mark = f'<path d="{TICK if right else CROSS}"/>'
    self.body.append('<div class="recall-says" role="status"><div>')
    self.body.append(f'<svg viewBox="0 0 18 18" aria-hidden="true">{mark}</svg>')
    if not right:
        self.body.append('<strong class="recall-verdict">Not this one.</strong>')


def depart_answer(self: HTML5Translator, node: recall_answer) -> None:
    self.body.append("</div></div>\n")


def skip(self: Any, node: nodes.Node) -> None:
    """Other builders show what is inside: a paragraph and two lists."""


def setup(app: Sphinx) -> None:
    plain: dict[str, Any] = {
        name: (skip, skip) for name in ("latex", "text", "man", "texinfo")
    }
    as_paragraph: dict[str, Any] = dict.fromkeys(plain, (visit_plain, depart_plain))
    app.add_node(recall, html=(visit_recall, depart_recall), **plain)
    app.add_node(recall_choice, html=(visit_choice, depart_choice))
    app.add_node(recall_option, html=(visit_option, depart_option))
    app.add_node(recall_answer, html=(visit_answer, depart_answer))
    app.add_node(
        recall_question,
        html=(visit_question, depart_question),
        **as_paragraph,
    )
    app.add_directive("recall", RecallDirective)
    app.add_post_transform(ShowChoices)
    app.add_css_file("recall.css", priority=901)


def visit_plain(self: Any, node: nodes.Node) -> None:
    self.visit_paragraph(node)


def depart_plain(self: Any, node: nodes.Node) -> None:
    self.depart_paragraph(node)
