"""What becomes of URLs: one enumeration of reasons, and their counts. Everything that counts lost URLs reads it here.

No I/O: the log of URLs is in ``storage.crawl_log``, the byte of each URL beside its key in the seen-set.
"""

from crawlproject.fates.reasons import Reason, Stage, decoded, encoded, reason_of_status
from crawlproject.fates.tally import Fates, Outcome

__all__ = ["Fates", "Outcome", "Reason", "Stage", "decoded", "encoded", "reason_of_status"]
