"""What a request leaves on its page, as real sites have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.data_sites.site import chance
from testbed.data_sites.templates import filling

if TYPE_CHECKING:
    from testbed.data_sites.layout import Noise


def _noise(template: str) -> Noise:
    fill = filling(template)
    return lambda request: fill(request, chance(template, request))[0]


_CAPTCHA = "<p>Type what you see: <img src='/captcha/[#12].png' alt=''><input name=code></p>"
_MADE_IN = "<p>Page generated in 0.0[100-999] s with [9-40] queries.</p>"
_QUOTATION = "<blockquote>[14 words]. ([who/900])</blockquote>"
_VISITORS = "<p>You are visitor number 48[n]. Online: [3-60] guests, [0-9] members.</p>"
_ADVERT = "<a rel='nofollow' href='http://adverts.example/click?c=[#16]'>[3 advert/40]</a>"
_SECRETS = (
    "<form action='/subscribe' method=post><input type=hidden name=csrf value='[#32]'><input name=email></form>"
    "<script nonce='[#16]'>var t='[#20]';</script>"
)

captcha, made_in, quotation = _noise(_CAPTCHA), _noise(_MADE_IN), _noise(_QUOTATION)
visitors, advert, secrets = _noise(_VISITORS), _noise(_ADVERT), _noise(_SECRETS)
everything = _noise(_CAPTCHA + _MADE_IN + _QUOTATION + _VISITORS + _ADVERT + _SECRETS)
