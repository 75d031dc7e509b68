// A client on the TypeScript SDK 1.x for the server of workshop.py. It prints what it saw as one line of JSON.
//
//   node client_v1.mjs PARTS http URL
//   node client_v1.mjs PARTS sse URL
//   node client_v1.mjs PARTS stdio COMMAND [ARGUMENT...]
//
// PARTS names what to try beside calls and listings, separated by commas: the functions of `parts` below.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CallToolResultSchema,
    CreateMessageRequestSchema,
    ElicitRequestSchema,
    ListRootsRequestSchema,
    LoggingMessageNotificationSchema,
    ResourceUpdatedNotificationSchema,
    ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';

const [names, kind, target, ...args] = process.argv.slice(2);
const seen = { logged: [], progress: [], changes: [] };

function openTransport(options) {
    switch (kind) {
        case 'http':
            return new StreamableHTTPClientTransport(new URL(target), options);
        case 'sse':
            return new SSEClientTransport(new URL(target));
        case 'stdio':
            return new StdioClientTransport({ command: target, args });
        default:
            throw new Error(`second argument: expected http, sse or stdio, got ${kind}`);
    }
}

function buildClient() {
    const client = new Client(
        { name: 'typescript-v1-peer', version: '1.0.0' },
        { capabilities: { sampling: {}, elicitation: {}, roots: {} } }
    );
    client.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => ({
        role: 'assistant',
        model: 'oracle',
        content: { type: 'text', text: `yes to ${params.messages[0].content.text}` }
    }));
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
        action: 'accept',
        content: { name: `asked: ${params.message}` }
    }));
    client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: 'file:///a/folder' }] }));
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void seen.logged.push(params));
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void seen.changes.push(params.uri));
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void seen.changes.push('tools'));
    return client;
}

async function call(client, name, args = {}, options = undefined) {
    try {
        const { content } = await client.callTool({ name, arguments: args }, undefined, options);
        return content.map(block => block.text).join();
    } catch (error) {
        return { code: error.code, message: error.message };
    }
}

// Repeats an action until the condition holds, for five seconds at most.
async function until(condition, action = async () => {}) {
    for (let tries = 0; tries < 200 && !condition(); tries += 1) {
        await action();
        await new Promise(resolve => setTimeout(resolve, 25));
    }
}

const parts = {
    async requests(client) {
        seen.model = await call(client, 'ask_model', { question: 'why' });
        seen.user = await call(client, 'ask_user');
        seen.folders = await call(client, 'folders');
    },

    async logging(client) {
        await client.setLoggingLevel('info');
        await call(client, 'log');
    },

    async progress(client) {
        const options = { onprogress: update => seen.progress.push(update) };
        seen.counted = await call(client, 'count', { steps: 3 }, options);
    },

    async cancellation(client) {
        const abort = new AbortController();
        const options = { signal: abort.signal, onprogress: () => abort.abort('enough') };
        seen.aborted = await call(client, 'wait_for_cancellation', { name: 'one' }, options);
        await until(
            () => seen.cancelled,
            async () => (seen.cancelled = await call(client, 'list_cancelled'))
        );
    },

    async changes(client) {
        await client.subscribeResource({ uri: 'workshop://board' });
        await until(
            () => seen.changes.includes('tools') && seen.changes.includes('workshop://board'),
            () => call(client, 'change_board')
        );
    },

    // The server closes the stream of a call, and the client comes back for the result by itself.
    async polling(client) {
        seen.polled = await call(client, 'hang_up');
    },

    // The client loses the stream of a call; another one takes the session over and fetches the result.
    async resumption() {
        const [lost, lostTransport] = [buildClient(), openTransport()];
        await lost.connect(lostTransport);
        let token;
        lost.callTool({ name: 'hold', arguments: {} }, undefined, { onresumptiontoken: id => (token = id) }).catch(() => {});
        await until(() => token !== undefined);
        await lost.close();

        const [next, nextTransport] = [buildClient(), openTransport({ sessionId: lostTransport.sessionId })];
        nextTransport.setProtocolVersion(lostTransport.protocolVersion);
        await next.connect(nextTransport);
        await call(next, 'release');
        const { content } = await next.request(
            { method: 'tools/call', params: { name: 'hold', arguments: {} } },
            CallToolResultSchema,
            { resumptionToken: token }
        );
        seen.resumed = content[0].text;
        await nextTransport.terminateSession();
        await next.close();
    },

    // A session that is ended by the client is unknown from then on.
    async termination(client, transport) {
        await transport.terminateSession();
        const { status } = await fetch(target, {
            method: 'POST',
            headers: {
                'content-type': 'application/json',
                accept: 'application/json, text/event-stream',
                'mcp-session-id': seen.session
            },
            body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
        });
        seen.statusAfterTermination = status;
    }
};

const client = buildClient();
const transport = openTransport();
await client.connect(transport);
Object.assign(seen, {
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    session: transport.sessionId,
    version: transport.protocolVersion,
    tools: (await client.listTools()).tools.map(tool => tool.name),
    sum: await call(client, 'add', { a: 2, b: 3 }),
    unknown: await call(client, 'burn'),
    resource: (await client.readResource({ uri: 'workshop://board' })).contents,
    prompt: (await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })).messages,
    pong: await client.ping()
});
for (const name of names.split(',').filter(Boolean)) await parts[name](client, transport);
await client.close();
console.log(JSON.stringify(seen));
