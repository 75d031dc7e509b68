"""What `import mcp_types` finds. The package is `mcp.mcp_types`, which `mcp` puts in the place of this module."""

import mcp as mcp
