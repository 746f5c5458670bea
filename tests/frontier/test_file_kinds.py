"""Kinds of URLs with file extensions."""

import pytest

from crawlproject.frontier.learning.file_kinds import MAX_DIRECTORIES, MAX_KINDS, PAGES, FileKinds, kind_of


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/c.jpg", "jpg "),
        ("/images/b.c/C.JPG?d/e", "jpg images/b.c"),
        ("/w/images/a/a1/A.jpg", "jpg w/images/#"),
        ("/w/index.php/File:A.jpg", "jpg w/index.php"),
        ("/user/project/blob/main/l.png", "png user/project/blob"),
        ("/user/project/blob/l.png", "png user/project/blob"),
        ("/wp-content/uploads/2013/05/x.png", "png wp-content/uploads/#"),
        ("/2019/05/01/x.png", "png 2019/#/#"),
    ],
)
def test_a_kind_is_an_extension_below_a_directory(path: str, kind: str) -> None:
    """Of up to three segments; numbers and parts of split folders are equal."""
    assert kind_of(f"http://a.example{path}") == kind


def test_directories_without_end_are_one_kind() -> None:
    """After eight below a first segment, and 64 kinds in total; existing answers are kept."""
    kinds = FileKinds()
    for number in range(3 * MAX_DIRECTORIES):
        kinds.learn(f"png posts/{chr(97 + number)}bc", is_page=False)
    assert kinds.answers("png posts/new") == 2 * MAX_DIRECTORIES
    assert kinds.answers("png posts/abc") == 1
    assert kinds.answers("png posts") == kinds.answers("png other/abc") == kinds.answers("jpg posts/abc") == 0
    kinds.learn("png posts/page", is_page=True)
    assert kinds.answers("png posts/new") == PAGES
    for number in range(3 * MAX_KINDS):
        kinds.learn(f"png {number}", is_page=False)
    assert len(kinds.items()) <= MAX_KINDS + 1
    assert kinds.answers("png elsewhere") > MAX_KINDS
    again = FileKinds.from_state(kinds.to_state())
    assert again.to_state() == kinds.to_state()
