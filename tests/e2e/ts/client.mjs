// A TypeScript client for the server of library.py. It prints what it saw as one line of JSON.
//
//   node client.mjs http URL
//   node client.mjs stdio COMMAND [ARGUMENT...]
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

function openTransport([kind, target, ...args]) {
    switch (kind) {
        case 'http':
            return new StreamableHTTPClientTransport(new URL(target));
        case 'stdio':
            return new StdioClientTransport({ command: target, args });
        default:
            throw new Error(`first argument: expected http or stdio, got ${kind}`);
    }
}

async function failureOf(promise) {
    try {
        await promise;
    } catch (error) {
        return { code: error.code, message: error.message };
    }
    return null;
}

const client = new Client({ name: 'typescript-peer', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(openTransport(process.argv.slice(2)));

const progress = [];
const { tools } = await client.listTools();
const seen = {
    era: client.getProtocolEra(),
    server: client.getServerVersion(),
    supportedVersions: client.getDiscoverResult()?.supportedVersions,
    tools: tools.map(tool => tool.name),
    found: await client.callTool({ name: 'find_book', arguments: { title: 'Dune' } }),
    counted: await client.callTool(
        { name: 'count_pages', arguments: { books: 3 } },
        { onprogress: update => progress.push(update) }
    ),
    progress,
    failure: await failureOf(client.callTool({ name: 'burn_book', arguments: {} })),
    resource: (await client.readResource({ uri: 'library://hours' })).contents,
    prompt: (await client.getPrompt({ name: 'recommend', arguments: { mood: 'calm' } })).messages
};
await client.close();
console.log(JSON.stringify(seen));
