"""Source code read by its symbols: sections with signatures, what is said of them, and code."""

import pytest

from lightwell.domain.documents import Format, ParsedDocument, SpanKind
from lightwell.domain.errors import Unreadable
from lightwell.domain.formats import EXTENSIONS
from lightwell.ingest.parse import parse
from lightwell.ingest.parse._languages import LANGUAGES
from lightwell.ingest.parse.formats import detect_format


def read(text: str, name: str) -> ParsedDocument:
    content = text.encode()
    assert detect_format(name, content) is Format.CODE
    return parse(content, Format.CODE, name=name)


def where(document: ParsedDocument) -> dict[str, str]:
    return {
        ".".join(section.path): document.text[section.start : section.end].strip()
        for section in document.sections
    }


PYTHON = '''\
#!/usr/bin/env python
# Copyright 2026 Nobody. All rights reserved.
"""Keeps pumps."""

import os

LIMIT = 3


# Of all pumps.
@cache
def total(
    pumps: Sequence[Pump],  # in order
    *,
    most: int = 5,
) -> int:
    """Return how many there are.

    Never more than `most`.
    """
    def inner():
        return 1
    return inner()


class Pump(Base):
    """A pump."""

    flow: int = 0

    async def open(self) -> None: ...


print(total([]))
'''


def test_python_is_read_by_its_own_parser_and_not_run() -> None:
    document = read(PYTHON, "src/pumps.py")
    sections = where(document)
    assert [*sections] == ["", "total", "Pump", "Pump.open"]
    assert sections[""].startswith("Keeps pumps.\n\n        import os")
    assert "Copyright" not in document.text
    assert sections["total"] == (
        "total\n\n@cache\n\ndef total(pumps: Sequence[Pump], *, most: int = 5) -> int\n\n"
        "Of all pumps.\nReturn how many there are.\n\nNever more than `most`.\n\n"
        "        def inner():\n            return 1\n        return inner()"
    )
    assert sections["Pump"] == "Pump\n\nclass Pump(Base)\n\nA pump.\n\n        flow: int = 0"
    assert "print(total([]))" in sections[""]
    assert {span.kind for span in document.spans} == {SpanKind.CODE}
    assert document.title == "pumps.py"


TYPESCRIPT = """\
/* Copyright 2026 Nobody. */

// Reads pumps.

import { x } from "y";

/**
 * Returns a pump.
 * @param id Its number.
 */
export async function readPump(
  id: number,
): Promise<Pump> {
  if (x(id)) {
    return fetch(id);
  }
}

export class Client<T> extends Base {
  /** Closes it. */
  async close(): Promise<void> {
    const done = () => 1;
  }
}
/** Adds. */
const add = (a: number) => {
  return a;
};
test("pumps", () => {
  add(1);
});
"""


def test_other_languages_are_read_by_lines() -> None:
    sections = where(read(TYPESCRIPT, "pumps.ts"))
    assert [*sections] == ["", "readPump", "Client", "Client.close", "add"]
    assert sections[""].startswith('Reads pumps.\n\n        import { x } from "y";')
    assert 'test("pumps"' in sections[""]
    assert sections["readPump"] == (
        "readPump\n\nexport async function readPump(id: number): Promise<Pump>\n\n"
        "Returns a pump.\n@param id Its number.\n\n"
        "        if (x(id)) {\n          return fetch(id);\n        }"
    )
    assert "Closes it." in sections["Client.close"]


@pytest.mark.parametrize(
    ("name", "text", "symbols"),
    [
        (
            "a.go",
            "// Saves it.\nfunc (r *Repo) Save(p Pump) error {\n\treturn nil\n}\ntype Repo struct {\n\tn int\n}\n",
            ["Repo.Save", "Repo"],
        ),
        (
            "a.rs",
            "#[derive(Debug)]\npub struct Pump<T> {\n  id: u32,\n}\nimpl<T> fmt::Display for Pump<T> {\n"
            "  /// Saves it.\n  fn fmt(&self) -> Out {\n    fn inner() {}\n  }\n}\n",
            ["Pump", "fmt::Display for Pump", "fmt::Display for Pump.fmt"],
        ),
        (
            "A.java",
            'package a;\n@Service\npublic class A {\n  /** Saves it. */\n  @Get("/x")\n  public List<Pump> find(long id) throws E {\n'
            "    if (id == 0) {\n      return save(id);\n    }\n  }\n}\n",
            ["", "A", "A.find"],
        ),
        (
            "a.c",
            "#include <a.h>\n/* Saves it. */\nstatic int save(struct pump *p)\n{\n  int x = 0;\n#ifdef A\n  x = 1;\n#endif\n}\n",
            ["", "save"],
        ),
        ("a.rb", "module Pumps\n  # Saves it.\n  def save!(n)\n    n\n  end\nend\n", ["Pumps", "Pumps.save!"]),
        ("a.sh", "#!/bin/sh\nset -e\n# Saves it.\nsave() {\n  cp a b\n}\n", ["", "save"]),
        ("a.sql", "-- Saves it.\nCREATE TABLE IF NOT EXISTS pumps (\n  id int\n);\n", ["pumps"]),
        ("a.kt", "/** Saves it. */\ndata class Pump(val id: Int) {\n  fun save() = 1\n}\n", ["Pump", "Pump.save"]),
        ("a.php", "<?php\nclass A {\n  // Saves it.\n  public function save(int $id): void {\n  }\n}\n", ["", "A", "A.save"]),
        ("a.ex", "defmodule A.B do\n  # Saves it.\n  def save(n) do\n    n\n  end\nend\n", ["A.B", "A.B.save"]),
        ("a.r", "# Saves it.\nsave <- function(n) {\n  n\n}\n", ["save"]),
        ("old.py", "print 'x'\n# Saves it.\ndef save(n):\n    print n\n", ["", "save"]),
    ],
)  # fmt: skip
def test_a_declaration_is_a_section_with_what_is_said_above_it(
    name: str, text: str, symbols: list[str]
) -> None:
    sections = where(read(text, name))
    assert [*sections] == symbols
    (place,) = (symbol for symbol, words in sections.items() if "Saves it." in words)
    assert place in symbols[-2:]
    assert place


def test_no_line_of_code_is_lost() -> None:
    words = "\n".join(where(read(TYPESCRIPT, "a.ts")).values())
    for line in TYPESCRIPT.split("\n")[5:]:
        bare = line.strip("{}(); /*")
        assert " ".join(bare.rstrip(",").split()) in " ".join(words.split()), line


def test_the_extensions_of_code_are_those_of_known_languages() -> None:
    assert {*EXTENSIONS[Format.CODE]} == {*LANGUAGES}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("var a=1;" * 10_000, "no_text"),
        ("// Code generated by protoc-gen-go. DO NOT EDIT.\npackage a\n", "no_text"),
        ("/* Copyright 2026 Nobody */\n", "empty"),
    ],
)
def test_what_no_person_wrote_is_no_text(text: str, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(text, "a.js")
    assert caught.value.reason == reason


def test_python_that_is_nested_too_deep_for_its_parser_is_read_by_lines() -> None:
    assert "(((" in read("x = " + "(\n" * 5000, "a.py").text.replace("\n", "").replace(" ", "")


def test_types_in_types_without_end_are_code() -> None:
    nested = "".join(f"{' ' * depth}class A{depth} {{\n" for depth in range(500))
    document = read(nested, "a.ts")
    assert max(len(section.path) for section in document.sections) == 12
    assert "class A499" in document.text
