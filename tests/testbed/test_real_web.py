"""What the set-up of a real web makes of hand-made package lists; test_real_web.py of crawl/ has the rest."""

from pathlib import Path

from testbed.real_web.packages import confine_links, find_docroots


class TestPackages:
    """What the set-up makes of unpacked packages."""

    def test_docroots_are_the_topmost_directories_of_one_package(self, tmp_path: Path) -> None:
        """Directories that several packages use, and those without pages, belong to nobody."""
        shipped = {
            "a": ["/usr/share/doc/a/html/x.html", "/usr/share/doc/b/extra/y.html", "/usr/share/man/a.1"],
            "b": ["/usr/share/doc/b/html/z.html", "/usr/share/doc/b/single.html", "/usr/share/doc/a.html"],
        }
        assert find_docroots(shipped, tmp_path) == {
            "a": ("/usr/share/doc/a", "/usr/share/doc/b/extra"),
            "b": ("/usr/share/doc/a.html", "/usr/share/doc/b/html", "/usr/share/doc/b/single.html"),
        }

    def test_links_out_of_the_tree_are_turned_inwards(self, tmp_path: Path) -> None:
        """An absolute link, and one that climbs above the root, lead to the same path below the root."""
        (tmp_path / "usr/share").mkdir(parents=True)
        (tmp_path / "usr/page.html").write_text("inside")
        targets = {"absolute": "/usr/page.html", "climbing": "../../../usr/page.html", "fine": "../page.html"}
        for name, target in targets.items():
            (tmp_path / "usr/share" / name).symlink_to(target)
        confine_links([f"/usr/share/{name}" for name in targets], tmp_path)
        assert [(tmp_path / "usr/share" / name).read_text() for name in targets] == ["inside"] * 3
        assert all(not (tmp_path / "usr/share" / name).readlink().is_absolute() for name in targets)
