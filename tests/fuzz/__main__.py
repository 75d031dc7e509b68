"""Every fuzz target: python tests/fuzz --runs 100000 --seed 1 --target http"""

import fuzz_http  # registers its target, as the next ones do
import fuzz_parsers
import fuzz_stdio
import fuzz_templates

assert fuzz_http.check_http is fuzz_parsers.TARGETS["http"].check
assert fuzz_stdio.check_stdio is fuzz_parsers.TARGETS["stdio"].check
assert fuzz_templates.check_uri_template is fuzz_parsers.TARGETS["uri-template"].check

if __name__ == "__main__":
    fuzz_parsers.main()
