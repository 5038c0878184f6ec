"""Writes months.txt: the names of the Gregorian months in CLDR, one `name number` a line.

    pip install babel==2.18.0 && python months.py > months.txt

The lines are sorted by bytes, since the reader searches them by halves. A name that means
different months in two languages is left out, except where CLDR has it in Croatian against
others: the reader then asks for the page's language (`hr:` before the name).
"""

import sys

from babel import Locale

LANGUAGES = """
af ar ar_DZ ar_MA ar_SY az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it
ja ka kk km kn ko lb lo lt lv mk ml mn mr ms mt my nb ne nl nn pa pl pt ro ru si sk sl sq sr
sr_Latn sv sw ta te th tr uk ur uz vi zh
""".split()


def names(language):
    months = Locale.parse(language).months
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for month, name in months[context][width].items():
                name = name.lower().replace("\u200c", "").strip().rstrip(".").strip()
                name = name.removeprefix("de ").removesuffix(" сар")
                if len(name.encode()) < 3 or any(c.isdigit() or c.isspace() for c in name):
                    continue
                yield name, month


found = {}
croatian = dict(names("hr"))
for language in LANGUAGES:
    for name, month in names(language):
        found.setdefault(name, {}).setdefault(month, set()).add(language)
lines = {"sept 9"}
for name, months in found.items():
    others = [month for month, used in months.items() if used != {"hr"}] or list(months)
    if len(others) == 1:
        lines.add(f"{name} {others[0]}")
    if name in croatian and others != [croatian[name]]:
        lines.add(f"hr:{name} {croatian[name]}")
sys.stdout.write("\n".join(sorted(lines, key=str.encode)) + "\n")
