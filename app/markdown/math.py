"""TeX to MathML, which browsers show without script or fonts of ours. It knows no Markdown.

The converter writes what it read into the page as it is and shows commands that it does not know, so its tree is
checked and written out again here.
"""

import re
from html import unescape
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import Converter

MAX_TEX_CHARACTERS = 2_000
MAX_TEX_NESTING = 40

MATH_ATTRIBUTES = {
    "math": {"display"},
    "menclose": {"notation"},
    "mfrac": {"linethickness"},
    "mi": {"mathvariant"},
    "mn": {"mathvariant"},
    "mo": {
        "accent",
        "fence",
        "form",
        "lspace",
        "maxsize",
        "minsize",
        "movablelimits",
        "rspace",
        "separator",
        "stretchy",
    },
    "mover": {"accent"},
    "mpadded": {"height", "lspace", "voffset", "width"},
    "mspace": {"linebreak", "width"},
    "mstyle": {"displaystyle", "mathsize", "mathvariant", "scriptlevel"},
    "mtable": {"columnlines", "columnspacing", "displaystyle", "rowlines", "rowspacing"},
    "mtd": {"columnalign"},
    "mtext": {"mathvariant"},
}
"""Of the elements that have any; each is one that the converter makes."""

MATH_TAGS = frozenset(MATH_ATTRIBUTES) | {
    *("mphantom", "mroot", "mrow", "msqrt", "msub", "msubsup", "msup", "mtr", "munder", "munderover")
}

# Definitions could grow a short text without limit.
_DEFINITION = re.compile(r"\\(?:(?:re)?new(?:command|environment)|providecommand|[egx]?def|let|Declare)(?![a-z])")
# The converter does not know these, but the same under other names.
_OTHER_NAMES = (("{aligned}", "{align*}"), ("{gathered}", "{gather*}"), (r"\dfrac", r"\displaystyle\frac"))
_LENGTH = re.compile(r"-?\d*\.?\d+(?:[a-z]+|%)")
# Larger ones would carry a formula over what stands beside it.
_SMALL_LENGTH = re.compile(r"-?0?\.\d+em|\d(?:\.\d+)?em|\d\d?(?:\.\d+)?(?:pt|px|mu|ex)")


def mathml(tex: str, *, display: bool) -> str | None:
    """One `math` element; None for TeX that is wrong, too long or too deep: its source is shown then."""
    if len(tex) > MAX_TEX_CHARACTERS or _DEFINITION.search(tex):
        return None
    for name, known in _OTHER_NAMES:
        tex = tex.replace(name, known)
    try:
        root = Converter(display="block" if display else "inline").convert_to_element(tex)
    except Exception:  # The converter meets wrong TeX with many kinds of errors.
        return None
    return tostring(root, encoding="unicode") if _clean(root) else None


def _clean(root: Element) -> bool:
    """Makes text of the converter's entities; False where a command or mark of TeX has been left over."""
    level = [root]
    for _ in range(MAX_TEX_NESTING):
        for element in level:
            text = element.text or ""
            if "\\" in text or text == "&":
                return False
            element.text = unescape(text)
            for name, value in element.items():
                if any(not _SMALL_LENGTH.fullmatch(length) for length in _LENGTH.findall(value)):
                    del element.attrib[name]
        level = [child for element in level for child in element]
        if not level:
            return True
    return False
