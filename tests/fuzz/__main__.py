"""Every fuzz target: python tests/fuzz --runs 100000 --seed 1 --target http"""

import fuzz_headers  # registers its targets, as the others do
import fuzz_http
import fuzz_parsers
import fuzz_possession
import fuzz_state
import fuzz_stdio
import fuzz_templates

assert fuzz_headers.check_params is fuzz_parsers.TARGETS["params"].check
assert fuzz_http.check_http is fuzz_parsers.TARGETS["http"].check
assert fuzz_possession.check_proof is fuzz_parsers.TARGETS["dpop"].check
assert fuzz_state.check_state is fuzz_parsers.TARGETS["state"].check
assert fuzz_stdio.check_stdio is fuzz_parsers.TARGETS["stdio"].check
assert fuzz_templates.check_uri_template is fuzz_parsers.TARGETS["uri-template"].check

if __name__ == "__main__":
    fuzz_parsers.main()
