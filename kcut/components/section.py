"""Components that are sections of Markdown files."""

from kcut.components import sections as markdown
from kcut.components.cohort import Cohort, as_part, digest
from kcut.components.found import Found
from kcut.globs import literal
from kcut.model.errors import UsageFault


def of_section(path: str, name: str, text: str, section: markdown.Section) -> Found:
    """The section of a file with that text."""
    piece = text[section.start : section.end]
    before = [each for each in markdown.sections(text) if each.start < section.start]

    def make(with_: Cohort, without: Cohort) -> tuple[str, ...]:
        file = with_.read(path)
        own = markdown.read(file.data) if file is not None else ""
        old = markdown.find(own, name) or markdown.find(own, section.slug)
        if len(old) > 1:
            raise UsageFault(
                f"{path!r} of the base has {len(old)} sections {name!r}",
                remedy="commit the file, or rename one of them",
            )
        made: str | None
        if old:
            without.put_data(path, markdown.write(markdown.without(own, old[0])))
            made = markdown.replaced(own, old[0], piece)
        else:
            made = markdown.with_section(own, piece, before, section.level)
        if made is None:
            raise UsageFault(
                f"the section {name!r} cannot be put into {path!r} of the base",
                remedy="commit the file, or close the code block there that is never closed",
            )
        with_.put_data(path, markdown.write(made))
        return (literal(with_.real(path)),)

    plain = markdown.content(piece).replace("\r\n", "\n")
    return Found("section", path, digest({"": as_part(plain)}), make)
