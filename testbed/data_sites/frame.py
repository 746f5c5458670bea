"""What all pages of a site share: menus, boxes, footers, in the four looks that a site may have."""

from __future__ import annotations

from typing import NamedTuple

from testbed.data_sites.site import chance, items, link, words

_OFFERS = [
    "We have collected these data since our first day and publish them as a service to everybody.",
    "All figures are given without warranty. Please tell us about errors.",
    "You may use the contents of this site if you name the source.",
    "Our office is open from Monday to Friday, except on public holidays.",
    "Subscribe to our newsletter and you will never miss anything.",
    "This site is supported by its readers. Thank you for your donation.",
    "The data are checked by hand, corrected where needed, and updated every morning.",
]
_ABOUT = ("about", "contact", "imprint", "privacy", "help", "faq")


class Frame(NamedTuple):
    """The frame of a site: its name, its menu, and where things stand."""

    name: str
    menu: tuple[str, ...]
    look: int
    offers: tuple[str, ...]
    end: str

    def page(self, title: str, body: str, boxes: str = "", noise: str = "") -> str:
        """A whole page; ``boxes``: its links; ``noise``: what the request left on it."""
        menu = items(link(path, path.strip("/").partition(".")[0].title() or "Home") for path in ("/", *self.menu))
        if self.look == 0:
            return (
                f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title} - {self.name}</title>"
                f"</head><body><header><h2>{self.name}</h2><nav>{menu}</nav></header><main><h1>{title}</h1>{body}</main>"
                f"<aside>{boxes}{noise}</aside><footer><p>{'</p><p>'.join(self.offers)}</p></footer></body></html>"
            )
        if self.look == 1:
            return (
                f"<HTML><HEAD><TITLE>{self.name}</TITLE></HEAD><BODY BGCOLOR=white><TABLE><TR><TD>{menu}<TD><H1>{title}"
                f"</H1>{body}<HR>{boxes}<HR>{noise}<SMALL>{' '.join(self.offers)}</SMALL></TABLE></BODY></HTML>"
            )
        if self.look == 2:
            return (
                f"<html><head><title>{title}</title><meta name=description content='{self.offers[0]}'></head><body><div"
                f" id=top>{self.name} {boxes}</div><div class=left>{menu}<p>{self.offers[-1]}</div><div class=content>"
                f"<h2>{title}</h2>{body}</div><div id=end>{noise} (c) {self.name}</div></body></html>"
            )
        return f"<title>{title}</title>{noise}<h3>{title}</h3>{body}<p>{boxes}<p>{menu}"

    def about(self, path: str, noise: str = "") -> str | None:
        """The page of the menu at ``path``."""
        if path not in self.menu:
            return None
        text = f"<p>{words(60, self.name, path)}</p>"
        return self.page(path.strip("/").partition(".")[0].title(), text, "", noise)


def frame(site: str) -> Frame:
    """The frame of the site of that name."""
    draw = chance("frame", site)
    end = draw.choice(("", ".html", "/", ".php"))
    menu = tuple(f"/{each}{end}" for each in draw.sample(_ABOUT, draw.randint(2, 5)))
    offers = tuple(draw.sample(_OFFERS, draw.randint(1, 5)))
    return Frame(site.title(), menu, draw.randrange(4), offers, end)
