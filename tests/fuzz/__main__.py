"""Every fuzz target: python tests/fuzz --runs 100000 --seed 1 --target http"""

import fuzz_authorization  # registers its target, as the others do
import fuzz_headers
import fuzz_http
import fuzz_parsers
import fuzz_possession
import fuzz_state
import fuzz_stdio
import fuzz_templates
import fuzz_tokens

assert fuzz_authorization.check_authorization is fuzz_parsers.TARGETS["authorization"].check
assert fuzz_headers.check_params is fuzz_parsers.TARGETS["params"].check
assert fuzz_http.check_http is fuzz_parsers.TARGETS["http"].check
assert fuzz_possession.check_proof is fuzz_parsers.TARGETS["dpop"].check
assert fuzz_state.check_state is fuzz_parsers.TARGETS["state"].check
assert fuzz_stdio.check_stdio is fuzz_parsers.TARGETS["stdio"].check
assert fuzz_templates.check_uri_template is fuzz_parsers.TARGETS["uri-template"].check
assert fuzz_tokens.check_jwt is fuzz_parsers.TARGETS["jwt"].check

if __name__ == "__main__":
    fuzz_parsers.main()
