// A TypeScript server that speaks the 2026-07-28 revision alone.
//
//   node server.mjs http     listens on a free loopback port and prints its URL as the first line
//   node server.mjs stdio    serves the process that started it
//
// Over HTTP it ends when its standard input does, so that it cannot outlive a test.
import { createServer } from 'node:http';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod/v4';

const pagesOf = { Dune: 412, Emma: 474 };

function buildServer({ era }) {
    const server = new McpServer({ name: 'typescript-library', version: '1.2.3' }, { instructions: `Serving the ${era} era` });
    server.registerTool(
        'find_book',
        {
            description: 'Look a book up by its title',
            inputSchema: z.object({ title: z.string() }),
            outputSchema: z.object({ title: z.string(), pages: z.number().int() })
        },
        async ({ title }) => {
            if (!(title in pagesOf)) throw new Error(`No book called ${title}`);
            const book = { title, pages: pagesOf[title] };
            return { content: [{ type: 'text', text: `${title} has ${book.pages} pages` }], structuredContent: book };
        }
    );
    server.registerTool(
        'count_pages',
        { description: 'Count with a progress report per book', inputSchema: z.object({ books: z.number().int() }) },
        async ({ books }, ctx) => {
            const progressToken = ctx.mcpReq._meta?.progressToken;
            for (let book = 1; book <= books && progressToken !== undefined; book += 1) {
                await ctx.mcpReq.notify({
                    method: 'notifications/progress',
                    params: { progressToken, progress: book, total: books, message: `book ${book}` }
                });
            }
            return { content: [{ type: 'text', text: `Counted ${books} books` }] };
        }
    );
    server.registerResource('hours', 'library://hours', { mimeType: 'text/plain' }, async uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Open from 9 to 17, é included' }]
    }));
    server.registerPrompt('recommend', { argsSchema: z.object({ mood: z.string() }) }, ({ mood }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Recommend a ${mood} book` } }]
    }));
    return server;
}

function listen() {
    const handle = toNodeHandler(createMcpHandler(buildServer, { legacy: 'reject' }));
    const validHost = localhostHostValidation();
    const validOrigin = localhostOriginValidation();
    const http = createServer((request, response) => {
        if (validHost(request, response) && validOrigin(request, response)) void handle(request, response);
    });
    http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
    process.stdin.on('end', () => process.exit(0)).resume();
}

switch (process.argv[2]) {
    case 'http':
        listen();
        break;
    case 'stdio':
        serveStdio(buildServer, { legacy: 'reject' });
        break;
    default:
        throw new Error(`first argument: expected http or stdio, got ${process.argv[2]}`);
}
